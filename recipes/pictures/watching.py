"""What each attention layer is given and gives, watched while a model reads texts."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from atenta.modeling.attention import MultiHeadAttention


@dataclass(frozen=True, kw_only=True)
class WatchedAttention:
    """The attention layers of one kind, which all have one mask.

    Attributes:
        name: `"self-attention"`, or of an encoder-decoder `"encoder self-attention"`, `"decoder self-attention"` or
            `"cross-attention"`.
        query_ids: (batch, queries), the tokens that look.
        key_ids: (batch, keys), the tokens that are looked at.
        visible: (batch, queries, keys), true where the mask lets the query see the key.
        weights: (batch, layers, heads, queries, keys), from 0 to 1; those of each query sum to 1.
    """

    name: str
    query_ids: torch.Tensor
    key_ids: torch.Tensor
    visible: torch.Tensor
    weights: torch.Tensor


@torch.inference_mode()
def watch_attention(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    targets: Sequence[str] | None = None,
) -> list[WatchedAttention]:
    """Read texts as one padded batch and return what the attention layers did. The model stays as it was.

    Args:
        model: an encoder, decoder or encoder-decoder of this package.
        tokenizer: the model's.
        texts: what it reads.
        targets: what an encoder-decoder's decoder reads behind `<bos>`; what it generates greedily unless given.

    Returns:
        Each kind of attention, in the order in which it happens.

    Raises:
        ValueError: the model has no attention layers of this package, targets are given to a model that reads none,
            or their number is not that of the texts, or they are missing for a model that cannot generate.
    """
    layers = {name: module for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    if not layers:
        raise ValueError(
            f"{type(model).__name__} has no attention layer of atenta. Expected: an encoder, decoder, encoder-decoder."
        )
    if targets is not None and not model.config.is_encoder_decoder:
        raise ValueError(f"{type(model).__name__} reads no target: put all that it is to read into the text.")
    if targets is not None and len(targets) != len(texts):
        raise ValueError(f"{len(targets)} target(s) were given for {len(texts)} text(s): give one for each.")
    calls: dict[str, list[tuple[torch.Tensor | None, torch.Tensor]]] = {}
    with _ready_to_watch(model), ExitStack() as hooks:
        inputs = tokenizer(list(texts), padding=True, return_tensors="pt").to(model.device)
        if model.config.is_encoder_decoder:
            labels = _generate(model, inputs) if targets is None else _encode_targets(tokenizer, targets)
            inputs["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels.to(model.device))
        for name, layer in layers.items():
            remember = partial(_remember, calls.setdefault(_kind(name, model), []))
            hooks.enter_context(layer.register_forward_hook(remember, with_kwargs=True))
        model(**inputs)
    return [_collect(name, calls_of_kind, inputs) for name, calls_of_kind in calls.items()]


@contextmanager
def _ready_to_watch(model: PreTrainedModel) -> Iterator[None]:
    """Turn dropout off, and the implementation on that returns its weights and is always given its mask."""
    training, implementation = model.training, model.config._attn_implementation
    model.eval().set_attn_implementation("eager")
    try:
        yield
    finally:
        model.train(training).set_attn_implementation(implementation)


def _generate(model: PreTrainedModel, inputs: BatchEncoding) -> torch.Tensor:
    if not model.can_generate():
        raise ValueError(f"{type(model).__name__} cannot generate: give the target.")
    return model.generate(**inputs, do_sample=False, num_beams=1)[:, 1:]  # behind `<bos>`


def _encode_targets(tokenizer: PreTrainedTokenizerBase, targets: Sequence[str]) -> torch.Tensor:
    return tokenizer(text_target=list(targets), padding=True, return_tensors="pt").input_ids


def _kind(name: str, model: PreTrainedModel) -> str:
    """What a layer does, from its place in the model."""
    if name.endswith("cross_attn"):
        return "cross-attention"
    if not model.config.is_encoder_decoder:
        return "self-attention"
    return "encoder self-attention" if "encoder" in name.split(".") else "decoder self-attention"


def _remember(calls: list, module: MultiHeadAttention, args: tuple, kwargs: dict, output: tuple) -> None:
    calls.append((kwargs["attention_mask"], output[1]))


def _collect(
    name: str, calls: list[tuple[torch.Tensor | None, torch.Tensor]], inputs: BatchEncoding
) -> WatchedAttention:
    masks, weights = zip(*calls)
    stacked = torch.stack(weights, dim=1).float().cpu()  # (batch, layers, heads, queries, keys)
    mask = masks[0]  # (batch or 1, 1, queries, keys): 0, or the least number of its type; None hides nothing
    visible = torch.ones_like(stacked[:, 0, 0]).bool() if mask is None else mask[:, 0].cpu() == 0
    source, target = inputs.input_ids, inputs.get("decoder_input_ids")
    query_ids = target if name in ("decoder self-attention", "cross-attention") else source
    key_ids = target if name == "decoder self-attention" else source
    return WatchedAttention(
        name=name,
        query_ids=query_ids.cpu(),
        key_ids=key_ids.cpu(),
        visible=visible.expand_as(stacked[:, 0, 0]),
        weights=stacked,
    )
