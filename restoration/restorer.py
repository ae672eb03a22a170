"""Text with each character replaced by the variant that a tagger of characters finds most likely."""

import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import cached_file

from ..tokenization.text_checks import check_texts
from .spans import Window, cut_windows, protected_spans
from .spellings import Spellings

_BATCH_TOKENS = 8192  # in a batch, padding included
_CODE_POINTS = 0x110000
# The first byte of the UTF-8 of code points from the first number up to the second.
_LEAD_BYTES = [
    *((byte, byte + 1, byte) for byte in range(0x80)),
    *((lead - 0xC0 << 6, lead - 0xBF << 6, lead) for lead in range(0xC2, 0xE0)),
    *((max(0x800, lead - 0xE0 << 12), lead - 0xDF << 12, lead) for lead in range(0xE0, 0xF0)),
    *((max(0x10000, lead - 0xF0 << 18), min(_CODE_POINTS, lead - 0xEF << 18), lead) for lead in range(0xF0, 0xF5)),
]
_HUB_OPTIONS = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token")
NO_CHOICE = -1  # in place of a row of `CharacterCodes.allowed`


class RestoredText(NamedTuple):
    """A restored text with the confidence in each of its characters.

    Attributes:
        text: the text in NFC.
        probabilities: (characters,), float32, the probability of the most likely variant of each character; 1 for a
            character without a choice. With `min_confidence`, the characters below it are as they were given.
    """

    text: str
    probabilities: np.ndarray


def code_points(text: str) -> np.ndarray:
    """Return the code points of a text, (characters,), uint32."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


class CharacterCodes:
    """The inputs of a tagger of characters: an id, a hint and a choice for each character.

    Positions of ids are positions of characters, because every character has one id: one outside the alphabet has the
    id of the first byte of its UTF-8.

    Args:
        tokenizer: an encoder's `AtentaTokenizer`.
        config: of the tagger; `character_variants` says what each character may become.
        spellings: what a look-up would answer, which the tagger reads; `None` if it was trained without.

    Attributes:
        labels: (labels,), uint32, the code point that each label stands for.
        label_of: (code points,), int64, the label of each; -1 for those that are none.
        allowed: (characters with a choice, labels), whether a character may become a label's.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig, spellings: Spellings | None
    ) -> None:
        variants = config.character_variants
        labels = [config.id2label[index] for index in range(config.num_labels)]
        self.spellings = spellings
        self.labels = np.array(list(map(ord, labels)), np.uint32)
        self.label_of = np.full(_CODE_POINTS, -1)
        self.label_of[self.labels] = np.arange(len(labels))
        self.allowed = torch.tensor([[label in variants[each] for label in labels] for each in variants])
        vocabulary = tokenizer.get_vocab()
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
        """Return the row in `allowed` of each character, (characters,), -1 without a choice or in protected spans."""
        rows = self._rows[code_points(text)]
        for start, end in protected_spans(text):
            rows[start:end] = NO_CHOICE
        return rows


def base_characters(variants: Mapping[str, str]) -> dict[str, str]:
    """Return the character that may become each variant, other than itself: `{"á": "a", …}`."""
    return {variant: base for base, all_of_it in variants.items() for variant in all_of_it if variant != base}


def load_spellings(config: PreTrainedConfig, **hub_options: Any) -> Spellings | None:
    """Load the spellings of a saved model from beside its weights; `None` if it was trained without.

    Args:
        config: of the saved model.
        hub_options: as in transformers' `cached_file`, such as `token`.

    Raises:
        OSError: If the configuration names a file that is not there.
    """
    name = getattr(config, "spellings_file", None)
    if name is None:
        return None
    hub_options.setdefault("revision", getattr(config, "_commit_hash", None))
    path = cached_file(config.name_or_path, name, **hub_options)
    return Spellings.load(path, base_characters(config.character_variants))


