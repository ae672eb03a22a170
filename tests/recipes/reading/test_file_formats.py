"""Readers of lines, tables, CoNLL, CoNLL-U and SQuAD files."""

import csv
import json
import tracemalloc
from functools import partial

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.file_formats import (
    lacks_header,
    read_conll,
    read_conllu,
    read_squad,
    read_table,
)
from atenta.recipes.reading.lines import read_lines
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.questions import QUESTIONS

COLUMNS, OPTIONAL = ["source", "target"], ["tags"]
READERS = {
    **dict.fromkeys((".tsv", ".txt", ".csv", ".jsonl", ".parquet"), partial(read_table, columns=COLUMNS)),
    ".conll": read_conll,
    ".conllu": partial(read_conllu, tag_column="upos"),
    ".json": read_squad,
}
CONTEXT = "A UFMS fica em Campo Grande."

no_surrogates = partial(st.characters, exclude_categories=["Cs"])


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def as_bytes(line):
    return line if isinstance(line, bytes) else line.encode("utf-8")


def assert_bad(row, where, message):
    assert isinstance(row, BadRow)
    assert row.where == where
    with pytest.raises(BadRow, match=message):
        raise row


# Lines


@pytest.mark.parametrize("content", ["a\nb", "a\r\nb\r\n", "\ufeffa\nb\n"])
def test_line_ends_and_byte_order_mark(write, content):
    assert list(read_lines(write("lines.txt", content))) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\ufeff"])
def test_other_separators_are_text(write, separator):
    assert list(read_lines(write("lines.txt", f"a{separator}b\n"))) == [(1, f"a{separator}b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"a\tb\xe3o", "found byte 0xE3 at byte 4 .*expected UTF-8"),
        ("a\t\ud800".encode("utf-8", "surrogatepass"), "found byte 0xED at byte 3 .*no lone surrogates"),
    ],
)
def test_line_that_is_not_utf_8(write, line, message):
    path = write("lines.txt", b"\n".join([b"x", line, b"y"]))
    first, (number, bad), last = read_lines(path)
    assert (first, number, last) == ((1, "x"), 2, (3, "y"))
    assert_bad(bad, f"{path}, line 2", message)


@given(st.lists(st.text(no_surrogates(exclude_characters="\n\r\0"), min_size=1), min_size=1))
def test_lines_round_trip(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{text}\r\n" for text in texts).encode("utf-8"))
    assert [text for _, text in read_lines(path)] == texts


# Tables


def read(path):
    """The fields of good rows, and the messages of bad ones."""
    rows = read_table(path, COLUMNS, OPTIONAL)
    return [str(row) if isinstance(row, BadRow) else row[1] for row in rows]


def pair(source, target, **tags):
    return {"source": source, "target": target, **tags}


@pytest.mark.parametrize("suffix", [".tsv", ".txt"])
def test_table_without_header(write, suffix):
    path = write(f"table{suffix}", "cao\tcão\n pao  de\tpão  de \n")
    assert read(path) == [pair("cao", "cão"), pair(" pao  de", "pão  de ")]
    assert read(write(f"table{suffix}", "ser\tfoi\tV;3\n")) == [pair("ser", "foi", tags="V;3")]
    assert read(write(f"table{suffix}", '"a\tb"\n')) == [pair('"a', 'b"')]  # only csv has quotes


def test_table_with_header(write):
    path = write("table.tsv", "target\tcount\tsource\ncão\t3\tcao\n")
    assert list(read_table(path, COLUMNS)) == [(f"{path}, line 2", pair("cao", "cão", count="3"))]
    with pytest.raises(ValueError, match="found no rows"):
        read(write("table.tsv", "source\ttarget\n"))


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        *((".tsv", text) for text in ["a\tb\nc\td", "a\tb\r\nc\td\r\n", "\ufeffa\tb\nc\td\n", "a\tb\nc\td\n\n\r\n"]),
        *((".csv", text) for text in ["a,b\nc,d", "a,b\r\nc,d\r\n", "\ufeffa,b\nc,d\n", "a,b\nc,d\n\n\r\n"]),
        (".csv", "\ufeff" + 'source,target\n"a",b\nc,d\n'),
        (".jsonl", '\ufeff{"target": "b", "source": "a"}\r\n{"source": "c", "target": "d"}\r\n\r\n\n'),
    ],
)
def test_table_line_ends_byte_order_mark_and_blank_end(write, suffix, content):
    assert read(write(f"table{suffix}", content)) == [pair("a", "b"), pair("c", "d")]


