"""The door to a saved model: its folder, here or on the Hub, checked before anything of it runs.

Everything that opens a saved model comes through here, so that one rule holds everywhere: weights are safetensors and
complete, no code in the folder is run unless it is asked for, and a damaged file is one line that names it. Without
`load_…`, neither torch nor transformers is imported.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..generation_options import is_number, is_whole
from .feedback import describe_error, loading_errors
from .saved_tensors import SavedTensor, is_id, read_tensors

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

CONFIG = "config.json"
WEIGHTS, INDEX, SHARDS = "model.safetensors", "model.safetensors.index.json", "model-*.safetensors"
AS_SAVED = "expected it as the model was saved"
_HUB_NAME = re.compile(r"(?!outputs/)(\w[\w.-]*/)?\w[\w.-]*")  # other names are those of folders
MODEL_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "onnx/*.onnx")  # what is read of a repository
# Configurations have the same, which need transformers.
_TEXT_FILE = re.compile(r"(?!(con|prn|aux|nul|com\d|lpt\d)\.)[^\W_][\w-]{0,60}\.txt", re.IGNORECASE)
_READ = (*{Path(pattern).suffix for pattern in MODEL_FILES}, ".tsv")  # the texts that an export compares
_FOLDERS = ("onnx", "additional_chat_templates")


def find_model(name: str | os.PathLike, *, with_code: bool = False, **hub_options: Any) -> Path:
    """Return the folder of a saved model: the one of this name, or that of its files in the cache of the Hub.

    The Hub is asked once: offline, transformers tries for 45 seconds. It is not asked for names that look like those
    of folders, because a misspelt one may be that of a stranger's repository.

    Args:
        name: a folder, or a repository on the Hub.
        with_code: whether the Python code of a repository is fetched too.
        hub_options: as in `snapshot_download`, such as `revision`, and `subfolder` as in `from_pretrained`.

    Raises:
        TypeError: If the name is neither a text nor a path.
        FileNotFoundError: If there is no such model.
        ValueError: If the name is empty, a file of the folder is a link to somewhere else, or the model is not whole
            without another.
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"Found {name!r:.60} ({type(name).__name__}); expected the folder of a model, or its name.")
    if not os.fspath(name):
        raise ValueError("Found an empty text as the name of a model; expected its folder, such as `.` for this one.")
    subfolder = hub_options.pop("subfolder", None) or ""
    folder = Path(name, subfolder)
    if not (folder / CONFIG).is_file():
        folder = _fetch(
            name.as_posix() if isinstance(name, Path) else os.fspath(name), subfolder, with_code, hub_options
        )
    check_files(folder)
    return folder


def _fetch(name: str, subfolder: str, with_code: bool, hub_options: Mapping[str, Any]) -> Path:
    path = Path(name)
    in_folder = path.parent != Path() and path.parent.is_dir()
    if path.exists() or in_folder or not _HUB_NAME.fullmatch(name):
        raise FileNotFoundError(
            f"{name}: found no {CONFIG} there; expected the folder of a model, or a name on the Hub{name_models(path)}"
        )
    from huggingface_hub import file_exists, snapshot_download, try_to_load_from_cache

    output = Path("outputs", name)
    nearby = f"; {output} is here" if (output / CONFIG).is_file() else name_models(output) if output.is_dir() else ""
    asked = {key: value for key, value in hub_options.items() if key in ("revision", "token")}
    in_cache = {key: value for key, value in hub_options.items() if key in ("revision", "cache_dir")}
    place = f"{subfolder}/" if subfolder else ""
    config = place + CONFIG
    try:
        known = isinstance(try_to_load_from_cache(name, config, **in_cache), str)
        known = known or (not hub_options.get("local_files_only") and file_exists(name, config, **asked))
    except Exception as error:  # the errors of the library that asks the Hub differ from version to version
        raise FileNotFoundError(
            f"{name}: found no such folder here, and the Hub cannot be reached ({describe_error(error)}){nearby}"
        ) from None
    if not known:
        raise FileNotFoundError(f"{name}: found no such folder here, and no such model on the Hub{nearby}")
    patterns = [place + pattern for pattern in (*MODEL_FILES, *(["*.py"] if with_code else []))]
    return Path(snapshot_download(name, allow_patterns=patterns, **hub_options), subfolder)


