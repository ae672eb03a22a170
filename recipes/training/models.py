"""The model and tokenizer that a recipe trains, created or loaded."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any
from unicodedata import normalize

import torch
import transformers
from accelerate import PartialState
from huggingface_hub.errors import StrictDataclassError
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta import AtentaDecoderConfig, AtentaEncoderConfig, AtentaEncoderDecoderConfig, AtentaTokenizer
from atenta.configuration.configuration_base import AtentaConfig
from atenta.engines.kinds import KINDS, kind_of
from atenta.engines.saved_model import find_model, learned_positions, load_config, load_tokenizer, load_weights
from atenta.recipes.reading.records import printable
from atenta.recipes.training.options import ModelArguments
from atenta.tokenization.alphabet import BYTE_TOKENS, MASK_TOKEN, SPECIAL_TOKENS, count_alphabet, find_units

_CONFIGURATIONS = {
    "encoder": AtentaEncoderConfig,
    "decoder": AtentaDecoderConfig,
    "encoder-decoder": AtentaEncoderDecoderConfig,
}
# Their users write `<mask>` into texts. To all other models, special tokens in texts are characters: training encodes
# them so, and then the tokenizer that is saved with the model must.
_FILL_MASKS = ("fill-mask", "pretraining")
# Their output layers have the same name in a file, whatever their labels.
_WITH_LABELS = ("ForSequenceClassification", "ForTokenClassification")


def load_or_create(
    options: ModelArguments,
    kind: str,
    family: str,
    texts: Iterable[str],
    *,
    tags: Sequence[str] = (),
    targets: Iterable[str] = (),
    target_separator: str | None = None,
    min_count: int = 1,
    **head: Any,
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel | PeftModel]:
    """Load the tokenizer and the model that the options name, or create new ones.

    The tokenizer, as the model is saved with it, reads special tokens in texts if the model fills in masks; otherwise
    they are characters.

    Args:
        options: `model_name_or_path` to load, or sizes to create; `lora_rank` wraps the model in peft's LoRA.
        kind: Name of the kind of model, in `engines/kinds.py`.
        family: `encoder`, `decoder` or `encoder-decoder`.
        texts: Their characters become the alphabet of a new tokenizer.
        tags: Tokens for the feature tags of a new tokenizer. A saved one of this package learns those that it lacks,
            and with them the characters.
        targets: Texts whose units are tokens of a new tokenizer, if there is a `target_separator`. A saved one that
            has units learns those that it lacks.
        target_separator: The text that separates the units of targets.
        min_count: Lowest count of a character in the alphabet of a new tokenizer.
        head: Options of the task's head, such as `id2label`. A saved model that has such a head keeps its own.

    Raises:
        SystemExit: If there is no such model, or none for LoRA, it is of another family or gives labels of another
            task, or the sizes do not fit together.
    """
    configuration = _CONFIGURATIONS[family]
    auto_class = getattr(transformers, KINDS[kind].auto_class)
    if options.model_name_or_path is None:
        if options.lora_rank is not None:
            raise SystemExit("--lora_rank trains little of a model that is trained already: give --model_name_or_path")
        tokenizer = AtentaTokenizer.from_texts(
            texts, family=family, min_count=min_count, tags=tags, targets=targets, target_separator=target_separator
        )
        tokenizer.split_special_tokens = kind not in _FILL_MASKS
        sizes = options.sizes() | {"vocab_size": len(tokenizer)}
        if tags and not getattr(options, "tags_with_positions", False):
            sizes["tag_token_ids"] = tokenizer.convert_tokens_to_ids(list(tags))
        try:
            model = auto_class.from_config(configuration(**sizes, **head))
        except (ValueError, StrictDataclassError) as error:
            raise SystemExit(printable(str(error.__cause__ or error))) from None
    else:
        try:
            tokenizer, model = _load(options, kind, auto_class, configuration, head)
            if isinstance(model.config, AtentaEncoderDecoderConfig) and MASK_TOKEN in tokenizer.get_vocab():
                extended = _extend(tokenizer, model, texts, tags, targets, target_separator)
                if options.lora_rank is not None and extended is not tokenizer:
                    raise ValueError("it lacks tags or units of the data, which --lora_rank cannot teach it")
                tokenizer = extended
        except (OSError, ValueError) as error:
            named = options.model_name_or_path
            raise SystemExit(f"--model_name_or_path {named}: {' '.join(str(error).split())}") from None
    if options.lora_rank is not None:
        model = add_lora(model, options.lora_rank)
    return tokenizer, model


def _load(
    options: ModelArguments, kind: str, auto_class: Any, expected: type[AtentaConfig], head: Mapping[str, Any]
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load the tokenizer and the model that the options name, with the head of the task."""
    folder = find_model(options.model_name_or_path)
    saved = load_config(folder)
    # Models of other packages are accepted if their type has the task's head and the option that is set below.
    fits = type(saved) in auto_class._model_mapping and hasattr(saved, "dropout")
    if not fits or (isinstance(saved, AtentaConfig) and not isinstance(saved, expected)):
        raise ValueError(f"found a model of type {saved.model_type}; expected {expected.model_type}")
    wanted, found = auto_class._model_mapping[type(saved)].__name__, saved.architectures or []
    if wanted in found:
        other = kind_of(saved.to_dict()).name
        if "id2label" in head and other != kind:
            raise ValueError(
                f"found a model of the kind {other}; expected an encoder, as pretrain_masked.py saves it, or one of "
                f"the kind {kind}"
            )
        head = {}
    elif "id2label" in head and any(name.endswith(_WITH_LABELS) for name in found):
        labels, others = (printable(f"{', '.join(each.values()):.200}") for each in (saved.id2label, head["id2label"]))
        raise ValueError(
            f"found {found[0]}, whose output layer is for {labels}; expected an encoder, as pretrain_masked.py saves "
            f"it, or {wanted}, for {others}"
        )
    longest = learned_positions(saved.to_dict())
    if longest is not None and longest < options.max_length:
        if PartialState().is_main_process:
            print(f"--max_length {longest}: the saved model has learned no more positions", flush=True)
        options.max_length = longest
        if "window_length" in head:
            head = {**head, "window_length": longest - 2}
    tokenizer = load_tokenizer(folder, split_special_tokens=kind not in _FILL_MASKS)
    return tokenizer, load_weights(auto_class, folder, dropout=options.dropout, **head)


