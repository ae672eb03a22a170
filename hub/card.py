"""Model cards: the template `hub_card.md`, filled from a model and from a description of its training.

Importing this module makes models save their cards.
"""

import json
import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers import PreTrainedConfig, PreTrainedModel

from . import registration  # not its names: it is half imported if it is what imports transformers first
from .modeling.modeling_base import AtentaPreTrainedModel
from .modeling.modeling_pair_votes import AtentaPairVotesForCausalLM

CARD = "README.md"
TEMPLATE = Path(__file__).with_name("hub_card.md")
PIPELINE_TAGS = {
    "AutoModel": "feature-extraction",
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForQuestionAnswering": "question-answering",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForTokenClassification": "token-classification",
}
# Marks of cards that nobody wrote: ours without a description of the training, and the one of transformers.
AUTOMATIC = ("<!-- Filled in when the model was saved", "This model card has been automatically generated")


def write_model_card(
    folder: str | Path,
    model: PreTrainedModel,
    *,
    model_name: str | None = None,
    data: str | None = None,
    language: str | None = None,
    licence: str | None = None,
    scores: Mapping[str, float] | None = None,
    limits: str | None = None,
    tags: Sequence[str] = (),
) -> Path:
    """Write a model's card as `README.md`, replacing an existing one. Fields not given are written as unknown.

    Args:
        folder: folder where the model is saved.
        model: a model of this package.
        model_name: name of the Hub's repository in the usage example; defaults to the folder's name.
        data: description of the data that the model was trained and tested on. Like all texts but `limits`, it is
            plain: Markdown in it is shown as it is written.
        language: code of the language, such as `"pt"`.
        licence: licence of the weights, by its name on the Hub, such as `"apache-2.0"`.
        scores: values of metrics on the test data, by their names; they are also written into the card's metadata.
        limits: limits of the model, in Markdown, in addition to those of all character models.
        tags: tags for the Hub, in addition to those of all models of this package.

    Returns:
        The card's path.

    Raises:
        ValueError: If this package does not register the model's class.
    """
    path = Path(folder) / CARD
    model_name = model_name or path.absolute().parent.name
    auto_class = _auto_class(model)
    if auto_class is None:
        raise ValueError(
            f"{type(model).__name__} is not a model of this package; expected one of its classes or a subclass of one."
        )
    task = PIPELINE_TAGS.get(auto_class)
    is_pair_votes = isinstance(model, AtentaPairVotesForCausalLM)
    metadata = ModelCardData(
        language=language,
        license=licence or "unknown",
        library_name="transformers",
        pipeline_tag=task,
        tags=["atenta", "pair-votes" if is_pair_votes else "character-level", *tags],
        model_name=model_name if scores else None,
        eval_results=[
            EvalResult(
                task_type=task or "text2text-generation",
                dataset_type="unknown",
                dataset_name=data or "unknown",
                metric_type=name,
                metric_value=value,
            )
            for name, value in (scores or {}).items()
        ]
        or None,
    )
    card = ModelCard.from_template(
        metadata,
        template_str=TEMPLATE.read_text(encoding="utf-8"),
        model_name=_as_markdown(model_name),
        model_literal=_as_python(model_name),
        class_name=type(model).__name__,
        auto_class=auto_class,
        family=model.config.model_type.removeprefix("atenta_").replace("_", "-"),
        is_pair_votes=is_pair_votes,
        generates=model.can_generate(),
        restores=bool(getattr(model.config, "character_variants", None)),
        is_described=any((data, language, licence, scores, limits)),
        sizes=_pair_votes_sizes(model.config) if is_pair_votes else _sizes(model),
        data=_as_markdown(data),
        language=_as_markdown(language),
        licence=_as_markdown(licence),
        scores=[(_as_markdown(name.replace("_", " ")), value) for name, value in (scores or {}).items()],
        limits=limits,
        length_limit=None if is_pair_votes else _length_limit(model.config),
        versions=_versions(),
    )
    card.save(path)
    return path


