"""The data report: what a person should know of the rows before a model is trained on them."""

import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy
from datasets import Dataset, IterableDataset
from tokenizers import normalizers
from transformers import PreTrainedTokenizerBase

STREAMED_ROWS = 10_000  # how far into a streamed data set the report looks
_BATCH = 256
_OUTSIDERS_SHOWN = 20
_NFC, _NFD = normalizers.NFC(), normalizers.NFD()  # the tokenizer's tables, which are not Python's

Batch = Mapping[str, Sequence[Any]]
"""A column's values under its name, all of one length."""


class LongRow(NamedTuple):
    """A row of which an input is longer than the limit: its index from 0, and the input's length in tokens."""

    index: int
    length: int


@dataclass
class SplitReport:
    """What was counted in one split. Characters are code points after NFC.

    Attributes:
        rows: rows looked at.
        is_sample: whether they are only the first of a streamed split.
        lengths: for each column the length in characters of each of its texts.
        forms: rows with all texts in `NFC` (as ASCII is), else with all in `NFD`, else `mixed`.
        outsiders: each character outside the tokenizer's alphabet, and the number of rows that hold it.
        rows_with_outsiders: rows that hold any.
        rows_too_long: rows of which an input has more tokens than the limit.
        first_too_long: the first of them.
        keys: for each row a hash of its key.
    """

    rows: int = 0
    is_sample: bool = False
    lengths: defaultdict[str, array] = field(default_factory=lambda: defaultdict(lambda: array("q")))
    forms: Counter[str] = field(default_factory=Counter)
    outsiders: Counter[str] = field(default_factory=Counter)
    rows_with_outsiders: int = 0
    rows_too_long: int = 0
    first_too_long: LongRow | None = None
    keys: array = field(default_factory=lambda: array("q"), repr=False)

    def duplicates(self) -> int:
        """Rows with the key of an earlier row."""
        return self.rows - len(numpy.unique(self.keys))

    def rows_in(self, other: "SplitReport") -> int:
        """Rows with the key of a row of another split."""
        return int(numpy.isin(self.keys, other.keys).sum())

    def quantiles(self, column: str) -> list[int]:
        """Shortest, median, 95th percentile and longest of a column's lengths; nothing if it has no texts."""
        lengths = self.lengths.get(column)
        return numpy.quantile(lengths, [0, 0.5, 0.95, 1], method="inverted_cdf").tolist() if lengths else []


@dataclass(frozen=True)
class Report:
    """The reports of all splits; `str(report)` is a table to print.

    Attributes:
        splits: by name, in the order given.
        key: the columns that tell whether two rows are the same.
        max_length: the most tokens of an input, or None.
    """

    splits: dict[str, SplitReport]
    key: tuple[str, ...]
    max_length: int | None

    def check_lengths(self) -> None:
        """Stop before training if an input is longer than the model takes.

        Raises:
            ValueError: a split has a `first_too_long`; the message says which, how many there are and what to do.
        """
        for name, split in self.splits.items():
            if split.first_too_long:
                index, length = split.first_too_long
                raise ValueError(
                    f"{name}, row {index}: found {length:,} tokens in an input; expected at most "
                    f"{self.max_length:,}, as in all but {split.rows_too_long:,} of the {split.rows:,} rows: "
                    "shorten or split the texts, or make a model with a higher limit"
                )

    def __str__(self) -> str:
        splits, same = self.splits.values(), ", ".join(self.key)
        table = [
            ["", *self.splits],
            ["rows", *(f"{split.rows:,}" for split in splits)],
            [f"  same {same} as an earlier row", *(_share(split.duplicates(), split) for split in splits)],
        ]
        if (train := self.splits.get("train")) and len(splits) > 1:
            shares = ("–" if split is train else _share(split.rows_in(train), split) for split in splits)
            table.append([f"  same {same} as a row of train", *shares])
        if self.max_length is not None:
            shares = (_share(split.rows_too_long, split) for split in splits)
            table.append([f"  longer than {self.max_length:,} tokens", *shares])
        forms = (_figures(split.forms[form] for form in ("NFC", "NFD", "mixed")) for split in splits)
        table += [["  in NFC · in NFD · mixed", *forms], ["characters: shortest · median · 95 % · longest"]]
        for column in dict.fromkeys(chain(*(split.lengths for split in splits))):
            table.append([f"  {column}", *(_figures(split.quantiles(column)) for split in splits)])
        shares = (_share(split.rows_with_outsiders, split) for split in splits)
        table.append(["rows with characters outside the alphabet", *shares])
        counts = sum((split.outsiders for split in splits), Counter())
        outsiders = sorted(counts, key=lambda character: (-counts[character], character))
        for character in outsiders[:_OUTSIDERS_SHOWN]:
            table.append([f"  {_describe(character)}", *(f"{split.outsiders[character]:,}" for split in splits)])
        if len(outsiders) > _OUTSIDERS_SHOWN:
            table.append([f"  and {len(outsiders) - _OUTSIDERS_SHOWN:,} other characters"])
        lines = _align(table)
        if outsiders:
            lines.append("Characters outside the alphabet are read and written as their bytes in UTF-8: none is lost.")
        for name, split in self.splits.items():
            if split.is_sample:
                lines.append(f"{name} is streamed: this is about its first {split.rows:,} rows.")
        return "\n".join(lines)


