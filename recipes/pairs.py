"""Pairs of texts, source and target, that sequence-to-sequence tasks train on: their file, and their ids."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import datasets
from transformers import PreTrainedTokenizerBase

# `<`, `>` and `;` delimit tags; a tag that is named like a special or a byte token would become that token.
_TAG = re.compile(r"(?!(?:pad|bos|eos|mask|0x[0-9A-F]{2})\Z)[!-:=?-~]+")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Pair(NamedTuple):
    """One example of a sequence-to-sequence task.

    `tags` holds the feature tags in the order given, each written as its token: `("<V>", "<3>", "<PL>")`.
    """

    source: str
    target: str
    tags: tuple[str, ...] = ()


def read_pairs(path: str | Path) -> list[Pair]:
    """Read a UTF-8 file of `source<TAB>target` lines, or `source<TAB>target<TAB>tags` with tags such as `V;3;PL`.

    Every line has as many columns as the first. A byte order mark, Windows line endings and blank lines at the end
    of the file are accepted; the texts are otherwise returned exactly as they stand.

    Raises:
        ValueError: at the first malformed line, with the file, the line's number, what was found and what is
            expected. Malformed are: another number of columns, an empty source or target, bytes that are not UTF-8
            (lone surrogates among them), a tag that is not well formed, a blank line before the end, no line at all.
        OSError: if the file cannot be read.
    """
    # Split on "\n" alone: str.splitlines() would also cut at characters such as U+2028 inside a text.
    lines = Path(path).read_bytes().removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    lines = [line.removesuffix(b"\r") for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise ValueError(f"{path}: found no lines; expected one source<TAB>target pair a line")

    pairs = []
    columns = lines[0].count(b"\t") + 1
    for number, line in enumerate(lines, start=1):
        try:
            pairs.append(_parse(line, columns))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    return pairs


def tag_tokens(pairs: Iterable[Pair]) -> list[str]:
    """Return every tag token of the pairs once, sorted by code point: an order that no shuffling of rows changes."""
    return sorted({tag for pair in pairs for tag in pair.tags})


def encode_pairs(pairs: Sequence[Pair], tokenizer: PreTrainedTokenizerBase) -> datasets.Dataset:
    """Encode pairs as rows of `input_ids`, `labels` and `length`, the number of ids of the source.

    Tags come before the source and by id: a V in a word is never read as the tag `<V>`.

    Raises:
        ValueError: a tag that the tokenizer does not have, as when a model made without it is trained further.
    """
    known = tokenizer.get_vocab()
    if unknown := [tag for tag in tag_tokens(pairs) if tag not in known]:
        raise ValueError(f"The tokenizer has no tag {', '.join(unknown)}: train a new model on these pairs.")
    sources, targets, tags = zip(*pairs)
    inputs = [
        tokenizer.convert_tokens_to_ids(list(tags_of_source)) + ids
        for tags_of_source, ids in zip(tags, tokenizer(list(sources)).input_ids)
    ]
    labels = tokenizer(text_target=list(targets)).input_ids
    return datasets.Dataset.from_dict({"input_ids": inputs, "labels": labels, "length": list(map(len, inputs))})


def _parse(line: bytes, columns: int) -> Pair:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"found byte 0x{line[error.start]:02X} at byte {error.start + 1} of the line ({error.reason}); "
            "expected UTF-8, which has no lone surrogates: save the file as UTF-8"
        ) from None
    if not text:
        raise ValueError("found a blank line; expected one only at the end of the file: remove it")
    fields = text.split("\t")
    if len(fields) not in (2, 3):
        raise ValueError(
            f"found {len(fields)} column(s) in {text!r}; expected source<TAB>target or source<TAB>target<TAB>tags"
        )
    if len(fields) != columns:
        raise ValueError(f"found {len(fields)} columns in {text!r}; expected {columns}, as in line 1")
    for name, field in zip(("source", "target"), fields):
        if not field.strip():
            raise ValueError(f"found an empty {name} in {text!r}; expected at least one character that is not a space")
    return Pair(fields[0], fields[1], tuple(_tag_token(tag) for tag in fields[2].split(";")) if columns == 3 else ())


def _tag_token(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise ValueError(
            f"found the tag {tag!r}; expected tags parted by ';' as in 'V;3;PL', each of visible ASCII characters "
            "without '<' and '>', and none named like a special or byte token (pad, bos, eos, mask, 0x00 to 0xFF)"
        )
    return f"<{tag}>"
