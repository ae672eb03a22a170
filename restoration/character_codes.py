"""The inputs of a tagger of characters: an id and a hint for each character, and which characters have a choice."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..tokenization.spellings_file import find_spellings
from .spans import protected_spans
from .spellings import Spellings, code_points

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_CODE_POINTS = 0x110000
# The first byte of the UTF-8 of code points from the first number up to the second.
_LEAD_BYTES = [
    *((byte, byte + 1, byte) for byte in range(0x80)),
    *((lead - 0xC0 << 6, lead - 0xBF << 6, lead) for lead in range(0xC2, 0xE0)),
    *((max(0x800, lead - 0xE0 << 12), lead - 0xDF << 12, lead) for lead in range(0xE0, 0xF0)),
    *((max(0x10000, lead - 0xF0 << 18), min(_CODE_POINTS, lead - 0xEF << 18), lead) for lead in range(0xF0, 0xF5)),
]
_FURTHER_SPACE = re.compile(r"(?<!\S)\s+")
NO_CHOICE = -1  # in place of a row of `CharacterCodes.allowed`
NOTHING = 0xFFFFFFFF  # in place of a code point, after the end of a label
RESTORED = ("accents", "capitals", "punctuation")  # what a tagger may restore, each of which can be switched off


class Vocabulary(Protocol):
    """A tokenizer with what restoration needs: that of transformers, or `TextIds`."""

    pad_token_id: int | None
    bos_token_id: int | None
    eos_token_id: int | None

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        ...


class TaggerConfiguration(Protocol):
    """A configuration with what restoration needs: see `AtentaEncoderConfig`."""

    name_or_path: str
    character_variants: dict[str, str | list[str]]
    id2label: dict[int, str]
    window_length: int
    confidence_temperature: float
    spellings_file: str | None


class CharacterCodes:
    """The inputs of a tagger of characters: an id, a hint and a choice for each character.

    Positions of ids are positions of characters, because every character has one id: one outside the alphabet has the
    id of the first byte of its UTF-8.

    Args:
        tokenizer: an encoder's `AtentaTokenizer`, or the same without transformers.
        config: of the tagger; `character_variants` says what each character may become.
        spellings: what a look-up would answer, which the tagger reads; `None` if it was trained without.

    Attributes:
        labels: (labels, most characters of one), uint32, the code points of each label, and then `NOTHING`.
        label_of: the number of each label.
        allowed: (characters with a choice, labels), whether a character may become a label's.
        options: (characters with a choice, most labels of one), int64, the labels of each; those of a character with
            fewer are followed by any.
        excluded: like `options`, float32, minus infinity where a label is none of the character's, otherwise 0.
        ends_text: whether a line end may become a sign and a line end, so that a text may end with a sign it lacks.

    Raises:
        ValueError: If the tokenizer has no such bytes, or no `<pad>`, `<bos>` or `<eos>`.
    """

    def __init__(self, tokenizer: Vocabulary, config: TaggerConfiguration, spellings: Spellings | None) -> None:
        self._variants = variants = {each: {*of_it} for each, of_it in config.character_variants.items()}
        self.ends_text = variants.get("\n", {"\n"}) != {"\n"}
        labels = [config.id2label[index] for index in range(len(config.id2label))]
        self.spellings = spellings
        self.labels = np.full((len(labels), max(1, *map(len, labels))), NOTHING, np.uint32)
        for row, label in zip(self.labels, labels):
            row[: len(label)] = code_points(label)
        self.label_of = {label: index for index, label in enumerate(labels)}
        self.allowed = np.array([[label in of_it for label in labels] for of_it in variants.values()])
        most = self.allowed.sum(1).max()
        self.options = np.argsort(~self.allowed, 1, kind="stable")[:, :most]
        self.excluded = np.where(np.take_along_axis(self.allowed, self.options, 1), 0, -np.inf).astype(np.float32)
        vocabulary = tokenizer.get_vocab()
        lacks = [name for name in ("pad", "bos", "eos") if getattr(tokenizer, f"{name}_token_id") is None]
        lacks += [token for token in (f"<0x{lead:02X}>" for _, _, lead in _LEAD_BYTES) if token not in vocabulary]
        if lacks:
            raise ValueError(
                f"The tokenizer of {config.name_or_path} lacks {', '.join(lacks[:5])}; expected that of an "
                "encoder, as it was saved."
            )
        self._ids = np.empty(_CODE_POINTS, np.int32)
        for first, last, lead in _LEAD_BYTES:
            self._ids[first:last] = vocabulary[f"<0x{lead:02X}>"]
        for token, index in vocabulary.items():
            if len(token) == 1:
                self._ids[ord(token)] = index
        self._rows = np.full(_CODE_POINTS, NO_CHOICE, np.int16)
        self._rows[list(map(ord, variants))] = np.arange(len(variants))

    def inputs(self, text: str, skip: Callable[[], bool] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the id of each character, as it is spelt most often, and 1 in words that have no other spelling.

        Args:
            text: in NFC.
            skip: as in [`Spellings.suggest`].

        Returns:
            (characters,) each.
        """
        hints = np.zeros(len(text), np.int64)
        if self.spellings is not None:
            text, hints = self.spellings.suggest(text, skip)
        return self._ids[code_points(text)], hints

    def choices(self, text: str) -> np.ndarray:
        """Return the row in `allowed` of each character, (characters,), -1 without a choice.

        Protected spans have none, and in a model that writes signs, neither has white space that follows no word.
        """
        rows = self._rows[code_points(text)]
        spaces = _FURTHER_SPACE.finditer(text) if self.ends_text else ()
        for start, end in chain(protected_spans(text), (match.span() for match in spaces)):
            rows[start:end] = NO_CHOICE
        return rows

    def merged(self, restored: Collection[str]) -> np.ndarray:
        """Return which label stands for each one if only some of its changes are wanted.

        Without accents, what would become `Á` becomes `A`, so that both decide together whether it is a capital.

        Args:
            restored: some of `RESTORED`.

        Returns:
            (characters with a choice, most labels of one, most labels of one), float32: 1 where the second label, as
            in `options`, stands for the first.
        """
        names = list(self.label_of)
        merged = np.zeros((*self.options.shape, self.options.shape[1]), np.float32)
        for row, (character, of_it) in enumerate(self._variants.items()):
            places = {names[label]: place for place, label in enumerate(self.options[row][: len(of_it)])}
            for label, place in places.items():
                kept = keep_changes(character, label, restored)
                merged[row, place, places.get(kept, places.get(character, place))] = 1
        return merged


