"""Text with each character replaced by the variant that a tagger of characters finds most likely."""

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import accumulate, pairwise
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..tokenization.text_checks import Texts, check_outputs, list_of_texts
from .character_codes import (
    NO_CHOICE,
    NOTHING,
    RESTORED,
    CharacterCodes,
    TaggerConfiguration,
    Vocabulary,
    join_characters,
    learned_changes,
)
from .spans import VARIANTS, cut_windows
from .spellings import Spellings, code_points

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Maps input_ids, token_type_ids and attention_mask, (batch, length) int64 each, to logits, (batch, length, labels)
# float32.
Run = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

_LETTERS = re.compile(r"[^\W\d_]{2,}")
_SURE = 0.7  # of a word with capitals inside, such as *GitHub*; of those below it, one in thirteen is right
_NEVER = 1e-9  # in place of 0, which has no logarithm


class RestoredText(NamedTuple):
    """A restored text with the confidence in what became of each character of the source.

    Attributes:
        text: the text: its pieces, joined.
        probabilities: (characters of the source in NFC,), float32, the probability of the most likely variant of each;
            1 for a character without a choice. With `min_confidence`, the characters below it are as they were given.
        pieces: what each character of the source became: of a model whose variants are characters, the characters of
            `text` itself, and otherwise texts of any length.
    """

    text: str
    probabilities: np.ndarray
    pieces: Sequence[str]


