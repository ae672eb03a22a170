"""The configuration that all models share: the vocabulary, its special ids, misspelt options, and saved code."""

import os
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig


class SavedCode(NamedTuple):
    """The code saved with a configuration, with which its models load where this package is not installed.

    Attributes:
        auto_map: for each auto class, the file and the class that it loads, such as
            `"modeling_decoder.AtentaDecoderModel"`.
        files: the source of each file by its name, such as `"modeling_decoder.py"`.
        custom_pipelines: pipelines of transformers that are among the files, as in a configuration.
    """

    auto_map: dict[str, str]
    files: dict[str, str]
    custom_pipelines: dict[str, Any]


@strict
class AtentaConfig(PreTrainedConfig):
    r"""Options shared by every model of this package.

    Args:
        vocab_size (`int`, defaults to 420): number of tokens; the default is that of the default tokenizer.
        pad_token_id, bos_token_id, eos_token_id (`int`, default to 0, 1 and 2): ids of `<pad>`, `<bos>` and `<eos>`.

    Raises:
        StrictDataclassError, ValueError: If a value has the wrong type or is out of range, a special id is outside
            the vocabulary, or an option is misspelt. The message gives the value and what is allowed.
    """

    # Extension point: returns the code to save with a configuration, or None for classes it does not know. The
    # package sets it (hub/bundle.py). This file may not import the collector, because copies of this file are saved
    # with every model, without the collector. In those copies it stays None, and transformers copies the code itself.
    code_collector: ClassVar[Callable[[PreTrainedConfig], SavedCode | None] | None] = None
    # Extension point: the pipelines that the package has registered. transformers would otherwise ask to run the code
    # of those in a saved folder.
    registered_pipelines: ClassVar[frozenset[str]] = frozenset()

    vocab_size: int = 420
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2

    def __post_init__(self, **kwargs: Any) -> None:
        self._reject_misspelt_options(kwargs)
        pipelines = kwargs.pop("custom_pipelines", {})
        if others := {task: each for task, each in pipelines.items() if task not in self.registered_pipelines}:
            kwargs["custom_pipelines"] = others
        super().__post_init__(**kwargs)

    def save_pretrained(self, save_directory: str | os.PathLike, push_to_hub: bool = False, **kwargs: Any) -> None:
        """Save the configuration and the code of its models. `model.save_pretrained` calls this method.

        Args:
            save_directory: folder to save in; created if it does not exist.
            push_to_hub: whether to push the configuration and the code to the Hub afterwards.
            kwargs: as in transformers, such as `repo_id`, which defaults to the folder's name.
        """
        collect = type(self).code_collector
        code = collect(self) if collect is not None else None
        if code is None:
            super().save_pretrained(save_directory, push_to_hub=push_to_hub, **kwargs)
            return
        self.auto_map = code.auto_map
        others = getattr(self, "custom_pipelines", None)
        if code.custom_pipelines:
            self.custom_pipelines = {**(others or {}), **code.custom_pipelines}
        super().save_pretrained(save_directory)
        if code.custom_pipelines:  # they are for the file; from here, transformers would load them as remote code
            del self.custom_pipelines
            if others:
                self.custom_pipelines = others
        for name, source in code.files.items():
            (Path(save_directory) / name).write_text(source, encoding="utf-8")
        if push_to_hub:  # only now, so that the code is uploaded too
            self.push_to_hub(kwargs.pop("repo_id", Path(save_directory).name), **kwargs)

    def _reject_misspelt_options(self, options: dict[str, Any]) -> None:
        # transformers keeps options that it does not know, so `hiden_size=64` would silently build the default model.
        known = [field.name for field in fields(self)]
        for name in options.keys() - self.attribute_map.keys():
            if close := get_close_matches(name, known, n=1, cutoff=0.9):
                raise ValueError(f"{type(self).__name__} has no option {name!r}. Did you mean {close[0]!r}?")

    def validate_architecture(self) -> None:
        """Check the values; types are checked by `@strict`, which calls this method after construction.

        Raises:
            ValueError: As described in the class docstring.
        """
        for name in self._sizes():
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}; expected at least 1.")
        self._validate_special_ids()

    def _sizes(self) -> tuple[str, ...]:
        """Return the names of the options that count something and so must be at least 1."""
        return ("vocab_size",)

    def _validate_special_ids(self) -> None:
        for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "tag_token_ids"):
            ids = getattr(self, name, None)
            for token_id in ids if isinstance(ids, list) else [ids]:
                if token_id is not None and not 0 <= token_id < self.vocab_size:
                    raise ValueError(
                        f"{name}={token_id} is outside the vocabulary; expected an id from 0 to {self.vocab_size - 1}."
                    )
