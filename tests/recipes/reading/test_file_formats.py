"""Readers of lines, tables, CoNLL, CoNLL-U and SQuAD files; `tests/fuzz/test_fuzz_readers.py` damages such files."""

import json
import re
import tracemalloc
from functools import partial

import pyarrow
import pyarrow.parquet
import pytest

from atenta.recipes.reading.file_formats import read_conll, read_conllu, read_squad, read_table
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.documents import read_documents
from atenta.recipes.tasks.questions import QUESTIONS

COLUMNS, OPTIONAL = ["source", "target"], ["tags"]
READERS = {
    **dict.fromkeys((".tsv", ".txt", ".csv", ".jsonl", ".parquet"), partial(read_table, columns=COLUMNS)),
    ".conll": read_conll,
    ".conllu": partial(read_conllu, tag_column="upos"),
    ".json": read_squad,
}
CONTEXT = "A UFMS fica em Campo Grande."


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(as_bytes(content))
        return path

    return write


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8")


def assert_bad(row, where, *found):
    """Check that a row is bad, where it is, and that the problem names what was found."""
    assert isinstance(row, BadRow)
    assert row.where == str(where)
    assert re.fullmatch("found .+; expected .+", row.problem)
    assert all(name in row.problem for name in found), row.problem


# Malformed units: rows of tables, sentences and questions


def conllu(*lines):
    """Lines from `id form upos feats`, with the other columns unspecified."""
    made = []
    for line in lines:
        if line.count(" ") == 3 and not line.startswith("#"):
            number, form, upos, feats = line.split()
            line = "\t".join([number, form, form.lower(), upos, "_", feats, "_", "_", "_", "_"])
        made.append(line)
    return "\n".join([*made, ""])


GOOD = {
    **{".tsv": "x\ty", ".csv": "x,y", ".jsonl": '{"source": "x", "target": "y"}'},
    **{".conll": "x O\n", ".conllu": conllu("1 x X _")},
}
DEEP = "[" * 200 + "]" * 200


@pytest.mark.parametrize(
    ("suffix", "bad", "line", "found"),
    [
        (".tsv", "a", 1, "1 column(s) in ['a']"),
        (".tsv", "a\tb\tV", 1, "3 column(s)"),
        (".tsv", "", 1, "a blank line"),
        (".tsv", b"a\tb\xe3o", 1, r"0xE3 after 'a\tb'; expected UTF-8"),
        (".tsv", b"a\tb\xed\xa0\x80", 1, "0xED"),  # a surrogate
        (".csv", '"a"b,c', 1, "malformed CSV"),
        (".csv", b'"a"\0,b', 1, "NUL"),
        (".csv", "", 1, "a blank line"),
        (".jsonl", '{"source": "a"', 1, "JSON object"),
        (".jsonl", '["a", "b"]', 1, "JSON object"),
        (".jsonl", '{"source": "a"}', 1, "(without target); expected a JSON object with source, target"),
        (".jsonl", f'{{"source": {DEEP}, "target": "b"}}', 1, "100 brackets"),
        (".jsonl", '{"source": "a", "target": "b", "n": ' + "[" * 100_000, 1, "100 brackets"),
        (".jsonl", '{"source": "a", "target": "b", "n": ' + "9" * 5_000 + "}", 1, "5000 digits"),
        (".jsonl", '{"source": "a", "target": "b", "source": "c"}', 1, "the key 'source' more than once"),
        (".jsonl", '{"source": "a", "target": "b", "n": [{"m": 1, "m": 1}]}', 1, "the key 'm' more than once"),
        (".conll", "a O\nTURMA\nb O\n", 2, "1 column(s) in 'TURMA'"),
        (".conll", b"a O\nCAPIT\xc3 O\n", 2, "0xC3"),
        (".conll", "a O\na X O\n", 2, "3 column(s) in 'a X O'"),
        (".conll", "a O\n10\u00a0000\n", 2, "1 column(s)"),
        (".conllu", conllu("1 a X _", "two b X _"), 2, "'two'"),
        (".conllu", conllu("1-2 das _ _", "1 de ADP _", "3 a DET _"), 3, "'3'; expected 2"),
        (".conllu", conllu("1 de ADP _", "1 as DET _"), 2, "'1'; expected 2"),
        (".conllu", conllu("1 a X _", "2-3 das _ _", "2 de ADP _"), 3, "up to 3 that ends at 2"),
        (".conllu", conllu("1 a X _", "2-1 das _ _", "2 de ADP _"), 2, "'2-1'; expected 2"),
        (".conllu", conllu("1-2 das _ _", "1-2 das _ _", "1 de ADP _", "2 as DET _"), 2, "'1-2'; expected 1"),
        (".conllu", conllu("1 a X _", f"{'9' * 5_000} b X _"), 2, "'999"),
        (".conllu", conllu("1 a X _", "2-3 das _ _"), 2, "up to 3 that ends at 1"),
        (".conllu", conllu("1 a X _", "2 b b X _ _ _ _ _ _"), 2, "1 columns"),  # separated by spaces
    ],
)
def test_a_malformed_unit_is_named_and_its_neighbours_are_read(write, suffix, bad, line, found):
    good = GOOD[suffix]
    path = write(f"file{suffix}", b"\n".join(map(as_bytes, (good, good, bad, good, ""))))
    first, second, malformed, last = READERS[suffix](path)
    start = 1 + 2 * (good + "\n").count("\n")
    assert first[1] == second[1] == last[1] == next(READERS[suffix](write(f"good{suffix}", good)))[1]
    assert last[0] == f"{path}, line {start + as_bytes(bad).count(10) + 1}"
    assert_bad(malformed, f"{path}, line {start + line - 1}", found)


