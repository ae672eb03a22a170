"""Long texts for a model that generates: cut into windows, generated, and joined again."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, takewhile
from typing import NamedTuple

# White space that windows do not hold: all but single spaces between words.
GAP = re.compile(r"\A\s+|\s+\Z|\s{2,}|[^\S ]")
_IMPOSSIBLE = -1e5  # below Σ log p of any text
_MOST_COMPOSED = 4  # characters that NFC makes one
_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*\Z")


class TextWindow(NamedTuple):
    """A part of a text that is generated at once.

    Attributes:
        text: the part; it does not begin or end with white space.
        gap: the white space that follows it.
    """

    text: str
    gap: str


class GeneratedText(NamedTuple):
    """A text that a model has generated, for a window or for all windows of a text.

    Attributes:
        text: without special tokens; a decoder's, without the prompt.
        score: Σ log p(token | source, previous tokens) / length ** `length_penalty`, in nats. The length is the number
            of tokens, `<eos>` included. The penalty is set in the model's generation configuration. Its default is 1,
            which makes the score the mean log-probability of a token. Beam and greedy search have the same score,
            except with `keep_letters`: there, greedy search shares the probability among the letters that are allowed.
        finished: whether it ends with `<eos>`; otherwise it was cut off at the largest length.
        tokens: number of its tokens, `<eos>` included.
    """

    text: str
    score: float
    finished: bool
    tokens: int


def cut_text(text: str, limit: int | None, characters: Collection[str] | None = None) -> list[TextWindow]:
    """Cut a text into windows, at the ends of sentences or else of words.

    White space other than single spaces between words always ends a window. A window ends with the last sentence, or
    else the last word, that fits. A word that does not fit into a window of its own is cut.

    Args:
        text: any text.
        limit: largest number of tokens of a window, without special tokens; with `None` the text is one window, or
            one gap if it is only white space.
        characters: the characters that are one token each; others are as many as they have bytes in UTF-8. By default
            every character is one token.

    Returns:
        The windows, at least one; all texts and gaps joined are the text. A window is empty if the text begins with
        white space.
    """
    if limit is None:
        return [TextWindow(text, "") if text.strip() else TextWindow("", text)]
    count_tokens = partial(_count_tokens, characters=characters)
    windows: list[TextWindow] = []
    start = 0
    for gap in [*GAP.finditer(text), None]:
        piece = list(_fill_windows(text[start : gap.start() if gap else None], limit, count_tokens))
        *whole, last = piece or [TextWindow("", "")]
        windows += [*whole, TextWindow(last.text, gap[0] if gap else "")]
        start = gap.end() if gap else start
    return [window for window in windows if any(window)] or [TextWindow("", "")]


def generate_windows(
    texts: Sequence[str],
    window_length: int | None,
    characters: Collection[str] | None,
    generate: Callable[[list[int], list[str]], Iterable[Sequence[GeneratedText]]],
) -> list[tuple[list[TextWindow], list[Sequence[GeneratedText] | None]]]:
    """Return the windows of each text and the outputs for them, with `None` for windows that are empty.

    Args:
        texts: any texts.
        window_length: largest number of tokens of a window, `<eos>` included; with `None` each text is one window.
        characters: as in [`cut_text`].
        generate: returns the outputs for each window, best first; called once, with the indices of the texts that all
            windows but the empty ones are from, and with these windows.
    """
    cuts = [cut_text(text, window_length and window_length - 1, characters) for text in texts]
    filled = [(index, window.text) for index, windows in enumerate(cuts) for window in windows if window.text]
    outputs = iter(generate([index for index, _ in filled], [text for _, text in filled]) if filled else ())
    return [(windows, [next(outputs) if window.text else None for window in windows]) for windows in cuts]


def batches_of_similar_length(encoded: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """Return the indices of texts, given by their ids, in lists of a size: the longest texts first."""
    in_order = sorted(range(len(encoded)), key=lambda index: len(encoded[index]), reverse=True)
    return [in_order[start : start + size] for start in range(0, len(in_order), size)]


def possible_outputs(outputs: Iterable[GeneratedText], length_penalty: float) -> list[GeneratedText]:
    """Return the outputs without the beams for which a letter lock allows no text of their own."""
    return [each for each in outputs if each.score * max(each.tokens, 1) ** length_penalty > _IMPOSSIBLE]


def join_windows(
    windows: Sequence[TextWindow], outputs: Sequence[Sequence[GeneratedText] | None]
) -> list[GeneratedText]:
    """Join the outputs for the windows of a text: the best ones, the second best ones, and so on.

    Args:
        windows: the windows of the text.
        outputs: the outputs for each window, best first, or `None` for a window that is empty.

    Returns:
        As many outputs as the window with the most has; the last output of another window is repeated. A score is the
        mean of those of the windows, weighted by their numbers of characters and `<eos>`. A joined output is finished
        if all of its windows are.
    """
    if len(windows) == 1 and outputs[0] is not None and not windows[0].gap:
        return list(outputs[0])
    ranks = max((len(each) for each in outputs if each is not None), default=1)
    joined = []
    for rank in range(ranks):
        text, total, characters, tokens, finished = "", 0.0, 0, 0, True
        for (_, gap), ranked in zip(windows, outputs):
            if ranked is not None:
                output = ranked[min(rank, len(ranked) - 1)]
                text += output.text
                total += output.score * (len(output.text) + 1)
                characters += len(output.text) + 1
                tokens += output.tokens
                finished &= output.finished
            text += gap
        joined.append(GeneratedText(text, total / max(characters, 1), finished, tokens))
    return joined


def find_problems(
    windows: Sequence[TextWindow],
    outputs: Sequence[Sequence[GeneratedText] | None],
    characters: Collection[str] | None,
    ratios: Sequence[float] | None,
    keep_letters: bool = False,
) -> Iterator[str]:
    """Yield what is suspicious about the best outputs for the windows of a text.

    Args:
        windows: the windows.
        outputs: the outputs for each, or `None` if it is empty.
        characters: those of training, each one token; `None` if they are not known.
        ratios: the smallest and largest number of output tokens for each source token in training, or `None`.
        keep_letters: whether the outputs have the letters of the text, whichever they are.
    """
    in_text = {each for window in windows for each in unicodedata.normalize("NFC", window.text)}
    if characters is not None and not keep_letters and (unknown := in_text.difference(characters)):
        yield f"training did not have {', '.join(map(repr, sorted(unknown)))}, which the model may get wrong"
    for window, ranked in zip(windows, outputs):
        if not ranked:
            continue
        output, where = ranked[0], "" if len(windows) == 1 else f"in the part {window.text!r}, "
        length = _count_tokens(window.text, characters) + 1  # with <eos>
        if not output.finished:
            yield f"{where}the output is cut off at {output.tokens} tokens, the most that the model may write"
        elif ratios and not ratios[0] <= output.tokens / length <= ratios[1]:
            shortest, longest = (round(ratio * length) - 1 for ratio in ratios)
            yield (
                f"{where}the output has {output.tokens - 1} characters for {length - 1}; training suggests "
                + (f"{shortest}" if shortest == longest else f"{shortest} to {longest}")
            )


def name_source(text: str) -> str:
    """Return what messages call a text: its start, with escapes for what is not printable."""
    return f"{text if len(text) <= 40 else text[:39] + '…'!r}"


def _count_tokens(part: str, characters: Collection[str] | None) -> int:
    if characters is None:
        return len(part)
    return sum(1 if each in characters else len(each.encode()) for each in unicodedata.normalize("NFC", part))


def _fill_windows(piece: str, limit: int, count_tokens: Callable[[str], int]) -> Iterator[TextWindow]:
    """Yield the windows of a text with single spaces, each with the space or nothing that follows it."""

    def count_word(word: str) -> int:  # not more of it than can fit, for the sake of time
        return count_tokens(word) if len(word) <= _MOST_COMPOSED * limit else limit + 1

    words, start = piece.split(" ") if piece else [], 0
    while start < len(words):
        *parts, words[start] = _cut_word(words[start], limit, count_tokens)
        yield from (TextWindow(part, "") for part in parts)
        costs = (count_word(words[place]) + 1 for place in range(start, len(words)))
        end = start + max(_count_fitting(costs, limit + 1), 1)
        if end == len(words):
            yield TextWindow(" ".join(words[start:]), "")
            return
        end = next((place for place in range(end, start, -1) if _SENTENCE_END.search(words[place - 1])), end)
        yield TextWindow(" ".join(words[start:end]), " ")
        start = end


def _cut_word(word: str, limit: int, count_tokens: Callable[[str], int]) -> Iterator[str]:
    """Yield the parts of a word that does not fit into a window, and last what does."""
    start, last = 0, len(word) - 1
    while start < last and (last - start >= _MOST_COMPOSED * limit or count_tokens(word[start:]) > limit):
        fitting = _count_fitting(map(count_tokens, word[start : start + limit]), limit)
        end = min(start + fitting, last)
        # A letter is not separated from its marks, together with which it may have more bytes than apart.
        while end > start + 1 and (unicodedata.combining(word[end]) or count_tokens(word[start:end]) > limit):
            end -= 1
        end = max(end, start + 1)
        yield word[start:end]
        start = end
    yield word[start:]


def _count_fitting(costs: Iterable[int], limit: int) -> int:
    return sum(1 for _ in takewhile(lambda total: total <= limit, accumulate(costs)))
