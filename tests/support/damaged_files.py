"""Texts, files and damages for the fuzz tests of the readers, and the judge of what a reader makes of them."""

import codecs
import json

from hypothesis import strategies as st

from atenta.recipes.reading.records import BadRow, printable

NASTY = (
    *("\x1b[2J", "\x07", "\x08", "\x7f", "\x85", "\x9b", "\x0b", "\x0c", "\x1c", "\r", "\u2028", "\u202e", "\u2066"),
    *(
        "\ufeff",
        "\u00a0",
        "\u200d",
        "e\u0301",
        "שלום",
        "\ud7ff",
        "\ufffe",
        "\U0010ffff",
        '"',
        '""',
        ",",
        "'",
        "\\",
        "#",
    ),
    *("source", "Target", "<eos>", "-DOCSTART-", "NaN", "null", "[", "{", "1-2", "=cmd()", " ", "\t", "\n"),
)
FRAGMENTS = (
    *(b"\0", b"\xe3", b"\xff", b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b"\n\n", b"\t"),
    *(b",", b'"', b"'", b" ", b":", b"{", b"}", b"]", b"\\", b"\x1b[2J", b"1", b"9" * 5_000, b"[" * 2_000, b"NaN"),
    *(b"-Infinity", b"source", b'"source": "a", ', b"-DOCSTART- O\n", b"#", b"-", b"."),
)


def texts(forbidden=""):
    part = st.one_of(st.sampled_from(NASTY), st.characters(exclude_categories=["Cs"]))
    joined = st.lists(part, min_size=1, max_size=5).map("".join)
    return joined.map(lambda text: "".join(each for each in text if each not in forbidden + "\0")).filter(str.strip)


# A place in a file, what is done there, and the bytes for it.
damages = st.tuples(
    st.integers(0, 2**20),
    st.sampled_from(["insert", "replace", "delete", "cut", "repeat"]),
    st.one_of(st.sampled_from(FRAGMENTS), st.binary(min_size=1, max_size=3)),
)


def damage(content, place, action, fragment):
    place %= len(content) + 1
    before, after = content[:place], content[place:]
    return {
        "insert": before + fragment + after,
        "replace": before + fragment + after[len(fragment) :],
        "delete": before + after[len(fragment) :],
        "cut": before,
        "repeat": before + after[:40] + after,
    }[action]


def judge(outcome, read, path, content, expected):
    """Count the outcome of reading a file, or fail.

    Args:
        outcome: The counter.
        read: The reader.
        path: The file.
        content: What is written to it.
        expected: The places and fields of the rows, None for a bad row's; or None for an error.
    """
    path.write_bytes(content)
    found, error = read_all(read, path)
    if error:
        if expected is not None:
            raise AssertionError(f"found an error; expected {expected}") from error
        outcome("bad row named" if isinstance(error, BadRow) else "clear error")
        return
    bad = [row for row in found if isinstance(row, BadRow)]
    places = [(row.where, None) if isinstance(row, BadRow) else row for row in found]
    assert [(where.removeprefix(f"{path}, "), fields) for where, fields in places] == expected
    outcome("bad row named" if bad else "right")


def read_all(read, path):
    """The rows of a file and None, or those before a clear error and the error; bad rows are clear too."""
    found, error = [], None
    try:
        for row in read(path):
            found.append(row)
    except (ValueError, OSError) as raised:
        error = raised
        expect_clear(error, path)
    for row in found:
        if isinstance(row, BadRow):
            expect_clear(row, path)
    return found, error


def expect_clear(error, path):
    message = str(error)
    assert message.startswith(str(path)), message
    assert "; expected" in message
    assert "\n" not in message
    assert printable(message) == message


def lines_of(content):
    """The lines of a file; None for one that is not UTF-8 or has a NUL."""
    *lines, last = content.removeprefix(codecs.BOM_UTF8).split(b"\n")
    return [as_text(line[:-1] if line.endswith(b"\r") else line) for line in [*lines, *([last] if last else [])]]


def as_text(line):
    try:
        return None if b"\0" in line else line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def parse(text):
    """The value of a JSON text; None if it is malformed."""

    def refuse(_):
        raise ValueError

    def distinct(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=distinct)
    except (ValueError, RecursionError):
        return None
