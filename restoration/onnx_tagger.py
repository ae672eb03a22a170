"""A saved tagger of characters without torch: what its `config.json` says, and its ONNX file in onnxruntime."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..engines.onnx_models import ONNX_FOLDER, OnnxHead, Quantization, export_command, file_name
from ..engines.saved_model import AS_SAVED, class_of, read_config

_KINDS: tuple[Quantization | None, ...] = (None, "int8")  # of ONNX files; the first one that is there is taken


@dataclass(frozen=True)
class TaggerConfig:
    """The part of a tagger's configuration that restoration reads: see `AtentaEncoderConfig`.

    Attributes:
        name_or_path: its folder.
    """

    name_or_path: str
    character_variants: dict[str, str]
    id2label: dict[int, str]
    window_length: int
    confidence_temperature: float
    spellings_file: str | None

    @classmethod
    def from_folder(cls, folder: str | os.PathLike) -> "TaggerConfig":
        """Read the `config.json` of a folder.

        Raises:
            FileNotFoundError: If there is none.
            ValueError: If it is damaged, or is of another kind of model.
        """
        saved = read_config(Path(folder))
        variants = saved.get("character_variants")
        if not variants:
            raise ValueError(
                f"{folder} has a model of {class_of(saved)} and no character_variants; expected a model that "
                "recipes/finetune_characters.py has trained. A tagger of words has none."
            )
        for key in ("id2label", "window_length"):
            if saved.get(key) is None:
                raise ValueError(f"{folder}/config.json is damaged: it has no {key}; {AS_SAVED}.")
        labels = {int(index): label for index, label in saved["id2label"].items()}
        listed = {*labels.values()}
        if max(map(len, listed)) != 1 or not listed.issuperset("".join(variants.values())):
            raise ValueError(
                f"{folder}/config.json is damaged: id2label has {[*listed]!r:.60}; expected the characters that "
                "character_variants names."
            )
        return cls(
            name_or_path=str(folder),
            character_variants=variants,
            id2label=labels,
            window_length=saved["window_length"],
            confidence_temperature=saved.get("confidence_temperature", 1.0),
            spellings_file=saved.get("spellings_file"),
        )


class OnnxTagger:
    """A tagger of characters in onnxruntime, which any number of threads may run at once.

    Args:
        folder: a saved tagger with an ONNX file.
        quantization: `"int8"` for `onnx/model_int8.onnx`. By default it is `onnx/model.onnx`, or that in int8 if it is
            the only one.

    Raises:
        ImportError: If onnxruntime is not installed.
        FileNotFoundError: If the folder has no configuration or no ONNX file.
        ValueError: If one of them is damaged, they do not go together, or the model is of another kind.

    Attributes:
        config: the configuration.
    """

    def __init__(self, folder: str | os.PathLike, quantization: Quantization | None = None) -> None:
        self.config = TaggerConfig.from_folder(folder)
        files = _onnx_files(folder, quantization)
        if not files:
            raise FileNotFoundError(
                f"{folder} has no file {ONNX_FOLDER}/{file_name('model', quantization)}; write it: "
                f"{export_command(Path(folder, ONNX_FOLDER, file_name('model', quantization)))}"
            )
        if not _has_onnxruntime():
            raise ImportError("engine='onnx' needs onnxruntime, which is not installed: pip install \"atenta[onnx]\"")
        kind, path = files[0]
        self._head = OnnxHead(path.parent, kind)

    def run(self, input_ids: np.ndarray, token_type_ids: np.ndarray, attention_mask: np.ndarray) -> np.ndarray:
        """Return the logits, (batch, length, labels), float32.

        Args:
            input_ids: (batch, length), int64.
            token_type_ids: (batch, length), int64: the hints.
            attention_mask: (batch, length), int64.
        """
        inputs = {"input_ids": input_ids, "token_type_ids": token_type_ids, "attention_mask": attention_mask}
        return self._head.run(inputs)["logits"]


def prefers_onnx(folder: str | os.PathLike) -> bool:
    """Return whether a folder has an ONNX file, and onnxruntime is installed."""
    return bool(_onnx_files(folder)) and _has_onnxruntime()


def _onnx_files(
    folder: str | os.PathLike, quantization: Quantization | None = None
) -> list[tuple[Quantization | None, Path]]:
    """Return the ONNX files of a folder that may be taken, the preferred one first, each with its quantization."""
    kinds = _KINDS if quantization is None else (quantization,)
    files = [(kind, Path(folder) / ONNX_FOLDER / file_name("model", kind)) for kind in kinds]
    return [(kind, path) for kind, path in files if path.is_file()]


def _has_onnxruntime() -> bool:
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True
