"""`CharacterRestorer`: a saved tagger of characters, in onnxruntime or in torch."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np

from ..engines.choice import ONNX_FOLDER, EngineName, Quantization, choose_engine
from ..engines.feedback import progress
from ..engines.onnx_models import OnnxHead, count_cores
from ..engines.saved_model import AS_SAVED, class_of, find_model, load_tokenizer, load_weights, read_config
from ..engines.text_ids import TextIds
from ..tokenization.spellings_file import HUB_OPTIONS
from .character_codes import TaggerConfiguration, Vocabulary, load_spellings
from .spellings import Spellings
from .window_reader import RestoredText, WindowReader, run_in_torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["CharacterRestorer", "RestoredText"]

_SPELLINGS_FILE = "spellings.txt"


def read_tagger_config(folder: str | os.PathLike) -> TaggerConfiguration:
    """Return the configuration of a saved tagger, read without transformers.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is damaged, or is of another kind of model.
    """
    saved = read_config(Path(folder))
    variants = saved.get("character_variants")
    if not variants:
        raise ValueError(
            f"{folder} has a model of {class_of(saved)} and no character_variants; expected a model that "
            "recipes/finetune_characters.py or finetune_letters.py has trained. A tagger of words has none."
        )
    for key in ("id2label", "window_length"):
        if saved.get(key) is None:
            raise ValueError(f"{folder}/config.json is damaged: it has no {key}; {AS_SAVED}.")
    labels = {int(index): label for index, label in saved["id2label"].items()}
    named = {variant for of_character in variants.values() for variant in of_character}
    if not named.issubset(labels.values()):
        raise ValueError(
            f"{folder}/config.json is damaged: id2label has {[*labels.values()]!r:.60}; expected what "
            "character_variants names."
        )
    defaults = {"confidence_temperature": 1.0, "spellings_file": None}
    config: Any = SimpleNamespace(**{**defaults, **saved, "id2label": labels, "name_or_path": str(folder)})
    return config


class OnnxTagger:
    """A tagger of characters in onnxruntime, which any number of threads may run at once.

    Args:
        folder: a saved tagger with an ONNX file.
        quantization: `"int8"` for `onnx/model_int8.onnx`; by default it is `onnx/model.onnx`.

    Raises:
        FileNotFoundError: If the folder has no configuration or no ONNX file.
        ValueError: If one of them is damaged, they do not go together, or the model is of another kind.

    Attributes:
        config: the configuration.
    """

    def __init__(self, folder: str | os.PathLike, quantization: Quantization | None = None) -> None:
        self.config = read_tagger_config(folder)
        self._head = OnnxHead(Path(folder, ONNX_FOLDER), quantization)

    def run(self, input_ids: np.ndarray, token_type_ids: np.ndarray, attention_mask: np.ndarray) -> np.ndarray:
        """Return the logits, (batch, length, labels) float32, for ids, hints and mask, (batch, length) int64 each."""
        inputs = {"input_ids": input_ids, "token_type_ids": token_type_ids, "attention_mask": attention_mask}
        return self._head.run(inputs)["logits"]


class CharacterRestorer(WindowReader):
    """A tagger of characters that restores texts of any length: their accents, their capitals, or both.

    It changes characters only into the variants that its training has seen for them. All other characters, and URLs,
    addresses, @names, #tags, paths, `{placeholders}` and code in backticks, come out as they went in, but for
    Unicode's normal form: a text is returned in NFC.

    Args:
        model: an `AtentaEncoderForTokenClassification` whose configuration has `character_variants`, as
            `recipes/finetune_characters.py` makes it, or the same as an `OnnxTagger`.
        tokenizer: its tokenizer.
        spellings: the spellings that it was trained with; `None` if without.

    Raises:
        ValueError: If the configuration has no `character_variants`.
    """

    def __init__(
        self,
        model: "PreTrainedModel | OnnxTagger",
        tokenizer: "PreTrainedTokenizerBase | Vocabulary",
        spellings: Spellings | None = None,
    ) -> None:
        if isinstance(model, OnnxTagger):  # small batches stay in a core's cache, and each core runs one
            super().__init__(model.run, model.config, tokenizer, spellings, batch_tokens=1024, threads=count_cores())
        else:
            super().__init__(run_in_torch(model), model.config, tokenizer, spellings)
            if spellings is not None:  # the model saves them with its weights
                model.spellings = spellings.to_bytes()
                model.config.spellings_file = model.config.spellings_file or _SPELLINGS_FILE
        self.model = model

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike,
        *,
        engine: EngineName = "auto",
        quantization: Quantization | None = None,
        **kwargs: Any,
    ) -> "CharacterRestorer":
        """Load a model with its tokenizer and its spellings, from a folder or from the Hub.

        Args:
            name_or_path: folder, or repository on the Hub.
            engine: `"onnx"` runs an ONNX file in onnxruntime, which needs no torch and is faster, `"torch"` the
                weights in torch. `"auto"` takes onnxruntime if it is installed, the model has an ONNX file and no
                options are for torch.
            quantization: `"int8"` for the ONNX file that was exported so. By default it is taken only if it is the
                only one.
            kwargs: as in transformers' `from_pretrained`, such as `revision`; those that are not about the Hub are
                for the model, and so for torch.

        Raises:
            OSError: If there is no such model, or its ONNX file or its file of spellings is missing.
            ValueError: If there is no such engine, options are given that it does not have, a file is damaged, or as
                in the class.
            ImportError: If what the engine needs is not installed.
        """
        hub_options = {name: kwargs.pop(name) for name in HUB_OPTIONS if name in kwargs}
        folder = find_model(name_or_path, **hub_options)
        read_tagger_config(folder)
        if engine == "auto" and kwargs and quantization is None:
            engine = "torch"
        name, quantization = choose_engine(folder, engine, quantization)
        match name:
            case "torch":
                from transformers import AutoModelForTokenClassification

                in_torch = load_weights(AutoModelForTokenClassification, folder, **kwargs)
                return cls(in_torch, load_tokenizer(folder), load_spellings(in_torch.config))
            case "onnx":
                if kwargs:
                    raise ValueError(f"engine='onnx' does not have {', '.join(kwargs)}; expected engine='torch'.")
                model = OnnxTagger(folder, quantization)
                return cls(model, TextIds(folder), load_spellings(model.config))
            case _:
                assert_never(name)

    def _progress(self, windows: int) -> AbstractContextManager[Callable[[int], object]]:
        return progress(windows, "window")

    def save_pretrained(self, save_directory: str | os.PathLike) -> None:
        """Save the model, with its spellings, and the tokenizer in a folder, from which they are loaded together.

        An ONNX file is not among them: export the saved model. What runs in onnxruntime is loaded in torch to be
        saved.
        """
        if isinstance(self.model, OnnxTagger):
            in_torch = CharacterRestorer.from_pretrained(self.config.name_or_path, engine="torch")
            return in_torch.save_pretrained(save_directory)
        self.model.save_pretrained(save_directory)
        self.tokenizer.save_pretrained(save_directory)
