"""Pictures of attention: weights head by head, masks, and an HTML page to browse all layers and heads."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from math import ceil, sqrt
from pathlib import Path

import torch
from jinja2 import Environment, FileSystemLoader
from matplotlib.colors import ListedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from torch.nn.functional import pad
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from atenta.modeling.attention import MultiHeadAttention
from atenta.recipes.pictures.drawing import (
    FONT_SIZE,
    draw_heatmap,
    heatmap_size,
    readable_tokens,
    set_decimal_signs,
    start_of,
)
from atenta.recipes.pictures.words import chosen_language, say, say_name

_VISIBLE, _PADDING, _LATER = range(3)
MASK_COLOURS = {"visible": "tab:blue", "hidden: padding": "lightgray", "hidden: a later character": "moccasin"}
_MAX_TITLE_LENGTH = 24  # characters of a text above its row of masks
_PAGE_DIGITS = 4  # decimals of each weight on the page


@dataclass(frozen=True, kw_only=True)
class WatchedAttention:
    """The masks and weights of all attention layers of one kind, for a batch of texts.

    Attributes:
        name: `"self-attention"`, and `"self-attention of groups"` where an encoder pools characters; in an
            encoder-decoder `"encoder self-attention"`, `"decoder self-attention"` or `"cross-attention"`.
        query_ids: (batch, queries, tokens), the tokens that attend; one, or those of a group.
        key_ids: (batch, keys, tokens), the tokens that are attended to.
        visible: (batch, queries, keys), true where the mask lets the query attend to the key.
        weights: (batch, layers, heads, queries, keys), from 0 to 1; the weights of each query sum to 1.
    """

    name: str
    query_ids: torch.Tensor
    key_ids: torch.Tensor
    visible: torch.Tensor
    weights: torch.Tensor


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """The attention weights of one kind for one text.

    Attributes:
        name: As in `WatchedAttention`.
        weights: (layers, heads, queries, keys), from 0 to 1; the weights of each query sum to 1.
        query_labels: The tokens that attend, one per row. For a decoder they are the tokens that it reads.
        key_labels: The tokens that are attended to, one per column.
    """

    name: str
    weights: torch.Tensor
    query_labels: list[str]
    key_labels: list[str]


@dataclass(frozen=True)
class AttentionPage:
    """A page of attention maps in a notebook, made by [`show_attention_page`].

    Attributes:
        html: A frame that contains the page.
    """

    html: str = field(repr=False)

    def _repr_html_(self) -> str:  # what a notebook shows
        return self.html


@torch.inference_mode()
def watch_attention(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    targets: Sequence[str] | None = None,
) -> list[WatchedAttention]:
    """Read texts as one padded batch, and return the masks and weights of the attention layers.

    The model is left unchanged.

    Args:
        model: An encoder, decoder or encoder-decoder of this package.
        tokenizer: The model's tokenizer.
        texts: The texts to read.
        targets: The texts that the decoder of an encoder-decoder reads after `<bos>`; defaults to the texts that it
            generates greedily.

    Returns:
        Each kind of attention, in the order in which the model computes them.

    Raises:
        ValueError: If the model has no attention layers of this package, if targets are given to a model without a
            separate decoder, if the number of targets differs from the number of texts, or if targets are missing for
            a model that cannot generate.
    """
    layers = {name: module for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    if not layers:
        raise ValueError(
            f"{type(model).__name__} has no attention layers of atenta; "
            "expected an encoder, a decoder or an encoder-decoder"
        )
    if targets is not None and not model.config.is_encoder_decoder:
        raise ValueError(f"{type(model).__name__} reads no target; put the whole input into the text")
    if targets is not None and len(targets) != len(texts):
        raise ValueError(f"{len(targets)} target(s) were given for {len(texts)} text(s); expected one for each text")
    calls: dict[str, list[tuple[torch.Tensor | None, torch.Tensor]]] = {}
    with _eager_evaluation(model), ExitStack() as hooks:
        inputs = tokenizer(list(texts), padding=True, return_tensors="pt").to(model.device)
        if model.config.is_encoder_decoder:
            if targets is None and not model.can_generate():
                raise ValueError(f"{type(model).__name__} cannot generate; give the target")
            if targets is None:
                labels = model.generate(**inputs, do_sample=False, num_beams=1)[:, 1:]  # without `<bos>`
            else:
                labels = tokenizer(text_target=list(targets), padding=True, return_tensors="pt").input_ids
            inputs["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels.to(model.device))
        for name, layer in layers.items():
            record = partial(_record, calls.setdefault(_kind(name, model), []))
            hooks.enter_context(layer.register_forward_hook(record, with_kwargs=True))
        model(**inputs)
    return [_collect(name, calls_of_kind, inputs, tokenizer) for name, calls_of_kind in calls.items()]


def attention_maps(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, text: str, target: str | None = None
) -> list[AttentionMap]:
    """Read a text, and return the weights of each kind of attention, with labels.

    Arguments and errors are those of [`watch_attention`], for a single text.
    """
    watched = watch_attention(model, tokenizer, [text], None if target is None else [target])
    return [
        AttentionMap(
            name=one.name,
            weights=one.weights[0],
            query_labels=_labels(tokenizer, one.query_ids[0]),
            key_labels=_labels(tokenizer, one.key_ids[0]),
        )
        for one in watched
    ]


def draw_attention(attention: AttentionMap, layer: int, head: int) -> Figure:
    """Draw one head, with queries on rows and keys on columns.

    Args:
        attention: One of the maps from [`attention_maps`].
        layer: Index from 0, or from -1 backwards.
        head: Index from 0, or from -1 backwards.

    Raises:
        IndexError: If there is no such layer or head.
    """
    layer = _index(attention, "layer", layer, attention.weights.shape[0])
    head = _index(attention, "head", head, attention.weights.shape[1])
    title = say("{name}, layer {layer}, head {head}").format(name=say_name(attention.name), layer=layer, head=head)
    return _draw_panels(attention, title, {"": attention.weights[layer, head]})


def draw_heads(attention: AttentionMap, layer: int) -> Figure:
    """Draw all heads of a layer. Arguments and errors are those of [`draw_attention`]."""
    layer = _index(attention, "layer", layer, attention.weights.shape[0])
    heads = {say("head {head}").format(head=head): weights for head, weights in enumerate(attention.weights[layer])}
    title = say("{name}, layer {layer}").format(name=say_name(attention.name), layer=layer)
    return _draw_panels(attention, title, heads)


def draw_masks(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    targets: Sequence[str] | None = None,
) -> Figure:
    """Draw the attention masks of a batch: one row of panels per text, one column per kind of attention.

    The text is written above its row, shortened to 24 characters. Arguments and errors are those of
    [`watch_attention`].
    """
    watched = watch_attention(model, tokenizer, texts, targets)
    sizes = [heatmap_size(one.query_ids.shape[1], one.key_ids.shape[1]) for one in watched]
    widths, heights = zip(*sizes)
    size = (sum(widths), len(texts) * max(heights) + 1)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.1))
    panels = figure.subplots(len(texts), len(watched), squeeze=False, width_ratios=widths)
    for row, (text, text_panels) in enumerate(zip(texts, panels)):
        for axes, one in zip(text_panels, watched):
            draw_heatmap(
                axes,
                _reasons(one, row, tokenizer.pad_token_id),
                _labels(tokenizer, one.query_ids[row]),
                _labels(tokenizer, one.key_ids[row]),
                title=say_name(one.name),
                xlabel=say("key"),
                ylabel=say("query"),
                cmap=ListedColormap(list(MASK_COLOURS.values())),
                vmin=0,
                vmax=len(MASK_COLOURS) - 1,
            )
        tokens = readable_tokens(tokenizer, tokenizer.encode(text, add_special_tokens=False))
        shown = start_of("".join(tokens), _MAX_TITLE_LENGTH)
        # The line end leaves room for the name of the panel.
        text_panels[0].set_title(f"“{shown}”\n", loc="left", fontsize=FONT_SIZE + 2, weight="bold", parse_math=False)
    figure.legend(
        handles=[Patch(color=colour, label=say(name)) for name, colour in MASK_COLOURS.items()],
        loc="outside lower center",
        fontsize=FONT_SIZE,
    )
    figure.suptitle(say("attention masks"))
    return figure


def write_attention_page(path: str | Path, maps: Sequence[AttentionMap]) -> Path:
    """Write the maps of a text as an HTML page that opens in a browser without a network, and return its path.

    The page contains all its data: about 6 bytes for each of layers · heads · queries · keys. Its folder is created if
    necessary.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_page(maps), encoding="utf-8")
    return path


