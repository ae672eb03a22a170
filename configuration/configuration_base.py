"""The configuration that all models share: the vocabulary, its special ids, misspelt options, and saved code."""

import os
import re
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from huggingface_hub.dataclasses import strict
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig

LARGEST_VOCABULARY = 2_097_151  # triples of ids are counted as single int64 numbers: vocab_size**3 must be below 2**63
LARGEST_SIZE = 1_000_000  # of whatever an option counts, if nothing else is said
_MOST_LABELS = 100_000  # transformers names each, and checks it several times: a million take half a minute
_DTYPES = ("float16", "bfloat16", "float32", "float64")
# Of a class in a file of saved code, such as "modeling_decoder.AtentaDecoderModel". transformers would join any other
# name with the folder's, and import it from wherever that leads.
_CLASS_IN_FILE = re.compile(r"([\w.-]+/[\w.-]+--)?\w+\.\w+")
_IMPLEMENTATION = re.compile(r"\w+")  # of transformers itself; kernels of the Hub, which are code, have a slash
# What transformers takes from a saved configuration, though it is an attribute of the class.
_SETTABLE = (
    *("model_type", "name_or_path", "num_labels", "output_attentions", "torch_dtype"),
    *("_attn_implementation", "_experts_implementation"),
)
# What transformers, or a family of ours, reads from any configuration, and checks in those of other models only.
_OF_OTHERS = (
    *("type_vocab_size", "ngram_sizes", "shared_ngram_sizes", "conv_kernel_size", "tag_token_ids", "length_ratios"),
    *("character_variants", "spellings_file", "window_length", "downsampling_rate"),
    *("decoder", "generator", "text_config", "text_encoder", "per_layer_config"),
    *("layer_types", "mlp_layer_types", "mtp_layer_types", "rope_parameters"),
)


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
        vocab_size (`int`, defaults to 420): number of tokens, up to 2,097,151; the default is that of the default
            tokenizer.
        pad_token_id, bos_token_id, eos_token_id (`int`, *optional*, default to 0, 1 and 2): ids of `<pad>`, `<bos>`
            and `<eos>`; the last may be a list of ids.

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
    # Declared again, because `@strict` does not check the types that transformers declares.
    transformers_version: str | None = None
    architectures: list[str] | None = None
    output_hidden_states: bool | None = False
    return_dict: bool | None = True
    chunk_size_feed_forward: int = 0
    is_encoder_decoder: bool = False
    id2label: dict[int, str] | dict[str, str] | None = None
    label2id: dict[str, int] | None = None
    problem_type: Literal["regression", "single_label_classification", "multi_label_classification"] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        self._reject_misspelt_options(kwargs)
        self._check_names_of_code(kwargs)
        self._check_what_transformers_reads(kwargs)
        pipelines = kwargs.pop("custom_pipelines", {})
        if others := {task: each for task, each in pipelines.items() if task not in self.registered_pipelines}:
            kwargs["custom_pipelines"] = others
        kwargs.pop("_name_or_path", None)  # older versions saved where a model was; now it is elsewhere
        super().__post_init__(**kwargs)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Create a configuration from a saved one, as in transformers.

        Raises:
            ValueError: As in the class, but on one line and with where it is from, or if it chooses an attention that
                is code of the Hub, which only an argument may.
        """
        where = kwargs.get("name_or_path") or cls.__name__
        for name in (f"{start}{kind}_implementation" for start in ("", "_") for kind in ("attn", "experts")):
            value = config_dict.get(name)
            if value is not None and not (isinstance(value, str) and _IMPLEMENTATION.fullmatch(value)):
                raise ValueError(f"{name}={value!r:.200} in a saved configuration; expected one of transformers' own.")
        try:
            found: Any = super().from_dict(config_dict, **kwargs)
            (found if isinstance(found, cls) else found[0]).validate()  # what the arguments have changed
            if isinstance(found, cls):  # or the model takes those that are left
                found._reject_misspelt_options(kwargs)
            return found
        except RecursionError:
            raise ValueError(
                f"The configuration of {where} is nested too deeply; expected it as it was saved."
            ) from None
        except (StrictDataclassError, ValueError) as error:
            cause = error.__cause__ if isinstance(error, StrictDataclassError) else error
            raise ValueError(
                f"The configuration of {where} cannot be used: {' '.join(str(cause).split()):.500}"
            ) from error

    def save_pretrained(self, save_directory: str | os.PathLike, push_to_hub: bool = False, **kwargs: Any) -> None:
        """Save the configuration and the code of its models. `model.save_pretrained` calls this method.

        Arguments are as in transformers. The folder is created if it does not exist.
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
        for name in options.keys() - self.attribute_map.keys() - set(known):
            if close := get_close_matches(name, known, n=1, cutoff=0.9):
                raise ValueError(f"{type(self).__name__} has no option {name!r}. Did you mean {close[0]!r}?")

    def _check_names_of_code(self, options: dict[str, Any]) -> None:
        """Refuse classes of saved code that are not beside the configuration, and what is not such a name at all."""
        auto_map = options.get("auto_map", {})
        if not _is_auto_map(auto_map):
            raise ValueError(f'auto_map={auto_map!r:.200}; expected classes in files beside it, as "file.Class".')
        pipelines = options.get("custom_pipelines", {})
        if not (isinstance(pipelines, dict) and all(map(_is_pipeline, pipelines.values()))):
            raise ValueError(
                f'custom_pipelines={pipelines!r:.200}; expected for each task {{"impl": "file.Class", "pt": [names of '
                "auto classes]}."
            )

    def _check_what_transformers_reads(self, options: dict[str, Any]) -> None:
        """Refuse values that transformers would use before it has checked them."""
        for name in options:
            if hasattr(type(self), name) and name not in _SETTABLE:
                raise ValueError(f"{name!r} is a part of {type(self).__name__} that is not an option; leave it out.")
            if name in _OF_OTHERS and options[name] is not None:
                raise ValueError(f"{name}={options[name]!r:.200} is for other models; {type(self).__name__} has none.")
        quantization = options.get("quantization_config")
        if not (quantization is None or isinstance(quantization, dict) or hasattr(quantization, "to_dict")):
            raise ValueError(f"quantization_config={quantization!r:.200}; expected its options by name, or null.")
        number = options.get("num_labels")
        if number is not None and not (type(number) is int and 1 <= number <= _MOST_LABELS):
            raise ValueError(f"num_labels={number!r:.200}; expected a number from 1 to {_MOST_LABELS}.")
        if self.id2label is not None:
            numbers = list(map(str, self.id2label))
            if not numbers or set(numbers) != set(map(str, range(len(numbers)))):
                raise ValueError(f"id2label={self.id2label!r:.200}; expected a label for each number from 0 on.")
            if len(set(self.id2label.values())) != len(numbers):
                raise ValueError(f"id2label={self.id2label!r:.200} has a label twice; expected each once.")
        for label, number in (self.label2id or {}).items():
            if number < 0:
                raise ValueError(f"label2id has {label!r:.80}: {number!r:.80}; expected a number from 0 on.")
        for name, dtype in (("dtype", self.dtype), ("torch_dtype", options.get("torch_dtype"))):
            if dtype is not None and str(dtype).removeprefix("torch.") not in _DTYPES:
                raise ValueError(f"{name}={dtype!r:.200}; expected one of {', '.join(_DTYPES)}.")
        if self.is_encoder_decoder != type(self).is_encoder_decoder:
            raise ValueError(
                f"is_encoder_decoder={self.is_encoder_decoder}; expected {type(self).is_encoder_decoder} for "
                f"{type(self).__name__}."
            )

    def validate_architecture(self) -> None:
        """Check the values; types are checked by `@strict`, which calls this method after construction."""
        for name, largest in self._sizes().items():
            self._validate_count(name, 1, largest)
        self._validate_special_ids()

    def _sizes(self) -> dict[str, int]:
        """Return the options that count something, and so must be at least 1, with the most that each may be."""
        return {"vocab_size": LARGEST_VOCABULARY}

    def _validate_count(self, name: str, least: int, largest: int = LARGEST_SIZE, hint: str = "") -> None:
        """Refuse a number out of a range. The hint says more about the least. `None` is allowed where its type is."""
        value = getattr(self, name)
        name = self.attribute_map.get(name, name)
        if value is not None and value < least:
            raise ValueError(f"{name}={value}; expected at least {least}{hint}.")
        if value is not None and value > largest:
            raise ValueError(f"{name}={value!r:.200}; expected at most {largest}.")

    def _validate_special_ids(self) -> None:
        for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "tag_token_ids"):
            ids = getattr(self, name, None)
            if ids == [] and name == "eos_token_id":
                raise ValueError(f"{name}=[]; expected an id, one or more ids, or null.")
            for token_id in ids if isinstance(ids, list) else [ids]:
                if token_id is not None and not 0 <= token_id < self.vocab_size:
                    raise ValueError(
                        f"{name}={token_id} is outside the vocabulary; expected an id from 0 to {self.vocab_size - 1}."
                    )


def _is_auto_map(value: Any) -> bool:
    """Return whether a value is an `auto_map`. A tokenizer has two classes there, one of which may be missing."""
    if not isinstance(value, dict):
        return False
    names = [name for each in value.values() for name in (each if isinstance(each, list) else [each])]
    return all(name is None or (isinstance(name, str) and _CLASS_IN_FILE.fullmatch(name)) for name in names)


def _is_pipeline(value: Any) -> bool:
    """Return whether a value describes a pipeline of saved code, as transformers writes it."""
    if not isinstance(value, dict) or not isinstance(value.get("pt", []), list):
        return False
    named = isinstance(value.get("impl"), str) and _CLASS_IN_FILE.fullmatch(value["impl"])
    return bool(named) and all(isinstance(each, str) and each.startswith("Auto") for each in value.get("pt", []))
