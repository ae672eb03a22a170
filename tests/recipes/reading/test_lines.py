import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.lines import read_lines
from atenta.recipes.reading.records import BadRow


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "lines.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.mark.parametrize("content", ["a\nb", "a\r\nb\r\n", "\ufeffa\nb\n"])
def test_line_endings_and_byte_order_mark(write, content):
    assert list(read_lines(write(content))) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\ufeff"])
def test_only_a_line_feed_ends_a_line(write, separator):
    assert list(read_lines(write(f"a{separator}b\n"))) == [(1, f"a{separator}b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"a\tb\xe3o", "found byte 0xE3 at byte 4 .*expected UTF-8"),
        ("a\t\ud800".encode("utf-8", "surrogatepass"), "found byte 0xED at byte 3 .*no lone surrogates"),
    ],
)
def test_bytes_that_are_not_utf_8_are_named_and_the_other_lines_read(write, line, message):
    path = write(b"\n".join([b"x", line, b"y"]))
    first, (number, bad), last = read_lines(path)
    assert (first, number, last) == ((1, "x"), 2, (3, "y"))
    assert isinstance(bad, BadRow)
    assert bad.where == f"{path}, line 2"
    with pytest.raises(BadRow, match=message):
        raise bad


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{text}\r\n" for text in texts).encode("utf-8"))
    assert [text for _, text in read_lines(path)] == texts
