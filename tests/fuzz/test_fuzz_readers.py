"""Readers of files that are no tables, judged as those in test_fuzz_tables.py are; and what is no such file.

The second reading of each format is written here, from its description. It gives the rows with their places, a bad row
as None, and None instead of rows where the file cannot be read at all.
"""

import json
import re
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atenta.recipes.reading.file_formats import read_conll, read_conllu, read_squad, read_table
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.documents import read_documents
from support.damaged_files import damage, damages, expect_clear, judge, lines_of, parse, read_all, texts

ends = st.sampled_from(["\n", "\r\n"])


# CoNLL and CoNLL-U


def blocks_of(content):
    """The numbers and texts of the lines of each sentence."""
    block = []
    for number, line in [*enumerate(lines_of(content), start=1), (0, "")]:
        if line is None or line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []


def reread(content, parse_block):
    found = []
    for block in blocks_of(content):
        bad = [number for number, line in block if line is None]
        problem, fields = (bad[0], None) if bad else parse_block(block)
        if problem or fields["words"]:
            found.append((f"line {problem or block[0][0]}", fields))
    return found or None


def parse_conll(block):
    cells = [[cell for cell in re.split("[ \t]", line) if cell] for _, line in block]
    for (number, _), of_line in zip(block, cells):
        if cells[0][:1] == ["-DOCSTART-"] and len(cells) == 1:
            return None, {"words": []}
        if len(of_line) < 2 or len(of_line) != len(cells[0]):
            return number, None
    return None, {"words": [of_line[0] for of_line in cells], "tags": [of_line[-1] for of_line in cells]}


def parse_conllu(block):
    words, tags, count, open_until = [], [], 0, 0
    for number, line in block:
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 10 or not re.fullmatch(r"[0-9]{1,9}([-][0-9]{1,9}|[.][0-9]+)?", cells[0]):
            return number, None
        if "." in cells[0]:
            continue
        first, *last = map(int, cells[0].split("-"))
        if first != count + 1 or (last and (count < open_until or last[0] < first)):
            return number, None
        if last:
            open_until = last[0]
            words.append(cells[1])
            tags.append([])
        else:
            count += 1
            if count > open_until:
                words.append(cells[1])
                tags.append([])
            tags[-1].append(cells[3])
    if count < open_until:
        return block[-1][0], None
    return None, {"words": words, "tags": ["+".join(parts) for parts in tags]}


words = texts(" \t\n\r\ufeff").filter(lambda text: text != "-DOCSTART-")
sentences = st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=4), min_size=1, max_size=4)


def write_conll(given, end):
    blocks = ["".join(f"{word}\t{tag}{end}" for word, tag in sentence) for sentence in given]
    return end.join(["-DOCSTART- O" + end, *blocks]).encode()


def write_conllu(given, end):
    """Each sentence with a comment, and its first word as a contraction if it has two."""
    text = ""
    for sentence in given:
        text += "# text = a" + end
        for number, (word, tag) in enumerate(sentence, start=1):
            if number == 1 and len(sentence) > 1:
                text += "\t".join(["1-2", word, *["_"] * 8]) + end
            text += "\t".join([str(number), word, "_", tag, *["_"] * 6]) + end
        text += end
    return text.encode()


CONLL = {
    "conll": (write_conll, read_conll, partial(reread, parse_block=parse_conll)),
    "conllu": (write_conllu, partial(read_conllu, tag_column="upos"), partial(reread, parse_block=parse_conllu)),
}


@settings(max_examples=80)
@given(given_sentences=sentences, end=ends)
@example(given_sentences=[[("a", "O"), ("-DOCSTART-s", "O")]], end="\n")
def test_conll(folder, outcome, given_sentences, end):
    numbers = [3]
    for sentence in given_sentences:
        numbers.append(numbers[-1] + len(sentence) + 1)
    expected = [
        (f"line {number}", {"words": [word for word, _ in sentence], "tags": [tag for _, tag in sentence]})
        for number, sentence in zip(numbers, given_sentences)
    ]
    judge(outcome, read_conll, folder / "file.conll", write_conll(given_sentences, end), expected)