def name_models(path: Path) -> str:
    """Return the end of an error about a path without a model: the models in it or, if it is not there, beside it.

    Where training has not ended, there are checkpoints alone.
    """
    place = path if path.exists() else path.parent
    names = [each.parent.name for each in place.glob(f"*/{CONFIG}")]
    names = sorted(names, key=lambda name: (len(name), name))  # checkpoint-5 before checkpoint-10
    checkpoints = [name for name in names if name.startswith("checkpoint-")]
    if checkpoints and place == path:
        return (
            f"; its training has not ended: run the same command again, which goes on from {checkpoints[-1]}, its "
            f"newest checkpoint, or give {place / checkpoints[-1]}, which is a model too"
        )
    return f"; {place} has {', '.join(names)}" if names else ""


def check_files(folder: Path) -> None:
    """Check that the files of a model are its own.

    Raises:
        ValueError: If one is a link to somewhere else, not a file or names a file elsewhere, or there is an adapter,
            whose model may be anywhere.
    """
    if (folder / "adapter_config.json").exists():
        raise ValueError(
            f"{folder} has an adapter_config.json, which names the model that it belongs to; expected a whole model: "
            "merge the adapter into it (peft's merge_and_unload), and save it."
        )
    for path in [*folder.iterdir(), *(path for name in _FOLDERS for path in (folder / name).glob("*"))]:
        if path.suffix in _READ or {path.name, path.parent.name} & {*_FOLDERS}:
            check_inside(path, folder)
            if path.exists() and not (path.is_file() or path.is_dir()):  # which would be waited for, without end
                raise ValueError(f"{path} is neither a file nor a folder, but a pipe, socket or device: remove it.")
    indices = [(path, "weight_map") for path in sorted(folder.glob("*.index.json"))]
    for path, key in [*indices, (folder / "tokenizer_config.json", "fast_tokenizer_files")]:
        names = read_saved(path).get(key) if path.is_file() else None
        names = list(names.values()) if isinstance(names, dict) else names if isinstance(names, list) else [names]
        for name in names:
            if name is not None and not (isinstance(name, str) and re.fullmatch(r"\w[\w.-]*", name)):
                raise ValueError(f"{path} is damaged: {key} has {name!r:.60}; expected names of files in the folder.")


def check_inside(path: Path, folder: Path) -> None:
    """Check that a file of a model's folder is not a link to somewhere else.

    The files of a repository in the cache of the Hub are links into that cache.

    Raises:
        ValueError: If it is.
    """
    home, real = folder.resolve(), path.resolve()
    cache = next((each.parent for each in home.parents if each.name == "snapshots"), home)
    if not real.is_relative_to(home) and not real.is_relative_to(cache / "blobs"):
        raise ValueError(f"{path} is a link to {real}; expected a file of the model's own: copy it into {folder}.")


