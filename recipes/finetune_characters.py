# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Train an encoder to restore what a text has lost, character by character: accents, capitals, signs.

By default it restores the accents of Portuguese. With --train_file and --validation_file it trains on your own pairs
(`source<TAB>target`), of equal length except for signs that only the target has before white space; with --strip it
trains on texts alone, from which it makes the sources. A tagger can only change characters into what training has seen
them become, so the text itself cannot be corrupted, however long it is.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import ne
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import DataCollatorForTokenClassification, EvalPrediction, PreTrainedModel, PreTrainedTokenizerBase

from atenta.engines.saved_model import find_model, load_config
from atenta.engines.saved_tensors import let_others_read
from atenta.recipes.option_annotations import FROM_1, Mark, one_of
from atenta.recipes.pictures.run_charts import draw_reliability
from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.records import BadRow, exit_on, printable, read_lines
from atenta.recipes.reading.splits import Rows
from atenta.recipes.samples.files import SPLITS, sample_files
from atenta.recipes.samples.registry import SAMPLES
from atenta.recipes.tasks.characters import (
    CHARACTER_PAIRS,
    FEATURES,
    STRIPPED,
    RestorationTask,
    check_strippable,
    count_errors,
    count_variants,
    encode_windows,
    keeps_characters,
    restores_no_case,
    restores_signs,
    strip_texts,
    vary_case,
)
from atenta.recipes.tasks.documents import DOCUMENTS, DocumentArguments, load_documents
from atenta.recipes.tasks.punctuation import lower_sentence_starts, split_pieces, vary_styles
from atenta.recipes.training.confidence import fit_confidence, report_outputs, summarize_confidence
from atenta.recipes.training.logit_reductions import best_classes
from atenta.recipes.training.models import label_options, load_or_create
from atenta.recipes.training.options import EncoderArguments, RecipeArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import compare_by_group, report_saved, save_tests
from atenta.recipes.training.runs import run_recipe, start_run
from atenta.recipes.training.trainer import RecipeTrainer, check_metric
from atenta.restoration.character_codes import NO_CHOICE, CharacterCodes, base_characters, load_spellings
from atenta.restoration.restorer import CharacterRestorer
from atenta.restoration.spellings import WORD, Spellings
from atenta.restoration.window_reader import RestoredText

_SPELLINGS_FILE = "spellings.txt"
_SURE = 0.95  # probability, before it is calibrated, from which a word by itself needs no list


@dataclass
class CharacterArguments:
    """The characters that are restored."""

    _argument_group_name = "characters"

    strip: Annotated[
        list[str], one_of(STRIPPED), f"make the sources from texts alone, without some of {', '.join(STRIPPED)}"
    ] = field(default_factory=list)
    min_variant_count: Annotated[int, FROM_1, "lowest count, in training, of what a character may become"] = 1
    min_character_count: Annotated[int, FROM_1, "lowest count of a character of the alphabet"] = 1
    spellings: Annotated[bool, "give the model the most frequent spelling of each word to start from"] = True
    min_spelling_count: Annotated[
        int, FROM_1, "words that occur fewer times in training are read there as if they were unknown"
    ] = 3
    word_list: Annotated[
        str | None,
        Mark.AFTER_TRAINING,
        "file of words, one on each line; those that training lacks are added to the spellings if the model spells "
        "them differently or is unsure of them; null: the list of the sample, if it has one",
    ] = None
    half_precision: Annotated[bool, Mark.AFTER_TRAINING, "save all weights except the head's in 16 bits"] = False


