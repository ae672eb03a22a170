"""Loading a saved model of any type with its tokenizer, for the commands that show how it works."""

import sys
from pathlib import Path

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


def load_model(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a model and its tokenizer. Models that generate are loaded with their head, others without it.

    Args:
        name: A folder, or a repository on the Hub whose code you trust.

    Returns:
        The tokenizer, and the model in evaluation mode.

    Raises:
        SystemExit: If there is no such model.
    """
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        sys.exit(f"{name} is not a model: there is no config.json in this folder")
    # The Hub is not asked for the misspelt name of a local model: offline, its answer takes half a minute. A bare name
    # is left to the Hub, wherever the command runs.
    if "/" in name and not folder.exists() and (others := sorted(folder.parent.glob("*/config.json"))):
        sys.exit(f"there is no {name}; {folder.parent} has {', '.join(config.parent.name for config in others)}")
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # hides the warning that a head is left out
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=True)
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
        model = _auto_class_of(config).from_pretrained(name, trust_remote_code=True)
    except OSError as error:
        sys.exit(f"{name} is neither a folder with a model nor a model on the Hub: {error}")
    finally:
        logging.set_verbosity(verbosity)
    return tokenizer, model.eval()


def _auto_class_of(config: PreTrainedConfig) -> type[AutoModel | AutoModelForCausalLM | AutoModelForSeq2SeqLM]:
    """Return the auto class that loads all weights of a model that generates, and `AutoModel` for other models."""
    for auto_class, mapping in (
        (AutoModelForSeq2SeqLM, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING),
        (AutoModelForCausalLM, MODEL_FOR_CAUSAL_LM_MAPPING),
    ):
        model_class = mapping.get(type(config), None)
        if model_class is not None and model_class.__name__ in (config.architectures or []):
            return auto_class
    return AutoModel
