"""Spans of the original text, against Python's own Unicode database."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta import AtentaTokenizer, character_span
from atenta.tokenization.alphabet import NORMALIZER
from atenta.tokenization.tokenization_atenta import INPUT_FORMATS

pytestmark = pytest.mark.filterwarnings("ignore:A text has")  # hypothesis writes special tokens

TOKENIZER, TRUNCATING = (AtentaTokenizer.from_alphabet("abcdeo éáãçÅ가", family="decoder") for _ in range(2))

# Parts of composed characters: bases, marks, jamo, vowel signs.
HALVES = sorted(
    {
        chr(int(part, 16))
        for code in range(0x110000)
        if (decomposition := unicodedata.decomposition(chr(code))) and not decomposition.startswith("<")
        for part in decomposition.split()
    }
    | {chr(code) for code in (*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
)
SINGLETONS = "\u212b\u2126\u0958\ufb2c\u0344\U0001d15e"
any_character = st.characters(exclude_categories=["Cs"])
texts = st.one_of(
    st.text(st.one_of(any_character, st.sampled_from(HALVES), st.sampled_from(SINGLETONS))),
    st.text(st.sampled_from(HALVES)),
    st.text(st.sampled_from("ao \u0301\u0302\u0323\u0334")),  # marks that compose, block, and are reordered
)
unicode_texts = settings(derandomize=True, max_examples=300)


def encode(text, **options):
    return TOKENIZER(text, add_special_tokens=False, return_offsets_mapping=True, **options)


def tokens_of_characters(normalized):
    """Yield the first and the last token of each character."""
    first = 0
    for character in normalized:
        count = len(TOKENIZER.tokenize(character))
        yield first, first + count - 1
        first += count


def separable_parts(text):
    """Return the spans of the shortest parts that can be normalized separately, by trying every cut."""
    nfc = NORMALIZER.normalize_str
    cuts = [place for place in range(len(text) + 1) if nfc(text[:place]) + nfc(text[place:]) == nfc(text)]
    return list(pairwise(cuts))


def test_spans_of_offsets_that_are_tensors():
    text = "ca\u0301a\u0323\u0301😀b"
    offsets = encode(text, return_tensors="pt")["offset_mapping"][0]
    runs = tokens_of_characters(unicodedata.normalize("NFC", text))
    spans = [(0, 1), (1, 3), (3, 5), (5, 6), (6, 7), (7, 8)]  # the second mark of the second a does not compose
    assert [character_span(text, offsets, *run) for run in runs] == spans


@unicode_texts
@given(texts)
def test_span_of_each_character_is_its_shortest_separable_part(text):
    """The parts tile the text, and so do the spans."""
    offsets = encode(text)["offset_mapping"]
    expected = [part for part in separable_parts(text) for _ in NORMALIZER.normalize_str(text[slice(*part)])]
    runs = tokens_of_characters(NORMALIZER.normalize_str(text))
    assert [character_span(text, offsets, *run) for run in runs] == expected


@unicode_texts
@given(texts.filter(bool), st.data())
def test_tokens_of_a_span_decode_to_its_nfc(text, data):
    encoded = encode(text)
    runs = list(tokens_of_characters(NORMALIZER.normalize_str(text)))
    spans = [character_span(text, encoded["offset_mapping"], *run) for run in runs]
    ends = [character_span(text, encoded["offset_mapping"], last, last) for _, last in runs]
    assert ends == spans  # some bytes of a character have its span
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(runs) - 1)] * 2)))
    start, end = character_span(text, encoded["offset_mapping"], runs[first][0], runs[last][1])
    assert (start, end) == (spans[first].start, spans[last].end)
    inside = [token for run, span in zip(runs, spans) if start <= span.start and span.end <= end for token in run]
    decoded = TOKENIZER.decode(encoded["input_ids"][inside[0] : inside[-1] + 1])
    assert decoded == NORMALIZER.normalize_str(text[start:end])


@unicode_texts
@given(texts.filter(bool), st.integers(1, 6), st.sampled_from(["left", "right"]))
def test_truncation_and_overflow_change_no_span(text, length, side):
    """A token has the same span whichever of its neighbours are left."""
    whole = encode(text)["offset_mapping"]
    TRUNCATING.truncation_side = side
    pieces = TRUNCATING(
        text,
        add_special_tokens=False,
        return_offsets_mapping=True,
        truncation=True,
        max_length=length,
        return_overflowing_tokens=True,
    )["offset_mapping"]
    pieces = pieces if side == "right" else pieces[::-1]
    in_pieces = [character_span(text, piece, token, token) for piece in pieces for token in range(len(piece))]
    assert in_pieces == [character_span(text, whole, token, token) for token in range(len(whole))]


@pytest.mark.parametrize("family", INPUT_FORMATS)
def test_spans_in_a_pair_belong_to_the_text_of_the_tokens(family):
    tokenizer = AtentaTokenizer.from_alphabet(family=family)
    first, second = "cafe\u0301", "pa\u0303o"
    encoded = tokenizer(first, second, return_offsets_mapping=True)
    offsets, sequence = encoded["offset_mapping"], encoded.sequence_ids()
    for number, text in enumerate((first, second)):
        tokens = [index for index, part in enumerate(sequence) if part == number]
        assert character_span(text, offsets, tokens[0], tokens[-1]) == (0, len(text))
    start = sequence.index(1)
    assert character_span(second, offsets, start + 1, start + 1) == (1, 3)


@pytest.mark.parametrize(("first", "last"), [(-1, 1), (2, 1), (1, 9)])
def test_wrong_indexes_special_tokens_and_other_texts_are_refused(first, last):
    offsets = TOKENIZER("abc", return_offsets_mapping=True)["offset_mapping"]
    with pytest.raises(IndexError, match=f"Tokens {first} to {last} of 4"):
        character_span("abc", offsets, first, last)
    with pytest.raises(ValueError, match="Token 0 is a special token"):
        character_span("abc", offsets, 0, 1)
    with pytest.raises(ValueError, match="0 to 3 of a text of 2 characters"):
        character_span("ab", offsets, 1, 3)