@pytest.mark.parametrize(
    ("suffix", "line", "message"),
    [
        (".tsv", "a", r"found 1 column\(s\) in \['a'\]; expected 2"),
        (".tsv", "a\tb\tV", r"found 3 column\(s\) .*; expected 2"),
        (".tsv", "", "found a blank line; expected blank lines only at the end of the file"),
        (".tsv", b"a\tb\xe3o", "found byte 0xE3 at byte 4"),
        (".csv", "a", "found 1 column"),
        (".csv", '"a"b,c', "found malformed CSV .*; expected cells separated by commas"),
        (".csv", b"a,b\xe3o", "found byte 0xE3 at byte 4 .*expected UTF-8"),
        (".csv", b'"a"\0,b', "found a NUL character, probably of UTF-16; expected UTF-8"),
        (".csv", "", "found a blank line"),
        (".jsonl", '{"source": "a"', "expected a JSON object"),
        (".jsonl", '["a", "b"]', "expected a JSON object"),
        (".jsonl", '{"source": "a"}', "expected a JSON object with source, target"),
        (".jsonl", b'{"source": "\xe3"}', "found byte 0xE3"),
        (".jsonl", '{"source": "a", "target": "b", "n": ' + "[" * 100_000, "more than 100 brackets"),
        (".jsonl", '{"source": "a", "target": "b", "n": ' + "[" * 950 + "]" * 950 + "}", "more than 100 brackets"),
        (".jsonl", '{"source": "a", "target": "b", "n": ' + "9" * 5_000 + "}", r"a number of 5,000 digits, 9{20}…"),
        (".jsonl", '{"source": "a", "target": "b", "n": NaN}', "NaN, which is no number in JSON"),
        (".jsonl", '{"source": "a", "target": "b", "n": -Infinity}', "-Infinity, which is no number in JSON"),
        (".jsonl", '{"source": "a", "target": "b", "source": "c"}', "the key 'source' more than once in an object"),
        (".jsonl", '{"source": "a", "target": "b", "n": [{"m": 1, "m": 1}]}', "the key 'm' more than once"),
        (".jsonl", "", "found a blank line"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_malformed_row_of_a_table(write, suffix, line, message, end):
    good = {".tsv": b"x\ty", ".csv": b"x,y", ".jsonl": b'{"source": "x", "target": "y"}'}[suffix]
    path = write(f"table{suffix}", end.join([good, good, as_bytes(line), good, b""]))
    first, second, bad, last = read_table(path, COLUMNS, OPTIONAL)
    assert first[1] == second[1] == last[1] == pair("x", "y")
    assert last[0] == f"{path}, line 4"
    assert_bad(bad, f"{path}, line 3", message)


@pytest.mark.parametrize("first", ["source target", "a\tb\tV\tW"])
def test_first_row_without_the_columns(write, first):
    with pytest.raises(BadRow, match=r"line 1: found .* expected source, target, optionally tags"):
        read(write("table.tsv", f"{first}\na\tb\n"))


@pytest.mark.parametrize("first", ["", b"so\xe3rce\ttarget"])
def test_first_row_that_may_be_a_malformed_header(write, first):
    """The columns of the other rows are unknown, so none is read, also if bad rows are skipped."""
    with pytest.raises(BadRow, match=r"line 1: found (a blank line|byte 0xE3)"):
        read(write("table.tsv", b"\n".join([as_bytes(first), b"target\tsource"])))


@pytest.mark.parametrize("suffix", [".tsv", ".txt", ".csv"])
@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Source|Target", r"found the header \['Source', 'Target'\]; expected source, target, in small letters"),
        ("target|source ", r"found the header .*; expected source, in small letters and without spaces around"),
        ("source|target|Tags", r"found the header .*; expected tags, in small letters"),
        ("source|target|source", r"found the column 'source' 2 times; expected it once"),
        ("n|source|n|target", r"found the column 'n' 2 times; expected it once"),
        ("Source|alvo", r"found source without target in \['Source', 'alvo'\]; .* source, target, optionally tags"),
        ("entrada|saída|tags", r"found tags without source, target in "),
    ],
)
def test_header_with_other_names(write, suffix, header, message):
    text = f"{header}\n{'|'.join('abcd'[: header.count('|') + 1])}\n".replace("|", "," if suffix == ".csv" else "\t")
    path = write(f"table{suffix}", text)
    with pytest.raises(ValueError, match=rf"table\{suffix}, line 1: {message}"):
        read(path)


@pytest.mark.parametrize(
    ("content", "lacks"), [("a\tb\n", True), ("target\tsource\n", False), ("source\tb\n", False), ("", False)]
)
def test_file_that_lacks_a_header(write, content, lacks):
    for suffix in (".tsv", ".txt", ".csv"):
        text = content.replace("\t", "," if suffix == ".csv" else "\t")
        assert lacks_header(write(f"table{suffix}", text), COLUMNS) is lacks
    assert not lacks_header(write("table.jsonl", "{}"), COLUMNS)


def test_csv_rows_over_several_lines(write):
    path = write("table.csv", '"two\nlines",y\na\nx,y\n')
    first, bad, last = read_table(path, COLUMNS)
    assert first == (f"{path}, line 1", pair("two\nlines", "y"))
    assert_bad(bad, f"{path}, line 3", "found 1 column")
    assert last == (f"{path}, line 4", pair("x", "y"))
    path = write("table.csv", b'x,y\n"two\nl\xe3nes",y\nx,y\n')
    first, bad, last = read_table(path, COLUMNS)
    assert_bad(bad, f"{path}, line 3", "found byte 0xE3 at byte 2")
    assert last[0] == f"{path}, line 4"
    good, bad = read(write("table.csv", 'a,b\nc,"d\ne,f\n'))  # the quote is never closed
    assert good == pair("a", "b")
    assert "line 2: found malformed CSV" in bad


def test_long_csv_cells(write):
    limit, long = csv.field_size_limit(), "ã" * 300_000
    assert read(write("table.csv", f'"{long}",b\n')) == [pair(long, "b")]
    assert csv.field_size_limit() == limit


def test_parquet_values_are_unchanged(tmp_path):
    path = tmp_path / "table.parquet"
    answers = {"text": ["b"], "answer_start": [3]}
    rows = [{"source": "a", "target": answers, "count": 1}, {"source": None, "target": answers, "count": 2}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert read(path) == [pair("a", answers), pair(None, answers)]


def test_malformed_parquet(tmp_path, write):
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"source": ["a"], "alvo": ["b"]}), path)
    with pytest.raises(ValueError, match=r"table.parquet: found the columns source, alvo; expected also target"):
        read(path)
    with pytest.raises(ValueError, match=r"table.parquet: found malformed Parquet"):
        read(write("table.parquet", "a\tb\n"))


