"""A saved model as a folder of one of transformers' own classes, for those who run no code of others.

Such a folder opens without `trust_remote_code`, and in tools that know no other classes. It is compared with the
original before it is there.
"""

import json
import os
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..engines.kinds import auto_class_of
from ..engines.saved_model import find_model, load_tokenizer, load_weights, read_saved
from ..engines.saved_tensors import let_others_read
from ..engines.torch_models import load_model, named_outputs
from ..engines.transformers_homes import to_home
from .card import CARD, make_card
from .card_command import name_from_here

_NUM_TEXTS = 16
_LONGEST_TEXT = 40  # characters
_TOLERANCE = 1e-4  # of the largest output or, if that is below 1, of 1
# What transformers 5 writes about a tokenizer and transformers 4 does not know.
_ONLY_IN_5 = ("backend", "is_local", "local_files_only")


class TransformersExport(NamedTuple):
    """A model that was exported to a class of transformers.

    Attributes:
        class_name: the class.
        differences: the largest difference of each output from that of the original, by the name of the output.
    """

    class_name: str
    differences: dict[str, float]


def export_transformers(folder: str | os.PathLike, destination: str | os.PathLike) -> TransformersExport:
    """Write a saved model as one of transformers' own classes, which opens without `trust_remote_code`.

    The folder has weights in float32, configuration, tokenizer, options of generation, the chat template if there is
    one, and a card. It is there only when an auto class has opened it and a padded batch of random texts has the
    same ids and, up to rounding, the same outputs as in the original.

    Args:
        folder: a saved model of this package, or its name on the Hub.
        destination: a new or empty folder.

    Raises:
        FileNotFoundError: If there is no such model.
        FileExistsError: If the destination has something in it, or is not a folder.
        ValueError: If no class of transformers computes the model, which is found out before anything is written, or
            the copy differs from the original. The message names the options that no class has, and what would have
            one.
    """
    destination = Path(destination)
    if destination.exists() and not (destination.is_dir() and not any(destination.iterdir())):
        found = "a folder with files" if destination.is_dir() else "a file"
        raise FileExistsError(f"{destination}: found {found}; expected a new folder: give another, or remove it.")
    folder = find_model(folder)
    model, tokenizer = load_model(folder), load_tokenizer(folder)
    made = to_home(model)
    card = make_card(folder, repository=name_from_here(destination.absolute()), built_in=type(made).__name__)
    existing = next(each for each in (destination.absolute() / "model").parents if each.is_dir())
    with TemporaryDirectory(dir=existing, prefix=".atenta-") as place:  # from where files can be renamed
        unfinished = Path(place, "model")
        _save(made, tokenizer, unfinished)
        auto_class = getattr(transformers, auto_class_of(type(model).__name__))
        reopened = load_weights(auto_class, unfinished, dtype=torch.float32)
        differences = _compare(model, tokenizer, reopened, load_tokenizer(unfinished))
        card.save(unfinished / CARD)
        for path in unfinished.glob("*.safetensors"):
            let_others_read(path)
        destination.mkdir(parents=True, exist_ok=True)
        for path in unfinished.iterdir():
            path.rename(destination / path.name)
    return TransformersExport(type(made).__name__, differences)


def _save(made: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Save a model of a class of transformers with its tokenizer, for versions 4.57 and 5."""
    config: Any = made.config
    if hasattr(config, "mask_token_id"):
        config.mask_token_id = tokenizer.mask_token_id
    if config.model_type == "gpt_neox":  # version 4 reads these names, and would else turn a quarter of each head
        config.rotary_pct, config.rotary_emb_base = 1.0, config.rope_parameters["rope_theta"]
    made.save_pretrained(folder)
    names = tokenizer.model_input_names
    if getattr(config, "type_vocab_size", 0) < 2:
        names = [name for name in names if name != "token_type_ids"]
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    saved = {name: value for name, value in read_saved(path).items() if name not in _ONLY_IN_5}
    saved["model_input_names"] = names
    # Tools read the special tokens that a template writes into texts with the saved settings alone.
    if tokenizer.chat_template:
        saved["split_special_tokens"] = False
    path.write_text(json.dumps(saved, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@torch.inference_mode()
def _compare(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    copy: PreTrainedModel,
    copied_tokenizer: PreTrainedTokenizerBase,
) -> dict[str, float]:
    """Return the largest difference of each output, for random texts and, if the copy has segments, pairs of them.

    Raises:
        ValueError: If ids or outputs differ.
    """
    texts = _random_texts(tokenizer, model.config.max_position_embeddings)
    if tokenizer(texts)["input_ids"] != copied_tokenizer(texts)["input_ids"]:
        raise ValueError("The exported tokenizer gives other ids than the original. Nothing was written.")
    pairs = texts[::-1] if "token_type_ids" in copied_tokenizer.model_input_names else None
    inputs = copied_tokenizer(texts, pairs, padding=True, return_tensors="pt")
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"].roll(1, dims=1)
    expected, found = named_outputs(model(**inputs)), named_outputs(copy(**inputs))
    heads = [name for name in expected if name.endswith("logits")]
    differences = {}
    for name in heads or expected:
        ours, theirs = expected[name], found[name]
        if ours.shape[:2] == inputs["attention_mask"].shape and "decoder_input_ids" not in inputs:
            real = inputs["attention_mask"].bool()
            ours, theirs = ours[real], theirs[real]
        differences[name] = (ours - theirs).abs().max().item()
        allowed = _TOLERANCE * max(1.0, ours.abs().max().item())
        if not differences[name] <= allowed:
            raise ValueError(
                f"{name} of {type(copy).__name__} differ by {differences[name]:.1e} from the original; expected at "
                f"most {allowed:.1e}. Nothing was written."
            )
    return differences


def _random_texts(tokenizer: PreTrainedTokenizerBase, longest: int) -> list[str]:
    """Return texts of the characters that a tokenizer knows, of different lengths, the same at every call."""
    characters = sorted(token for token in tokenizer.get_vocab() if len(token) == 1)
    generator = random.Random(0)
    longest = max(1, min(_LONGEST_TEXT, longest // 2 - 3))  # also pairs, with special tokens
    return ["".join(generator.choices(characters, k=generator.randint(1, longest))) for _ in range(_NUM_TEXTS)]