def report(
    splits: Mapping[str, Dataset | IterableDataset],
    columns: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None,
    key: Sequence[str] | None = None,
    inputs: Sequence[Sequence[str]] | None = None,
) -> Report:
    """Look at every row once, in batches, keeping of each its lengths and a hash of its key.

    Args:
        splits: the data by split; `train` is what the others are compared with. Of a streamed split only the first
            `STREAMED_ROWS` rows are looked at.
        columns: those of texts, or of lists of words, which are joined by spaces. A text may be None.
        tokenizer: its tokens of one character are the alphabet.
        max_length: the most tokens of an input, special tokens included; None for no limit.
        key: the columns that tell whether two rows are the same, compared after NFC: of texts, or of lists of words;
            all of `columns` unless given.
        inputs: the columns of each sequence that the model reads, as `[["tags", "source"], ["target"]]` or
            `[["text", "text_pair"]]`: one or two of `columns`, and others, which are lists of tokens. Unless given,
            each of `columns` is an input by itself.

    Returns:
        what was counted. Keys are compared by hashes of 64 bits: below some 10⁸ rows no two are likely to collide.
    """
    key = tuple(columns if key is None else key)
    inputs = [[column] for column in columns] if inputs is None else inputs
    alphabet = {token for token in tokenizer.get_vocab() if len(token) == 1}
    reports = {}
    for name, dataset in splits.items():
        split = reports[name] = SplitReport()
        rows = dataset.select_columns(sorted({*columns, *key, *chain(*inputs)}))
        if isinstance(rows, IterableDataset):
            rows = rows.take(STREAMED_ROWS)
        for batch in rows.iter(_BATCH):
            given = {column: [_as_text(value) for value in batch[column]] for column in {*columns, *key}}
            normal = {column: [text and _NFC.normalize_str(text) for text in given[column]] for column in given}
            texts = {column: normal[column] for column in columns}
            _measure(split, texts)
            _count_forms(split, given, texts)
            _find_outsiders(split, texts, alphabet)
            if max_length is not None:
                _find_long_rows(split, batch, texts, inputs, tokenizer, max_length)
            split.keys.extend(map(hash, zip(*(normal[column] for column in key))))
            split.rows = len(split.keys)
        split.is_sample = isinstance(rows, IterableDataset) and split.rows == STREAMED_ROWS
    return Report(reports, key, max_length)


def _as_text(value: str | Sequence[str] | None) -> str | None:
    return value if value is None or isinstance(value, str) else " ".join(value)


def _measure(split: SplitReport, texts: Batch) -> None:
    for column, values in texts.items():
        split.lengths[column].extend(len(text) for text in values if text is not None)


def _count_forms(split: SplitReport, given: Batch, texts: Batch) -> None:
    for row, in_nfc in zip(zip(*(given[column] for column in texts)), zip(*texts.values())):
        if row == in_nfc:
            split.forms["NFC"] += 1
        else:
            is_nfd = all(text is None or _NFD.normalize_str(text) == text for text in row)
            split.forms["NFD" if is_nfd else "mixed"] += 1


def _find_outsiders(split: SplitReport, texts: Batch, alphabet: set[str]) -> None:
    rows = ["".join(filter(None, row)) for row in zip(*texts.values())]
    if outsiders := set("".join(rows)) - alphabet:  # most batches have none
        for row in rows:
            found = outsiders.intersection(row)
            split.outsiders.update(found)
            split.rows_with_outsiders += bool(found)


def _find_long_rows(
    split: SplitReport,
    batch: Batch,
    texts: Batch,
    inputs: Sequence[Sequence[str]],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
) -> None:
    special = tokenizer.num_special_tokens_to_add(pair=True)
    for index in range(len(next(iter(texts.values())))):
        longest = 0
        for columns in inputs:
            parts = [texts[column][index] for column in columns if column in texts]
            parts = [text for text in parts if text is not None]
            tokens = sum(len(batch[column][index]) for column in columns if column not in texts)
            # No text has more tokens than bytes: the tokenizer is asked only about those that could be too long.
            if sum(len(text.encode()) for text in parts) + special + tokens > max_length:
                longest = max(longest, len(tokenizer(*parts, verbose=False).input_ids) + tokens)
        if longest > max_length:
            split.rows_too_long += 1
            split.first_too_long = split.first_too_long or LongRow(split.rows + index, longest)


def _share(count: int, split: SplitReport) -> str:
    if not count:
        return "0"
    share = count / split.rows
    return f"{count:,} ({f'{share:.1%}' if share >= 0.0005 else '<0.1%'})"


def _figures(numbers: Iterable[int]) -> str:
    return " · ".join(f"{number:,}" for number in numbers)


def _describe(character: str) -> str:
    """`‘ø’ U+00F8 LATIN SMALL LETTER O WITH STROKE`; what cannot be printed is only named."""
    is_mark = unicodedata.category(character).startswith("M")
    shown = f"\u25cc{character}" if is_mark else character  # a mark stands on a dotted circle
    name = unicodedata.name(character, "(no name)")
    return f"{f'‘{shown}’ ' if character.isprintable() else ''}U+{ord(character):04X} {name}"


def _align(table: Sequence[Sequence[str]]) -> list[str]:
    """Lines of the table, its first column to the left and the others to the right; rows may stop early."""
    titles, *columns = zip_longest(*table, fillvalue="")
    aligned = [[title + " " * (max(map(_width, titles)) - _width(title)) for title in titles]]
    aligned += [[cell.rjust(max(map(len, column))) for cell in column] for column in columns]
    return ["   ".join(cells).rstrip() for cells in zip(*aligned)]


def _width(text: str) -> int:
    """Places that a terminal takes: none for a mark above or below a letter, two for an ideograph."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
