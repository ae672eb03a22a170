"""The kinds of model: what each does, the end of its class names, what loads it and its task on the Hub."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .saved_model import CONFIG, class_of


class Kind(NamedTuple):
    """A kind of model.

    Attributes:
        task: what it does, by the name of its pipeline if it has one. No two kinds have the same.
        head: end of the names of its classes.
        auto_class: name of transformers' auto class that loads it.
        pipeline_tag: its task on the Hub; `None` if the Hub has none for it.
    """

    task: str
    head: str
    auto_class: str
    pipeline_tag: str | None = None


_KINDS = (
    Kind("feature-extraction", "Model", "AutoModel", "feature-extraction"),
    Kind("pretraining", "ForPreTraining", "AutoModelForPreTraining"),
    Kind("fill-mask", "ForMaskedLM", "AutoModelForMaskedLM", "fill-mask"),
    Kind("next-sentence-prediction", "ForNextSentencePrediction", "AutoModelForNextSentencePrediction"),
    Kind(
        "text-classification",
        "ForSequenceClassification",
        "AutoModelForSequenceClassification",
        "text-classification",
    ),
    # A tagger whose configuration says what characters may become; the other taggers come after it.
    Kind("character-restoration", "ForTokenClassification", "AutoModelForTokenClassification", "token-classification"),
    Kind("token-classification", "ForTokenClassification", "AutoModelForTokenClassification", "token-classification"),
    Kind("question-answering", "ForQuestionAnswering", "AutoModelForQuestionAnswering", "question-answering"),
    Kind("text-generation", "ForCausalLM", "AutoModelForCausalLM", "text-generation"),
    # The Hub has no such task, and would show code of another one for the nearest.
    Kind("text2text-generation", "ForConditionalGeneration", "AutoModelForSeq2SeqLM"),
)
KINDS = {kind.task: kind for kind in _KINDS}


def kind_of(config: Mapping[str, Any]) -> Kind:
    """Return the kind of a saved model, from its `config.json`.

    Raises:
        ValueError: If its class is of no kind.
    """
    return kind_of_class(class_of(config), restores=bool(config.get("character_variants")))


def kind_of_class(name: str, *, restores: bool = False) -> Kind:
    """Return the kind of a model.

    Args:
        name: name of its class.
        restores: whether its configuration has `character_variants`.

    Raises:
        ValueError: If the class is of no kind.
    """
    for kind in _KINDS:
        if name.endswith(kind.head) and (restores or kind.task != "character-restoration"):
            return kind
    heads = ", ".join(dict.fromkeys(kind.head for kind in _KINDS))
    raise ValueError(f"{CONFIG} has {name} in architectures; expected a class whose name ends in one of {heads}.")


def saved_options(config: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """Return what a recipe saved with its model: the options of a pipeline's task in a `config.json`."""
    return (config.get("task_specific_params") or {}).get(task, {})


def prompt_separator(config: Mapping[str, Any]) -> str:
    """Return what parted prompts from answers in the training of a decoder: nothing if it learned to continue texts.

    Raises:
        ValueError: If it is no text.
    """
    options = saved_options(config, "text-generation")
    separator = options.get("separator", "\n" if options.get("prompts") else "")  # earlier versions saved `prompts`
    if not isinstance(separator, str):
        raise ValueError(f"{CONFIG}: separator is {separator!r:.60}; expected a text.")
    return separator


def class_names(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of classes by their numbers, as in a `config.json`, which lacks those of a model by default."""
    return config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