def write_automatic_card(model: PreTrainedModel, folder: str | Path, repo_id: str | None = None) -> None:
    """Write the card of a model that was saved or is about to be pushed. A card that a person wrote is kept.

    Args:
        model: a model of this package; for other models, such as a user's own class, nothing is written.
        folder: folder where the model is saved.
        repo_id: the Hub's repository, if the model is about to be pushed. The folder then has the repository's card or
            a generic one of transformers, which is replaced if nobody has edited it. Without a repository, a card is
            written only if the folder has none.
    """
    if _auto_class(model) is None:
        return
    path = Path(folder) / CARD
    if repo_id is None:
        if not path.exists():
            write_model_card(folder, model)
        return
    card = ModelCard.load(path)
    if any(mark in card.content for mark in AUTOMATIC):
        write_model_card(folder, model, model_name=repo_id, tags=card.data.tags or ())


def _auto_class(model: PreTrainedModel) -> str | None:
    """Return the most specific auto class of the model, or `None` if this package does not register its class."""
    for models in registration.AUTO_CLASSES.values():
        names = [name for name, model_class in models.items() if isinstance(model, model_class)]
        if names:
            return names[-1]
    return None


_JOINERS = "\u200c\u200d"  # within emoji, and in the scripts of some languages


def _as_markdown(text: str | None) -> str:
    """Return Markdown of one line that shows a plain text, with escapes for control characters but white space."""
    visible = "".join(
        each if each.isprintable() or each in _JOINERS else each.encode("unicode_escape").decode("ascii")
        for each in " ".join((text or "").split())
    )
    return re.sub(r"[\\`*_{}\[\]<>|#&~$]", r"\\\g<0>", visible)


def _as_python(text: str) -> str:
    """Return a text as a literal of Python, between double quotes, which may stand in a code span of Markdown."""
    return "".join(
        each if each.isprintable() and each != "`" else f"\\U{ord(each):08x}"
        for each in json.dumps(text, ensure_ascii=False)
    )


def _sizes(model: PreTrainedModel) -> dict[str, str]:
    config = model.config
    layers = f"{config.num_hidden_layers}"
    if config.is_encoder_decoder:
        layers = f"{config.encoder_layers} in the encoder, {config.decoder_layers} in the decoder"
    return {
        "parameters": f"{model.num_parameters():,}",
        "layers": layers,
        "width": f"{config.hidden_size}, feed-forward {config.intermediate_size}",
        "heads": f"{config.num_attention_heads} of {config.head_dim}",
        "positions": config.position_embedding_type,
        "vocabulary": f"{config.vocab_size} tokens",
    }


def _length_limit(config: PreTrainedConfig) -> str:
    if config.position_embedding_type == "learned":
        return f"It reads at most {config.max_position_embeddings} characters, because its positions are learned."
    window = getattr(config, "window_length", None)
    if getattr(config, "character_variants", None):
        return f"It reads {window} characters at a time. Longer texts are read in windows that overlap."
    if window:
        return (
            f"It was trained on texts of up to about {window} characters and is less accurate on longer ones. Cut "
            "them into parts, as `recipes/decode.py` of atenta does."
        )
    return "It reads texts of any length, but is less accurate on texts longer than those it was trained on."


def _pair_votes_sizes(config: PreTrainedConfig) -> dict[str, str]:
    return {
        "pairs": f"{config.num_pairs:,}",
        "triples": f"{config.num_triples:,}",
        "largest distance": "any" if config.max_distance is None else f"{config.max_distance} tokens",
        "smoothing": f"{config.smoothing} votes",
        "vocabulary": f"{config.vocab_size} tokens",
    }


def _versions() -> str:
    packages = ("atenta", "transformers", "tokenizers", "torch")
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)])


AtentaPreTrainedModel.card_writer = write_automatic_card
