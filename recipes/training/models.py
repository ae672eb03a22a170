"""The model and tokenizer that a recipe trains, created or loaded."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub.errors import StrictDataclassError
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from atenta import AtentaDecoderConfig, AtentaEncoderConfig, AtentaEncoderDecoderConfig, AtentaTokenizer
from atenta.recipes.training.options import ModelArguments

_CONFIGURATIONS = {
    "encoder": AtentaEncoderConfig,
    "decoder": AtentaDecoderConfig,
    "encoder-decoder": AtentaEncoderDecoderConfig,
}
# Model options of a recipe that are not options of a configuration.
_NOT_IN_CONFIGURATION = {"model_name_or_path", "lora_rank", "max_length"}


def load_or_create(
    options: ModelArguments,
    auto_class: type,
    family: str,
    texts: Iterable[str],
    *,
    tags: Sequence[str] = (),
    min_count: int = 1,
    **head: Any,
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel | PeftModel]:
    """Load the tokenizer and the model that the options name, or create new ones.

    Args:
        options: `model_name_or_path` to load, or sizes to create; `lora_rank` wraps the model in peft's LoRA.
        auto_class: transformers' auto class of the task, such as `AutoModelForTokenClassification`.
        family: Of a new model: `encoder`, `decoder` or `encoder-decoder`.
        texts: Their characters become the alphabet of a new tokenizer.
        tags: Tokens for the feature tags of a new tokenizer.
        min_count: Lowest count of a character in the alphabet of a new tokenizer.
        head: Options of the task's head, such as `id2label`. A saved model that has such a head keeps its own.

    Raises:
        SystemExit: If there is no such model, or the sizes do not fit together.
    """
    if options.model_name_or_path is None:
        tokenizer = AtentaTokenizer.from_texts(texts, family=family, min_count=min_count, tags=tags)
        sizes = {name: value for name, value in vars(options).items() if name not in _NOT_IN_CONFIGURATION}
        sizes |= {"vocab_size": len(tokenizer), "max_position_embeddings": options.max_length}
        if tags:
            sizes["tag_token_ids"] = tokenizer.convert_tokens_to_ids(list(tags))
        try:
            model = auto_class.from_config(_CONFIGURATIONS[family](**sizes, **head))
        except (ValueError, StrictDataclassError) as error:
            raise SystemExit(str(error)) from None
    else:
        folder = Path(options.model_name_or_path)
        if folder.is_dir() and not (folder / "config.json").is_file():
            raise SystemExit(f"--model_name_or_path {folder}: expected a saved model, found no config.json there.")
        try:
            tokenizer = AutoTokenizer.from_pretrained(options.model_name_or_path)
            saved = AutoConfig.from_pretrained(options.model_name_or_path)
            if auto_class._model_mapping[type(saved)].__name__ in (saved.architectures or []):
                head = {}
            model = auto_class.from_pretrained(options.model_name_or_path, dropout=options.dropout, **head)
        except OSError as error:
            raise SystemExit(f"--model_name_or_path {options.model_name_or_path}: {error}") from None
    if options.lora_rank is not None:
        model = add_lora(model, options.lora_rank)
    return tokenizer, model


def add_lora(model: PreTrainedModel, rank: int) -> PeftModel:
    """Freeze a model, except for its task head, and add low-rank updates to its linear layers (Hu et al., 2021)."""
    output_layer = model.get_output_embeddings()
    heads = [
        name
        for name, module in model.named_children()
        if name != model.base_model_prefix and module is not output_layer and any(True for _ in module.parameters())
    ]
    return get_peft_model(model, LoraConfig(r=rank, target_modules="all-linear", modules_to_save=heads or None))


def label_options(labels: list[str]) -> Mapping[str, Any]:
    """Return the options of a classification head for these labels."""
    return {"id2label": dict(enumerate(labels)), "label2id": {label: index for index, label in enumerate(labels)}}
