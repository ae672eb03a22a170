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
feature tags (`V;3;PL`).
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Any

import datasets
from transformers import DataCollatorForSeq2Seq

from atenta.recipes.option_annotations import FROM_0, Mark
from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.records import exit_on
from atenta.recipes.reading.splits import DataArguments, Rows
from atenta.recipes.samples.files import SPLITS
from atenta.recipes.tasks.hallucination import hallucinate
from atenta.recipes.tasks.task import distinct_names
from atenta.recipes.tasks.transduction import PAIRS, PairTask, encode_pairs, measure_lengths
from atenta.recipes.training.encoder_decoders import DecodingArguments, decode_encoded, save_decoded, train_to_generate
from atenta.recipes.training.models import load_or_create
from atenta.recipes.training.options import Seq2SeqRecipeArguments, SeveralTargetsOption, TwoStackArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import Seq2SeqRecipeTrainer
from atenta.tokenization.base_letters import strip_accents
from atenta.tokenization.text_windows import GeneratedText, generate_windows, join_windows


@dataclass
class PairArguments:
    """Reading and decoding of pairs."""

    _argument_group_name = "pairs"

    target_separator: Annotated[
        str | None,
        "text that separates the units of targets, such as the space between phones: a new model then writes "
        "units instead of characters",
    ] = None
    several_targets: SeveralTargetsOption = False
    hallucinated_rows: Annotated[
        int, FROM_0, "number of pairs to invent for training from few pairs, with the stems of words replaced"
    ] = 0
    keep_letters: Annotated[
        bool | None,
        Mark.INCIDENTAL,
        "also score outputs that are made to keep the source's letters and change only accents; None: if "
        "all test pairs keep them",
    ] = None


OPTIONS = (DataArguments, PairArguments, TwoStackArguments, DecodingArguments, Seq2SeqRecipeArguments)


def main() -> None:
    """Read the pairs, train, decode the tests, score, save, print examples."""
    options = parse_arguments(*OPTIONS, description=__doc__, default_config="accents.yaml")
    data, pairs, sizes, search, training = options
    run = start_run(*options)
    rows = load_rows(data, training, PAIRS)
    splits = {name: rows[name] for name in SPLITS}
    if pairs.hallucinated_rows:
        splits["train"] = _add_hallucinated(rows["train"], pairs.hallucinated_rows, training.seed)
    tokenizer, model = load_or_create(
        sizes,
        PairTask.kind,
        "encoder-decoder",
        (row["source"] + row["target"] for row in splits["train"]),
        tags=distinct_names(chain(*splits.values()), "tags"),
        targets=(row["target"] for row in splits["train"]),
        target_separator=pairs.target_separator,
    )
    is_ours = hasattr(model, "letter_lock")  # its tokens are characters
    if pairs.keep_letters and not is_ours:
        raise SystemExit("--keep_letters needs an encoder-decoder of this package: leave it out.")
    inputs = [["tags", "source"], ["target"]]
    report = report_rows(splits, training, ["source", "target"], tokenizer, max_length=sizes.max_length, inputs=inputs)
    encoded = encode_rows(splits, training, partial(encode_pairs, tokenizer=tokenizer), data.preprocessing_num_workers)
    if is_ours:
        unknown = {"window_length": None, "length_ratios": None}
        streamed = not isinstance(encoded["train"], datasets.Dataset)
        model.config.update(unknown if streamed else measure_lengths(splits["train"], encoded["train"]))
    # What the scores depend on, and `atenta evaluate` reads back.
    scored_by = {"several_targets": pairs.several_targets, "target_separator": pairs.target_separator}
    task = PairTask(metrics=search.metrics, **scored_by)
    model.config.task_specific_params = task.task_specific_params
    collator = DataCollatorForSeq2Seq(tokenizer, model)
    trainer = train_to_generate(run, model, training, tokenizer, encoded, collator, search)

    tests = {name: task.prepare(of_split) for name, of_split in rows.items() if name not in ("train", "validation")}
    of_words = all(len(row["source"].split()) == 1 for row in chain(*rows.values()))
    baselines = task.baselines(rows["train"], of_words)
    outputs = {name: decode_rows(trainer, test, search) for name, test in tests.items()}
    answers = {
        name: task.with_baselines(test, [ranked[0].text for ranked in outputs[name]], baselines)
        for name, test in tests.items()
    }
    kept = is_ours and all(strip_accents(row["source"]) == strip_accents(row["target"]) for row in tests["test"])
    if kept if pairs.keep_letters is None else pairs.keep_letters:
        for name, test in tests.items():
            locked = decode_rows(trainer, test, search, keep_letters=True)
            answers[name]["model, letters kept"] = [ranked[0].text for ranked in locked]
    # As `atenta predict` takes a source: followed, in a model of tags, by a tab and its own.
    tab = "\t" * any(row["tags"] for row in chain(*tests.values()))

    def line_of(row: Mapping[str, Any]) -> str:
        return row["source"] + tab + ";".join(tag[1:-1] for tag in row["tags"])

    alphabet = tokenizer.get_vocab().keys()
    inside = (line_of(row) for row in tests["test"] if len(row["source"]) < 100 and alphabet >= {*row["source"]})
    about = {"example": next(inside, None), **describe_data(data, report)}  # of a sample, its own
    examples = save_decoded(trainer, task.score, tests, answers, outputs["test"], about)
    named = [(line_of(row), output) for row, output in examples]
    report_saved(trainer, *next((pair for pair in named if pair[0] != pair[1]), named[0]))


def decode_rows(
    trainer: Seq2SeqRecipeTrainer,
    rows: Sequence[Mapping[str, Any]],
    search: DecodingArguments,
    keep_letters: bool = False,
) -> list[list[GeneratedText]]:
    """Return the outputs for the source of each row, best first; long sources are decoded in windows."""
    tokenizer = trainer.processing_class

    def generate(indices: list[int], parts: list[str]) -> list[list[GeneratedText]]:
        tags = [rows[index]["tags"] for index in indices]
        columns = {"source": parts, "target": [""] * len(parts), "tags": tags}
        encoded = datasets.Dataset.from_dict(encode_pairs(columns, tokenizer))
        return decode_encoded(trainer, encoded, search, keep_letters)

    sources, window_length = [row["source"] for row in rows], getattr(trainer.model.config, "window_length", None)
    found = generate_windows(sources, window_length, tokenizer.get_vocab(), generate)
    return [join_windows(*each) for each in found]


def _add_hallucinated(rows: Rows, count: int, seed: int) -> datasets.Dataset:
    """Return training pairs, and `count` invented ones after them; a run of the same seed invents the same."""
    if not isinstance(rows, datasets.Dataset):
        raise SystemExit("--hallucinated_rows reads all training pairs at once: leave out --streaming.")
    with exit_on(ValueError, prefix=f"--hallucinated_rows {count}: "):
        invented = hallucinate(list(rows), count, seed)
    return datasets.concatenate_datasets([rows, datasets.Dataset.from_list(invented, rows.features)])


if __name__ == "__main__":
    run_recipe(main)