def show_attention_page(maps: Sequence[AttentionMap]) -> AttentionPage:
    """Return the page of [`write_attention_page`] for a notebook: a cell that ends with this call shows it.

    It is part of the notebook and needs no network. It is as high as its content, and light or dark as the text around
    it.
    """
    title, page = say("Attention maps"), escape(_page(maps))
    return AttentionPage(
        f'<iframe title="{title}" style="width: 100%; height: 30em; border: 0" srcdoc="{page}"></iframe>'
    )


@contextmanager
def _eager_evaluation(model: PreTrainedModel) -> Iterator[None]:
    """Switch to evaluation mode and to the implementation that returns its weights and always receives its mask."""
    training, implementation = model.training, model.config._attn_implementation
    model.eval().set_attn_implementation("eager")
    try:
        yield
    finally:
        model.train(training).set_attn_implementation(implementation)


def _kind(name: str, model: PreTrainedModel) -> str:
    """Return the kind of attention that a layer computes, from its name in the model."""
    if name.endswith("cross_attn"):
        return "cross-attention"
    if not model.config.is_encoder_decoder:
        return "self-attention of groups" if "downsampling" in name.split(".") else "self-attention"
    return "encoder self-attention" if "encoder" in name.split(".") else "decoder self-attention"


def _record(calls: list, module: MultiHeadAttention, args: tuple, kwargs: dict, output: tuple) -> None:
    calls.append((kwargs["attention_mask"], output[1]))