def main() -> None:
    """Read the texts, train, fit the confidence, score, save."""
    dataclasses = (DocumentArguments, CharacterArguments, EncoderArguments, RecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="portuguese_accents.yaml")
    run = start_run(*options)
    data, characters, sizes, training = options
    if sizes.max_length < 3:
        raise SystemExit(
            f"--max_length {sizes.max_length}: expected 3 or more, for a character and two special tokens."
        )
    check_metric(training, ["choice_error_rate"])
    words = _read_words(data, characters)
    rows = _load_pairs(data, characters, training)
    with exit_on(ValueError):
        variants, rare = count_variants(rows["train"], characters.min_variant_count)
    if rare and training.process_index == 0:
        counted = printable(", ".join(f"{variant} ({count:,})" for variant, count in rare.items()))
        print(
            f"Rarer in training than --min_variant_count {characters.min_variant_count}: {counted}. They are never "
            "made, and where they belong there is no choice to score.\n",
            flush=True,
        )
    tokenizer, model = _create_tagger(sizes, characters, rows["train"], variants)
    variants = model.config.character_variants  # a saved tagger keeps its own
    task = RestorationTask(model.config.to_dict(), strip=characters.strip, sample_by=data.sample_by)
    model.config.task_specific_params = task.task_specific_params
    for name in ("validation", "test"):
        if not any(each in variants for row in rows[name] for each in row["source"]):
            raise SystemExit(f"Found none of {''.join(variants)} in the sources of {name}; expected some to score.")
    bases = base_characters(variants)
    fold_case = restores_no_case(bases.items())
    if characters.word_list and not (fold_case and model.config.spellings_file):
        raise SystemExit(
            f"--word_list {characters.word_list}: expected a model that restores no capitals, and --spellings true; "
            "leave it out."
        )
    report = report_rows({name: rows[name] for name in SPLITS}, training, ["source"], tokenizer)

    spellings = learned = None
    if model.config.spellings_file:
        texts = rows["train"]["target"]
        if not fold_case:  # a capital at the start of a sentence says nothing about the word
            texts = map(lower_sentence_starts, texts)
        count = partial(Spellings.from_texts, bases, list(texts), fold_case=fold_case)
        learned = count(min_count=characters.min_spelling_count)
        saved = sizes.model_name_or_path  # a saved tagger keeps its own
        spellings = (load_spellings(load_config(find_model(saved))) if saved else None) or count()
    restorer = CharacterRestorer(model, tokenizer, spellings)
    vary = vary_styles if restores_signs(variants) else vary_case if fold_case else None
    codes = CharacterCodes(tokenizer, model.config, learned)
    encoded = _encode(rows, training, restorer, codes, vary, data.preprocessing_num_workers)
    collator = DataCollatorForTokenClassification(tokenizer)
    trainer = RecipeTrainer(model, training, tokenizer, encoded, collator, score_labels, best_classes)
    trainer.fit(run)

    # A new one, because LoRA is merged now, and the model has to leave the mode of training.
    restorer = CharacterRestorer(trainer.model, tokenizer, spellings)
    tests = {name: list(of_split) for name, of_split in rows.items() if name not in ("train", "validation")}
    details: dict[str, Any] = {}
    if words and spellings is not None:
        added = doubtful_words(restorer, spellings, words)
        details["listed_words"] = {"read": len(words), "added": len(added)}
        spellings = spellings.with_words(added)
        restorer = CharacterRestorer(trainer.model, tokenizer, spellings)
    if characters.half_precision:
        details["rounding"] = round_weights(restorer, [row["source"] for row in tests["test"]])
    validation = rows["validation"]
    details["temperature"] = fit_confidence(
        restorer,
        validation["source"],
        [piece for pair in zip(validation["source"], validation["target"]) for piece in split_pieces(*pair)],
    )
    started = time.perf_counter()
    restored = {name: restorer.restore([row["source"] for row in of_test]) for name, of_test in tests.items()}
    length = sum(len(row["source"]) for of_test in tests.values() for row in of_test)
    details["characters_per_second"] = length / (time.perf_counter() - started)
    baselines = task.baselines(rows["train"], fold_case)
    answers = {
        name: task.with_baselines(of_test, [each.text for each in restored[name]], baselines)
        for name, of_test in tests.items()
    }
    test, output = tests["test"], answers["test"]["model"]
    confidence, is_right = confidence_of_choices(restorer, test, restored["test"])
    details["confidence"] = {str(least): summarize_confidence(confidence, is_right, least) for least in (0.9, 0.99)}
    if spellings is not None and not restores_signs(variants):
        details["wrong_words"] = count_errors(test, output, spellings)

    def complete(folder: Path) -> None:
        if characters.half_precision:
            halve_weights(folder / "model.safetensors")
        draw_reliability(confidence, is_right, "characters with a choice").savefig(folder / "reliability.png", dpi=150)

    save_tests(
        trainer,
        task.score,
        tests,
        answers,
        by_domain=_compare_by_domain(task.score, tests, answers),
        details=details,
        about=describe_data(data, report),
        complete=complete,
    )
    if trainer.is_world_process_zero():
        report_outputs(details, test, output)
    report_saved(trainer)