def test_two_carriage_returns_at_the_end_of_a_csv_row(write):
    bad, good = read(write("table.csv", "source,target\na,b\r\r\nc,d\r\n"))
    assert "table.csv, line 2: found two carriage returns" in bad
    assert good == pair("c", "d")
    (quoted,) = read(write("quoted.csv", 'source,target\na,"b\r\r\n"\r\n'))
    assert quoted["target"] == "b\r\r\n"


def test_parquet_that_ends_without_an_error(tmp_path):
    """Of a file that lacks its first two bytes, pyarrow reads no rows of the second group, and raises nothing."""
    path = tmp_path / "table.parquet"
    table = pyarrow.Table.from_pylist([pair("a\x1b[2J", "b"), pair("c", "d")])
    pyarrow.parquet.write_table(table, path, row_group_size=1, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes()[2:])
    assert [row.partition(": ")[0] for row in read(path)] == [
        f"{path}, rows {place}" for place in ("1 to 1", "2 to 2")
    ]


@pytest.fixture
def parquet(tmp_path):
    """A file of three groups of rows, with checksums of its pages, and the place of the values of the second group."""
    path = tmp_path / "table.parquet"
    rows = [pair(f"{number:04}", f"{number:04}") for number in range(30)]
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(
        table, path, row_group_size=10, compression=None, use_dictionary=False, write_page_checksum=True
    )
    return path, rows, path.read_bytes().index(b"0012")


