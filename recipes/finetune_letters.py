# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Train an encoder to write what each letter of a word becomes: its phones, or letters of another script.

By default it writes the phones of Portuguese words. With --train_file and --validation_file it trains on your own
`source<TAB>target` lines; a third column may hold tags (`pt`). Targets are aligned with letters before training. It is
many times as fast as an encoder-decoder, and suits words whose targets keep the order of the letters.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

import time
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Any

import datasets
import numpy as np
from transformers import DataCollatorForTokenClassification, EvalPrediction

from atenta.engines.kinds import writes_units
from atenta.phonemization.letter_tagger import LetterTagger
from atenta.recipes.option_annotations import FROM_1, Mark
from atenta.recipes.reading.load import describe_data, encode_rows, load_file, load_rows, report_rows
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.samples.files import SPLITS
from atenta.recipes.source_metrics import check_metrics
from atenta.recipes.tasks.letters import (
    FEATURES,
    LETTER_PAIRS,
    Alignment,
    LetterTask,
    absent_units,
    choose_marks,
    count_unit,
    encode_letters,
)
from atenta.recipes.tasks.task import distinct_names
from atenta.recipes.tasks.transduction import PairTask
from atenta.recipes.training.confidence import fit_confidence, report_outputs, summarize_confidence
from atenta.recipes.training.logit_reductions import best_classes
from atenta.recipes.training.models import label_options, load_or_create
from atenta.recipes.training.options import EncoderArguments, RecipeArguments, SeveralTargetsOption
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved, save_tests
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric
from atenta.restoration.restorer import CharacterRestorer


@dataclass
class LetterArguments:
    """The units that letters become."""

    _argument_group_name = "letters"

    target_separator: Annotated[
        str | None, "text that separates the units of targets, such as the space between phones; None: characters"
    ] = None
    unique_unit: Annotated[
        str,
        "unit, such as a stress mark: if each word of training has it exactly once under some tags, or never, so do "
        "outputs under these tags",
    ] = "ˈ"
    min_piece_count: Annotated[
        int, FROM_1, "lowest count of the units that a letter becomes; words that need rarer ones are left out"
    ] = 2
    further_file: Annotated[
        str | None,
        Mark.AFTER_TRAINING,  # a resumed run compares the rows
        "file of further training pairs, such as what models write for more words; baselines do not learn from it",
    ] = None
    several_targets: SeveralTargetsOption = False
    metrics: Annotated[
        list[str] | None,
        Mark.AFTER_TRAINING,
        "metrics of recipes/metrics.py or source_metrics.py that score the outputs",
    ] = None

    def __post_init__(self) -> None:
        check_metrics(self.metrics or ["exact_match"])


