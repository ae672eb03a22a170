"""Readers of files: rows are read as they were written, and damage to some of them leaves the others as they are.

A file is written in pieces, a header or a row each. After damage, the rows of the pieces before it are what they were;
so are those after it, at their new lines, in formats where no quote or bracket reaches over several rows.
"""

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atenta.recipes.reading.file_formats import read_conll, read_conllu, read_squad, read_table
from atenta.recipes.reading.records import BadRow, printable
from atenta.recipes.tasks.documents import read_documents

COLUMNS = ("source", "target")
NASTY = (
    *("\x1b[2J", "\x07", "\x7f", "\x85", "\x9b", "\x0b", "\x0c", "\x1c", "\r", "\u2028", "\u202e", "\u2066", "\ufeff"),
    *("\u00a0", "\u200d", "e\u0301", "שלום", "\ud7ff", "\ufffe", "\U0010ffff", '"', '""', ",", "'", "\\", "#", " "),
    *("source", "Target", "<eos>", "-DOCSTART-", "NaN", "null", "[", "{", "1-2", "=cmd()", "\t", "\n"),
)
FRAGMENTS = (
    *(b"\0", b"\xe3", b"\xff", b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b"\n\n", b"\t"),
    *(b",", b'"', b"'", b" ", b":", b"{", b"}", b"]", b"\\", b"\x1b[2J", b"1", b"9" * 5_000, b"[" * 100_000, b"NaN"),
    *(b"-Infinity", b"source", b'"source": "a", ', b"-DOCSTART- O\n", b"#", b"-", b".", b"1-0\ta\n"),
)


def texts(forbidden=""):
    part = st.one_of(st.sampled_from(NASTY), st.characters(exclude_categories=["Cs"]))
    joined = st.lists(part, min_size=1, max_size=5).map("".join)
    return joined.map(lambda text: "".join(each for each in text if each not in forbidden + "\0")).filter(str.strip)


class Format(NamedTuple):
    """How rows, pairs of texts, are written in a format, each as a piece, and what is read of them."""

    read: Callable
    piece: Callable[[tuple[str, str]], str]
    fields: Callable[[tuple[str, str]], dict]
    texts: st.SearchStrategy
    header: str = ""
    after: bool = True  # whether rows after damage are as they were


def write_csv(row):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(row)
    return file.getvalue()


def write_conllu(row):
    """A comment, a contraction of two words, and an empty node."""
    rest = "\t_" * 6
    lines = ["# text = a", f"1-2\t{row[0]}\t_\t_{rest}", f"1\ta\t_\t{row[1]}{rest}", f"2\tb\t_\tX{rest}"]
    return "\n".join([*lines, f"2.1\tc\t_\t_{rest}", "", ""])


def as_pair(row):
    return dict(zip(COLUMNS, row))


def as_text(row):
    return {"text": "\n".join(row)}


read_pairs = partial(read_table, columns=COLUMNS)
cells, words, lines = texts("\t\n\r\ufeff"), texts(" \t\n\r\ufeff"), texts("\n\r\ufeff")
words = words.filter(lambda word: word != "-DOCSTART-")
FORMATS = {
    "tsv": Format(read_pairs, lambda row: "\t".join(row) + "\n", as_pair, cells, "source\ttarget\n"),
    "csv": Format(read_pairs, write_csv, as_pair, texts(), '"source",target\n', after=False),
    "jsonl": Format(read_pairs, lambda row: json.dumps(as_pair(row), ensure_ascii=False) + "\n", as_pair, texts()),
    "conll": Format(
        read_conll,
        lambda row: f"{row[0]} X\tO\n{row[1]} X  O\n\n",
        lambda row: {"words": list(row), "tags": ["O", "O"]},
        words,
        "-DOCSTART- O\n\n",
    ),
    "conllu": Format(
        partial(read_conllu, tag_column="upos"),
        write_conllu,
        lambda row: {"words": [row[0]], "tags": [f"{row[1]}+X"]},
        words,
    ),
    "paragraph": Format(
        partial(read_documents, sample_by="paragraph"), lambda row: "\n".join((*row, "", "")), as_text, lines
    ),
    "line": Format(
        partial(read_documents, sample_by="line"), lambda row: f"{row[0]}\n", lambda row: {"text": row[0]}, lines
    ),
}
every_format = pytest.mark.parametrize("name", FORMATS)


