"""Documents for pre-training: cut out of texts, encoded, packed into blocks, and scored."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase, TrainingArguments

from atenta import CharacterTable
from atenta.recipes.baselines import ngram_characters, uniform_characters, unigram_characters
from atenta.recipes.metrics import scores
from atenta.recipes.option_annotations import one_of
from atenta.recipes.reading.load import encode_rows, load_rows
from atenta.recipes.reading.records import BadRow, Record, expect_any, read_lines
from atenta.recipes.reading.splits import DataArguments, RowFormat, Rows, format_of_texts
from atenta.recipes.tasks.task import Answers, Baselines, Row, Task

UNITS = ("document", "paragraph", "line", "sentence")  # that a text is cut into
UnitOption = Annotated[
    str, one_of(UNITS), "unit that is a document: document (a whole text), paragraph, line or sentence"
]
_SENTENCE = re.compile(r"""\S.*?(?:[.!?…]["'”’»)\]]*(?=\s)|\Z)""", re.DOTALL)
# The ends of a text that is cut to a length, best first: the end of a line, of a sentence, of a word.
_ENDS = [re.compile(end, re.DOTALL) for end in (r".*\n", r".*[.!?…][\"'”’»)]*\s", r".*\s")]
_LONGEST_CHARACTER = 4  # bytes in UTF-8; each byte of a character outside the alphabet is a token


DOCUMENTS = format_of_texts("text")


@dataclass
class DocumentArguments(DataArguments):
    """Options that name the texts and say how they are cut into documents."""

    sample_by: UnitOption = "document"


def load_documents(
    data: DocumentArguments, training: TrainingArguments, row_format: RowFormat = DOCUMENTS
) -> dict[str, Rows]:
    """Return the documents of `train`, `validation` and `test`, cut by `data.sample_by`; see `load_rows`."""
    readers = {".txt": partial(read_documents, sample_by=data.sample_by)}
    splits = load_rows(data, training, replace(row_format, readers=readers))
    if data.sample_by == "document":
        return splits
    # Documents of txt files were cut when they were read; cutting them again changes nothing.
    cut = partial(cut_documents, sample_by=data.sample_by)
    return encode_rows(splits, training, cut, data.preprocessing_num_workers, features=DOCUMENTS.features)


def read_documents(path: str | Path, sample_by: str) -> Iterator[Record | BadRow]:
    """Return the documents of a UTF-8 text file, which are read one by one. Blank text is not a document.

    Args:
        path: The file.
        sample_by: The unit that is a document. `document` is the complete file, which is read at once, `paragraph`
            text between blank lines, `line` a line; these are the units of the text builder of `datasets`. `sentence`
            is a sentence as in `cut_sentences`, in a paragraph that is read at once. A document with a malformed line
            is a bad row; for `sentence` this is the paragraph.

    Raises:
        ValueError: If `sample_by` is unknown, or the file has no text.
        OSError: If the file cannot be read.
    """
    records = (
        found if isinstance(found, BadRow) else (f"{path}, line {found[0]}", {"text": found[1]})
        for found in _cut_lines(read_lines(path), sample_by)
    )
    return expect_any(records, f"{path}: found no text; expected at least one line of it")


def cut_documents(batch: Mapping[str, list], sample_by: str) -> dict[str, list[str]]:
    """Cut texts in memory as `read_documents` cuts files; cutting the result again changes nothing.

    Args:
        batch: Column `text`.
        sample_by: The unit that is a document, as in `read_documents`.

    Returns:
        `text`, one row per document.

    Raises:
        ValueError: If `sample_by` is unknown.
    """
    lines_of_texts = (enumerate(line.removesuffix("\r") for line in text.split("\n")) for text in batch["text"])
    return {"text": [text for lines in lines_of_texts for _, text in _cut_lines(lines, sample_by)]}


def cut_sentences(text: str) -> list[tuple[int, str]]:
    """Return the sentences of a paragraph, each with the number of line ends before it.

    A sentence ends with `.`, `!`, `?` or `…`, any closing quotes and brackets, and white space, or else with the
    paragraph. It does not end with a line, because texts may be wrapped. As a consequence abbreviations end sentences
    (`o Sr.` / `Alves`), and a heading without a full stop is part of the next sentence. Only the white space around a
    sentence is removed.
    """
    return [(text.count("\n", 0, match.start()), match[0].rstrip()) for match in _SENTENCE.finditer(text)]


def _is_blank(line: str | BadRow) -> bool:
    return isinstance(line, str) and not line.strip()


def _cut_lines(lines: Iterable[tuple[int, str | BadRow]], sample_by: str) -> Iterator[tuple[int, str] | BadRow]:
    """Yield documents, each with the number of its first line."""
    if sample_by not in UNITS:
        raise ValueError(f"--sample_by {sample_by}: expected one of {', '.join(UNITS)}")
    # What consecutive lines share that are read together; by default, whether they are blank.
    shared: dict[str, Callable[..., Any]] = {"document": lambda line: None, "line": lambda line: line[0]}
    for _, together in groupby(lines, shared.get(sample_by, lambda line: _is_blank(line[1]))):
        numbers, texts = zip(*together)
        if bad := [text for text in texts if isinstance(text, BadRow)]:
            yield from bad
        elif not all(map(_is_blank, texts)):
            text = "\n".join(texts)
            found = cut_sentences(text) if sample_by == "sentence" else [(0, text)]
            yield from ((numbers[0] + before, each) for before, each in found)


def cut_to_length(document: str, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> list[str]:
    """Cut a document into consecutive texts of at most `max_tokens` tokens, special tokens not counted.

    A text has as many complete lines as fit. A line that is too long is cut at the ends of sentences, a sentence that
    is too long at the ends of words, and a word that is too long between characters. Only the white space around texts
    is removed.

    Returns:
        The texts, in NFC.

    Raises:
        ValueError: If `max_tokens` is below 4, which a single character may need.
    """
    if max_tokens < _LONGEST_CHARACTER:
        raise ValueError(
            f"--max_length leaves {max_tokens} tokens for a text; expected {_LONGEST_CHARACTER} or more, which one "
            "character outside the alphabet may need: raise it."
        )
    document = tokenizer.backend_tokenizer.normalizer.normalize_str(document)
    offsets = tokenizer(
        document, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True, verbose=False
    ).offset_mapping
    starts = [start for start, _ in offsets]  # of the tokens; all bytes of a character have the same start
    texts, start = [], 0
    while start < len(document):
        beyond = bisect_left(starts, start) + max_tokens  # the first token that does not fit
        end = _end(document, start, starts[beyond]) if beyond < len(starts) else len(document)
        texts.append(document[start:end].strip())
        start = end
    return [text for text in texts if text]


def _end(document: str, start: int, limit: int) -> int:
    # White space at the limit itself is allowed to end the text, because it is stripped.
    matches = (end.match(document, start, limit + 1) for end in _ENDS)
    return next((match.end() for match in matches if match), limit)


def encode_documents(batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase) -> dict[str, list]:
    """Encode each document as `<bos> tokens <eos>`.

    Args:
        batch: Column `text`.
        tokenizer: A decoder's tokenizer, which adds the `<bos>`.

    Returns:
        `text`, unchanged, and `input_ids`.
    """
    ids = tokenizer(batch["text"], split_special_tokens=True, verbose=False).input_ids
    return {"text": batch["text"], "input_ids": [[*of_text, tokenizer.eos_token_id] for of_text in ids]}


_table_of = lru_cache(maxsize=1)(CharacterTable)  # built once per process, not once per batch


def pack(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, block_size: int
) -> dict[str, list[np.ndarray]]:
    """Pack documents into rows of `block_size` tokens, in order, cutting documents where a row ends.

    A document is `<bos> characters <eos>`. If a row ends within a document, the next row starts with the last token
    again, which is then only context. So every character and the `<eos>` are predicted exactly once, from the earlier
    tokens of their piece.

    Args:
        batch: Column `text`, one document per row, at least one.
        tokenizer: A decoder's tokenizer.
        block_size: The tokens of a row. Only the last row may have fewer, and it ends with `<eos>`.

    Returns:
        `input_ids`, of the smallest integer type that can represent them.

    Raises:
        ValueError: If `block_size` is below 2, or `tokenizer` is not a character tokenizer.
    """
    if block_size < 2:
        raise ValueError(f"--max_length {block_size}: expected 2 or more: a token to predict, and one before it.")
    table = _table_of(tokenizer)
    bos, eos = np.array([[tokenizer.bos_token_id], [tokenizer.eos_token_id]], table.dtype)
    ids = np.concatenate([part for text in table.encode_batch(batch["text"]) for part in (bos, text, eos)])
    rows, start = [], 0
    while start < len(ids):
        row = ids[start : start + block_size]
        rows.append(row)
        start += len(row) if row[-1] == eos else len(row) - 1
    return {"input_ids": rows}


def collate_packed(
    rows: Iterable[Mapping[str, Sequence[int] | np.ndarray]], *, pad_token_id: int, eos_token_id: int
) -> dict[str, torch.Tensor]:
    """Return the batch of packed rows. Padding is a separate piece of a row, neither seen by others nor predicted.

    Args:
        rows: `input_ids`, the output of `pack`; NumPy arrays are read fastest.
        pad_token_id: The id that fills short rows.
        eos_token_id: The id that ends each piece, except a piece that is cut by the end of its row.

    Returns:
        `input_ids`; `position_ids`, from 0 in each piece; `labels`, the ids, with -100 at the start of each piece (the
        model shifts the labels). All are (rows, longest row). There is no attention mask: it would join the pieces.
    """
    rows = [np.asarray(row["input_ids"]) for row in rows]
    lengths = np.array([[len(row)] for row in rows])
    places = np.arange(lengths.max())
    padding = places >= lengths
    input_ids = np.full(padding.shape, pad_token_id)
    input_ids[~padding] = np.concatenate(rows)
    starts = np.roll(input_ids == eos_token_id, 1, axis=1)
    starts[:, 0] = True
    position_ids = places - np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    labels = np.where(starts | padding, -100, input_ids)
    batch = {"input_ids": input_ids, "position_ids": position_ids, "labels": labels}
    return {name: torch.from_numpy(values) for name, values in batch.items()}


class LikelihoodTask(Task):
    """Texts that a decoder predicts; the answer to a text is its negative log-likelihood in nats.

    Attributes:
        predicted: The column with what is predicted.
    """

    predicted: ClassVar[str]

    def texts(self, rows: Iterable[Row]) -> list[str]:
        """Return what is predicted: a text for each answer."""
        return [row[self.predicted] for row in rows]

    def score(self, rows: Iterable[Row], answers: Answers) -> dict[str, float]:
        """Return bits per character and perplexities."""
        return scores(["bits_per_character"], predictions=list(answers), references=self.texts(rows))

    def baselines(self, train: Iterable[Row] | None = None) -> Baselines:
        """Return those that only count characters."""
        if train is None:
            return {}
        counts = {
            "uniform characters": uniform_characters,
            "unigram characters": unigram_characters,
            "6-gram characters": ngram_characters,
        }

        def answer(count: Callable[..., list[float]], rows: Iterable[Row]) -> list[float]:
            return count((row[self.predicted] for row in train), self.texts(rows))

        return {name: partial(answer, count) for name, count in counts.items()}


class DocumentTask(LikelihoodTask):
    """Documents, all of a split as one text.

    Its options are `sample_by`, the unit of a document, and `block_size`, the tokens of a packed row.
    """

    kind = "text-generation"
    predicted = "text"

    @property
    def row_format(self) -> RowFormat:
        """The format of documents."""
        read = partial(read_documents, sample_by=self.options.get("sample_by", "document"))
        return replace(DOCUMENTS, readers={".txt": read})

    def prepare(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return documents, which rows of tables are not yet."""
        cut = cut_documents({"text": [row["text"] for row in rows]}, self.options.get("sample_by", "document"))
        return [{"text": text} for text in cut["text"]]

    def texts(self, rows: Iterable[Row]) -> list[str]:
        """Return the documents of a split as one text, with a line end between them that counts as a character."""
        return ["\n".join(row["text"] for row in rows)]