def main() -> None:
    """Read the pairs, align them, train, fit the confidence, score, save."""
    dataclasses = (DataArguments, LetterArguments, EncoderArguments, RecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="portuguese_phones.yaml")
    data, letters, sizes, training = options
    run = start_run(*options)
    if data.streaming:
        raise SystemExit("--streaming: all training pairs are aligned before training; leave it out.")
    check_metric(training, ["word_error_rate"])
    rows = load_rows(data, training, LETTER_PAIRS)
    own = list(rows["train"])
    if letters.further_file:
        further = load_file(letters.further_file, data, training, LETTER_PAIRS)
        rows["train"] = datasets.concatenate_datasets([rows["train"], further])
    train = list(rows["train"])
    if training.process_index == 0:
        print(f"Aligning {len(train):,} words with their targets …", flush=True)
    alignment = Alignment(train, letters.target_separator, letters.min_piece_count)
    aligned = {"train": alignment.aligned, "validation": alignment.align(rows["validation"])}
    for name, of_split in aligned.items():
        if not of_split:
            raise SystemExit(f"Found no pair of {name} that aligns; expected targets in the order of their letters.")
        if training.process_index == 0:
            left_out = len(rows[name]) - len(of_split)
            print(f"{name}: {left_out:,} of {len(rows[name]):,} pairs do not align, and are left out", flush=True)
    tags = distinct_names(chain(*rows.values()), "tags")
    marks = choose_marks(tags, chain(*(row["source"] for row in chain(*rows.values()))))
    scored_by = {"metrics": letters.metrics, "several_targets": letters.several_targets}
    task = LetterTask(
        **scored_by,
        target_separator=letters.target_separator,
        tag_characters=marks,
        unique_unit=letters.unique_unit,
        unique_unit_counts=count_unit(train, letters.unique_unit, letters.target_separator),
        absent_units=absent_units(train, letters.target_separator),
    )
    variants = {**{mark: [""] for mark in marks.values()}, **alignment.variants()}
    labels = sorted({piece for of_letter in variants.values() for piece in of_letter})
    tokenizer, model = load_or_create(
        sizes,
        LetterTask.kind,
        "encoder",
        (task.mark(row) for row in train),
        **label_options(labels),
        character_variants=variants,
        window_length=sizes.max_length - 2,
        # Restoration gives each character a segment, here the same; a saved encoder keeps its own.
        **({"type_vocab_size": 1} if sizes.model_name_or_path is None else {}),
    )
    if writes_units(vars(model.config)):  # a saved tagger keeps its own
        task = LetterTask(model.config.to_dict(), **scored_by)
        if unknown := ", ".join(sorted(marks.keys() - task.marks.keys())):
            raise SystemExit(
                f"--model_name_or_path {sizes.model_name_or_path}: found a tagger without the tags {unknown}; "
                "expected an encoder of pretrain_masked.py, or a tagger that has them"
            )
        if task.options["target_separator"] != letters.target_separator:
            raise SystemExit(
                f"--target_separator {letters.target_separator!r}: the saved tagger has "
                f"{task.options['target_separator']!r}; expected the same"
            )
    model.config.task_specific_params = task.task_specific_params
    ends = tokenizer.bos_token_id, tokenizer.eos_token_id
    splits = {name: rows[name] for name in SPLITS}
    length = model.config.window_length + len(ends)
    report = report_rows(splits, training, ["source"], tokenizer, max_length=length, inputs=[["tags", "source"]])
    made, known = {}, model.config.character_variants
    for name, of_split in aligned.items():
        kept = [
            each
            for each in task.with_pieces(of_split)
            if all(piece in known.get(letter, ()) for letter, piece in zip(each["text"], each["pieces"]))
        ]
        if not kept:
            raise SystemExit(f"{name}: found no pair whose letters and units the saved tagger has.")
        if training.process_index == 0 and (lost := len(of_split) - len(kept)):
            print(f"{name}: {lost:,} pairs need what the saved tagger does not have, and are left out", flush=True)
        made[name] = datasets.Dataset.from_list(kept, FEATURES)
    restorer = CharacterRestorer(model, tokenizer)
    encode = partial(encode_letters, codes=restorer.codes, ends=ends)
    encoded = encode_rows(made, training, encode, data.preprocessing_num_workers) | {"test": rows["test"]}
    collator = DataCollatorForTokenClassification(tokenizer)
    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, score_words, best_classes)
    trainer.fit(run)

    restorer = CharacterRestorer(trainer.model, tokenizer)  # a new one: the model has to leave the mode of training
    fitted = list(made["validation"])
    pieces = [piece for row in fitted for piece in row["pieces"]]
    details: dict[str, Any] = {"temperature": fit_confidence(restorer, [row["text"] for row in fitted], pieces)}
    tests = {name: task.prepare(of_split) for name, of_split in rows.items() if name not in ("train", "validation")}
    started = time.perf_counter()
    tagger = LetterTagger(restorer)
    written = {
        name: tagger.write_tagged(*zip(*((row["source"], [tag[1:-1] for tag in row["tags"]]) for row in of_test)))
        for name, of_test in tests.items()
    }
    details["words_per_second"] = sum(map(len, tests.values())) / (time.perf_counter() - started)
    if letters.further_file:
        alignment = Alignment(own, letters.target_separator, letters.min_piece_count)
    baselines = task.baselines(own, aligned=alignment.aligned)
    answers = {
        name: task.with_baselines(of_test, [tagger.join(each.units) for each in written[name]], baselines)
        for name, of_test in tests.items()
    }
    test, output = tests["test"], answers["test"]["model"]
    confidence = np.exp([each.log_probability for each in written["test"]])
    exact = PairTask(metrics=["exact_match"])
    is_right = np.array([exact.score([row], [text])["exact_match"] for row, text in zip(test, output)]) == 1
    details["word_confidence"] = {
        str(least): summarize_confidence(confidence, is_right, least) for least in (0.9, 0.99)
    }
    save_tests(trainer, task.score, tests, answers, details=details, about=describe_data(data, report))
    if trainer.is_world_process_zero():
        report_outputs(details, test, output)
    report_saved(trainer)


def score_words(evaluated: EvalPrediction) -> dict[str, float]:
    """Return the share of words with a wrong label."""
    labelled = evaluated.label_ids != -100
    wrong = (evaluated.predictions != evaluated.label_ids) & labelled
    return {"word_error_rate": float(wrong.any(1).mean())}


if __name__ == "__main__":
    run_recipe(main)
