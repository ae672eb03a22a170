import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.records import expect_name, expect_text, printable


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip))
def test_texts_are_unchanged(text):
    assert expect_text(text, "source") == text
    assert expect_name(text, "label") == text


def test_only_names_may_be_integers():
    assert expect_name(0, "label") == "0"
    with pytest.raises(ValueError, match=r"found 0 \(int\) as the text"):
        expect_text(0, "text")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\a\b\r\x7f", r"\x1b[31mred\x07\x08\r\x7f"),
        ("\x9b2J\x85\u2028\u202e\u2066\ud800", r"\x9b2J\x85\u2028\u202e\u2066\ud800"),
        ("ação\tשלום\n👩\u200d🔬\u00a0e\u0301", "ação\tשלום\n👩\u200d🔬\u00a0e\u0301"),
    ],
)
def test_what_a_terminal_may_obey_is_escaped(text, shown):
    assert printable(text) == shown
