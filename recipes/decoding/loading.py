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
    """Load the tokenizer and the model of a folder, or a repository on the Hub, in evaluation mode.

    Models that generate are loaded with their head, others without it, unless `auto_class_of` returns another auto
    class; it raises a ValueError if it does not accept the type of a model.

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