@st.composite
def files(draw, name):
    """The pieces of a file, and the fields of its rows."""
    form, end = FORMATS[name], draw(st.sampled_from([b"\n", b"\r\n"]))
    rows = draw(st.lists(st.tuples(form.texts, form.texts), min_size=1, max_size=5))
    pieces = [form.header, *map(form.piece, rows)]
    if name == "csv":  # its cells may have line ends
        end = b"\n"
    return [piece.encode().replace(b"\n", end) for piece in pieces], [form.fields(row) for row in rows]


def read_all(read, path) -> tuple[list, Exception | None]:
    """Return the rows of a file and None, or those before an error and the error. Bad rows and errors are clear."""
    found, error = [], None
    try:
        for row in read(path):
            found.append(row)
    except (ValueError, OSError) as raised:
        error = raised
    for each in [*found, error]:
        if isinstance(each, Exception):
            message = str(each)
            assert message.startswith(str(path)), message
            assert "; expected" in message
            assert "\n" not in message
            assert printable(message) == message
    return found, error


def places(path, pieces) -> list[str]:
    """Return the locations of the pieces."""
    starts = accumulate((piece.count(b"\n") for piece in pieces), initial=1)
    return [f"{path}, line {number}" for number, _ in zip(starts, pieces)]


@every_format
@settings(max_examples=80)
@given(data=st.data(), mark=st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_rows_are_read_as_they_were_written(folder, outcome, name, data, mark):
    pieces, rows = data.draw(files(name))
    path = folder / f"{name}.{name}"
    path.write_bytes(mark + b"".join(pieces))
    assert list(FORMATS[name].read(path)) == list(zip(places(path, pieces), [None, *rows], strict=True))[1:]
    outcome("right")


# A place in a file, how many bytes are replaced there, and by which.
damages = st.tuples(
    st.integers(0, 2**20),
    st.sampled_from([0, 1, 2, 5, 2**20]),
    st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=3)),
)


def damaged(content: bytes, place: int, removed: int, fragment: bytes) -> bytes:
    place %= len(content) + 1
    return content[:place] + fragment + content[place + removed :]


@every_format
@settings(max_examples=250)
@given(data=st.data(), damage=damages)
def test_rows_around_damage_are_read_as_they_were(folder, outcome, name, data, damage):
    pieces, rows = data.draw(files(name))
    content, path = b"".join(pieces), folder / f"{name}.{name}"
    place, removed = damage[0] % (len(content) + 1), damage[1]
    changed = damaged(content, *damage)
    path.write_bytes(changed)
    found, error = read_all(FORMATS[name].read, path)
    ends = list(accumulate(map(len, pieces)))
    first = sum(end <= place for end in ends)  # the pieces first to last are damaged
    last = sum(end <= place + removed + 3 for end in ends)  # a blank line between two, `\r\n\r\n`, may be damaged
    if error:  # without a header, or the first of the rows that have to have as many cells, or any row
        assert first == 0 or (first == 1 and not pieces[0]) or not found
        outcome("clear error")
        return
    of_pieces = list(zip(places(path, pieces), [None, *rows]))
    assert found[: max(0, first - 1)] == of_pieces[1:first]
    if FORMATS[name].after and first > 0 and last < len(pieces):
        after = pieces[last + 1 :]
        new_places = places(path, [changed[: len(changed) - len(b"".join(after))], *after])[1:]
        assert found[len(found) - len(after) :] == list(zip(new_places, rows[last:]))
    outcome("bad row named" if any(isinstance(row, BadRow) for row in found) else "right")