def test_brackets_in_strings_and_beside_one_another_are_read(write):
    fields = {"source": '[{"\\' * 200, "target": "b", "n": [[number] for number in range(200)]}
    assert read(write("table.jsonl", json.dumps(fields))) == [fields]


# Tables


def read(path):
    """The fields of good rows, and the messages of bad ones."""
    rows = read_table(path, COLUMNS, OPTIONAL)
    return [str(row) if isinstance(row, BadRow) else row[1] for row in rows]


def pair(source, target, **tags):
    return {"source": source, "target": target, **tags}


def test_tables_with_and_without_a_header(write):
    path = write("table.txt", "cao\tcão\n pao  de\tpão  de \nNA\tnull\n")
    assert read(path) == [pair("cao", "cão"), pair(" pao  de", "pão  de "), pair("NA", "null")]
    assert read(write("table.tsv", "ser\tfoi\tV;3\n")) == [pair("ser", "foi", tags="V;3")]
    assert read(write("table.tsv", '"a\tb"\n')) == [pair('"a', 'b"')]  # only csv has quotes
    path = write("table.tsv", "target\tcount\tsource\ncão\t3\tcao\n")
    assert list(read_table(path, COLUMNS)) == [(f"{path}, line 2", pair("cao", "cão", count="3"))]
    with pytest.raises(ValueError, match="found no rows"):
        read(write("table.tsv", "source\ttarget\n"))


@pytest.mark.parametrize("text", ["a|b\nc|d", "a|b\r\nc|d\r\n", "\ufeffa|b\nc|d\n", "a|b\nc|d\n\n\r\n"])
def test_line_ends_byte_order_mark_and_blank_end_of_tables(write, text):
    rows = [pair("a", "b"), pair("c", "d")]
    assert (
        read(write("table.tsv", text.replace("|", "\t"))) == read(write("table.csv", text.replace("|", ","))) == rows
    )
    in_json = text.replace("a|b", '{"target": "b", "source": "a"}').replace("c|d", '{"source": "c", "target": "d"}')
    assert read(write("table.jsonl", in_json)) == rows


@pytest.mark.parametrize(
    "first",
    [
        *("Source|Target", "target|source ", "source|target|Tags"),  # other spellings
        *("source|target|source", "n|source|n|target"),  # names twice
        *("Source|alvo", "entrada|saída|tags"),  # only some names
        *("source:target", "a|b|V|W", "", b"so\xe3rce|target"),
    ],
)
@pytest.mark.parametrize(("suffix", "gap"), [(".tsv", b"\t"), (".csv", b",")])
def test_first_row_that_may_be_a_malformed_header(write, suffix, gap, first):
    """The columns of the other rows are unknown, so none is read, also if bad rows are skipped."""
    path = write(f"table{suffix}", as_bytes(first).replace(b"|", gap) + b"\na" + gap + b"b\n")
    with pytest.raises(BadRow) as error:
        read(path)
    if isinstance(first, bytes):
        expected = ["UTF-8"]
    else:
        expected = [str(first.split("|")), "source, target, optionally tags"] if first else ["a blank line"]
    assert_bad(error.value, f"{path}, line 1", *expected)


def test_csv_rows_over_several_lines(write):
    path = write("table.csv", b'"two\nlines",y\na\nx,y\n"two\nl\xe3nes",y\nc,"d\ne,f\n')
    first, short, second, undecoded, unclosed = read_table(path, COLUMNS)
    assert first == (f"{path}, line 1", pair("two\nlines", "y"))
    assert_bad(short, f"{path}, line 3", "1 column(s) in ['a']")
    assert second == (f"{path}, line 4", pair("x", "y"))
    assert_bad(undecoded, f"{path}, line 6", "0xE3")
    assert_bad(unclosed, f"{path}, line 7", "malformed CSV")