class WindowReader:
    """A tagger of characters that reads texts of any length in windows, whatever it runs in.

    Args:
        run: runs the tagger on the inputs of a batch of windows.
        config: its configuration.
        tokenizer: its tokenizer.
        spellings: the spellings that it was trained with; `None` if without.
        batch_tokens: number of tokens of a batch, padding included.
        threads: number of batches that run at once.

    Attributes:
        threads: as given; one of several worker processes sets it to 1.

    Raises:
        ValueError: If the configuration has no `character_variants`.
    """

    def __init__(
        self,
        run: Run,
        config: TaggerConfiguration,
        tokenizer: Vocabulary,
        spellings: Spellings | None = None,
        *,
        batch_tokens: int = 8192,
        threads: int = 1,
    ) -> None:
        if not getattr(config, "character_variants", None):
            raise ValueError(
                f"{config.name_or_path or type(config).__name__} has no character_variants; expected a model that "
                "recipes/finetune_characters.py or finetune_letters.py has trained. A tagger of words has none."
            )
        self._run, self.config, self.tokenizer = run, config, tokenizer
        self._batch_tokens, self.threads = batch_tokens, threads
        self.codes = CharacterCodes(tokenizer, config, spellings)
        self._writes_capitals = "capitals" in learned_changes(config.character_variants)

    def restore(
        self,
        texts: Texts,
        min_confidence: float = 0.0,
        restored: Collection[str] = RESTORED,
        variant: str | None = None,
    ) -> list[RestoredText]:
        """Restore texts, each by itself. Long ones are read in windows that overlap.

        Args:
            texts: texts of any length: a list or tuple, or a column of datasets, pandas or NumPy.
            min_confidence: a character is changed only if the probability of its variant is at least this, 0 to 1.
            restored: some of `"accents"`, `"capitals"` and `"punctuation"`: of what the tagger has learned to restore,
                only this is.
            variant: of Portuguese, `"br"` or `"pt"`: words that Brazil and Portugal mark differently, such as
                *acadêmico* and *académico*, get its marks. By default the model decides for each word.

        Raises:
            TypeError: If `texts` is not a sequence of str, or `min_confidence` is not a number.
            ValueError: If `min_confidence` is not between 0 and 1, a text has a lone surrogate, `restored` has another
                name, there is no such variant, or accents are not restored with one.
        """
        if not isinstance(min_confidence, Real):
            raise TypeError(f"min_confidence={min_confidence!r}; expected a number, 0 to 1.")
        if not 0 <= min_confidence <= 1:
            raise ValueError(f"min_confidence={min_confidence}; expected a probability, 0 to 1.")
        is_collection = isinstance(restored, Collection) and not isinstance(restored, str)
        if not is_collection or any(each not in RESTORED for each in restored):
            raise ValueError(f"restored={restored!r}; expected some of {', '.join(RESTORED)}, in a list.")
        if variant is not None and variant not in list(VARIANTS):
            raise ValueError(f"variant={variant!r:.60}; expected {' or '.join(VARIANTS)}.")
        if variant is not None and "accents" not in restored:
            raise ValueError(f"variant={variant!r} is about accents, which are not restored: leave it out.")
        given = [unicodedata.normalize("NFC", text) for text in list_of_texts(texts)]
        # The last sign of a text is decided at the line end behind it. Training has no other line ends than `\n`.
        is_open = [self.codes.ends_text and bool(text) and not text[-1].isspace() for text in given]
        texts = [text.replace("\r\n", "\n") + "\n" * ends for text, ends in zip(given, is_open)]
        merged = None if {*RESTORED} <= {*restored} else self.codes.merged(restored)
        borders = list(accumulate(map(len, texts), initial=0))
        width = self.codes.labels.shape[1]
        output = np.full((borders[-1], width), NOTHING, np.uint32)  # all texts, one after the other
        output[:, 0] = code_points("".join(texts))
        unchanged = output.copy()
        probabilities = np.ones(len(output), np.float32)
        for places, choices, logits in self._read(texts, variant):
            options = self.codes.options[choices]
            scores = np.take_along_axis(logits, options, 1) / np.float32(self.config.confidence_temperature)
            scores += self.codes.excluded[choices]
            chances = np.exp(scores - scores.max(1, keepdims=True))
            if merged is not None:
                chances = np.einsum("cl,clm->cm", chances, merged[choices])
            best = chances.argmax(1, keepdims=True)
            probabilities[places] = np.take_along_axis(chances, best, 1)[:, 0] / chances.sum(1)
            output[places] = self.codes.labels[np.take_along_axis(options, best, 1)[:, 0]]
        if self._writes_capitals:
            for text, (start, end) in zip(texts, pairwise(borders)):
                _even_capitals(text, output[start:end, 0], probabilities[start:end], self.config.character_variants)
        unsure = probabilities < min_confidence
        output[unsure] = unchanged[unsure]
        answers = []
        for source, (start, end), ends in zip(given, pairwise(borders), is_open):
            pieces = text = join_characters(output[start:end])
            of_text = probabilities[start:end]
            if width > 1:
                pieces = list(map(join_characters, output[start:end]))
            if ends:  # the last character and the sign after it are one piece
                text, of_text = text[:-1], np.append(of_text[:-2], of_text[-2:].min())
                pieces = [*pieces[:-2], pieces[-2] + pieces[-1][:-1]]
            answers.append(_with_returns(RestoredText(text, of_text, pieces), source))
        return answers

    def score(self, texts: Sequence[str], variant: str | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the places of characters that have a choice and the logits of their labels, in batches.

        Each of them comes once, from the one window that decides it.

        Args:
            texts: in NFC.
            variant: as in [`WindowReader.restore`].

        Yields:
            (places,), counted through all texts, one after the other, and (places, labels), float32, minus infinity
            for labels that the character cannot become.
        """
        for places, choices, logits in self._read(texts, variant):
            yield places, np.where(self.codes.allowed[choices], logits, np.float32(-np.inf))

    def probabilities(
        self, texts: Sequence[str], variant: str | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield places as `score` does, and the probabilities of their labels, (places, labels), float32."""
        for places, logits in self.score(texts, variant):
            scores = np.exp((logits - logits.max(1, keepdims=True)) / np.float32(self.config.confidence_temperature))
            yield places, scores / scores.sum(1, keepdims=True)

    def _read(self, texts: Sequence[str], variant: str | None) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield places as `score` does, their rows in `CharacterCodes.allowed`, and the logits of all labels."""
        if not texts:
            return
        borders = [*accumulate(map(len, texts), initial=0)]
        line_ends = np.array(borders[1:-1], np.int64) + np.arange(len(texts) - 1)
        # All texts at once, which is faster. No word, and so no spelling, goes across a line end.
        ids, hints = (np.delete(each, line_ends) for each in self.codes.inputs("\n".join(texts)))
        choices = np.concatenate([self.codes.choices(text) for text in texts])
        differs = np.zeros(len(choices), bool)
        for border, text in zip(borders, texts if variant else []):
            differs[[border + match.start() for match in VARIANTS[variant].places.finditer(text)]] = True
        windows = np.array(
            [
                [border + place for place in window]
                for border, text in zip(borders, texts)
                for window in cut_windows(len(text), self.config.window_length)
            ]
        )
        decided = np.concatenate([[0], np.cumsum(choices != NO_CHOICE)])
        windows = windows[decided[windows[:, 2]] < decided[windows[:, 3]]]
        # Batches of one length need no padding.
        windows = windows[np.argsort(windows[:, 1] - windows[:, 0], kind="stable")]
        with ThreadPoolExecutor(self.threads) as pool, self._progress(len(windows)) as count_windows:
            running: deque[tuple[np.ndarray, np.ndarray, Future]] = deque()
            while len(windows) or running:
                while len(windows) and len(running) < 2 * self.threads:  # more would only take memory
                    count = max(1, self._batch_tokens // (windows[-1, 1] - windows[-1, 0] + 2))
                    windows, batch = windows[:-count], windows[-count:]
                    inputs, places, decides = self._batch(batch, ids, hints)
                    decides &= choices[places] != NO_CHOICE
                    running.append((places, decides, pool.submit(self._run, *inputs)))
                places, decides, logits = running.popleft()
                of_batch = places[decides]
                found = logits.result()[decides]
                check_outputs(found)
                if variant is not None:
                    self._mark_as(variant, found, differs[of_batch])
                count_windows(len(places))
                yield of_batch, choices[of_batch], found

    def _mark_as(self, variant: str, logits: np.ndarray, differs: np.ndarray) -> None:
        """Give the marks of a variant the probability of those that others have instead, in place."""
        temperature, label_of = np.float32(self.config.confidence_temperature), self.codes.label_of
        for others, own in VARIANTS[variant].marks.items():
            if others in label_of and own in label_of:
                scores = logits[differs][:, [label_of[own], label_of[others]]] / temperature
                logits[differs, label_of[own]] = np.logaddexp(*scores.T) * temperature
                logits[differs, label_of[others]] = -np.inf

    def _progress(self, windows: int) -> AbstractContextManager[Callable[[int], object]]:
        """Return what counts the windows that are read, for a bar on the terminal; there is none here."""
        return nullcontext(lambda read: None)

    def _batch(
        self, windows: np.ndarray, ids: np.ndarray, hints: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """Return the inputs of some windows, the place of each token, and whether its window decides that place."""
        start, end, first, last = windows.T[..., None]
        places = start - 1 + np.arange((end - start).max() + 2)  # <bos> is before `start`, and <eos> at `end`
        inside = (places >= start) & (places < end)
        places[~inside] = 0
        input_ids = np.where(inside, ids[places], self.tokenizer.pad_token_id).astype(np.int64)
        input_ids[:, 0] = self.tokenizer.bos_token_id
        np.put_along_axis(input_ids, end - start + 1, self.tokenizer.eos_token_id, 1)
        attention_mask = (np.arange(places.shape[1]) < end - start + 2).astype(np.int64)
        decides = inside & (places >= first) & (places < last)
        return (input_ids, hints[places] * inside, attention_mask), places, decides


def _even_capitals(
    source: str, codes: np.ndarray, probabilities: np.ndarray, variants: Mapping[str, Collection[str]]
) -> None:
    """Write words as *joão*, *João* or *JOÃO* where *JOão* would be doubtful, in place.

    Each letter is decided by itself, so a model that is not sure whether a word is a name makes some of them capitals.

    Args:
        source: the text; words that have a capital there are left alone.
        codes: (characters,), what each becomes.
        probabilities: (characters,), of what each becomes; all letters of a changed word get the lowest of them.
        variants: what each character may become.
    """
    for found in _LETTERS.finditer(join_characters(codes)):
        word, place = found[0], slice(*found.span())
        if word[1:].islower() or word.isupper() or not source[place].islower() or probabilities[place].min() >= _SURE:
            continue
        is_capital, sure = np.array([letter.isupper() for letter in word]), probabilities[place]
        forms = np.arange(len(word)) < np.array([[0], [1], [len(word)]])
        chances = np.where(forms == is_capital, sure, 1 - sure)
        best = np.log(chances + _NEVER).sum(1).argmax()
        changed = np.flatnonzero(forms[best] != is_capital)
        even = [word[index].swapcase() for index in changed]
        if all(letter in variants.get(source[place][index], ()) for index, letter in zip(changed, even)):
            codes[place][changed] = [ord(letter) for letter in even]
            probabilities[place] = chances[best].min()


def _with_returns(restored: RestoredText, source: str) -> RestoredText:
    """Return what became of a text whose line ends, `\\r\\n`, were read as `\\n`; a sign comes before both."""
    ends = {match.start() - number for number, match in enumerate(re.finditer("\r\n", source))}
    if not ends:
        return restored
    split = [(piece[:-1] + "\r", "\n") if at in ends else (piece,) for at, piece in enumerate(restored.pieces)]
    pieces = [piece for of_character in split for piece in of_character]
    text, probabilities = "".join(pieces), np.insert(restored.probabilities, np.array(sorted(ends)) + 1, 1)
    return RestoredText(text, probabilities, text if isinstance(restored.pieces, str) else pieces)


def run_in_torch(model: "PreTrainedModel") -> Run:
    """Return a function that runs a model of torch, in evaluation mode from now on."""
    return partial(_run_in_torch, model.eval())


def _run_in_torch(
    model: "PreTrainedModel", input_ids: np.ndarray, token_type_ids: np.ndarray, attention_mask: np.ndarray
) -> np.ndarray:
    import torch

    ids, hints, mask = (
        torch.from_numpy(each).to(model.device) for each in (input_ids, token_type_ids, attention_mask)
    )
    with torch.inference_mode():
        logits = model(input_ids=ids, token_type_ids=hints, attention_mask=mask, return_dict=True).logits
    return logits.float().cpu().numpy()