def score_labels(evaluated: EvalPrediction) -> dict[str, float]:
    """Return the share of wrong labels, where there is one."""
    labelled = evaluated.label_ids != -100
    return {"choice_error_rate": float((evaluated.predictions != evaluated.label_ids)[labelled].mean())}


def round_weights(restorer: CharacterRestorer, texts: Sequence[str]) -> dict[str, int]:
    """Round all weights but the head's to half precision, in place; return how many characters of texts that changed.

    The weights stay in single precision.
    """
    before = [piece for each in restorer.restore(texts) for piece in each.pieces]
    head = {id(parameter) for parameter in restorer.model.classifier.parameters()}
    with torch.no_grad():
        for parameter in restorer.model.parameters():
            if id(parameter) not in head:
                parameter.copy_(parameter.half())
    after = [piece for each in restorer.restore(texts) for piece in each.pieces]
    return {"characters": len(after), "changed": sum(map(ne, before, after))}


def halve_weights(path: Path) -> None:
    """Store the rounded weights of a saved model in half precision. The configuration says what they are loaded as."""
    tensors = load_file(path)
    save_file(
        {name: each if name.startswith("classifier.") else each.half() for name, each in tensors.items()},
        path,
        metadata={"format": "pt"},
    )
    let_others_read(path)


def doubtful_words(restorer: CharacterRestorer, spellings: Spellings, words: Iterable[str]) -> dict[str, str]:
    """Return the words of a list that the spellings lack and that a tagger needs, by the bare word.

    It spells them otherwise, or is not sure of them, when it reads each by itself.
    """
    lacking = spellings.lacks(words)
    restored = restorer.restore(list(lacking))
    return {
        bare: word
        for (bare, word), each in zip(lacking.items(), restored)
        if each.text != word or each.probabilities.min() < _SURE
    }