@settings(max_examples=80)
@given(given_sentences=sentences, end=ends)
def test_conllu(folder, outcome, given_sentences, end):
    expected, number = [], 1
    for sentence in given_sentences:
        joined = len(sentence) > 1
        tags = [tag for _, tag in sentence]
        expected.append(
            (
                f"line {number}",
                {
                    "words": [word for index, (word, _) in enumerate(sentence) if not (joined and index == 1)],
                    "tags": ["+".join(tags[:2]), *tags[2:]] if joined else tags,
                },
            )
        )
        number += 2 + len(sentence) + joined
    read = partial(read_conllu, tag_column="upos")
    judge(outcome, read, folder / "file.conllu", write_conllu(given_sentences, end), expected)


@pytest.mark.parametrize("suffix", CONLL)
@settings(max_examples=250)
@given(given_sentences=sentences, end=ends, done=st.lists(damages, min_size=1, max_size=3))
@example(given_sentences=[[("a", "O")]], end="\n", done=[(2**20, "insert", b"-DOCSTART- O\n")])
@example(given_sentences=[[("a", "O"), ("b", "O")]], end="\n", done=[(17, "insert", b"-DOCSTART-x O\n")])
@example(given_sentences=[[("a", "O")]], end="\n", done=[(11, "insert", b"9" * 5_000)])
@example(given_sentences=[[("a", "O")]], end="\n", done=[(11, "insert", b"1-0\ta\t_\t_\t_\t_\t_\t_\t_\t_\n")])
def test_damaged_conll(folder, outcome, suffix, given_sentences, end, done):
    write, read, reread_file = CONLL[suffix]
    content = write(given_sentences, end)
    for each in done:
        content = damage(content, *each)
    judge(outcome, read, folder / f"file.{suffix}", content, reread_file(content))


# SQuAD


@st.composite
def squad_files(draw):
    """A file, and the fields of its questions."""
    articles, fields = [], []
    for _ in range(draw(st.integers(1, 2))):
        paragraphs = []
        for _ in range(draw(st.integers(1, 2))):
            context, questions = draw(texts()), []
            for _ in range(draw(st.integers(1, 2))):
                answers = draw(st.lists(st.tuples(texts(), st.integers(0, 9)), max_size=2))
                question = {"id": f"q{len(fields)}", "question": draw(texts())}
                listed = [{"text": text, "answer_start": start} for text, start in answers]
                questions.append({**question, "answers": listed})
                lists = {"text": [text for text, _ in answers], "answer_start": [start for _, start in answers]}
                fields.append({"id": question["id"], "context": context, **question, "answers": lists})
            paragraphs.append({"context": context, "qas": questions})
        articles.append({"title": "a", "paragraphs": paragraphs})
    options = {"ensure_ascii": draw(st.booleans()), "indent": draw(st.sampled_from([None, 1]))}
    return json.dumps({"version": "1.1", "data": articles}, **options).encode(), fields


def reread_squad(content):
    lines = lines_of(content)
    value = None if None in lines else parse("\n".join(lines))
    if not (isinstance(value, dict) and isinstance(value.get("data"), list)):
        return None
    found, seen = [], set()
    for article_number, article in enumerate(value["data"], start=1):
        at_article = f"article {article_number}"
        if not (isinstance(article, dict) and isinstance(article.get("paragraphs"), list)):
            found.append((at_article, None))
            continue
        for paragraph_number, paragraph in enumerate(article["paragraphs"], start=1):
            at_paragraph = f"{at_article}, paragraph {paragraph_number}"
            if not (isinstance(paragraph, dict) and isinstance(paragraph.get("qas"), list)):
                found.append((at_paragraph, None))
                continue
            for question_number, question in enumerate(paragraph["qas"], start=1):
                where = f"{at_paragraph}, question {question_number}"
                fields = None
                if isinstance(question, dict) and "id" in question:
                    where = f"question {question['id']}"
                    fields = question_fields(paragraph.get("context"), question)
                if fields and str(fields["id"]) in seen:
                    fields = None
                elif fields:
                    seen.add(str(fields["id"]))
                found.append((where, fields))
    return found or None


def question_fields(context, question):
    answers = question.get("answers")
    if "question" not in question or not isinstance(answers, list):
        return None
    if not all(isinstance(answer, dict) and {"text", "answer_start"} <= set(answer) for answer in answers):
        return None
    lists = {name: [answer[name] for answer in answers] for name in ("text", "answer_start")}
    return {"id": question["id"], "context": context, "question": question["question"], "answers": lists}