def read_saved(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a saved model holds.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is damaged.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.parent} has no {path.name}; expected the folder of a saved model. `hf download NAME --local-dir "
            "FOLDER` fetches one from the Hub."
        )
    try:
        saved = json.loads(path.read_bytes())
        json.dumps(saved, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:  # of JSON or UTF-8, or of a lone surrogate
        raise ValueError(f"{path} is damaged ({describe_error(error)}); {AS_SAVED}") from None
    if not isinstance(saved, dict):
        raise ValueError(f"{path} is damaged (found {saved!r:.40}); {AS_SAVED}")
    return saved


def weight_files(folder: Path) -> list[Path]:
    """Return the files that a loader reads a model's weights from; none if it has no weights.

    Raises:
        ValueError: If the list of several files is damaged, or names something else or a file that is not there.
    """
    if (folder / WEIGHTS).exists() or not (folder / INDEX).is_file():
        return [path for path in [folder / WEIGHTS] if path.exists()]
    shards = read_saved(folder / INDEX).get("weight_map")
    names: list[Any] = list(shards.values()) if isinstance(shards, dict) and shards else [shards]
    for name in names:
        if not isinstance(name, str) or "/" in name or not fnmatchcase(name, SHARDS):
            raise ValueError(f"{folder / INDEX}: weight_map has {name!r}; expected names such as {SHARDS}.")
        if not (folder / name).is_file():
            raise ValueError(f"{folder}: found no {name}, which {INDEX} names; {AS_SAVED}.")
    return [folder / name for name in sorted(set(names))]


def saved_weights(folder: Path) -> dict[str, SavedTensor]:
    """Return the weights of a saved model by their names. The errors are those of its files."""
    return {name: tensor for path in weight_files(folder) for name, tensor in read_tensors(path).items()}


def read_generation_config(folder: Path) -> dict[str, Any]:
    """Return the options of generation that a model is saved with, if any; the errors are those of `read_saved`."""
    path = folder / "generation_config.json"
    return read_saved(path) if path.is_file() else {}


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of a saved model, with the values checked that are read without transformers.

    Raises:
        FileNotFoundError: If the folder has none.
        ValueError: If it is damaged. The message names the key.
    """
    path = folder / CONFIG
    config = read_saved(path)
    for key, (is_right, expected) in _CHECKS.items():
        value = config.get(key)
        is_of_others = key == "position_embedding_type" and not is_ours(config)  # which name other positions
        if value is not None and not is_of_others and not is_right(value):
            raise ValueError(f"{path} is damaged: {key} is {value!r:.60}; expected {expected}.")
    start, vocab_size = config.get("decoder_start_token_id"), config.get("vocab_size")
    if start is None and config.get("model_type") == "atenta_encoder_decoder":
        raise ValueError(f"{path} has no decoder_start_token_id; {AS_SAVED}.")
    if start is not None and vocab_size is not None and start >= vocab_size:
        raise ValueError(f"{path} is damaged: decoder_start_token_id is {start}, and vocab_size {vocab_size}.")
    return config


def class_of(config: Mapping[str, Any]) -> str:
    """Return the name of the class of a saved model."""
    return (config.get("architectures") or [f"unknown class ({CONFIG} has no architectures)"])[0]


def is_ours(config: Mapping[str, Any]) -> bool:
    """Return whether a saved model is of this package."""
    return str(config.get("model_type")).startswith("atenta")


def learned_positions(config: Mapping[str, Any]) -> int | None:
    """Return the number of positions that a model has learned and cannot go beyond; `None` without such a limit."""
    if config.get("position_embedding_type") != "learned":
        return None
    if "max_position_embeddings" not in config:
        raise ValueError("config.json has learned positions and no max_position_embeddings; " + AS_SAVED)
    return config["max_position_embeddings"]


def _are_ratios(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_number(value[0], 0) and is_number(value[1], value[0])


def _are_labels(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {*value} == {str(index) for index in range(len(value))}
        and all(isinstance(label, str) for label in value.values())
        and len({*value.values()}) == len(value)
    )


def _are_variants(value: Any) -> bool:
    return isinstance(value, dict) and all(
        len(character) == 1 and isinstance(of_it, str | list) and {*map(type, of_it)} == {str}
        for character, of_it in value.items()
    )


def _is_file_name(value: Any) -> bool:
    """Return whether a value is the name of a file in the same folder, on every system, and of no file with a role."""
    return isinstance(value, str) and _TEXT_FILE.fullmatch(value) is not None


_WHOLE = (lambda value: is_whole(value, 1, sys.maxsize), "a whole number above 0")
# The keys that are read without transformers, whose configurations check all of them.
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model_type": (
        lambda value: isinstance(value, str) and re.fullmatch(r"[\w.-]+", value) is not None,
        "the name of a type of models",
    ),
    "architectures": (
        lambda value: isinstance(value, list) and all(isinstance(each, str) and each.isidentifier() for each in value),
        "a list of names of classes",
    ),
    "auto_map": (lambda value: isinstance(value, dict), "names of classes by those of auto classes"),
    "is_encoder_decoder": (lambda value: isinstance(value, bool), "true or false"),
    "position_embedding_type": (("sinusoidal", "learned", "rotary").__contains__, "sinusoidal, learned or rotary"),
    **dict.fromkeys(("max_position_embeddings", "vocab_size", "window_length"), _WHOLE),
    "type_vocab_size": (is_id, "a whole number, 0 or more"),
    **dict.fromkeys(("bos_token_id", "pad_token_id", "decoder_start_token_id"), (is_id, "the id of a token")),
    "eos_token_id": (
        lambda value: all(map(is_id, value if isinstance(value, list) else [value])),
        "the id of a token, or several",
    ),
    "task_specific_params": (
        lambda value: isinstance(value, dict) and all(isinstance(options, dict) for options in value.values()),
        "options for tasks",
    ),
    "length_ratios": (_are_ratios, "two finite numbers, the lower one first"),
    "id2label": (_are_labels, 'a name of its own for each number from 0: {"0": …, "1": …}'),
    "character_variants": (_are_variants, "for each character, the characters or texts that it may become"),
    "confidence_temperature": (lambda value: is_number(value, 1e-6, 1e6), "a number from 1e-6 to 1e6"),
    "spellings_file": (_is_file_name, "the name of a text file in the folder, such as spellings.txt"),
}


def load_config(folder: Path, *, trust_remote_code: bool = False) -> "PreTrainedConfig":
    """Load the configuration of a saved model of any type into transformers.

    With `trust_remote_code`, code in the folder is run if the type of the model is not known.

    Raises:
        ValueError: If it is damaged, or its type is not known.
    """
    from transformers import AutoConfig

    with loading_errors(folder, CONFIG):
        return AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code)


def load_tokenizer(folder: Path, *, trust_remote_code: bool = False, **options: Any) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a saved model of any type; that of a model of this package is an `AtentaTokenizer`.

    With `trust_remote_code`, code in the folder is run if its class is not known. Options are as in `from_pretrained`.

    Raises:
        ValueError: If it is damaged, or its class is not known.
    """
    from transformers import AutoTokenizer

    from ..tokenization.tokenization_atenta import AtentaTokenizer  # what it saves, transformers 4 reads too

    tokenizer_class = AtentaTokenizer if is_ours(read_config(folder)) else AutoTokenizer
    with loading_errors(folder, "tokenizer"):
        tokenizer = tokenizer_class.from_pretrained(folder, trust_remote_code=trust_remote_code, **options)
        if not isinstance(tokenizer.model_max_length, int | float):
            raise ValueError(f"model_max_length is {tokenizer.model_max_length!r:.40}; expected a number")
    if not trust_remote_code:  # else a copy that is saved would name code of others, beside that of its own model
        tokenizer.init_kwargs.pop("auto_map", None)
    return tokenizer


def load_weights(
    model_class: Any, folder: Path, *, trust_remote_code: bool = False, **options: Any
) -> "PreTrainedModel":
    """Load a saved model into torch, in evaluation mode.

    The class may be an auto class of transformers. Other arguments are as in `load_config` and `from_pretrained`.

    Raises:
        ValueError: If the weights are not safetensors, not all there, or damaged.
    """
    from transformers.utils import logging

    from ..modeling.modeling_base import check_weights, prepare_generation

    if not any(folder.glob("*.safetensors")):
        pickles = sorted(path.name for path in folder.glob("*.bin"))
        found = f"{pickles[0]}, a pickle, which may run code when it is read" if pickles else "no weights"
        convert = (
            'Convert it if you trust it: python -c "import torch, safetensors.torch as s; s.save_file(torch.load('
            "'pytorch_model.bin', weights_only=True), 'model.safetensors', {'format': 'pt'})\""
        )
        raise ValueError(f"{folder} has {found}; expected model.safetensors. {convert if pickles else ''}".strip())
    verbosity, has_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # hides the warning that a head is left out
    logging.disable_progress_bar()  # of some milliseconds
    try:
        with loading_errors(folder, "model.safetensors"):
            saved = saved_weights(folder)
            _check_shapes(model_class, folder, saved, trust_remote_code)
            model, info = model_class.from_pretrained(
                folder, trust_remote_code=trust_remote_code, use_safetensors=True, output_loading_info=True, **options
            )
    finally:
        logging.set_verbosity(verbosity)
        if has_bar:
            logging.enable_progress_bar()
    check_weights(model, info, str(folder))
    prepare_generation(model, str(folder))
    _check_types(model, folder, saved)
    if not trust_remote_code:
        for name in ("auto_map", "custom_pipelines"):
            vars(model.config).pop(name, None)
    return model.eval()


def _check_shapes(model_class: Any, folder: Path, saved: Mapping[str, SavedTensor], trust_remote_code: bool) -> None:
    """Check that saved weights have the sizes of the configuration, before memory is taken for those."""
    import torch
    from transformers.initialization import no_init_weights

    config = load_config(folder, trust_remote_code=trust_remote_code)
    with torch.device("meta"), no_init_weights():
        if hasattr(model_class, "from_config"):  # an auto class: it runs code unless it is forbidden
            model = model_class.from_config(config, trust_remote_code=trust_remote_code)
        else:
            model = model_class._from_config(config)
    for name, weight in model.state_dict().items():
        if name in saved and [*weight.shape] != saved[name].shape:
            raise ValueError(f"{name} has the sizes {saved[name].shape}, and by {CONFIG} {[*weight.shape]}")


def _check_types(model: "PreTrainedModel", folder: Path, saved: Mapping[str, SavedTensor]) -> None:
    """Check that the weights that are numbers with a fraction are saved as such: transformers converts the others."""
    for name, weight in model.state_dict().items():
        if name in saved and weight.is_floating_point() and not saved[name].dtype.startswith(("F", "BF")):
            raise ValueError(
                f"{folder}/model.safetensors is damaged: {name} is of type {saved[name].dtype}; {AS_SAVED}"
            )
