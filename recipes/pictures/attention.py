"""Which characters a model looks at: the weights of its attention, head by head (documents 2 to 5)."""

from dataclasses import dataclass
from math import ceil, sqrt

import torch
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure  # no pyplot: no display is needed
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta.recipes.pictures.heatmap import draw_heatmap, heatmap_size
from atenta.recipes.pictures.labels import readable_tokens
from atenta.recipes.pictures.watching import watch_attention


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """The weights of one kind of attention for one text.

    Attributes:
        name: `"self-attention"`, or of an encoder-decoder `"encoder self-attention"`, `"decoder self-attention"` or
            `"cross-attention"`.
        weights: (layers, heads, queries, keys), from 0 to 1; those of each query sum to 1.
        query_labels: the characters that look, one a row. A decoder's are those that it has read.
        key_labels: the characters that are looked at, one a column.
    """

    name: str
    weights: torch.Tensor
    query_labels: list[str]
    key_labels: list[str]


def attention_maps(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, text: str, target: str | None = None
) -> list[AttentionMap]:
    """Let a model read a text, and return what it looked at. The model stays as it was.

    Args:
        model: an encoder, decoder or encoder-decoder of this package.
        tokenizer: the model's.
        text: what it reads.
        target: what an encoder-decoder's decoder reads behind `<bos>`; what it generates greedily unless given.

    Returns:
        Self-attention, or of an encoder-decoder the encoder's, the decoder's and cross-attention.

    Raises:
        ValueError: as `watch_attention` does.
    """
    watched = watch_attention(model, tokenizer, [text], None if target is None else [target])
    return [
        AttentionMap(
            name=one.name,
            weights=one.weights[0],
            query_labels=readable_tokens(tokenizer, one.query_ids[0].tolist()),
            key_labels=readable_tokens(tokenizer, one.key_ids[0].tolist()),
        )
        for one in watched
    ]


def draw_attention(attention: AttentionMap, layer: int, head: int) -> Figure:
    """Draw one head: queries on rows, keys on columns.

    Args:
        attention: one of `attention_maps`.
        layer: counted from 0, or from -1 backwards.
        head: counted from 0, or from -1 backwards.

    Raises:
        IndexError: there is no such layer or head.
    """
    layer = _place(attention, "layer", layer, attention.weights.shape[0])
    head = _place(attention, "head", head, attention.weights.shape[1])
    return _draw(attention, f"{attention.name}, layer {layer}, head {head}", {"": attention.weights[layer, head]})


def draw_heads(attention: AttentionMap, layer: int) -> Figure:
    """Draw all heads of a layer; arguments and errors are those of [`draw_attention`]."""
    layer = _place(attention, "layer", layer, attention.weights.shape[0])
    heads = {f"head {head}": weights for head, weights in enumerate(attention.weights[layer])}
    return _draw(attention, f"{attention.name}, layer {layer}", heads)


def _place(attention: AttentionMap, name: str, index: int, number: int) -> int:
    if not -number <= index < number:
        raise IndexError(f"{attention.name} has no {name} {index}: expected 0 to {number - 1}, or -1 for the last.")
    return index % number


def _draw(attention: AttentionMap, title: str, heads: dict[str, torch.Tensor]) -> Figure:
    """One panel a head, and one scale of colours for all."""
    width, height = heatmap_size(len(attention.query_labels), len(attention.key_labels))
    across = ceil(sqrt(len(heads)))
    down = ceil(len(heads) / across)
    figure = Figure(figsize=(across * width + 1, down * height + 0.3), layout="compressed")
    figure.get_layout_engine().set(h_pad=0.1)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    scale = PowerNorm(0.5, vmin=0, vmax=1)  # a square root: weak weights are seen too, and pictures can be compared
    for axes, (name, weights) in zip(panels, heads.items()):
        image = draw_heatmap(
            axes,
            weights,
            attention.query_labels,
            attention.key_labels,
            title=name,
            xlabel="key: token looked at",
            ylabel="query: token that looks",
            norm=scale,
        )
    for axes in panels[len(heads) :]:
        axes.remove()
    figure.colorbar(
        image,
        ax=panels[: len(heads)],
        label="attention weight",
        ticks=[0, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
        shrink=min(1, 4 / (down * height)),  # of longer texts no longer than 4 inches
    )
    figure.suptitle(title)
    return figure
