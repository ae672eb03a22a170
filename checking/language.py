"""A test for Portuguese: its small words are counted, and those of languages that are like it or common."""

import re

from ..tokenization.base_letters import strip_accents

_WORD = re.compile(r"[^\W\d_]+")
_PORTUGUESE = frozenset(
    _WORD.findall(
        "ao aos ate com da das depois desse dessa desta deste do dos e ela elas ele eles em essa esse eu foi isso "
        "isto ja mais muito na nao nas nessa nesse nesta neste num numa o os ou pela pelas pelo pelos quem sao sem "
        "seu seus sua suas tambem tem um uma voce voces"
    )
)
_OTHERS = frozenset(
    _WORD.findall(
        "an and are at be by can for from has have if is it not of on or that the this to we will with you your "
        "al con del el en hay la las lo los muy pero su sus un una y "  # Spanish
        "au aux avec ce cette dans des du est et le les nous par pas pour sur une vous "  # French
        "amb che coa della der di die dun dunha els gli i il ist mit nel nicht non per sono und unha von"
    )
)
_SHARE = 0.1  # of small words of Portuguese in a text
_LONG = 6  # words from which a paragraph of a file that is not Portuguese may be


def count_words(text: str) -> tuple[int, int, int]:
    """Return the number of words of a text, of those that are small words of Portuguese, and of other languages."""
    words = _WORD.findall(strip_accents(text).lower())
    return len(words), sum(word in _PORTUGUESE for word in words), sum(word in _OTHERS for word in words)


def portuguese_blocks(texts: list[str]) -> list[bool]:
    """Return which of the blocks of a file are Portuguese.

    A file is, if at least a tenth of its words are small words of Portuguese, and more than three times as many as of
    other languages. Its blocks are then all but those with small words of other languages, unless twice as many are
    Portuguese. In other files, a paragraph needs them itself: 15 %, more than twice as many as of others, and six
    words.
    """
    counts = [count_words(text) for text in texts]
    words, portuguese, others = map(sum, zip(*counts)) if counts else (0, 0, 0)
    if portuguese >= _SHARE * words and portuguese > 3 * others:
        return [other == 0 or ours >= 2 * other for _, ours, other in counts]
    return [count >= _LONG and ours >= 1.5 * _SHARE * count and ours > 2 * other for count, ours, other in counts]
