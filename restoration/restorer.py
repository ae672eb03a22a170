"""`CharacterRestorer`: a saved tagger of characters, in onnxruntime or in torch."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..engines.onnx_models import Quantization, count_cores
from ..engines.saved_model import find_model, load_tokenizer, load_weights
from ..engines.text_ids import TextIds
from .character_codes import Vocabulary, load_spellings
from .onnx_tagger import OnnxTagger, TaggerConfig, prefers_onnx
from .spellings import Spellings
from .window_reader import RestoredText, WindowReader, run_in_torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["CharacterRestorer", "RestoredText"]

TaggerEngine = Literal["auto", "onnx", "torch"]
_HUB_OPTIONS = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token")


class CharacterRestorer(WindowReader):
    """A tagger of characters that restores texts of any length: their accents, their capitals, or both.

    It changes characters only into the variants that its training has seen for them. All other characters, and URLs,
    addresses, @names, #tags and code in backticks, come out as they went in, but for Unicode's normal form: a text is
    returned in NFC.

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
        self.model = model

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike,
        *,
        engine: TaggerEngine = "auto",
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
        if engine not in get_args(TaggerEngine):
            raise ValueError(f"engine={engine!r}; expected one of {', '.join(map(repr, get_args(TaggerEngine)))}.")
        if quantization not in (None, "int8") or (quantization and engine == "torch"):
            raise ValueError(f"quantization={quantization!r} with engine={engine!r}; expected 'int8' for ONNX files.")
        hub_options = {name: kwargs.pop(name) for name in _HUB_OPTIONS if name in kwargs}
        folder = find_model(name_or_path, **hub_options)
        TaggerConfig.from_folder(folder)
        if engine == "auto":
            engine = "onnx" if quantization or (prefers_onnx(folder) and not kwargs) else "torch"
        if engine == "torch":
            return cls(*_load_in_torch(folder, kwargs))
        if kwargs:
            raise ValueError(f"engine='onnx' does not have {', '.join(kwargs)}; expected engine='torch' with it.")
        model = OnnxTagger(folder, quantization)
        return cls(model, TextIds(folder), load_spellings(model.config))

    def save_pretrained(self, save_directory: str | os.PathLike) -> None:
        """Save the model, the tokenizer and the spellings in a folder, from which they can be loaded together.

        An ONNX file is not among them: export the saved model. What runs in onnxruntime is loaded in torch to be
        saved.
        """
        if isinstance(self.model, OnnxTagger):
            in_torch = CharacterRestorer.from_pretrained(self.config.name_or_path, engine="torch")
            return in_torch.save_pretrained(save_directory)
        self.model.save_pretrained(save_directory)
        self.tokenizer.save_pretrained(save_directory)
        self.save_spellings(save_directory)


def _load_in_torch(
    folder: Path, options: dict[str, Any]
) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase", Spellings | None]:
    try:
        import torch  # noqa: F401, without it transformers has no models
        from transformers import AutoModelForTokenClassification
    except ImportError:
        raise ImportError(
            "engine='torch' needs torch and transformers, which are not installed: pip install atenta"
        ) from None
    model = load_weights(AutoModelForTokenClassification, folder, **options)
    return model, load_tokenizer(folder), load_spellings(model.config)
