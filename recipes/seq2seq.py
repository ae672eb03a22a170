"""Turn one text into another, character by character, with an encoder-decoder and teacher forcing (document 4).

Without options it restores the accents of Portuguese in phrases of Machado de Assis; other files in recipes/configs
do other tasks. With --train_file and --validation_file it learns any task of `source<TAB>target` lines; a third column
may hold feature tags (`V;3;PL`). With --denoising it pre-trains: it reads texts and learns to fill in what was masked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy
from transformers import (
    AutoModelForSeq2SeqLM,
    DataCollatorForSeq2Seq,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from atenta.recipes.baselines import copy_source, look_up
from atenta.recipes.decoding.afresh import decode_afresh
from atenta.recipes.decoding.n_best import decode_n_best
from atenta.recipes.encoding.denoising import DenoisingCollator, encode_texts, mask_once
from atenta.recipes.encoding.pairs import encode_pairs
from atenta.recipes.metrics import METRICS, scores
from atenta.recipes.reading import DocumentArguments, Rows, about, encode, inspect, load, load_documents, pairs
from atenta.recipes.reporting.results import finish
from atenta.recipes.reporting.tables import n_best_columns
from atenta.recipes.training import (
    Seq2SeqRecipeArguments,
    Seq2SeqRecipeTrainer,
    TwoStackArguments,
    load_or_create,
    parse_arguments,
    start,
)
from atenta.recipes.training.evaluation import expect_metric

# Rows in words (`train`, `test`), rows of ids, and what both are made with.
Prepared = tuple[Mapping[str, Any], dict[str, Rows], PreTrainedTokenizerBase, PreTrainedModel, DataCollatorForSeq2Seq]
SHOWN = 10  # test pairs that are printed at the end


@dataclass
class DecodingArguments:
    """How outputs are searched and scored."""

    _argument_group_name = "decoding"

    metrics: list[str] = field(
        default_factory=lambda: ["exact_match", "character_error_rate"],
        metadata={"help": "files of recipes/metrics that score outputs"},
    )
    num_beams: int = field(default=1, metadata={"help": "width of the search on the test set; 1 is greedy"})
    num_return_sequences: int = field(default=1, metadata={"help": "outputs of each source in predictions.tsv"})
    max_eval_samples: int | None = field(
        default=None, metadata={"help": "validation pairs decoded at each evaluation while training; None: all"}
    )

    def __post_init__(self) -> None:
        """Check that there are such metrics, and that the search can find as many outputs as are asked for.

        Raises:
            ValueError: there are not, or it cannot.
        """
        if unknown := sorted(set(self.metrics) - set(METRICS)):
            raise ValueError(f"--metrics {' '.join(unknown)}: expected some of {', '.join(METRICS)}.")
        if self.num_return_sequences > self.num_beams:
            raise ValueError(
                f"--num_return_sequences {self.num_return_sequences} asks for more outputs than --num_beams "
                f"{self.num_beams} can find: raise --num_beams."
            )


@dataclass
class DenoisingArguments:
    """Pre-training: what is masked in the texts (BART: Lewis et al., 2020)."""

    _argument_group_name = "denoising"

    denoising: bool = field(default=False, metadata={"help": "read texts, and learn to write them whole again"})
    noise_density: float = field(default=0.3, metadata={"help": "share of the characters that is masked out"})
    mean_span_length: float = field(default=6.0, metadata={"help": "mean characters of what one mask stands for"})

    def of_masks(self) -> dict[str, float]:
        """Return the options of what is masked."""
        return {"noise_density": self.noise_density, "mean_span_length": self.mean_span_length}


def main() -> None:
    """Read the pairs, train, score, show, save, and decode with what was saved."""
    dataclasses = (
        *(DocumentArguments, TwoStackArguments, DenoisingArguments, DecodingArguments),
        Seq2SeqRecipeArguments,
    )
    options = parse_arguments(*dataclasses, description=__doc__, default_config="accents.yaml")
    checkpoint = start(*options)
    data, sizes, noise, search, training = options
    prepare = prepare_texts if noise.denoising else prepare_pairs
    rows, encoded, tokenizer, model, collator = prepare(data, sizes, noise, training)
    longest = max(map(len, chain(encoded["validation"]["labels"], encoded["test"]["labels"])))
    model.generation_config.max_length = 2 * longest  # the library stops at 20 unless told
    training.predict_with_generate = True
    expect_metric(training, scores(search.metrics, predictions=["a"], references=["a"]))
    scored = {
        **encoded,
        "validation": encoded["validation"].select(range(len(encoded["validation"]))[: search.max_eval_samples]),
    }
    compute = partial(measure, tokenizer=tokenizer, metrics=search.metrics)
    # The source of a text to be masked, which is no longer than the text, is made with the batch.
    columns = ["labels" if noise.denoising else "input_ids", "labels"]
    trainer = Seq2SeqRecipeTrainer(model, training, tokenizer, scored, collator, compute, length_columns=columns)
    trainer.fit(checkpoint)

    outputs = decode_n_best(
        trainer.model,
        trainer.get_test_dataloader(encoded["test"]),
        tokenizer,
        num_beams=search.num_beams,
        num_return_sequences=search.num_return_sequences,
        accelerator=trainer.accelerator,
    )
    sources, gold = ([row[column] for row in rows["test"]] for column in ("source", "target"))
    answers = {
        "left as it is": copy_source(rows["test"]),
        "most frequent in training": look_up(rows["train"], rows["test"]),
        "model": [hypotheses[0].text for hypotheses in outputs],
    }
    compared = {name: scores(search.metrics, predictions=given, references=gold) for name, given in answers.items()}
    tags = [" ".join(row["tags"]) for row in rows["test"]]
    given = {"source": sources, "tags": tags} if any(tags) else {"source": sources}
    columns = {**given, "gold": gold, **n_best_columns(outputs)}
    finish(trainer, scores=compared, predictions=columns, about=about(data))
    if trainer.is_world_process_zero():
        shown = [rows["test"][index] for index in range(min(SHOWN, len(rows["test"])))]
        for row, output in zip(shown, answers["model"]):
            source = " ".join([row["source"], *row["tags"]])
            print(f"  source  {source}\n  output  {output}\n  gold    {row['target']}\n", flush=True)
        if not noise.denoising:
            decode_afresh(training.output_dir, shown, answers["model"][:SHOWN], search.num_beams)


def prepare_pairs(
    data: DocumentArguments, sizes: TwoStackArguments, noise: DenoisingArguments, training: Seq2SeqRecipeArguments
) -> Prepared:
    """Read pairs, and encode them as they are."""
    splits = load(
        data, training, check=pairs.check, features=pairs.FEATURES, columns=["source", "target"], optional=["tags"]
    )
    texts = (row["source"] + row["target"] for row in splits["train"])
    tags = pairs.tag_tokens(chain(*splits.values()))
    tokenizer, model = load_or_create(sizes, AutoModelForSeq2SeqLM, "encoder-decoder", texts, tags=tags)
    inputs = [["tags", "source"], ["target"]]
    inspect(splits, training, ["source", "target"], tokenizer, max_length=sizes.max_length, inputs=inputs)
    encoded = encode(splits, training, partial(encode_pairs, tokenizer=tokenizer), data.preprocessing_num_workers)
    return splits, encoded, tokenizer, model, DataCollatorForSeq2Seq(tokenizer, model)


def prepare_texts(
    data: DocumentArguments, sizes: TwoStackArguments, noise: DenoisingArguments, training: Seq2SeqRecipeArguments
) -> Prepared:
    """Read texts, to be masked anew whenever they are learned, and once for all where they are scored."""
    splits = load_documents(data, training)
    texts = splits["train"]["text"]
    tokenizer, model = load_or_create(sizes, AutoModelForSeq2SeqLM, "encoder-decoder", texts)
    inspect(splits, training, ["text"], tokenizer)
    segment = partial(encode_texts, tokenizer=tokenizer, max_length=sizes.max_length)
    encoded = encode(splits, training, segment, data.preprocessing_num_workers)
    options = {"seed": training.seed, **noise.of_masks()}
    held_out = {name: encoded[name] for name in ("validation", "test")}
    mask = partial(mask_once, tokenizer=tokenizer, **options)
    masked = encode(held_out, training, mask, data.preprocessing_num_workers)
    rows = {"train": [], "test": [as_pair(row, tokenizer) for row in masked["test"]]}
    return rows, {**encoded, **masked}, tokenizer, model, DenoisingCollator(tokenizer, model, **options)


def as_pair(row: Mapping[str, list[int]], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Return ids as texts that people can read, the masks in the source among them."""
    source = tokenizer.decode(row["input_ids"]).removesuffix(tokenizer.eos_token)
    return {"source": source, "target": tokenizer.decode(row["labels"], skip_special_tokens=True), "tags": []}


def measure(evaluated: EvalPrediction, tokenizer: PreTrainedTokenizerBase, metrics: Sequence[str]) -> dict[str, float]:
    """Score the ids generated, (texts, length), against the labels; both are padded with `<pad>` or -100."""
    texts = (
        tokenizer.batch_decode(numpy.where(ids < 0, tokenizer.pad_token_id, ids), skip_special_tokens=True)
        for ids in (evaluated.predictions, evaluated.label_ids)
    )
    return scores(metrics, **dict(zip(("predictions", "references"), texts)))


if __name__ == "__main__":
    main()