def test_damaged_part_of_parquet(parquet):
    path, rows, place = parquet
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    found = list(read_table(path, COLUMNS))
    assert [row[1] for row in found if not isinstance(row, BadRow)] == rows[:10] + rows[20:]
    assert_bad(
        found[10], f"{path}, rows 11 to 20", r"found malformed Parquet \(.*\); expected a complete Parquet file"
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"PAR1",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-9] + b"\xff\xff\xff" + content[-6:],  # of the length of the footer
        lambda content: content[:-500] + bytes(492) + content[-8:],
    ],
)
def test_damaged_footer_of_parquet(parquet, damage):
    path, *_ = parquet
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"table.parquet: found malformed Parquet .*; expected a complete Parquet"):
        read(path)


def test_parquet_names_of_columns_are_printable(tmp_path):
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"source": ["a"], "\x1barget": ["b"]}), path)
    with pytest.raises(ValueError, match=r"found the columns source, \\x1barget; expected also target"):
        read(path)


def test_parquet_with_a_column_twice(tmp_path):
    path = tmp_path / "table.parquet"
    values = [pyarrow.array([text]) for text in "abc"]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(values, ["source", "target", "source"]), path)
    with pytest.raises(ValueError, match=r"table.parquet: found the column 'source' 2 times; expected it once"):
        read(path)


def test_parquet_value_without_a_python_value(tmp_path):
    path = tmp_path / "table.parquet"
    source = pyarrow.array([2**50], pyarrow.timestamp("s"))
    pyarrow.parquet.write_table(pyarrow.table({"source": source, "target": ["a"]}), path)
    (bad,) = read_table(path, COLUMNS)
    assert_bad(bad, f"{path}, rows 1 to 1", "found malformed Parquet .*too large.*; expected a complete")


# The first row must not look like a header, nor its first cell like a byte order mark; csv has no NUL.
cells = st.text(no_surrogates(exclude_characters="\ufeff\0"), min_size=1)
tables = st.lists(st.tuples(cells, cells), min_size=1).filter(
    lambda rows: not {*COLUMNS, *OPTIONAL} & {cell.strip().casefold() for cell in rows[0]}
)


@given(tables, st.booleans())
def test_tables_round_trip(tmp_path_factory, rows, header):
    folder = tmp_path_factory.mktemp("table")
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *rows] if header else rows)
    fields = [pair(*row) for row in rows]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in fields)
    (folder / "table.jsonl").write_text("".join(lines), encoding="utf-8")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(fields), folder / "table.parquet")
    assert read(folder / "table.csv") == read(folder / "table.jsonl") == read(folder / "table.parquet") == fields


# CoNLL and CoNLL-U


def sentence(words, tags):
    return {"words": words.split(), "tags": tags.split()}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_conll_sentences(write, end):
    content = "\ufeff\n8ª B-ORG\nTURMA I-ORG\n\n \n. O".replace("\n", end)
    path = write("file.conll", content)
    assert list(read_conll(path)) == [
        (f"{path}, line 2", sentence("8ª TURMA", "B-ORG I-ORG")),
        (f"{path}, line 6", sentence(".", "O")),
    ]


def test_conll_columns(write):
    """The first column is the word, the last one the tag; columns are separated by spaces and tabs only."""
    content = (
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n"
        "-DOCSTART- -X- O O\n\nPeter\tNNP \tB-NP  B-PER\n\n10\u00a0000 B-NUM\n"
    )
    assert [fields for _, fields in read_conll(write("file.conll", content))] == [
        sentence("EU rejects", "B-ORG O"),
        sentence("Peter", "B-PER"),
        {"words": ["10\u00a0000"], "tags": ["B-NUM"]},
    ]


