"""Loading a saved model of any type with its tokenizer, for the scripts that use one: errors are one line."""

import sys
from collections.abc import Callable

from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from atenta.engines.saved_model import find_model, load_config, load_tokenizer, load_weights

_AutoClass = type[AutoModel | AutoModelForCausalLM | AutoModelForSeq2SeqLM]


def _auto_class_of(config: PreTrainedConfig) -> _AutoClass:
    """Return the auto class that loads all weights of a model that generates, and `AutoModel` for other models."""
    for auto_class in (AutoModelForSeq2SeqLM, AutoModelForCausalLM):
        model_class = auto_class._model_mapping.get(type(config), None)
        if model_class is not None and model_class.__name__ in (config.architectures or []):
            return auto_class
    return AutoModel


def load_model(
    name: str,
    auto_class_of: Callable[[PreTrainedConfig], _AutoClass] = _auto_class_of,
    *,
    trust_remote_code: bool = False,
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a model and its tokenizer. Models that generate are loaded with their head, others without it.

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
        folder = find_model(name, with_code=trust_remote_code)
        auto_class = auto_class_of(load_config(folder, trust_remote_code=trust_remote_code))
        tokenizer = load_tokenizer(folder, trust_remote_code=trust_remote_code)
        return tokenizer, load_weights(auto_class, folder, trust_remote_code=trust_remote_code)
    except (OSError, ValueError) as error:
        sys.exit(str(error))