def keep_changes(character: str, label: str, restored: Collection[str]) -> str:
    """Return what a character becomes if only some of a label's changes, those in `restored`, are wanted."""
    if len(label) != 1:
        return label if "punctuation" in restored else character
    letter = label if "accents" in restored else character
    is_capital = (label if "capitals" in restored else character).isupper()
    return letter.upper() if is_capital else letter.lower()


def learned_changes(variants: Mapping[str, Sequence[str]]) -> list[str]:
    """Return which of `RESTORED` change a character into any of its variants."""
    pairs = [(character, variant) for character, of_it in variants.items() for variant in of_it]
    return [name for name in RESTORED if any(keep_changes(each, label, [name]) != each for each, label in pairs)]


def join_characters(codes: np.ndarray) -> str:
    """Return the text of code points, without `NOTHING`."""
    return codes[codes != NOTHING].tobytes().decode("utf-32-le")


def base_characters(variants: Mapping[str, str | list[str]]) -> dict[str, str]:
    """Return the character that may become each variant, other than itself: `{"á": "a", …}`. Longer ones have none."""
    pairs = ((variant, base) for base, all_of_it in variants.items() for variant in all_of_it)
    return {variant: base for variant, base in pairs if len(variant) == 1 and variant != base}


def load_spellings(config: TaggerConfiguration) -> Spellings | None:
    """Load the spellings of a saved model from beside its weights; `None` if it was trained without.

    Raises:
        OSError: If the configuration names a file that is not there.
        ValueError: If what it names is not a file in the folder of the model, or as in [`Spellings.load`].
    """
    path = find_spellings(config)
    return None if path is None else Spellings.load(path, base_characters(config.character_variants))


def spellings_of(model: "PreTrainedModel") -> Spellings | None:
    """Return the spellings that a model was loaded with; `None` if it was trained without.

    Raises:
        OSError: As in [`load_spellings`].
        ValueError: As in [`load_spellings`].
    """
    content, config = getattr(model, "spellings", None), model.config
    if content is None or config.spellings_file is None:
        return load_spellings(config)
    return Spellings.from_bytes(content, base_characters(config.character_variants), config.spellings_file)