def test_document_start_within_a_sentence_is_a_word(write):
    content = "a X O\n-DOCSTART- X O\n-DOCSTART-s X O\n\n-DOCSTART-s X O\n\n-DOCSTART-\n\nb X O\n"
    assert [fields["words"] for _, fields in read_conll(write("file.conll", content))] == [
        ["a", "-DOCSTART-", "-DOCSTART-s"],
        ["-DOCSTART-s"],
        ["b"],
    ]
    with pytest.raises(ValueError, match="found no sentence"):
        list(read_conll(write("file.conll", "-DOCSTART- X O\n")))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("TURMA", "found 'TURMA'; expected a word and its tag"),
        (b"CAPIT\xc3 O", "found byte 0xC3 at byte 6"),
        ("a X O", r"found 3 columns in 'a X O'; expected 2"),
        ("10\u00a0000", "expected a word and its tag"),
    ],
)
def test_malformed_line_of_conll(write, line, message):
    path = write("file.conll", b"\n".join([b"a O", b"", b"b O", as_bytes(line), b"c O", b"", b"d O"]))
    first, bad, last = read_conll(path)
    assert (first, last) == ((f"{path}, line 1", sentence("a", "O")), (f"{path}, line 7", sentence("d", "O")))
    assert_bad(bad, f"{path}, line 4", message)


word = st.text(st.characters(categories=["L", "N", "P", "M", "S"]), min_size=1).filter(lambda w: w != "-DOCSTART-")


@given(st.lists(st.lists(st.tuples(word, word), min_size=1), min_size=1), st.sampled_from([" ", "\t"]))
def test_conll_round_trip(tmp_path_factory, sentences, gap):
    path = tmp_path_factory.mktemp("conll") / "file.conll"
    lines = ["".join(f"{word}{gap}{tag}\n" for word, tag in sentence) for sentence in sentences]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    assert [list(zip(fields["words"], fields["tags"])) for _, fields in read_conll(path)] == sentences


def conllu(*lines):
    """Lines from `id form upos feats`, with the other columns unspecified."""
    made = []
    for line in lines:
        if line and not line.startswith("#"):
            number, form, upos, feats = line.split()
            line = "\t".join([number, form, form.lower(), upos, "_", feats, "_", "_", "_", "_"])
        made.append(line)
    return "\n".join([*made, ""])


WRITTEN = conllu(
    "# text = Saíram das casas.",
    "1 Saíram VERB Tense=Past",
    "2-3 das _ _",
    "2 de ADP _",
    "3 as DET Gender=Fem",
    "4 casas NOUN Gender=Fem",
    "4.1 foram AUX _",
    "5 . PUNCT _",
    "",
    "1 Sim INTJ _",
)


def test_conllu_words_and_tags(write):
    path = write("file.conllu", WRITTEN)
    assert list(read_conllu(path, "upos")) == [
        (f"{path}, line 1", sentence("Saíram das casas .", "VERB ADP+DET NOUN PUNCT")),
        (f"{path}, line 10", sentence("Sim", "INTJ")),
    ]
    (_, first), _ = read_conllu(path, "feats")
    assert first["tags"] == ["Tense=Past", "_+Gender=Fem", "Gender=Fem", "_"]
    with pytest.raises(ValueError, match="--tag_column pos: expected one of id, form, lemma, upos, xpos"):
        read_conllu(path, "pos")


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["1 a X _", "two b X _"], 2, "found the id 'two'"),
        (["1-2 das _ _", "1 de ADP _", "3 a DET _"], 3, "found the id '3'; expected 2"),
        (["1 de ADP _", "1 as DET _"], 2, "found the id '1'; expected 2"),
        (["1 a X _", "2-3 das _ _", "2 de ADP _"], 3, "found a range up to 3 that ends at 2"),
        (["1 a X _", "2-1 das _ _", "2 de ADP _"], 2, "found the id '2-1'; expected 2"),
        (["1 a X _", f"{'9' * 5_000} b X _"], 2, "found the id '9+'; expected one such as 4"),
        (["1 a X _", "2-3 das _ _"], 2, "found a range up to 3 that ends at 1"),
    ],
)
def test_malformed_line_of_conllu(write, lines, line, message):
    path = write("file.conllu", conllu(*lines, "", "1 b X _"))
    bad, good = read_conllu(path, "upos")
    assert good[1] == sentence("b", "X")
    assert_bad(bad, f"{path}, line {line}", message)