def test_csv_cells_that_semicolons_separate(write):
    """Spreadsheets write so where commas are those of numbers, as in Brazil."""
    assert read(write("table.csv", '\ufeffsource;target\n"a;b";1,5\nc,d;e\n')) == [
        pair("a;b", "1,5"),
        pair("c,d", "e"),
    ]
    assert read(write("table.csv", "a,b;c\n")) == [pair("a", "b;c")]


def test_csv_cells_that_are_long_or_end_with_a_carriage_return(write):
    long = "ã" * 300_000
    assert read(write("table.csv", f'"{long}",b\n')) == [pair(long, "b")]
    assert read(write("table.csv", 'a,"b\r\r\n"\r\n')) == [pair("a", "b\r\r\n")]


def write_parquet(path, table, **options):
    table = pyarrow.Table.from_pylist(table) if isinstance(table, list) else table
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True, **options}
    pyarrow.parquet.write_table(table, path, **options)
    return path


def test_parquet_values_are_unchanged(tmp_path):
    answers = {"text": ["b"], "answer_start": [3]}
    rows = [{"source": "a", "target": answers, "count": 1}, {"source": None, "target": answers, "count": 2}]
    assert read(write_parquet(tmp_path / "table.parquet", rows)) == [pair("a", answers), pair(None, answers)]


@pytest.mark.parametrize("names", [["source", "\x1barget"], ["source", "target", "source"]])
def test_parquet_without_the_columns_or_with_one_twice(tmp_path, names):
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"])] * len(names), names)
    shown = re.escape(", ".join(names).replace("\x1b", r"\x1b"))
    with pytest.raises(ValueError, match=rf"table\.parquet: found the columns {shown}; expected source, target"):
        read(write_parquet(tmp_path / "table.parquet", table))


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda content: b"", "file size is 0"),
        (lambda content: content[: len(content) // 2], "magic bytes"),
        (lambda content: content.replace(b"0012", b"0013", 1), "checksum"),  # in the second group of rows
        (lambda content: b"\0".join(content.rsplit(b"\x14", 1)), "20 of 30 rows"),  # in the footer: pyarrow ends early
    ],
)
def test_damaged_parquet_loses_no_row(tmp_path, damage, found):
    rows = [pair(f"{number:04}", f"{number:04}") for number in range(30)]
    path = write_parquet(tmp_path / "table.parquet", rows, row_group_size=10)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"^{path}: found malformed Parquet \(.*{found}.*\); expected .*$"):
        read(path)


def test_parquet_value_without_a_python_value(tmp_path):
    columns = {"source": pyarrow.array([2**50], pyarrow.timestamp("s")), "target": ["a"]}
    with pytest.raises(ValueError, match=r"table\.parquet: found malformed Parquet .*too large"):
        read(write_parquet(tmp_path / "table.parquet", pyarrow.table(columns)))


# CoNLL and CoNLL-U


def sentence(words, tags):
    return {"words": words.split(), "tags": tags.split()}


def test_conll_sentences(write):
    """The first column is the word, the last one the tag; columns are separated by spaces and tabs only."""
    content = "\ufeff\n8ª B-ORG\nTURMA I-ORG\n\n \n. O\n\n10\u00a0000\tCD \tB-NP  B-NUM"
    path = write("file.conll", content.replace("\n", "\r\n"))
    assert list(read_conll(path)) == [
        (f"{path}, line 2", sentence("8ª TURMA", "B-ORG I-ORG")),
        (f"{path}, line 6", sentence(".", "O")),
        (f"{path}, line 8", {"words": ["10\u00a0000"], "tags": ["B-NUM"]}),
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


def test_conllu_words_and_tags(write):
    lines = ["1 Saíram VERB Tense=Past", "2-3 das _ _", "2 de ADP _", "3 as DET Gender=Fem", "4 casas NOUN Gender=Fem"]
    content = conllu("# text = Saíram das casas.", *lines, "4.1 foram AUX _", "5 . PUNCT _", "", "1 Sim INTJ _")
    path = write("file.conllu", content)
    assert list(read_conllu(path, "upos")) == [
        (f"{path}, line 1", sentence("Saíram das casas .", "VERB ADP+DET NOUN PUNCT")),
        (f"{path}, line 10", sentence("Sim", "INTJ")),
    ]
    (_, first), _ = read_conllu(path, "feats")
    assert first["tags"] == ["Tense=Past", "_+Gender=Fem", "Gender=Fem", "_"]
    with pytest.raises(ValueError, match="--tag_column pos: expected one of id, form, lemma, upos, xpos"):
        read_conllu(path, "pos")


# SQuAD


def question(identifier="q1", without="", **values):
    answers = [{"text": "Campo Grande", "answer_start": 15}, {"text": "em Campo Grande", "answer_start": 12}]
    made = {"id": identifier, "question": "Onde fica?", "answers": answers, **values}
    return {name: value for name, value in made.items() if name != without}


def squad(*questions):
    return {"version": "1.1", "data": [{"title": "UFMS", "paragraphs": [{"context": CONTEXT, "qas": [*questions]}]}]}


def test_squad_questions(write):
    path = write("train.json", "\ufeff" + json.dumps(squad(question("q1"), question("q2")), ensure_ascii=False))
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
    ("malformed", "where"),
    [
        (question("q2", "answers"), "question q2"),
        (question("q2", "question"), "question q2"),
        (question(without="id"), "article 1, paragraph 1, question 2"),
        (question("q2", answers=[{"text": "UFMS"}]), "question q2"),
        (question("q2", answers="UFMS"), "question q2"),
        ("Onde fica?", "article 1, paragraph 1, question 2"),
    ],
)
def test_malformed_question(write, malformed, where):
    path = write("train.json", json.dumps(squad(question("q1"), malformed, question("q3"))))
    first, bad, last = read_squad(path)
    assert (first[1]["id"], last[1]["id"]) == ("q1", "q3")
    assert_bad(bad, f"{path}, {where}", "'id'", "'question'", "'answers'", "'answer_start'")


