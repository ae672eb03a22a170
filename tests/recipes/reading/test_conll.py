import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.conll import read_conll, read_conllu
from atenta.recipes.reading.records import BadRow


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.conll"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def sentence(words, tags):
    return {"words": words.split(), "tags": tags.split()}


def test_sentences_end_at_blank_lines_and_at_the_end_of_the_file(write):
    path = write("\n8ª B-ORG\nTURMA I-ORG\n\n \n. O")
    assert list(read_conll(path)) == [
        (f"{path}, line 2", sentence("8ª TURMA", "B-ORG I-ORG")),
        (f"{path}, line 6", sentence(".", "O")),
    ]


def test_the_first_column_is_the_word_and_the_last_the_tag(write):
    first = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n"
    content = first + "-DOCSTART- -X- O O\n\nPeter\tNNP \tB-NP  B-PER\n"
    assert [fields for _, fields in read_conll(write(content))] == [
        sentence("EU rejects", "B-ORG O"),
        sentence("Peter", "B-PER"),
    ]


def test_windows_line_ends_and_byte_order_mark(write):
    assert [fields for _, fields in read_conll(write("\ufeffa O\r\nb O\r\n\r\nc O\r\n"))] == [
        sentence("a b", "O O"),
        sentence("c", "O"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("TURMA", "found 'TURMA'; expected a word and its tag"),
        (b"CAPIT\xc3 O", "found byte 0xC3 at byte 6"),
        ("a X O", r"found 3 columns in 'a X O'; expected 2"),
        ("10\u00a0000", "expected a word and its tag"),
    ],
)
def test_a_malformed_line_is_named_and_its_sentence_left_out(write, line, message):
    line = line if isinstance(line, bytes) else line.encode("utf-8")
    path = write(b"\n".join([b"a O", b"", b"b O", line, b"c O", b"", b"d O"]))
    first, bad, last = read_conll(path)
    assert (first, last) == ((f"{path}, line 1", sentence("a", "O")), (f"{path}, line 7", sentence("d", "O")))
    assert bad.where == f"{path}, line 4"
    with pytest.raises(BadRow, match=message):
        raise bad


def test_only_spaces_and_tabs_part_columns(write):
    """What holds a no-break space stays whole: the check of the task refuses it by name."""
    ((_, fields),) = read_conll(write("10\u00a0000 B-NUM\n"))
    assert fields == {"words": ["10\u00a0000"], "tags": ["B-NUM"]}


word = st.text(st.characters(categories=["L", "N", "P", "M", "S"]), min_size=1).filter(lambda w: w != "-DOCSTART-")


@given(st.lists(st.lists(st.tuples(word, word), min_size=1), min_size=1), st.sampled_from([" ", "\t"]))
def test_what_is_written_is_read(tmp_path_factory, sentences, gap):
    path = tmp_path_factory.mktemp("conll") / "file.conll"
    lines = ["".join(f"{word}{gap}{tag}\n" for word, tag in sentence) for sentence in sentences]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    assert [list(zip(fields["words"], fields["tags"])) for _, fields in read_conll(path)] == sentences


@pytest.mark.parametrize("content", ["", "\n\n", "-DOCSTART- -X- O O\n\n"])
def test_a_file_without_sentences_is_refused(write, content):
    with pytest.raises(ValueError, match=r"file.conll: found no sentence"):
        list(read_conll(write(content)))


def test_a_large_file_is_never_whole_in_memory(write):
    path = write("palavra B-LOC\n" * 20 + "\n" + "palavra B-LOC\n\n" * 100_000)
    tracemalloc.start()
    assert sum(1 for _ in read_conll(path)) == 100_001
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 10


def conllu(*lines):
    """Lines of `id form upos feats` with the other columns unspecified."""
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


def test_words_stand_as_they_are_written(write):
    path = write(WRITTEN, "file.conllu")
    assert list(read_conllu(path, "upos")) == [
        (f"{path}, line 1", sentence("Saíram das casas .", "VERB ADP+DET NOUN PUNCT")),
        (f"{path}, line 10", sentence("Sim", "INTJ")),
    ]


def test_any_column_may_hold_the_tags(write):
    first, _ = read_conllu(write(WRITTEN, "file.conllu"), "feats")
    assert first[1]["tags"] == ["Tense=Past", "_+Gender=Fem", "Gender=Fem", "_"]


def test_an_unknown_column_is_refused_with_those_known(write):
    with pytest.raises(ValueError, match="--tag_column pos: expected one of id, form, lemma, upos, xpos"):
        read_conllu(write(WRITTEN, "file.conllu"), "pos")


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["1 a X _", "two b X _"], 2, "found the id 'two'"),
        (["1-2 das _ _", "1 de ADP _", "3 a DET _"], 3, "found the id '3'; expected 2"),
        (["1 de ADP _", "1 as DET _"], 2, "found the id '1'; expected 2"),
        (["1 a X _", "2-3 das _ _", "2 de ADP _"], 3, "range"),
        (["1 a X _", "2-3 das _ _"], 2, "range"),
    ],
)
def test_a_malformed_line_of_conllu_is_named(write, lines, line, message):
    path = write(conllu(*lines, "", "1 b X _"), "file.conllu")
    bad, good = read_conllu(path, "upos")
    assert good[1] == sentence("b", "X")
    assert bad.where == f"{path}, line {line}"
    with pytest.raises(BadRow, match=message):
        raise bad


def test_columns_of_conllu_are_parted_by_tabs(write):
    (bad,) = read_conllu(write("1 a a X _ _ _ _ _ _\n", "file.conllu"), "upos")
    assert "found 1 columns" in str(bad)
    assert "expected 10, parted by tabs" in str(bad)