def test_conllu_columns_are_separated_by_tabs(write):
    path = write("file.conllu", "1 a a X _ _ _ _ _ _\n")
    (bad,) = read_conllu(path, "upos")
    assert_bad(bad, f"{path}, line 1", "found 1 columns .*expected 10, separated by tabs")


# SQuAD


def question(identifier="q1", **values):
    answers = [{"text": "Campo Grande", "answer_start": 15}, {"text": "em Campo Grande", "answer_start": 12}]
    return {"id": identifier, "question": "Onde fica?", "answers": answers, **values}


def without(name, value):
    return {key: kept for key, kept in value.items() if key != name}


def squad(*questions):
    return {"version": "1.1", "data": [{"title": "UFMS", "paragraphs": [{"context": CONTEXT, "qas": [*questions]}]}]}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_squad_questions(write, mark):
    path = write("train.json", mark + json.dumps(squad(question("q1"), question("q2")), ensure_ascii=False))
    row = {
        "context": CONTEXT,
        "question": "Onde fica?",
        "answers": {"text": ["Campo Grande", "em Campo Grande"], "answer_start": [15, 12]},
    }
    assert list(read_squad(path)) == [(f"{path}, question {name}", {"id": name, **row}) for name in ("q1", "q2")]


def test_squad_2_question_without_an_answer(write):
    impossible = question(answers=[], is_impossible=True, plausible_answers=[{"text": "UFMS", "answer_start": 2}])
    ((_, fields),) = read_squad(write("train.json", json.dumps(squad(impossible))))
    assert fields["answers"] == {"text": [], "answer_start": []}
    with pytest.raises(ValueError, match="found no answer; expected at least one"):
        QUESTIONS.check(fields)


@pytest.mark.parametrize(
    ("malformed", "where", "message"),
    [
        (without("answers", question("q2")), "question q2", "found .*; expected .*answers"),
        (without("question", question("q2")), "question q2", "found .*; expected .*question"),
        (without("id", question()), "article 1, paragraph 1, question 2", "found .*; expected .*id"),
        (question("q2", answers=[{"text": "UFMS"}]), "question q2", "found .*; expected .*answer_start"),
        (question("q2", answers="UFMS"), "question q2", "found .*; expected .*answers"),
        ("Onde fica?", "article 1, paragraph 1, question 2", "found 'Onde fica.'; expected"),
    ],
)
def test_malformed_question(write, malformed, where, message):
    path = write("train.json", json.dumps(squad(question("q1"), malformed, question("q3"))))
    first, bad, last = read_squad(path)
    assert (first[1]["id"], last[1]["id"]) == ("q1", "q3")
    assert_bad(bad, f"{path}, {where}", message)


@pytest.mark.parametrize(
    ("article", "where"),
    [
        ("text", "article 1"),
        ({"title": "UFMS"}, "article 1"),
        ({"paragraphs": 3}, "article 1"),
        *(
            ({"paragraphs": [paragraph]}, "article 1, paragraph 1")
            for paragraph in ["text", {"context": CONTEXT}, {"context": CONTEXT, "qas": question()}]
        ),
    ],
)
def test_malformed_article_or_paragraph(write, article, where):
    content = squad(question("q3"))
    content["data"].insert(0, article)
    path = write("train.json", json.dumps(content))
    bad, last = read_squad(path)
    assert last[1]["id"] == "q3"
    assert_bad(bad, f"{path}, {where}", "found .*expected an object with a list")


