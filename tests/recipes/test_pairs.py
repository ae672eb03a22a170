import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.pairs import Pair, encode_pairs, read_pairs, tag_tokens


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "pairs.tsv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def test_two_columns(write):
    assert read_pairs(write("cao\tcão\n pao  de\tpão  de \n")) == [Pair("cao", "cão"), Pair(" pao  de", "pão  de ")]


def test_three_columns_hold_tags_in_the_order_given(write):
    pairs = read_pairs(write("V\tVs\tV;3;PL\nser\tfoi\tV.PTCP;{M/F}\n"))
    assert pairs == [Pair("V", "Vs", ("<V>", "<3>", "<PL>")), Pair("ser", "foi", ("<V.PTCP>", "<{M/F}>"))]


def test_a_path_may_be_a_string(write):
    assert read_pairs(str(write("a\tb"))) == [Pair("a", "b")]


@pytest.mark.parametrize("content", ["a\tb\nc\td", "a\tb\r\nc\td\r\n", "\ufeffa\tb\nc\td\n", "a\tb\nc\td\n\n\r\n\n"])
def test_line_endings_byte_order_mark_and_blank_end(write, content):
    assert read_pairs(write(content)) == [Pair("a", "b"), Pair("c", "d")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_line_feed_ends_a_line(write, separator):
    assert read_pairs(write(f"a{separator}b\tc\n")) == [Pair(f"a{separator}b", "c")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a", r"found 1 column.*'a'; expected source<TAB>target"),
        ("a b", r"found 1 column.*'a b'; expected source<TAB>target"),
        ("a\tb\tV\tW", r"found 4 column.*expected source<TAB>target or source<TAB>target<TAB>tags"),
        ("a\tb\tV", r"found 3 columns.*expected 2, as in line 1"),
        ("\tb", r"found an empty source.*expected at least one character"),
        ("a\t", r"found an empty target.*expected at least one character"),
        (" \u00a0\tb", r"found an empty source"),
        ("", r"found a blank line; expected one only at the end"),
        (b"a\tb\xe3o", r"found byte 0xE3 at byte 4 of the line.*expected UTF-8"),
        (b"a\tb\xff", r"found byte 0xFF at byte 4"),
        ("a\t\ud800".encode("utf-8", "surrogatepass"), r"found byte 0xED at byte 3.*no lone surrogates"),
    ],
)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_malformed_line_is_named(write, line, message, ending):
    line = line if isinstance(line, bytes) else line.encode("utf-8")
    path = write(ending.join([b"x\ty", b"x\ty", line, b"x\ty", b""]))
    with pytest.raises(ValueError, match=message) as error:
        read_pairs(path)
    assert str(error.value).startswith(f"{path}, line 3: ")


@pytest.mark.parametrize("tags", ["", "V;", ";V", "V;;PL", "V PL", "V; PL", "<V>", "V>", "é"])
def test_a_malformed_tag_is_named(write, tags):
    path = write(f"x\ty\tV\na\tb\t{tags}\na\tb\tV\n".encode())
    with pytest.raises(ValueError, match=r"line 2: found the tag .*expected tags parted by ';'"):
        read_pairs(path)


@pytest.mark.parametrize("tag", ["pad", "bos", "eos", "mask", "0x41"])
def test_a_tag_cannot_be_named_like_another_token(write, tag):
    with pytest.raises(ValueError, match=f"line 1: found the tag '{tag}'"):
        read_pairs(write(f"a\tb\tV;{tag}\n"))
    assert read_pairs(write(f"a\tb\tV;{tag}s\n")) == [Pair("a", "b", ("<V>", f"<{tag}s>"))]


def test_a_line_without_the_tags_that_the_first_has_is_malformed(write):
    with pytest.raises(ValueError, match=r"line 2: found 2 columns.*expected 3, as in line 1"):
        read_pairs(write("a\tb\tV\na\tb\n"))


def test_the_first_line_too_needs_two_columns_or_three(write):
    with pytest.raises(ValueError, match="line 1: found 1 column"):
        read_pairs(write("source target\na\tb\n"))


def test_blank_lines_at_the_start_are_malformed(write):
    with pytest.raises(ValueError, match="line 1: found a blank line"):
        read_pairs(write("\na\tb\n"))


def test_utf_16_is_refused(write):
    with pytest.raises(ValueError, match="line 1: found byte 0xFF at byte 1"):
        read_pairs(write("a\tb\n".encode("utf-16")))


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "\ufeff\r\n"])
def test_a_file_without_pairs_is_refused(write, content):
    with pytest.raises(ValueError, match="found no lines"):
        read_pairs(write(content))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.tsv"):
        read_pairs(tmp_path / "absent.tsv")


field = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n")).filter(
    lambda text: text.strip() and not text.endswith("\r") and not text.startswith("\ufeff")
)
tags = st.lists(st.text("ABCXYZ0123456789.+/{}_-", min_size=1), min_size=1).map(tuple)


@given(st.lists(st.tuples(field, field), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_bytes("".join(f"{source}\t{target}\n" for source, target in rows).encode("utf-8"))
    assert read_pairs(path) == [Pair(source, target) for source, target in rows]


@given(st.lists(st.tuples(field, field, tags), min_size=1))
def test_what_is_written_with_tags_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_bytes("".join(f"{source}\t{target}\t{';'.join(t)}\n" for source, target, t in rows).encode("utf-8"))
    assert read_pairs(path) == [Pair(source, target, tuple(f"<{tag}>" for tag in t)) for source, target, t in rows]


def test_tag_tokens_are_sorted_and_distinct():
    pairs = [Pair("a", "b", ("<V>", "<3>", "<PL>")), Pair("c", "d"), Pair("e", "f", ("<V>", "<2>"))]
    assert tag_tokens(pairs) == tag_tokens(reversed(pairs)) == ["<2>", "<3>", "<PL>", "<V>"]
    assert tag_tokens([Pair("a", "b")]) == []


def test_a_tag_that_the_tokenizer_lacks_is_an_error_that_names_it():
    tokenizer = AtentaTokenizer.from_alphabet("ab", family="encoder-decoder", tags=["<V>"])
    assert encode_pairs([Pair("a", "b", ("<V>",))], tokenizer)["input_ids"][0][0] == tokenizer.get_vocab()["<V>"]
    with pytest.raises(ValueError, match="no tag <N>"):
        encode_pairs([Pair("a", "b", ("<V>", "<N>"))], tokenizer)