def _collect(
    name: str,
    calls: list[tuple[torch.Tensor | None, torch.Tensor]],
    inputs: BatchEncoding,
    tokenizer: PreTrainedTokenizerBase,
) -> WatchedAttention:
    masks, weights = zip(*calls)
    stacked = torch.stack(weights, dim=1).float().cpu()  # (batch, layers, heads, queries, keys)
    # The mask is the same in all layers. (batch or 1, 1, queries, keys): 0, or the least number of its type where
    # hidden; None hides nothing.
    mask = masks[0]
    visible = torch.ones_like(stacked[:, 0, 0]).bool() if mask is None else mask[:, 0].cpu() == 0
    source, target = inputs.input_ids, inputs.get("decoder_input_ids")
    query_ids = target if name in ("decoder self-attention", "cross-attention") else source
    key_ids = target if name == "decoder self-attention" else source
    queries, keys = stacked.shape[-2:]
    return WatchedAttention(
        name=name,
        query_ids=_group(query_ids.cpu(), queries, tokenizer.pad_token_id),
        key_ids=_group(key_ids.cpu(), keys, tokenizer.pad_token_id),
        visible=visible.expand_as(stacked[:, 0, 0]),
        weights=stacked,
    )


def _group(ids: torch.Tensor, groups: int, pad_token_id: int) -> torch.Tensor:
    """Return ids, (batch, length), as (batch, groups, tokens of a group)."""
    size = -(-ids.shape[1] // groups)
    return pad(ids, (0, groups * size - ids.shape[1]), value=pad_token_id).unflatten(1, (groups, size))


def _labels(tokenizer: PreTrainedTokenizerBase, ids: torch.Tensor) -> list[str]:
    """Return ids, (queries or keys, tokens), as texts, without the padding that fills up a group."""
    return [
        "".join(
            readable_tokens(tokenizer, [each[0], *(token for token in each[1:] if token != tokenizer.pad_token_id)])
        )
        for each in ids.tolist()
    ]


def _index(attention: AttentionMap, name: str, index: int, number: int) -> int:
    if not -number <= index < number:
        raise IndexError(f"{attention.name} has no {name} {index}; expected 0 to {number - 1}, or -1 for the last")
    return index % number


def _draw_panels(attention: AttentionMap, title: str, heads: dict[str, torch.Tensor]) -> Figure:
    """Draw one panel per head, all with the same colour scale."""
    width, height = heatmap_size(len(attention.query_labels), len(attention.key_labels))
    across = ceil(sqrt(len(heads)))
    down = ceil(len(heads) / across)
    layout = ConstrainedLayoutEngine(compress=True, h_pad=0.1)
    figure = Figure(figsize=(across * width + 1, down * height + 0.3), layout=layout)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    scale = PowerNorm(0.5, vmin=0, vmax=1)  # the square root makes weak weights visible; pictures can be compared
    for axes, (name, weights) in zip(panels, heads.items()):
        image = draw_heatmap(
            axes,
            weights,
            attention.query_labels,
            attention.key_labels,
            title=name,
            xlabel=say("key (attended to)"),
            ylabel=say("query (attends)"),
            norm=scale,
        )
    for axes in panels[len(heads) :]:
        axes.remove()
    figure.colorbar(
        image,
        ax=panels[: len(heads)],
        label=say("attention weight\n(square-root scale)"),
        ticks=[0, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
        shrink=min(1, 4 / (down * height)),  # at most 4 inches high
    )
    figure.suptitle(title)
    set_decimal_signs(figure)
    return figure


def _page(maps: Sequence[AttentionMap]) -> str:
    data = [
        {
            "name": say_name(one.name),
            "queries": one.query_labels,
            "keys": one.key_labels,
            "weights": one.weights.double().numpy().round(_PAGE_DIGITS).tolist(),
        }
        for one in sorted(maps, key=lambda one: one.name != "cross-attention")  # the most telling first
    ]
    templates = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return templates.get_template("attention_page.html").render(maps=data, language=chosen_language(), say=say)


def _reasons(watched: WatchedAttention, row: int, pad_token_id: int) -> torch.Tensor:
    """Return (queries, keys): whether the key is visible, or why it is hidden."""
    visible = watched.visible[row]
    padding = (watched.key_ids[row, :, 0] == pad_token_id).expand_as(visible)
    return torch.where(visible, _VISIBLE, torch.where(padding, _PADDING, _LATER))