@settings(max_examples=60)
@given(made=squad_files())
def test_squad(folder, outcome, made):
    content, fields = made
    expected = [(f"question {each['id']}", each) for each in fields]
    judge(outcome, read_squad, folder / "file.json", content, expected)


EMPTY_QUESTION = b'{"id": "q0", "question": "a", "answers": []}'


@settings(max_examples=250)
@given(made=squad_files(), done=st.lists(damages, min_size=1, max_size=2))
@example(made=(b'{"data": ' + b"[" * 100_000, []), done=[])
@example(made=(b'{"data": ' + b"9" * 5_000 + b"}", []), done=[])
@example(made=(b'{"data": [], "data": [NaN]}', []), done=[])
@example(
    made=(b'{"data": [{"paragraphs": [{"context": "a", "qas": [%b, %b]}]}]}' % ((EMPTY_QUESTION,) * 2), []), done=[]
)
def test_damaged_squad(folder, outcome, made, done):
    content, _ = made
    for each in done:
        content = damage(content, *each)
    judge(outcome, read_squad, folder / "file.json", content, reread_squad(content))


# Documents


def reread_documents(content, sample_by):
    """The documents of a text file that are lines, paragraphs or the file."""
    if sample_by == "line":
        blocks = [[each] for each in enumerate(lines_of(content), start=1)]
    elif sample_by == "paragraph":
        blocks = list(blocks_of(content))
    else:
        blocks = [list(enumerate(lines_of(content), start=1))]
    found = []
    for block in blocks:
        if bad := [(f"line {number}", None) for number, line in block if line is None]:
            found += bad
        elif any(line.strip() for _, line in block):
            found.append((f"line {block[0][0]}", {"text": "\n".join(line for _, line in block)}))
    return found or None


@pytest.mark.parametrize("sample_by", ["document", "paragraph", "line"])
@settings(max_examples=120)
@given(
    lines=st.lists(st.one_of(st.just(""), texts("\n\r\ufeff")), max_size=6),
    end=ends,
    done=st.lists(damages, max_size=2),
)
@example(lines=[], end="\n", done=[])
@example(lines=["", ""], end="\r\n", done=[])
@example(lines=["a"], end="\n", done=[(1, "insert", b"\0")])
def test_documents(folder, outcome, sample_by, lines, end, done):
    content = end.join([*lines, ""]).encode()
    for each in done:
        content = damage(content, *each)
    read = partial(read_documents, sample_by=sample_by)
    judge(outcome, read, folder / "text.txt", content, reread_documents(content, sample_by))


@settings(max_examples=80)
@given(lines=st.lists(texts("\n\r\ufeff"), min_size=1, max_size=6), end=ends)
def test_sentences(folder, outcome, lines, end):
    path = folder / "text.txt"
    path.write_bytes(end.join(lines).encode())
    found = "".join(fields["text"] for _, fields in read_documents(path, "sentence"))
    assert "".join(found.split()) == "".join("".join(lines).split())
    outcome("right")


# All readers

READERS = {
    **dict.fromkeys(("tsv", "txt", "csv", "jsonl", "parquet"), partial(read_table, columns=("source", "target"))),
    "conll": read_conll,
    "conllu": partial(read_conllu, tag_column="upos"),
    "json": read_squad,
}


@pytest.mark.parametrize("suffix", READERS)
@settings(max_examples=40)
@given(text=texts(), encoding=st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-32"]))
def test_other_encodings(folder, outcome, suffix, text, encoding):
    path = folder / f"encoded.{suffix}"
    path.write_bytes((f"a{text}\tb\n" * 2).encode(encoding))
    found, error = read_all(READERS[suffix], path)
    error = error or next(row for row in found if isinstance(row, BadRow))
    assert suffix == "parquet" or "expected UTF-8" in str(error)
    outcome("bad row named" if isinstance(error, BadRow) else "clear error")


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("kind", ["absent", "folder", "unreadable", "empty"])
def test_what_is_no_file(tmp_path, outcome, suffix, kind):
    path = tmp_path / f"data.{suffix}"
    if kind == "folder":
        path.mkdir()
    elif kind == "unreadable":
        path.symlink_to("/proc/self/mem")
    elif kind == "empty":
        path.touch()
    with pytest.raises((ValueError, OSError)) as error:
        list(READERS[suffix](path))
    expect_clear(error.value, path)
    outcome("clear error")