def confidence_of_choices(
    restorer: CharacterRestorer, rows: Sequence[Mapping[str, Any]], restored: Sequence[RestoredText]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of each character that has a choice, and whether it is right, (choices,) each."""
    decided = np.concatenate([restorer.codes.choices(row["source"]) != NO_CHOICE for row in rows])
    wanted = (split_pieces(row["source"], row["target"]) for row in rows)
    is_right = np.array(
        [mine == gold for each, of_row in zip(restored, wanted) for mine, gold in zip(each.pieces, of_row)]
    )
    return np.concatenate([each.probabilities for each in restored])[decided], is_right[decided]


def _compare_by_domain(
    score: Callable[..., dict[str, float]],
    tests: Mapping[str, Sequence[Mapping[str, Any]]],
    answers: Mapping[str, Mapping[str, Sequence[str]]],
) -> dict[str, dict[str, Any]]:
    """Return the scores of each domain of the test, and of the domains that only further tests have."""
    domains = {row["domain"] for row in tests["test"]}
    places = [
        (name, index)
        for name, rows in tests.items()
        for index, row in enumerate(rows)
        if name == "test" or row["domain"] not in domains
    ]
    rows = [tests[name][index] for name, index in places]
    chosen = {kind: [answers[name][kind][index] for name, index in places] for kind in answers["test"]}
    return compare_by_group(score, rows, chosen, [row["domain"] or "all" for row in rows])


def _load_pairs(data: DocumentArguments, characters: CharacterArguments, training: RecipeArguments) -> dict[str, Rows]:
    """Read pairs, or make them from texts."""
    if characters.strip and not data.named():
        raise SystemExit(
            f"--strip {' '.join(characters.strip)} makes pairs of your own texts: name them with --train_file and "
            "--validation_file, or --dataset_name."
        )
    if not characters.strip:
        return load_rows(data, training, CHARACTER_PAIRS)
    check = partial(check_strippable, strip=characters.strip)
    texts = load_documents(data, training, replace(DOCUMENTS, check=check))
    strip = partial(strip_texts, strip=characters.strip)
    return encode_rows(texts, training, strip, data.preprocessing_num_workers, features=FEATURES)


def _read_words(data: DocumentArguments, characters: CharacterArguments) -> list[str]:
    """Return the words of the list that is named, or else of that of the sample, which has one in each line."""
    path, words = characters.word_list, []
    sample = None if path or data.named() else SAMPLES.get(data.sample or "")
    with exit_on(ValueError, OSError, prefix="--word_list " * bool(path)):
        if sample and sample.word_list:
            path = str(sample_files("", sample.word_list)[0])
        if path is None:
            return []
        for number, line in read_lines(path):
            if isinstance(line, BadRow):
                raise line
            if not WORD.fullmatch(word := unicodedata.normalize("NFC", line.strip())):
                raise BadRow(f"{path}, line {number}", f"found {line:.80}; expected one word of letters and digits")
            words.append(word)
    return words


def _create_tagger(
    sizes: EncoderArguments, characters: CharacterArguments, rows: Rows, variants: Mapping[str, str | list[str]]
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel | PeftModel]:
    """Create or load the tokenizer and the model, which knows the characters that it may change."""
    labels = sorted({variant for of_it in variants.values() for variant in of_it})
    head = {
        "character_variants": dict(variants),
        "spellings_file": _SPELLINGS_FILE if characters.spellings else None,
        "window_length": sizes.max_length - 2,
        "type_vocab_size": 2,  # words with and without other spellings
    }
    texts = (row[column] for row in rows for column in ("source", "target"))
    with exit_on(ValueError, prefix=f"--min_character_count {characters.min_character_count}: "):
        tokenizer, model = load_or_create(
            sizes,
            RestorationTask.kind,
            "encoder",
            texts,
            min_count=characters.min_character_count,
            **label_options(labels),
            **head,
        )
    saved = getattr(model.config, "character_variants", None) or {"": []}
    if not all(keeps_characters(*each) for each in saved.items()):
        raise SystemExit(
            f"--model_name_or_path {sizes.model_name_or_path} has no character_variants that keep their characters; "
            "expected an encoder of pretrain_masked.py, or a model of this recipe"
        )
    return tokenizer, model


def _encode(
    rows: Mapping[str, Rows],
    training: RecipeArguments,
    restorer: CharacterRestorer,
    learned: CharacterCodes,
    vary: Callable[..., dict[str, list[str]]] | None,
    num_proc: int | None,
) -> dict[str, Rows]:
    """Encode the windows of training, in which some words count as unknown, and of validation; not the test."""
    ends = restorer.tokenizer.bos_token_id, restorer.tokenizer.eos_token_id
    encode = partial(encode_windows, ends=ends, length=restorer.model.config.window_length)
    train = {"train": rows["train"]}
    if vary is not None:
        train = encode_rows(train, training, partial(vary, seed=training.seed), num_proc, features=FEATURES)
    validation = {"validation": rows["validation"]}
    return {
        **encode_rows(train, training, partial(encode, codes=learned, seed=training.seed), num_proc),
        **encode_rows(validation, training, partial(encode, codes=restorer.codes), num_proc),
        "test": rows["test"],
    }


if __name__ == "__main__":
    run_recipe(main)
