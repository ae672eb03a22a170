"""A report on rows before training: lengths, duplicates, normal forms and characters outside the alphabet."""

import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

import numpy
from datasets import Dataset, IterableDataset
from tokenizers import normalizers
from transformers import PreTrainedTokenizerBase

_STREAMED_ROWS = 10_000  # rows of a streamed split that are counted
_BATCH = 256
_OUTSIDERS_SHOWN = 20
_SHOWN_CHARACTERS = 40  # of a row that is refused
_NFC, _NFD = normalizers.NFC(), normalizers.NFD()  # their Unicode tables may differ from Python's


def build_report(
    splits: Mapping[str, Dataset | IterableDataset],
    columns: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None,
    inputs: Sequence[Sequence[str]] | None = None,
) -> "Report":
    """Return a report on the rows; the arguments are those of `report_rows`.

    Each row is read once, in batches; only its lengths and a 64-bit hash are kept, by which rows are compared: below
    some 10⁸ rows a collision is unlikely.
    """
    inputs = [[column] for column in columns] if inputs is None else inputs
    alphabet = {token for token in tokenizer.get_vocab() if len(token) == 1}
    special = tokenizer.num_special_tokens_to_add(pair=True)
    reports = {}
    for name, dataset in splits.items():
        split = reports[name] = SplitReport()
        rows = dataset.select_columns(sorted({*columns, *chain(*inputs)}))
        if isinstance(rows, IterableDataset):
            rows = rows.take(_STREAMED_ROWS)
        for batch in rows.iter(_BATCH):
            for values in zip(*batch.values()):
                row = dict(zip(batch, values))
                texts = split.count({column: _as_text(row[column]) for column in columns}, alphabet)
                if max_length is not None:
                    length = _longest_input({**row, **texts}, columns, inputs, tokenizer, max_length - special)
                    if length > max_length:
                        split.rows_too_long += 1
                        text = next(filter(None, texts.values()), "")
                        split.first_too_long = split.first_too_long or (split.rows - 1, length, text)
        split.is_sample = isinstance(rows, IterableDataset) and split.rows == _STREAMED_ROWS
    return Report(reports, tuple(columns), max_length)


@dataclass
class SplitReport:
    """The counts of a split. Characters are code points after NFC."""

    rows: int = 0
    is_sample: bool = False  # whether these are only the first rows of a streamed split
    lengths: defaultdict[str, array] = field(default_factory=lambda: defaultdict(lambda: array("q")))  # by column
    forms: Counter[str] = field(default_factory=Counter)  # rows all in `NFC`, or else all in `NFD`, or else `mixed`
    outsiders: Counter[str] = field(default_factory=Counter)  # rows with each character outside the alphabet
    rows_with_outsiders: int = 0
    characters_outside: int = 0  # in all rows
    rows_too_long: int = 0
    first_too_long: tuple[int, int, str] | None = None  # of the first such row: its index, tokens and first text
    hashes: array = field(default_factory=lambda: array("q"), repr=False)

    def count(self, texts: Mapping[str, str | None], alphabet: set[str]) -> dict[str, str | None]:
        """Count a row of texts, all but whether it is too long, and return the texts in NFC."""
        in_nfc = {column: text and _NFC.normalize_str(text) for column, text in texts.items()}
        kept = {column: text for column, text in in_nfc.items() if text is not None}
        for column, text in kept.items():
            self.lengths[column].append(len(text))
        is_nfd = in_nfc != texts and all(not text or _NFD.normalize_str(text) == text for text in texts.values())
        self.forms["NFC" if in_nfc == texts else "NFD" if is_nfd else "mixed"] += 1
        joined = "".join(kept.values())
        if outsiders := set(joined) - alphabet:  # seldom true
            self.outsiders.update(outsiders)
            self.rows_with_outsiders += 1
            self.characters_outside += sum(map(joined.count, outsiders))
        self.hashes.append(hash(tuple(in_nfc.values())))
        self.rows += 1
        return in_nfc

    def duplicates(self) -> int:
        """Return the number of rows that are the same as an earlier one."""
        return self.rows - len(numpy.unique(self.hashes))

    def rows_in(self, other: "SplitReport") -> int:
        """Return the number of rows that are the same as a row of another split."""
        return int(numpy.isin(self.hashes, other.hashes).sum())

    def share_of_rows_inside(self) -> float:
        """Return the share of the rows whose characters are all in the alphabet."""
        return 1 - self.rows_with_outsiders / max(1, self.rows)

    def share_of_characters_inside(self) -> float:
        """Return the share of the characters that are in the alphabet."""
        return 1 - self.characters_outside / max(1, sum(map(sum, self.lengths.values())))

    def quantiles(self, column: str) -> list[int]:
        """Return the shortest, median, 95th percentile and longest length of a column; nothing if it has no texts."""
        lengths = self.lengths.get(column)
        return numpy.quantile(lengths, [0, 0.5, 0.95, 1], method="inverted_cdf").tolist() if lengths else []