def test_question_with_the_id_of_another(write):
    path = write("train.json", json.dumps(squad(question("1"), question(1), question(2))))
    first, bad, last = read_squad(path)
    assert (first[1]["id"], last[1]["id"]) == ("1", 2)
    places = [rf"article 1, paragraph 1, question {number}" for number in (2, 1)]
    assert_bad(bad, f"{path}, question 1", f"found it at .*{places[0]} and at .*{places[1]}; expected another id")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"data":\n["\xe3"]}', "line 2: found byte 0xE3"),
        ('{"data": []}'.encode("utf-16"), "line 1: found the byte order mark of UTF-16"),
        ('{"data": ' + "[" * 100_000, "more than 100 brackets in one another"),
        ('{"data": ' + "9" * 5_000 + "}", "a number of 5,000 digits"),
        ('{"data": NaN}', "NaN, which is no number"),
        ('{"data": [], "data": [1]}', "the key 'data' more than once"),
    ],
)
def test_malformed_json_of_squad(write, content, message):
    with pytest.raises(ValueError, match=rf"train.json(: found malformed JSON \(|, ){message}.*; expected"):
        list(read_squad(write("train.json", content)))


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": "1.1"}', '{"data": {}}', '{"data": 3}', '{"data": []}']
)
def test_file_that_is_not_squad(write, content):
    with pytest.raises(ValueError, match=r"train.json: found .*expected an object with a list 'data'"):
        list(read_squad(write("train.json", content)))


# All readers


@pytest.mark.parametrize("suffix", [".tsv", ".txt", ".csv", ".jsonl", ".conll", ".conllu"])
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "\ufeff\r\n"])
def test_file_without_rows(write, suffix, content):
    path = write(f"file{suffix}", content)
    with pytest.raises(
        ValueError, match=rf"file\{suffix}: found no (rows; expected rows of source|sentence; expected)"
    ):
        list(READERS[suffix](path))


every_suffix = pytest.mark.parametrize("suffix", READERS)


@pytest.mark.parametrize("suffix", [suffix for suffix in READERS if suffix != ".parquet"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16(write, suffix, encoding):
    rows = {".csv": '"a","b"\n', ".jsonl": '{"source": "a"}\n', ".conll": "a\tO\n\n", ".json": '{"data": []}'}
    path = write(f"file{suffix}", (rows.get(suffix, "a\tb\n") * 2).encode(encoding))
    with pytest.raises(BadRow, match=rf"file\{suffix}, line 1: found .* of UTF-16; expected UTF-8"):
        raise next(row for row in READERS[suffix](path) if isinstance(row, BadRow))


@every_suffix
def test_folder(tmp_path, suffix):
    folder = tmp_path / f"file{suffix}"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match=rf"file\{suffix}: Is a directory; expected a file that can be read"):
        list(READERS[suffix](folder))


@every_suffix
def test_file_that_cannot_be_read(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    path.symlink_to("/proc/self/mem")
    with pytest.raises((OSError, ValueError), match=rf"file\{suffix}: .*Input/output error.*; expected"):
        list(READERS[suffix](path))


@every_suffix
def test_missing_file(tmp_path, suffix):
    with pytest.raises(FileNotFoundError, match=rf"absent\{suffix}"):
        list(READERS[suffix](tmp_path / f"absent{suffix}"))


def test_unknown_suffix(write):
    with pytest.raises(ValueError, match=r"found the suffix '.xlsx'; expected .tsv, .txt, .csv, .jsonl or .parquet"):
        read(write("table.xlsx", ""))


@pytest.mark.parametrize(
    ("suffix", "row"),
    [
        (".tsv", "{0}\t{0}\n"),
        (".csv", '"{0}","{0}"\n'),
        (".jsonl", '{{"source": "{0}", "target": "{0}"}}\n'),
        (".conll", "{0} {0}\n\n"),
    ],
)
def test_large_file_is_read_row_by_row(write, suffix, row):
    path = write(f"file{suffix}", row.format("a" * 5_000) * 1_000)
    tracemalloc.start()
    rows = sum(1 for _ in READERS[suffix](path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 1_000
    assert peak < path.stat().st_size / 20