def _extend(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    texts: Iterable[str],
    tags: Sequence[str],
    targets: Iterable[str],
    target_separator: str | None,
) -> PreTrainedTokenizerBase:
    """Return a tokenizer that has the tags and, if it has units, those of the targets, and give the model vectors.

    With them it gets the characters of the texts that it lacks. All tokens that it had keep their vectors.
    """
    saved = tokenizer.get_vocab()
    tokens = sorted(saved, key=saved.__getitem__)
    mask = tokens.index(MASK_TOKEN)
    alphabet, last = tokens[len(SPECIAL_TOKENS) : mask - len(BYTE_TOKENS)], tokens[mask + 1 :]
    known_tags = [token for token in last if token in tokenizer.all_special_tokens]
    units = [token for token in last if token not in known_tags]
    found = find_units(targets, target_separator) if units and target_separator else []
    if found and not any(unit.startswith(str(target_separator)) for unit in units):
        raise ValueError(
            f"the saved model's units are not separated by {target_separator!r}; expected the --target_separator that "
            "it was trained with"
        )
    lacked = [unit for unit in found if unit not in saved and not unit.startswith("<")]
    if not lacked and saved.keys() >= {*tags}:
        return tokenizer
    characters = {*count_alphabet(texts), *(unit for unit in lacked if len(unit) == 1)}
    all_tags = [*known_tags, *(tag for tag in tags if tag not in saved)]
    extended = AtentaTokenizer.from_alphabet(
        [*alphabet, *sorted(characters - saved.keys())],
        family="encoder-decoder",
        tags=all_tags,
        units=[*units, *(unit for unit in lacked if len(unit) > 1)],
        target_separator=target_separator if units else None,
    )
    extended.split_special_tokens = tokenizer.split_special_tokens
    model.resize_token_embeddings(len(extended))
    fresh = iter(range(len(tokens), len(extended)))  # the rows that were added, after those of before
    order = [
        saved[token] if token in saved else next(fresh)
        for token in extended.convert_ids_to_tokens(range(len(extended)))
    ]
    embeddings = model.get_encoder().embeddings, model.get_decoder().embeddings
    rows = [each.embed_tokens.weight for each in embeddings] + [*model.get_output_embeddings().parameters()]
    with torch.no_grad():
        for weight in {id(each): each for each in rows}.values():  # some of them may be tied
            weight.copy_(weight[order])
    if not known_tags or model.config.tag_token_ids:
        model.config.tag_token_ids = extended.convert_tokens_to_ids(all_tags)
    return extended


def add_lora(model: PreTrainedModel, rank: int) -> PeftModel:
    """Freeze a model, except for its task head, and add low-rank updates to its linear layers (Hu et al., 2021)."""
    output_layer = model.get_output_embeddings()
    heads = [
        name
        for name, module in model.named_children()
        if name != model.base_model_prefix and module is not output_layer and any(True for _ in module.parameters())
    ]
    return get_peft_model(model, LoraConfig(r=rank, target_modules="all-linear", modules_to_save=heads or None))


def report_misspelt(kind: str, names: Mapping[str, Sequence[str]]) -> None:
    """Print the labels that may be misspelt: those that no training row has, and those that look like another.

    `names` are those of each split, `train` among them, and `kind` is what they are called, such as `label`. A test
    with those of validation, as the validation rows are without test data, is left out.
    """
    for split, of_split in names.items():
        is_again = split == "test" and of_split == names.get("validation")
        if not is_again and (unseen := sorted({*of_split} - {*names["train"]})):
            listed = printable(", ".join(unseen))
            print(
                f"{split}: the {kind} {listed:.300} is in no row of train: check its spelling or, if it is rare and "
                "all its rows were set apart, give --validation_file",
                flush=True,
            )
    alike: dict[str, list[str]] = {}
    for name in sorted({*chain(*names.values())}):
        alike.setdefault(" ".join(normalize("NFC", name).split()), []).append(ascii(name))
    for spellings in alike.values():
        if len(spellings) > 1:
            listed = " and ".join(spellings)
            print(f"the {kind}s {listed:.300} look the same and are learned as {len(spellings)}", flush=True)


def label_options(labels: list[str]) -> Mapping[str, Any]:
    """Return the options of a classification head for these labels."""
    return {"id2label": dict(enumerate(labels)), "label2id": {label: index for index, label in enumerate(labels)}}