@dataclass(frozen=True)
class Report:
    """The reports on all splits; `str(report)` is a table to print."""

    splits: dict[str, SplitReport]
    columns: tuple[str, ...]
    max_length: int | None

    def check_lengths(self) -> None:
        """Check that no input is longer than the model allows; the ValueError names the first row with one."""
        for name, split in self.splits.items():
            if split.first_too_long:
                index, length, text = split.first_too_long
                raise ValueError(
                    f"{name}, row {index}, which begins with {text[:_SHOWN_CHARACTERS]!r}: found "
                    f"{length:,} tokens in an input; expected at most {self.max_length:,}, as in all but "
                    f"{split.rows_too_long:,} of the {split.rows:,} rows: shorten or split the texts, or raise "
                    "--max_length (a saved model with learned positions, or of letters, keeps its own limit)"
                )

    def __str__(self) -> str:
        splits, same = self.splits.values(), ", ".join(self.columns)
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
            lines.append("Characters outside the alphabet are encoded as their bytes in UTF-8; none is lost.")
        for name, split in self.splits.items():
            if split.is_sample:
                lines.append(f"{name} is streamed; its figures are those of the first {split.rows:,} rows.")
        return "\n".join(lines)


def _as_text(value: str | Sequence[str] | None) -> str | None:
    return value if value is None or isinstance(value, str) else " ".join(value)


def _longest_input(
    row: Mapping[str, Any],
    texts: Sequence[str],
    inputs: Sequence[Sequence[str]],
    tokenizer: PreTrainedTokenizerBase,
    most_bytes: int,
) -> int:
    """Return the tokens of the longest input of a row; 0 if none has more bytes than this, and so no more tokens."""
    longest = 0
    for columns in inputs:
        parts = [row[column] for column in columns if column in texts and row[column] is not None]
        tokens = sum(len(row[column]) for column in columns if column not in texts)
        if sum(len(text.encode()) for text in parts) + tokens > most_bytes:
            ids = tokenizer(*parts, split_special_tokens=True, verbose=False).input_ids
            longest = max(longest, len(ids) + tokens)
    return longest


def _share(count: int, split: SplitReport) -> str:
    if not count:
        return "0"
    share = count / split.rows
    return f"{count:,} ({f'{share:.1%}' if share >= 0.0005 else '<0.1%'})"


def _figures(numbers: Iterable[int]) -> str:
    return " · ".join(f"{number:,}" for number in numbers)


def _describe(character: str) -> str:
    """Return `‘ø’ U+00F8 LATIN SMALL LETTER O WITH STROKE`, without the character if it is not printable."""
    is_mark = unicodedata.category(character).startswith("M")
    shown = f"\u25cc{character}" if is_mark else character  # on a dotted circle
    name = unicodedata.name(character, "(no name)")
    return f"{f'‘{shown}’ ' if character.isprintable() else ''}U+{ord(character):04X} {name}"


def _align(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, its first column aligned left and the others right; rows may be incomplete."""
    titles, *columns = zip_longest(*table, fillvalue="")
    aligned = [[title + " " * (max(map(_width, titles)) - _width(title)) for title in titles]]
    aligned += [[cell.rjust(max(map(len, column))) for cell in column] for column in columns]
    return ["   ".join(cells).rstrip() for cells in zip(*aligned)]


def _width(text: str) -> int:
    """Return the width of a text in a terminal: 0 for a mark above or below a letter, 2 for an ideograph."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