@pytest.mark.parametrize(("paragraphs", "where", "name"), [(3, "", "paragraphs"), (["text"], ", paragraph 1", "qas")])
def test_malformed_article_or_paragraph(write, paragraphs, where, name):
    articles = [{"paragraphs": paragraphs}, *squad(question("q3"))["data"]]
    path = write("train.json", json.dumps({"data": articles}))
    bad, last = read_squad(path)
    assert last[1]["id"] == "q3"
    assert_bad(bad, f"{path}, article 1{where}", f"a list {name!r}")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"data":\n["\xe3"]}', "line 2: found byte 0xE3"),
        ("", "JSON"),
        ("{", "JSON"),
        ("[]", "[]"),
        ('{"data": 3}', "'data': 3"),
        ('{"data": []}', "no questions"),
        ('{"data":\n' + DEEP + "}", "100 brackets in one another: line 2"),
        ('{"data": ' + "9" * 5_000 + "}", "5000 digits"),
        ('{"data": [], "data": [1]}', "the key 'data' more than once"),
    ],
)
def test_file_that_is_not_squad(write, content, found):
    with pytest.raises(ValueError, match=rf"train.json.*{re.escape(found)}.*; expected"):
        raise next(read_squad(write("train.json", content)))


# All readers


@pytest.mark.parametrize("suffix", [suffix for suffix in READERS if suffix not in (".parquet", ".json")])
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff\r\n"])
def test_file_without_rows(write, suffix, content):
    path = write(f"file{suffix}", content)
    with pytest.raises(ValueError, match=rf"file\{suffix}: found no (rows; expected .*source|sentence; expected)"):
        list(READERS[suffix](path))


@pytest.mark.parametrize("suffix", [suffix for suffix in READERS if suffix != ".parquet"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16(write, suffix, encoding):
    rows = {".csv": '"a","b"\n', ".jsonl": '{"source": "a"}\n', ".conll": "a\tO\n\n", ".json": '{"data": []}'}
    path = write(f"file{suffix}", (rows.get(suffix, "a\tb\n") * 2).encode(encoding))
    with pytest.raises(BadRow, match=rf"file\{suffix}, line 1: found .* UTF-16.*; expected UTF-8"):
        raise next(row for row in READERS[suffix](path) if isinstance(row, BadRow))


@pytest.mark.parametrize("suffix", READERS)
def test_what_is_no_file(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    with pytest.raises(FileNotFoundError, match=rf"file\{suffix}: .*; expected a file that can be read"):
        list(READERS[suffix](path))
    path.symlink_to("/proc/self/mem")
    with pytest.raises((OSError, ValueError), match=rf"file\{suffix}: .*(Input/output|Invalid argument).*; expected"):
        list(READERS[suffix](path))


def test_unknown_suffix(write):
    with pytest.raises(ValueError, match=r"table.xlsx: found the suffix '.xlsx'; expected .tsv, .txt, .csv, .jsonl"):
        read(write("table.xlsx", ""))


@pytest.mark.parametrize(
    ("suffix", "row"),
    [
        (".tsv", "{0}\t{0}\n"),
        (".csv", '"{0}","{0}"\n'),
        (".jsonl", '{{"source": "{0}", "target": "{0}"}}\n'),
        (".conll", "{0} {0}\n\n"),
        (".paragraphs", "{0}\n\n"),
    ],
)
def test_large_file_is_read_row_by_row(write, suffix, row):
    path = write(f"file{suffix}", row.format("a" * 5_000) * 1_000)
    read = READERS.get(suffix, partial(read_documents, sample_by="paragraph"))
    tracemalloc.start()
    rows = sum(1 for _ in read(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 1_000
    assert peak < path.stat().st_size / 20
