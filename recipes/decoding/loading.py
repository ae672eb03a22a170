"""A saved model of any kind with its tokenizer, for commands that show what it does."""

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
    """Load a model with its tokenizer: a model that generates as such, any other without its head.

    Args:
        name: a folder, or a repository on the Hub whose code you trust.

    Returns:
        The tokenizer, and the model in evaluation mode.

    Raises:
        SystemExit: there is no such model.
    """
    if Path(name).is_dir() and not Path(name, "config.json").is_file():
        sys.exit(f"{name} is no folder with a model: there is no config.json in it")
    elsewhere = Path(name).exists() or "/" not in name  # a bare name may be one of the Hub wherever this runs
    beside = [] if elsewhere else sorted(Path(name).parent.glob("*/config.json"))
    if beside:  # a folder of models, not of the Hub's: it would take half a minute to be told so offline
        sys.exit(f"there is no {name}; models beside it: {', '.join(config.parent.name for config in beside)}")
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # that a head is left out is as it should be
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=True)
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
        model = auto_class_of(config).from_pretrained(name, trust_remote_code=True)
    except OSError as error:
        sys.exit(f"{name} is no folder with a model, and was not found on the Hub: {error}")
    finally:
        logging.set_verbosity(verbosity)
    return tokenizer, model.eval()


def auto_class_of(config: PreTrainedConfig) -> type[AutoModel | AutoModelForCausalLM | AutoModelForSeq2SeqLM]:
    """Return the auto class that loads a saved model with all its weights, where they generate; else `AutoModel`."""
    for auto_class, mapping in (
        (AutoModelForSeq2SeqLM, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING),
        (AutoModelForCausalLM, MODEL_FOR_CAUSAL_LM_MAPPING),
    ):
        model_class = mapping.get(type(config), None)
        if model_class is not None and model_class.__name__ in (config.architectures or []):
            return auto_class
    return AutoModel