class CharacterRestorer:
    """A tagger of characters that restores texts of any length: their accents, their capitals, or both.

    It changes characters only into the variants that its training has seen for them. All other characters, and URLs,
    addresses, @names, #tags and code in backticks, come out as they went in, but for Unicode's normal form: a text is
    returned in NFC.

    Args:
        model: an `AtentaEncoderForTokenClassification` whose configuration has `character_variants`, as
            `recipes/finetune_characters.py` makes it.
        tokenizer: its tokenizer.
        spellings: the spellings that it was trained with; `None` if without.

    Raises:
        ValueError: If the configuration has no `character_variants`.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, spellings: Spellings | None = None
    ) -> None:
        if not getattr(model.config, "character_variants", None):
            raise ValueError(
                f"{model.name_or_path or type(model).__name__} has no character_variants; expected a model that "
                "recipes/finetune_characters.py has trained. A tagger of words has none."
            )
        self.model, self.tokenizer = model.eval(), tokenizer
        self.codes = CharacterCodes(tokenizer, model.config, spellings)

    @classmethod
    def from_pretrained(cls, name_or_path: str | os.PathLike, **kwargs: Any) -> "CharacterRestorer":
        """Load a model with its tokenizer and its spellings, from a folder or from the Hub.

        Args:
            name_or_path: folder, or repository on the Hub.
            kwargs: as in transformers' `from_pretrained`, such as `revision`; those that are not about the Hub are
                for the model.

        Raises:
            OSError: If there is no such model, or its file of spellings is missing.
            ValueError: As in the class.
        """
        model = AutoModelForTokenClassification.from_pretrained(name_or_path, **kwargs)
        hub_options = {name: kwargs[name] for name in _HUB_OPTIONS if name in kwargs}
        tokenizer = AutoTokenizer.from_pretrained(name_or_path, **hub_options)
        return cls(model, tokenizer, load_spellings(model.config, **hub_options))

    def save_pretrained(self, save_directory: str | os.PathLike) -> None:
        """Save the model, the tokenizer and the spellings in a folder, from which they can be loaded together."""
        self.model.save_pretrained(save_directory)
        self.tokenizer.save_pretrained(save_directory)
        if self.codes.spellings is not None:
            self.codes.spellings.save(Path(save_directory) / self.model.config.spellings_file)

    def restore(self, texts: Sequence[str], min_confidence: float = 0.0) -> list[RestoredText]:
        """Restore texts, each by itself. Long ones are read in windows that overlap.

        Args:
            texts: texts of any length.
            min_confidence: a character is changed only if the probability of its variant is at least this, 0 to 1.

        Raises:
            TypeError: If `texts` is not a list or tuple of str, or `min_confidence` is not a number.
            ValueError: If `min_confidence` is not between 0 and 1, or a text has a lone surrogate.
        """
        if not isinstance(min_confidence, Real):
            raise TypeError(f"min_confidence={min_confidence!r}; expected a number, 0 to 1.")
        if not 0 <= min_confidence <= 1:
            raise ValueError(f"min_confidence={min_confidence}; expected a probability, 0 to 1.")
        if not isinstance(texts, list | tuple):
            raise TypeError(f"`texts` is a {type(texts).__name__}, expected a list or tuple of str.")
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"`texts[{index}]` is {text!r:.80} ({type(text).__name__}), expected a str.")
        check_texts(texts, "texts")
        texts = [unicodedata.normalize("NFC", text) for text in texts]
        borders = list(accumulate(map(len, texts), initial=0))
        restored = code_points("".join(texts)).copy()  # all texts, one after the other
        probabilities = np.ones(len(restored), np.float32)
        for places, logits in self.score(texts):
            probability, label = (logits / self.model.config.confidence_temperature).softmax(-1).max(-1)
            sure = probability.numpy() >= min_confidence
            probabilities[places] = probability
            restored[places[sure]] = self.codes.labels[label.numpy()[sure]]
        return [
            RestoredText(restored[start:end].tobytes().decode("utf-32-le"), probabilities[start:end])
            for start, end in pairwise(borders)
        ]

    def score(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, torch.Tensor]]:
        """Yield the places of characters that have a choice and the logits of their labels, in batches.

        Each of them comes once, from the one window that decides it.

        Args:
            texts: in NFC.

        Yields:
            (places,), counted through all texts, one after the other, and (places, labels), float32 on the CPU, minus
            infinity for labels that the character cannot become.
        """
        borders = accumulate(map(len, texts), initial=0)
        encoded = [(*self.codes.inputs(text), self.codes.choices(text)) for text in texts]
        ids, hints, choices = map(np.concatenate, zip(*encoded)) if encoded else [np.empty(0, np.int64)] * 3
        windows = [
            Window(*(border + place for place in window))
            for border, text in zip(borders, texts)
            for window in cut_windows(len(text), self.model.config.window_length)
        ]
        windows = [each for each in windows if (choices[each.first : each.last] != NO_CHOICE).any()]
        windows.sort(key=lambda window: window.end - window.start)  # batches of one length need no padding
        while windows:
            count = max(1, _BATCH_TOKENS // (windows[-1].end - windows[-1].start + 2))
            windows, batch = windows[:-count], windows[-count:]
            width = max(window.end - window.start for window in batch) + 2  # with <bos> and <eos>
            inputs = np.zeros((3, len(batch), width), np.int64)
            input_ids, token_type_ids, attention_mask = inputs
            input_ids[:] = self.tokenizer.pad_token_id
            input_ids[:, 0] = self.tokenizer.bos_token_id
            decides = np.zeros((len(batch), width), bool)
            for row, (start, end, first, last) in enumerate(batch):
                length = end - start + 2
                input_ids[row, 1 : length - 1] = ids[start:end]
                input_ids[row, length - 1] = self.tokenizer.eos_token_id
                token_type_ids[row, 1 : length - 1] = hints[start:end]
                attention_mask[row, :length] = 1
                decides[row, first - start + 1 : last - start + 1] = choices[first:last] != NO_CHOICE
            rows, columns = decides.nonzero()
            places = np.array([window.start for window in batch])[rows] + columns - 1
            tensors = torch.from_numpy(inputs).to(self.model.device)
            with torch.inference_mode():
                outputs = self.model(input_ids=tensors[0], token_type_ids=tensors[1], attention_mask=tensors[2])
                logits = outputs.logits[rows, columns].float().cpu()
            yield places, logits.masked_fill(~self.codes.allowed[choices[places]], -torch.inf)
