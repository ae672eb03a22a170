"""Loading a saved model with its tokenizer, for the commands that use one: errors are one line and name the file."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from huggingface_hub import file_exists, try_to_load_from_cache
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    logging,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

RUNS_CODE = (
    "Python code that it holds may be run, whatever it does (transformers' trust_remote_code=True): name only models "
    "that you trust"
)
_HUB_NAME = re.compile(r"(?!outputs/)(\w[\w.-]*/)?\w[\w.-]*")  # other names are those of folders
_AutoClass = type[AutoModel | AutoModelForCausalLM | AutoModelForSeq2SeqLM]


def load_model(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a model and its tokenizer. Models that generate are loaded with their head, others without it.

    Args:
        name: A folder, or a repository on the Hub whose code you trust.

    Returns:
        The tokenizer, and the model in evaluation mode.

    Raises:
        SystemExit: If there is no such model, or one of its files is damaged.
    """
    return load_as(name, _auto_class_of, trust_remote_code=True)


def load_as(
    name: str, auto_class_of: Callable[[PreTrainedConfig], _AutoClass], *, trust_remote_code: bool
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a model of any type and its tokenizer, from weights in safetensors.

    Args:
        name: A folder, or a repository on the Hub.
        auto_class_of: Returns the auto class that loads the model, or raises a ValueError if its type is not accepted.
        trust_remote_code: Whether code in the folder is run if the type of the model is not known.

    Returns:
        The tokenizer, and the model in evaluation mode.

    Raises:
        SystemExit: If there is no such model, its type is not accepted, or one of its files is damaged.
    """
    try:
        expect_model(name)
    except FileNotFoundError as error:
        sys.exit(f"{name}: {error}")
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()  # of loading weights
    logging.set_verbosity_error()  # hides the warning that a head is left out
    part = "config.json"
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code)
        auto_class = auto_class_of(config)
        part = "tokenizer"
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=trust_remote_code)
        part = "model"
        model = auto_class.from_pretrained(name, trust_remote_code=trust_remote_code, use_safetensors=True)
    except Exception as error:  # each library has errors of its own for a damaged file; those of tokenizers are plain
        sys.exit(f"{name}: cannot load the {part} ({_describe(error)}); expected a model as it was saved")
    finally:
        logging.set_verbosity(verbosity)
    return tokenizer, model.eval()


def expect_model(name: str) -> None:
    """Check that a name is that of a folder with a model, or of a model on the Hub or in its cache.

    The Hub is asked once: offline, transformers tries for 45 seconds. It is not asked for names that look like those
    of folders, because a misspelt one may be that of a stranger's repository.

    Raises:
        FileNotFoundError: If there is no such model. The message does not repeat the name.
    """
    folder = Path(name)
    if (folder / "config.json").is_file():
        return
    in_folder = folder.parent != Path() and folder.parent.is_dir()
    if folder.exists() or in_folder or not _HUB_NAME.fullmatch(name):
        others = (
            [] if folder.exists() else sorted(config.parent.name for config in folder.parent.glob("*/config.json"))
        )
        beside = f"; {folder.parent} has {', '.join(others)}" if others else ""
        raise FileNotFoundError(
            f"found no config.json there; expected the folder of a model, or a name on the Hub{beside}"
        )
    try:
        known = isinstance(try_to_load_from_cache(name, "config.json"), str) or file_exists(name, "config.json")
    except Exception as error:  # the errors of the library that asks the Hub differ from version to version
        raise FileNotFoundError(
            f"found no such folder here, and the Hub cannot be reached ({_describe(error)})"
        ) from None
    if not known:
        raise FileNotFoundError("found no such folder here, and no such model on the Hub")


def _describe(error: Exception) -> str:
    """Return what an error of a library says, on one line and with escapes for what is not printable."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _auto_class_of(config: PreTrainedConfig) -> _AutoClass:
    """Return the auto class that loads all weights of a model that generates, and `AutoModel` for other models."""
    for auto_class, mapping in (
        (AutoModelForSeq2SeqLM, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING),
        (AutoModelForCausalLM, MODEL_FOR_CAUSAL_LM_MAPPING),
    ):
        model_class = mapping.get(type(config), None)
        if model_class is not None and model_class.__name__ in (config.architectures or []):
            return auto_class
    return AutoModel
