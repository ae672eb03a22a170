"""Windows of long texts: where they end, what they leave out, and how their outputs are joined."""

import itertools
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atenta.tokenization import text_windows
from atenta.tokenization.text_windows import (
    GeneratedText,
    TextWindow,
    cut_text,
    find_problems,
    generate_windows,
    join_windows,
    name_source,
)

TEXTS = st.text(st.sampled_from("ab.!? \t\n\r\x00\u0303\u00a0é日\U0001f600”")) | st.text(st.characters(codec="utf-8"))


@given(TEXTS, st.integers(1, 30), st.sampled_from([None, "ab.!? "]))
def test_windows_joined_are_the_text(text, limit, characters):
    windows = cut_text(text, limit, characters)
    assert "".join(window + gap for window, gap in windows) == text
    assert all(not gap.strip() for _, gap in windows)
    for window, _ in windows:
        assert window == window.strip()
        assert len(window) <= limit or len(window.split()) == 1
        assert cut_text(window, 10**9) == [(window, "")]  # nothing but single spaces inside


def cut_slowly(piece, limit, count_tokens):
    """Return the windows of a text without other white space than single spaces: each time, of all that is left."""
    words, windows = piece.split(" "), []
    while words and words != [""]:
        totals = itertools.accumulate(count_tokens(word) + 1 for word in words)
        fitting = sum(total <= limit + 1 for total in totals)
        if fitting == len(words):
            return [*windows, (" ".join(words), "")]
        if fitting:
            ends = [place for place in range(1, fitting + 1) if text_windows._SENTENCE_END.search(words[place - 1])]
            taken = max(ends, default=fitting)
            windows.append((" ".join(words[:taken]), " "))
            del words[:taken]
        else:
            end = sum(total <= limit for total in itertools.accumulate(map(count_tokens, words[0])))
            while end > 1 and unicodedata.combining(words[0][end]):
                end -= 1
            windows.append((words[0][: max(end, 1)], ""))
            words[0] = words[0][max(end, 1) :]
    return windows


# Composed, none of them has more tokens than apart: of such, all that is left could be a window that is too long.
WORDS = st.text(st.sampled_from("ab.!?e\u0301é日\U0001f600”\u1100\u1161"), min_size=1, max_size=40)


@given(st.lists(WORDS, min_size=1).map(" ".join), st.integers(4, 20), st.sampled_from([None, "ab.!? eé"]))
@example("日" * 100 + " a. b", 9, "ab. ")
def test_windows_are_those_of_all_that_is_left_each_time(text, limit, characters):
    def count_tokens(part):
        if characters is None:
            return len(part)
        normal = unicodedata.normalize("NFC", part)
        return sum(1 if each in characters else len(each.encode()) for each in normal)

    assert cut_text(text, limit, characters) == cut_slowly(text, limit, count_tokens)


@pytest.mark.parametrize("text", ["日", "a", "e\u0301", "ab ", "a. b b b "])
def test_the_work_grows_with_the_text(text):
    class Counting(set):
        looked_up = 0

        def __contains__(self, character):
            Counting.looked_up += 1
            return super().__contains__(character)

    counts = []
    for times in (500, 2000):
        Counting.looked_up = 0
        cut_text(text * times, 20, Counting("ab. é"))
        counts.append(Counting.looked_up / times)
    assert counts[1] < 1.1 * counts[0]


@pytest.mark.parametrize(
    ("text", "limit", "characters", "windows"),
    [
        ("Um dois. Tres quatro cinco.", 14, None, [("Um dois.", " "), ("Tres quatro", " "), ("cinco.", "")]),
        ("Um “dois!” Tres quatro", 14, None, [("Um “dois!”", " "), ("Tres quatro", "")]),
        ("  a\tb  c\n", 14, None, [("", "  "), ("a", "\t"), ("b", "  "), ("c", "\n")]),
        *(("", limit, None, [("", "")]) for limit in (14, None)),
        (" ", 14, None, [("", " ")]),
        (" \n", None, None, [("", " \n")]),
        ("  a\nb " * 1000, None, None, [("  a\nb " * 1000, "")]),
        # ẽ is not in the alphabet: it has three bytes, and would be two tokens if it were not composed.
        ("e\u0303" * 7, 10, "e\u0303", [("e\u0303" * 3, "")] * 2 + [("e\u0303", "")]),
    ],
)
def test_where_windows_end(text, limit, characters, windows):
    assert cut_text(text, limit, characters) == windows


def output(text, score, finished=True):
    return GeneratedText(text, score, finished, len(text) + 1)


def test_outputs_of_windows_are_joined_by_rank():
    windows = [TextWindow("a b.", " "), TextWindow("", "\t"), TextWindow("c", "")]
    joined = join_windows(windows, [[output("A B.", -1.0), output("a b.", -2.0)], None, [output("C", -4.0, False)]])
    assert [each.text for each in joined] == ["A B. \tC", "a b. \tC"]
    assert [each.score for each in joined] == pytest.approx([(-5 - 8) / 7, (-10 - 8) / 7])
    assert [each.finished for each in joined] == [False, False]
    assert joined[0].tokens == 7


def test_empty_windows_are_not_generated():
    asked = []

    def generate(indices, texts):
        asked.append((indices, texts))
        return [[output(text.upper(), 0.0)] for text in texts]

    found = generate_windows(["ab cd ef", "", " \n", "g"], 6, None, generate)
    assert asked == [([0, 0, 3], ["ab cd", "ef", "g"])]
    assert [join_windows(*each)[0].text for each in found] == ["AB CD EF", "", " \n", "G"]
    assert generate_windows([""], None, None, generate) == [([TextWindow("", "")], [None])]
    assert len(asked) == 1


def test_suspicious_outputs_are_described_and_their_sources_named_in_short():
    windows = cut_text("abc. fade dede", 5)
    outputs = [[output("ABC.", -0.1)], [output("ADE", -0.1)], [output("DED", -0.1, finished=False)]]
    assert list(find_problems(windows, outputs, set("abcdef. "), [1.0, 1.0])) == [
        "in the part 'fade', the output has 3 characters for 4; training suggests 4",
        "in the part 'dede', the output is cut off at 4 tokens, the most that the model may write",
    ]
    assert list(find_problems(windows, outputs[:1], set("ab. "), None)) == [
        "training did not have 'c', 'd', 'e', 'f', which the model may get wrong"
    ]
    assert list(find_problems(windows, outputs[:1], set("ab. "), None, keep_letters=True)) == []
    assert list(find_problems([TextWindow("日", "")], [None], None, [1.0, 1.0])) == []
    assert name_source("a\x1b[31m") == "'a\\x1b[31m'"
    assert name_source("a" * 41) == f"'{'a' * 39}…'"