@pytest.mark.parametrize("suffix", ["tsv", "jsonl"])
@settings(max_examples=250)
@given(data=st.data(), more=st.lists(damages, min_size=1, max_size=4))
def test_each_line_is_a_row_or_a_bad_row(folder, outcome, suffix, data, more):
    content = b"".join(data.draw(files(suffix))[0])
    for damage in more:
        content = damaged(content, *damage)
    path = folder / f"lines.{suffix}"
    path.write_bytes(content)
    found, error = read_all(read_pairs, path)
    if error:
        outcome("clear error")
        return
    content = content.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    read = dict((row.where, None) if isinstance(row, BadRow) else row for row in found)
    numbers = {f"{path}, line {number}": line for number, line in enumerate(content.split(b"\n"), start=1)}
    assert len(read) == len(found)
    assert list(read) == list(numbers)[len(numbers) - len(read) :]
    assert len(read) >= len(numbers) - (suffix == "tsv")  # its header
    for where, fields in read.items():
        line = numbers[where].removesuffix(b"\r")
        if fields is not None and suffix == "tsv":
            assert "\t".join(fields.values()).encode() == line
        elif fields is not None:
            assert fields == json.loads(line)
    outcome("bad row named" if None in read.values() else "right")


# Formats that are read as a whole


@st.composite
def squad_files(draw):
    """A file, and the fields of its questions."""
    articles, rows = [], []
    for _ in range(draw(st.integers(1, 2))):
        context, questions = draw(texts()), []
        for _ in range(draw(st.integers(1, 3))):
            answers = draw(
                st.lists(st.fixed_dictionaries({"text": texts(), "answer_start": st.integers(0, 9)}), max_size=2)
            )
            questions.append({"id": f"q{len(rows)}", "question": draw(texts()), "answers": answers})
            listed = {name: [answer[name] for answer in answers] for name in ("text", "answer_start")}
            rows.append({**questions[-1], "context": context, "answers": listed})
        articles.append({"title": "a", "paragraphs": [{"context": context, "qas": questions}]})
    options = {"ensure_ascii": draw(st.booleans()), "indent": draw(st.sampled_from([None, 1]))}
    return json.dumps({"version": "1.1", "data": articles}, **options).encode(), rows


def questions_in(content: bytes) -> int:
    """Return how many questions a file has in all its lists of them."""
    articles = json.loads(content.decode("utf-8-sig"))["data"]
    return sum(len(paragraph["qas"]) for article in articles for paragraph in article["paragraphs"])


@settings(max_examples=300)
@given(made=squad_files(), damage=st.none() | damages)
@example(made=(b'{"data": ' + b"[" * 100_000, []), damage=None)
@example(made=(b'{"data": ' + b"9" * 5_000 + b"}", []), damage=None)
@example(made=(b'{"data": [], "data": [NaN]}', []), damage=None)
def test_squad(folder, outcome, made, damage):
    content, rows = made
    content = damaged(content, *damage) if damage else content
    path = folder / "file.json"
    path.write_bytes(content)
    found, error = read_all(read_squad, path)
    bad = [row for row in found if isinstance(row, BadRow)]
    if error:
        outcome("clear error")
    elif bad:
        outcome("bad row named")
    else:
        assert len(found) == questions_in(content)
        assert damage or found == [(f"{path}, question {row['id']}", row) for row in rows]
        outcome("right")


@st.composite
def parquet_files(draw):
    rows = [as_pair(row) for row in draw(st.lists(st.tuples(texts(), texts()), min_size=1, max_size=12))]
    sink = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist(rows),
        sink,
        row_group_size=draw(st.integers(1, 6)),
        compression=draw(st.sampled_from(["none", "snappy", "zstd"])),
        use_dictionary=draw(st.booleans()),
        write_page_checksum=True,
        store_schema=False,
    )
    return sink.getvalue(), rows


@settings(max_examples=300)
@given(made=parquet_files(), damage=st.none() | damages)
def test_parquet(folder, outcome, made, damage):
    """All rows are as they were, or the file is refused."""
    content, rows = made
    content = damaged(content, *damage) if damage else content
    path = folder / "table.parquet"
    path.write_bytes(content)
    found, error = read_all(read_pairs, path)
    expected = [(f"{path}, row {number}", row) for number, row in enumerate(rows, start=1)]
    assert found == (expected[: len(found)] if error else expected)
    assert damage or not error
    outcome("clear error" if error else "right")
