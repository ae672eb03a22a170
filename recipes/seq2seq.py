# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Train an encoder-decoder to transform one text into another, with teacher forcing (document 4).

By default it restores the accents of Portuguese in texts of Machado de Assis; recipes/configs has files for other
tasks. With --train_file and --validation_file it trains on your own `source<TAB>target` lines; a third column may hold
feature tags (`V;3;PL`). With --denoising it pre-trains on texts: spans are masked, and the model restores them.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from typing import Annotated, Any

import datasets
import numpy
from peft import PeftModel
from transformers import (
    AutoModelForSeq2SeqLM,
    DataCollatorForSeq2Seq,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from atenta.recipes.decoding.generation import decode_n_best, n_best_columns
from atenta.recipes.metrics import PAIR_METRICS, scores
from atenta.recipes.option_annotations import FROM_0, FROM_1, SHARE, Mark
from atenta.recipes.reading import Rows, describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.records import printable
from atenta.recipes.samples.files import SPLITS
from atenta.recipes.tasks.denoising import DenoisingCollator, encode_texts, mask_once
from atenta.recipes.tasks.documents import DocumentArguments, load_documents
from atenta.recipes.tasks.hallucination import hallucinate
from atenta.recipes.tasks.pairs import PAIRS, PairTask, encode_pairs, measure_lengths, tag_tokens
from atenta.recipes.training import (
    Seq2SeqRecipeArguments,
    Seq2SeqRecipeTrainer,
    TwoStackArguments,
    load_or_create,
    parse_arguments,
    run_recipe,
    start_run,
)
from atenta.recipes.training.results import compare, compare_by_length, report_saved, save_run
from atenta.recipes.training.trainer import expect_metric
from atenta.tokenization.base_letters import strip_accents
from atenta.tokenization.text_windows import GAP, GeneratedText, cut_text, generate_windows, join_windows

# Rows of text (`train`, `test` and further tests), rows of ids, what they are encoded, trained and batched with, and
# what a card says of them.
_Prepared = tuple[
    Mapping[str, Any],
    dict[str, Rows],
    PreTrainedTokenizerBase,
    PreTrainedModel | PeftModel,
    DataCollatorForSeq2Seq,
    Mapping[str, Any],
]
_EXAMPLES = 10  # test pairs printed at the end


@dataclass
class DecodingArguments:
    """Search for outputs, and their scores."""

    _argument_group_name = "decoding"

    metrics: Annotated[list[str], Mark.AFTER_TRAINING] = field(
        default_factory=lambda: ["exact_match", "character_error_rate"],
        metadata={"help": "metrics of recipes/metrics.py that score the outputs"},
    )
    num_beams: Annotated[int, FROM_1, Mark.INCIDENTAL] = field(
        default=1, metadata={"help": "width of the beam search on the test set; 1 is greedy"}
    )
    num_return_sequences: Annotated[int, FROM_1, Mark.INCIDENTAL] = field(
        default=1, metadata={"help": "number of outputs for each source in predictions.tsv"}
    )
    keep_letters: Annotated[bool | None, Mark.INCIDENTAL] = field(
        default=None,
        metadata={
            "help": "also score outputs that are made to keep the source's letters and change only accents; None: if "
            "all test pairs keep them"
        },
    )
    max_eval_samples: Annotated[int | None, FROM_1, Mark.AFTER_TRAINING] = field(
        default=None, metadata={"help": "validation pairs decoded at each evaluation during training; None: all"}
    )

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            ValueError: If a metric is unknown, is not of pairs of texts or is named twice, or none is, or more outputs
                are requested than the search can find.
        """
        unfit = [name for name in self.metrics if name not in PAIR_METRICS or self.metrics.count(name) > 1]
        if unfit or not self.metrics:
            raise ValueError(
                f"--metrics {' '.join(unfit)}: expected some of {', '.join(PAIR_METRICS)}, each of them once."
            )
        if self.num_return_sequences > self.num_beams:
            raise ValueError(
                f"--num_return_sequences {self.num_return_sequences} asks for more outputs than --num_beams "
                f"{self.num_beams} can find: raise --num_beams."
            )


@dataclass
class PairArguments:
    """The options for reading the pairs of a training without --denoising."""

    _argument_group_name = "pairs"

    target_separator: str | None = field(
        default=None,
        metadata={
            "help": "text that parts the units of targets, such as the space between phones: a new model then writes "
            "units instead of characters"
        },
    )
    several_targets: bool = field(
        default=False,
        metadata={"help": "test pairs with the same source and tags are one, and each of their targets is right"},
    )
    hallucinated_rows: Annotated[int, FROM_0] = field(
        default=0,
        metadata={"help": "number of pairs to invent for training from few pairs, with the stems of words replaced"},
    )


@dataclass
class DenoisingArguments:
    """Pre-training by restoring masked texts (BART: Lewis et al., 2020)."""

    _argument_group_name = "denoising"

    denoising: bool = field(default=False, metadata={"help": "pre-train on texts by restoring masked spans"})
    noise_density: Annotated[float, SHARE] = field(
        default=0.3, metadata={"help": "share of the characters that is masked"}
    )
    mean_span_length: Annotated[float, FROM_1] = field(
        default=6.0, metadata={"help": "mean number of characters that one mask replaces"}
    )


def main() -> None:
    """Read the data, train, score, save, and print examples."""
    dataclasses = (
        *(DocumentArguments, PairArguments, DenoisingArguments),
        *(TwoStackArguments, DecodingArguments, Seq2SeqRecipeArguments),
    )
    options = parse_arguments(*dataclasses, description=__doc__, default_config="accents.yaml")
    data, pairs, noise, sizes, search, training = options
    _expect_options_of_the_data(noise, pairs, sizes, search)
    run = start_run(*options)
    if noise.denoising:
        rows, encoded, tokenizer, model, collator, about = _prepare_texts(data, sizes, noise, training)
    else:
        rows, encoded, tokenizer, model, collator, about = _prepare_pairs(data, sizes, pairs, training)
    longest = max(map(len, chain(encoded["validation"]["labels"], encoded["test"]["labels"])))
    model.generation_config.max_length = 2 * longest  # the default is 20
    model.generation_config.num_beams = 1  # for evaluation during training, also of a model that was saved with beams
    # What the scores depend on, and `atenta evaluate` reads back.
    scored_by = {"metrics": search.metrics, "several_targets": pairs.several_targets}
    scored_by |= {"target_separator": pairs.target_separator, "denoising": noise.denoising}
    task = PairTask(**scored_by)
    model.config.task_specific_params = {task.kind: task.options}
    training.predict_with_generate = True
    can_lock = not noise.denoising and hasattr(model, "letter_lock")
    if search.keep_letters and not can_lock:
        raise SystemExit("--keep_letters needs an encoder-decoder of this package, and pairs of texts: leave it out.")
    expect_metric(training, scores(search.metrics, predictions=["a"], references=["a"]))

    validation = encoded["validation"].select(range(len(encoded["validation"]))[: search.max_eval_samples])
    validation = validation.select(_shortest_first(validation))
    compute_metrics = partial(score_generated, tokenizer=tokenizer, metrics=search.metrics)
    trainer = Seq2SeqRecipeTrainer(
        model,
        training,
        tokenizer,
        {**encoded, "validation": validation},
        collator,
        compute_metrics,
        # When denoising, the source is made with the batch. It is never longer than the text.
        length_columns=["labels" if noise.denoising else "input_ids", "labels"],
    )
    trainer.fit(run)

    trainer.model.generation_config.num_beams = search.num_beams  # saved with the model, which is used as it is scored
    tests = {name: task.prepare(of_split) for name, of_split in rows.items() if name not in ("train", "validation")}
    locked: dict[str, list[list[GeneratedText]]] = {}
    if noise.denoising:
        outputs = {"test": decode_encoded(trainer, encoded["test"], tokenizer, search)}
    else:
        outputs = {name: decode_rows(trainer, of_test, tokenizer, search) for name, of_test in tests.items()}
    kept = can_lock and all(strip_accents(row["source"]) == strip_accents(row["target"]) for row in tests["test"])
    if kept if search.keep_letters is None else search.keep_letters:
        locked = {
            name: decode_rows(trainer, of_test, tokenizer, search, keep_letters=True)
            for name, of_test in tests.items()
        }
    of_words = all(len(row["source"].split()) == 1 for of_split in rows.values() for row in of_split)
    baselines = task.baselines(rows["train"], of_words)
    answers = {
        name: {
            **{baseline: answer(of_test) for baseline, answer in baselines.items()},
            "model": [ranked[0].text for ranked in outputs[name]],
            **({"model, letters kept": [ranked[0].text for ranked in locked[name]]} if locked else {}),
        }
        for name, of_test in tests.items()
    }

    compared = {name: compare(task.score, tests[name], answers[name]) for name in tests}
    sources, gold = ([row[column] for row in tests["test"]] for column in ("source", "target"))
    tags = [" ".join(row["tags"]) for row in tests["test"]]
    columns = {
        "source": sources,
        **({"tags": tags} if any(tags) else {}),
        "gold": gold,
        **n_best_columns(outputs["test"]),
    }
    save_run(
        trainer,
        scores=compared.pop("test"),
        further_scores=compared,
        by_length=compare_by_length(task.score, tests["test"], answers["test"]),
        predictions=columns,
        about=about,
    )

    if trainer.is_world_process_zero():
        shown = {"test": _EXAMPLES} | dict.fromkeys(compared, 1)
        examples = [pair for name, count in shown.items() for pair in zip(tests[name][:count], answers[name]["model"])]
        for row, output in examples:
            source = " ".join([row["source"], *row["tags"]])
            print(printable(f"  source  {source}\n  output  {output}\n  gold    {row['target']}\n"), flush=True)
        if noise.denoising:
            report_saved(trainer)
        else:
            has_tags = any(row["tags"] for of_test in tests.values() for row in of_test)
            named = [(_with_tags(row, has_tags), output) for row, output in examples]
            report_saved(trainer, *next((pair for pair in named if pair[0] != pair[1]), named[0]))


def _expect_options_of_the_data(
    noise: DenoisingArguments, pairs: PairArguments, sizes: TwoStackArguments, search: DecodingArguments
) -> None:
    """Check that no option is given that the other kind of data has."""
    given = [name for name, value in asdict(pairs).items() if value != getattr(PairArguments(), name)]
    given += ["tags_with_positions"] * sizes.tags_with_positions + ["keep_letters"] * bool(search.keep_letters)
    if noise.denoising and given:
        raise SystemExit(f"--{' and --'.join(given)}: about pairs of texts. Leave it out with --denoising.")
    given = [name for name, value in asdict(noise).items() if value != getattr(DenoisingArguments(), name)]
    if given and not noise.denoising:
        raise SystemExit(f"--{' and --'.join(given)}: about masked texts. Leave it out without --denoising.")


def decode_rows(
    trainer: Seq2SeqRecipeTrainer,
    rows: Sequence[Mapping[str, Any]],
    tokenizer: PreTrainedTokenizerBase,
    search: DecodingArguments,
    keep_letters: bool = False,
) -> list[list[GeneratedText]]:
    """Return the outputs for the source of each row, best first; long sources are decoded in windows.

    Args:
        trainer: Holds the model, and the processes that share the work.
        rows: Pairs with `source`, `target` and `tags`.
        tokenizer: The model's tokenizer.
        search: The width of the search, and the number of outputs.
        keep_letters: Whether an output must have the letters of its source.
    """
    window_length = getattr(trainer.model.config, "window_length", None)
    cuts = [cut_text(row["source"], window_length and window_length - 1, tokenizer.get_vocab()) for row in rows]

    def generate(indices: list[int], parts: list[str]) -> list[list[GeneratedText]]:
        tags = [rows[index]["tags"] for index in indices]
        columns = {"source": parts, "target": [""] * len(parts), "tags": tags}
        encoded = datasets.Dataset.from_dict(encode_pairs(columns, tokenizer))
        return decode_encoded(trainer, encoded, tokenizer, search, keep_letters)

    return [join_windows(*each) for each in zip(cuts, generate_windows(cuts, generate))]


def decode_encoded(
    trainer: Seq2SeqRecipeTrainer,
    encoded: datasets.Dataset,
    tokenizer: PreTrainedTokenizerBase,
    search: DecodingArguments,
    keep_letters: bool = False,
) -> list[list[GeneratedText]]:
    """Return the outputs for encoded sources, best first; see [`decode_rows`]. The shortest are decoded first."""
    order = _shortest_first(encoded)
    decoded = decode_n_best(
        trainer.model,
        trainer.get_test_dataloader(encoded.select(order)),
        tokenizer,
        num_beams=search.num_beams,
        num_return_sequences=search.num_return_sequences,
        keep_letters=keep_letters,
        accelerator=trainer.accelerator,
    )
    return [outputs for _, outputs in sorted(zip(order, decoded), key=lambda pair: pair[0])]


def score_generated(
    evaluated: EvalPrediction, tokenizer: PreTrainedTokenizerBase, metrics: Sequence[str]
) -> dict[str, float]:
    """Score generated ids, (texts, length), against the labels; both are padded with `<pad>` or -100."""
    predictions, references = (
        tokenizer.batch_decode(numpy.where(ids < 0, tokenizer.pad_token_id, ids), skip_special_tokens=True)
        for ids in (evaluated.predictions, evaluated.label_ids)
    )
    return scores(metrics, predictions=predictions, references=references)


def _shortest_first(encoded: datasets.Dataset) -> list[int]:
    """Return the indices of rows in the order of their sources' lengths, with which batches have little padding."""
    return numpy.argsort(list(map(len, encoded["input_ids"])), kind="stable").tolist()


def _prepare_pairs(
    data: DocumentArguments, sizes: TwoStackArguments, pairs: PairArguments, training: Seq2SeqRecipeArguments
) -> _Prepared:
    """Read and encode pairs. The model notes what the lengths of the training pairs are."""
    rows = load_rows(data, training, PAIRS)
    splits = {name: rows[name] for name in SPLITS}
    if pairs.hallucinated_rows:
        splits["train"] = _with_hallucinated(splits["train"], pairs.hallucinated_rows, training.seed)
    texts = (row["source"] + row["target"] for row in splits["train"])
    tokenizer, model = load_or_create(
        sizes,
        AutoModelForSeq2SeqLM,
        "encoder-decoder",
        texts,
        tags=tag_tokens(chain(*splits.values())),
        targets=(row["target"] for row in splits["train"]),
        target_separator=pairs.target_separator,
    )
    inputs = [["tags", "source"], ["target"]]
    report = report_rows(splits, training, ["source", "target"], tokenizer, max_length=sizes.max_length, inputs=inputs)
    encoded = encode_rows(splits, training, partial(encode_pairs, tokenizer=tokenizer), data.preprocessing_num_workers)
    if hasattr(model, "letter_lock"):  # a model of ours, whose tokens are characters
        unknown = {"window_length": None, "length_ratios": None}
        streamed = not isinstance(encoded["train"], datasets.Dataset)
        model.config.update(unknown if streamed else measure_lengths(splits["train"], encoded["train"], GAP))
    collator = DataCollatorForSeq2Seq(tokenizer, model)
    return rows, encoded, tokenizer, model, collator, describe_data(data, report)


def _with_hallucinated(rows: Rows, count: int, seed: int) -> datasets.Dataset:
    """Return training pairs and as many invented ones, after them; a run of the same seed invents the same."""
    if not isinstance(rows, datasets.Dataset):
        raise SystemExit("--hallucinated_rows reads all training pairs at once: leave out --streaming.")
    try:
        invented = hallucinate(list(rows), count, seed)
    except ValueError as error:
        raise SystemExit(f"--hallucinated_rows {count}: {error}") from None
    return datasets.concatenate_datasets([rows, datasets.Dataset.from_list(invented, rows.features)])


def _prepare_texts(
    data: DocumentArguments, sizes: TwoStackArguments, noise: DenoisingArguments, training: Seq2SeqRecipeArguments
) -> _Prepared:
    """Read and encode texts. Training texts are masked in each batch, validation and test texts once."""
    splits = load_documents(data, training)
    texts = splits["train"]["text"]
    tokenizer, model = load_or_create(sizes, AutoModelForSeq2SeqLM, "encoder-decoder", texts)
    report = report_rows(splits, training, ["text"], tokenizer)
    segment = partial(encode_texts, tokenizer=tokenizer, max_length=sizes.max_length)
    encoded = encode_rows(splits, training, segment, data.preprocessing_num_workers)
    masking = {name: value for name, value in asdict(noise).items() if name != "denoising"} | {"seed": training.seed}
    held_out = {name: encoded[name] for name in ("validation", "test")}
    mask = partial(mask_once, tokenizer=tokenizer, **masking)
    masked = encode_rows(held_out, training, mask, data.preprocessing_num_workers)
    rows = {"train": [], "test": [_decode_row(row, tokenizer) for row in masked["test"]]}
    collator = DenoisingCollator(tokenizer, model, **masking)
    return rows, {**encoded, **masked}, tokenizer, model, collator, describe_data(data, report)


def _decode_row(row: Mapping[str, list[int]], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Return a row of ids as a pair of texts, with the masks of the source."""
    source = tokenizer.decode(row["input_ids"]).removesuffix(tokenizer.eos_token)
    return {"source": source, "target": tokenizer.decode(row["labels"], skip_special_tokens=True), "tags": []}


def _with_tags(row: Mapping[str, Any], has_tags: bool) -> str:
    """Return a source as `atenta predict` takes it: followed, in a model of tags, by a tab and its own."""
    return row["source"] + "\t" * has_tags + ";".join(tag[1:-1] for tag in row["tags"])


if __name__ == "__main__":
    run_recipe(main)
