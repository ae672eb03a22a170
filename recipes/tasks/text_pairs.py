"""Pairs of a query and the text that it is to find: from tables, questions and neighbouring sentences."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from accelerate import PartialState
from datasets import Dataset

from atenta.recipes.reading.file_formats import read_squad
from atenta.recipes.reading.records import BadRow, Record, expect_any, good_rows
from atenta.recipes.reading.splits import format_of_texts
from atenta.recipes.samples.registry import SAMPLES
from atenta.recipes.tasks.documents import cut_sentences, read_documents

_SHORTEST_SENTENCE = 30  # characters; shorter ones are headings, abbreviations and answers such as `Sim.`
_SET_ASIDE = 0.2  # share of the training passages that validates if the validation rows are the test rows


def _questions(path: str) -> Iterator[Record | BadRow]:
    """Yield the questions of a SQuAD file, each with its context."""
    for record in read_squad(path):
        if not isinstance(record, BadRow):
            place, fields = record
            record = place, {"anchor": fields["question"], "positive": fields["context"]}
        yield record


def _sentences(path: str) -> Iterator[Record | BadRow]:
    """Return each sentence of a text with the next one of its paragraph."""

    def pairs() -> Iterator[Record | BadRow]:
        for record in read_documents(path, "paragraph"):
            if isinstance(record, BadRow):
                yield record
                continue
            place, fields = record
            yield from ((place, {"anchor": one, "positive": other}) for one, other in _neighbours(fields["text"]))

    problem = f"{path}: found no paragraph of two sentences of {_SHORTEST_SENTENCE} characters; expected at least one"
    return expect_any(pairs(), problem)


def _neighbours(paragraph: str) -> list[tuple[str, str]]:
    """Return each sentence of a paragraph with the next one, if both are long enough. Line ends become spaces."""
    sentences = [" ".join(sentence.split()) for _, sentence in cut_sentences(paragraph)]
    return [pair for pair in pairwise(sentences) if min(map(len, pair)) >= _SHORTEST_SENTENCE]


TEXT_PAIRS = format_of_texts(  # a query, and the text that it is to find
    "anchor", "positive", readers={".json": _questions, ".txt": _sentences}, together="positive"
)


def set_aside_validation(splits: Mapping[str, Dataset], seed: int) -> dict[str, Dataset]:
    """Return the splits, with a validation split of their own if the validation rows are also the test rows.

    What is chosen by validation, the best checkpoint and the weights of combinations, must not have seen the test. So
    the rows of a fifth of the training passages, drawn at random, are for validation and not for training. This is
    printed.
    """
    splits = dict(splits)
    if splits["test"] is not splits["validation"]:
        return splits
    positives = sorted(set(splits["train"]["positive"]))
    chosen = set(random.Random(seed).sample(positives, max(1, round(_SET_ASIDE * len(positives)))))
    is_chosen = [positive in chosen for positive in splits["train"]["positive"]]
    splits["validation"] = splits["train"].select(np.flatnonzero(is_chosen))
    splits["train"] = splits["train"].select(np.flatnonzero(np.logical_not(is_chosen)))
    if not len(splits["train"]):
        raise SystemExit("found one passage to train on; expected two or more, or a --test_file")
    if PartialState().is_main_process:
        print(
            f"The validation rows are the test rows, so {len(splits['validation']):,} training rows, those of "
            f"{len(chosen):,} passages, are for validation instead (--test_file names test rows)."
        )
    return splits


def read_neighbours(names: Sequence[str], held_out: str, count: int, seed: int) -> Dataset:
    """Return neighbouring sentences of texts as rows, at most `count` of them, drawn at random.

    Args:
        names: txt files, whose paragraphs are between blank lines; or samples of texts, whose lines are paragraphs.
        held_out: Text whose sentences are left out: the passages of validation and test.
        count: Maximum number of rows.
        seed: Decides which are drawn.

    Raises:
        ValueError: If a name is neither, a text is malformed, or there are no neighbours.
        OSError: If a file cannot be read.
    """
    pairs: dict[tuple[str, str], None] = {}
    for name in names:
        if Path(name).suffix == ".txt":
            for _, row in good_rows(_sentences(name), TEXT_PAIRS.check):
                pairs[row["anchor"], row["positive"]] = None
        elif (sample := SAMPLES.get(name)) and sample.rows and "text" in sample.columns:
            lines = (line for row in sample.rows()["train"] for line in row["text"].split("\n"))
            pairs |= dict.fromkeys(pair for line in lines for pair in _neighbours(line))
        else:
            raise ValueError(f"{name}: found no sample of texts; expected a txt file, or a sample, such as novels")
    known = " ".join(held_out.split())
    drawn = random.Random(seed).sample(list(pairs), len(pairs))
    kept = list(islice((pair for pair in drawn if not any(sentence in known for sentence in pair)), count))
    if not kept:
        raise ValueError(f"{', '.join(names)}: found no two neighbouring sentences; expected at least two")
    return Dataset.from_list([TEXT_PAIRS.check({"anchor": a, "positive": b}) for a, b in kept], TEXT_PAIRS.features)
