"""The model card: the template `hub_card.md`, filled from a model and from what is said of its training."""

import functools
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers import PreTrainedConfig, PreTrainedModel

from .modeling.modeling_base import AtentaPreTrainedModel
from .modeling.modeling_pair_votes import AtentaPairVotesForCausalLM
from .registration import AUTO_CLASSES

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
# What a card says that nobody wrote: ours when nothing is known, and the one that transformers pushes.
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
    """Write a model's card as `README.md`, in place of any that is there. What is not given is said to be unknown.

    Args:
        folder: where the model is saved.
        model: one of this package's.
        model_name: the Hub's repository, for the usage; the folder's name unless given.
        data: what the model was trained and tested on, in words.
        language: code of the language, such as `"pt"`.
        licence: of the weights, as the Hub names it, such as `"apache-2.0"`.
        scores: figures by their names, measured on test data; they also go into the card's metadata.
        limits: what the model cannot do, in Markdown, beside what holds for all models of characters.
        tags: for the Hub, beside those of every model of this package.

    Returns:
        The card's path.

    Raises:
        ValueError: the model is of no class that this package registers.
    """
    path = Path(folder) / CARD
    model_name = model_name or path.absolute().parent.name
    auto_class = _auto_class(model)
    task = PIPELINE_TAGS.get(auto_class)
    counts = isinstance(model, AtentaPairVotesForCausalLM)
    metadata = ModelCardData(
        language=language,
        license=licence or "unknown",
        library_name="transformers",
        pipeline_tag=task,
        tags=["atenta", "pair-votes" if counts else "character-level", *tags],
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
        model_name=model_name,
        class_name=type(model).__name__,
        auto_class=auto_class,
        family=model.config.model_type.removeprefix("atenta_").replace("_", "-"),
        counts=counts,
        generates=model.can_generate(),
        told=any((data, language, licence, scores, limits)),
        sizes=_sizes_of_votes(model.config) if counts else _sizes(model),
        data=data,
        language=language,
        licence=licence,
        scores=scores,
        limits=limits,
        longest=None if counts else _longest_text(model.config),
        versions=_versions(),
    )
    card.save(path)
    return path


def _auto_class(model: PreTrainedModel) -> str:
    """The auto class that says most of what the model is for."""
    for models in AUTO_CLASSES.values():
        names = [name for name, model_class in models.items() if isinstance(model, model_class)]
        if names:
            return names[-1]
    raise ValueError(f"{type(model).__name__} is no model of this package: it has no card to fill.")


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


def _longest_text(config: PreTrainedConfig) -> str:
    if config.position_embedding_type == "learned":
        return f"It reads at most {config.max_position_embeddings} characters: its positions are learned."
    return "It reads texts of any length, but those longer than its training texts less well."


def _sizes_of_votes(config: PreTrainedConfig) -> dict[str, str]:
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


def write_cards_of_models() -> None:
    """Let `save_pretrained` of our models write a card where there is none, and `push_to_hub` push one.

    A card that a person wrote is kept, in the folder and on the Hub. On the Hub, one that nobody wrote is replaced.
    """
    for base in (AtentaPreTrainedModel, AtentaPairVotesForCausalLM):
        _write_cards_of(base)


def _write_cards_of(base: type[PreTrainedModel]) -> None:
    save_model = base.save_pretrained
    upload_files = base._upload_modified_files

    @functools.wraps(save_model)
    def save_pretrained(self, save_directory, is_main_process=True, **kwargs):
        save_model(self, save_directory, is_main_process=is_main_process, **kwargs)
        if is_main_process and not (Path(save_directory) / CARD).exists():
            write_model_card(save_directory, self)

    # By now push_to_hub has put the repository's card into the folder, or a general one if it has none.
    @functools.wraps(upload_files)
    def _upload_modified_files(self, working_dir, repo_id, *args, **kwargs):
        card = ModelCard.load(Path(working_dir) / CARD)
        if any(mark in card.content for mark in AUTOMATIC):
            write_model_card(working_dir, self, model_name=repo_id, tags=card.data.tags or ())
        return upload_files(self, working_dir, repo_id, *args, **kwargs)

    base.save_pretrained = save_pretrained
    base._upload_modified_files = _upload_modified_files
