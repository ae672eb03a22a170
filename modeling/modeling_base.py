"""The base class of all models: loading, saving, pushing to the Hub, and the hook that writes model cards."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from transformers import PreTrainedModel

from ..generation_options import SPECIAL_IDS, check_saved_options

_SHOWN_WEIGHTS = 5


class AtentaPreTrainedModel(PreTrainedModel):
    """Base class of every model of this package, Transformers and pair votes."""

    # Extension point: writes the card of a model into a folder. Its arguments are the model, the folder and, before a
    # push, the repository. The package sets it (hub/card.py). This file may not import the writer, because copies
    # of this file are saved with every model, without the writer. In those copies it stays None: no card is written.
    card_writer: ClassVar[Callable[[PreTrainedModel, Path, str | None], None] | None] = None

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike | None, *args: Any, **kwargs: Any
    ) -> Any:
        """Load a saved model, and check that all of its weights are there.

        transformers would give random values to weights that a file lacks. That is right for a new head on a saved
        encoder, and wrong for a model that is loaded as the class that it was saved as.

        Arguments are as in transformers. With `output_loading_info` or `ignore_mismatched_sizes` nothing is checked.

        Raises:
            ValueError: If weights of the saved class are missing, unknown or of another shape, or not finite.
        """
        name = pretrained_model_name_or_path
        if kwargs.get("output_loading_info") or kwargs.get("ignore_mismatched_sizes") or name is None:
            return super().from_pretrained(name, *args, **kwargs)  # the caller judges
        loaded: Any = super().from_pretrained(name, *args, **{**kwargs, "output_loading_info": True})
        check_weights(loaded[0], loaded[1], str(name))
        prepare_generation(loaded[0], str(name))
        return loaded[0]

    def save_pretrained(
        self, save_directory: str | os.PathLike, is_main_process: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        """Save the model, its configuration, the code of both and, if the folder has none, a model card.

        Arguments are as in transformers. The folder is created if it does not exist. Of a model with an adapter, the
        adapter alone is saved.

        Raises:
            ValueError: If the options of generation are such that the model could not be loaded again.
        """
        if getattr(self, "generation_config", None) is not None:
            check_saved_options(self.generation_config.to_dict(), self.config.to_dict(), str(save_directory))
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)
        if is_main_process:
            of_adapter = ("adapter_config.json", "adapter_model")
            config, weights = of_adapter if self._hf_peft_config_loaded else ("config.json", "model")
            for path in Path(save_directory).glob(f"{weights}*.safetensors"):  # which only their owner could read
                shutil.copymode(Path(save_directory, config), path)
            self._write_beside(save_directory)

    def _upload_modified_files(self, working_dir: str | os.PathLike, repo_id: str, *args: Any, **kwargs: Any) -> Any:
        # transformers uploads through this method, after it has put the repository's card, or a generic one, in the
        # folder. It offers no later public method to override.
        self._write_beside(working_dir, repo_id)
        return super()._upload_modified_files(working_dir, repo_id, *args, **kwargs)

    def _write_beside(self, folder: str | os.PathLike, repo_id: str | None = None) -> None:
        """Write what is saved beside the weights: the card. With a repository, it is about to be pushed there."""
        writer = type(self).card_writer
        if writer is not None and not self._hf_peft_config_loaded:
            writer(self, Path(folder), repo_id)


def check_weights(model: PreTrainedModel, info: Mapping[str, Any], name: str) -> None:
    """Check that a model was loaded with all the weights that it was saved with, and that they are finite numbers.

    A head may be another than the saved one. Its weights are then new, and those of the saved head are left out.

    Args:
        model: the loaded model.
        info: what transformers reports with `output_loading_info`.
        name: of its folder or repository, for the message.

    Raises:
        ValueError: If a weight is missing, unknown or of another shape, or not finite. The message names it.
    """
    is_saved_class = type(model).__name__ in (model.config.architectures or [])
    # Another head is new. So is the pooler of an encoder that was not trained on pairs of texts.
    base = "" if model.base_model is model else f"{model.base_model_prefix}."
    missing = set(info["missing_keys"])
    new = {key for key in missing if not key.startswith(base) or key.startswith(f"{base}pooler.")}
    unexpected = set(info["unexpected_keys"]) if is_saved_class else set()
    if getattr(model, "pooler", model) is None:  # it was left out on request
        unexpected = {key for key in unexpected if not key.startswith("pooler.")}
    problems = {
        "lack": missing if is_saved_class else missing - new,
        "have in another shape": {key for key, *_ in info["mismatched_keys"]},
        "also have": unexpected,
    }
    is_quantized = getattr(model, "hf_quantizer", None) is not None  # such tensors cannot be asked
    problems["are not finite in"] = {
        key
        for key, weight in ({} if is_quantized else model.state_dict()).items()
        if weight.is_floating_point() and not weight.is_meta and not torch.isfinite(weight).all()
    }
    for problem, keys in problems.items():
        if keys:
            more = f" and {len(keys) - _SHOWN_WEIGHTS} more" if len(keys) > _SHOWN_WEIGHTS else ""
            raise ValueError(
                f"The weights of {name} {problem} {', '.join(sorted(keys)[:_SHOWN_WEIGHTS])}{more}; expected "
                f"exactly those of {type(model).__name__} as they were saved: save the model again, or fetch it again."
            )


def prepare_generation(model: PreTrainedModel, name: str) -> None:
    """Check the saved options of generation, and complete the ids of a model of this package from its configuration.

    Args:
        model: the loaded model.
        name: of its folder or repository, for the message.

    Raises:
        ValueError: If one is of another type, or out of range. The message names it.
    """
    saved = getattr(model, "generation_config", None)
    if saved is None:  # an encoder
        return
    check_saved_options(saved.to_dict(), model.config.to_dict(), name)
    if model.config.model_type.startswith("atenta"):
        for option in SPECIAL_IDS:
            if getattr(saved, option) is None:
                setattr(saved, option, getattr(model.config, option, None))
