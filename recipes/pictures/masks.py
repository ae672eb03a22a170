"""Who may see whom: the masks with which a model reads a padded batch (documents 2 to 4)."""

from collections.abc import Sequence

import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure  # no pyplot: no display is needed
from matplotlib.patches import Patch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta.recipes.pictures.heatmap import FONT_SIZE, draw_heatmap, heatmap_size
from atenta.recipes.pictures.labels import readable_tokens, start_of
from atenta.recipes.pictures.watching import WatchedAttention, watch_attention

TEXT_LENGTH = 24  # characters of a text that stand above its panels
SEEN, PADDING, LATER = range(3)
COLOURS = {"seen": "tab:blue", "hidden: padding": "lightgray", "hidden: a later character": "moccasin"}


def draw_masks(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    targets: Sequence[str] | None = None,
) -> Figure:
    """Draw the masks that the attention layers are given: a row of panels a text, a column a kind of attention.

    Above each row stands its text, … for what of it is beyond 24 characters.

    Args:
        model: an encoder, decoder or encoder-decoder of this package.
        tokenizer: the model's.
        texts: a batch, padded to the longest.
        targets: what an encoder-decoder's decoder reads behind `<bos>`; what it generates greedily unless given.

    Raises:
        ValueError: as `watch_attention` does.
    """
    watched = watch_attention(model, tokenizer, texts, targets)
    sizes = [heatmap_size(one.query_ids.shape[1], one.key_ids.shape[1]) for one in watched]
    widths, heights = zip(*sizes)
    figure = Figure(figsize=(sum(widths), len(texts) * max(heights) + 1), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1)
    panels = figure.subplots(len(texts), len(watched), squeeze=False, width_ratios=widths)
    for row, (text, text_panels) in enumerate(zip(texts, panels)):
        for axes, one in zip(text_panels, watched):
            draw_heatmap(
                axes,
                _reasons(one, row, tokenizer.pad_token_id),
                readable_tokens(tokenizer, one.query_ids[row].tolist()),
                readable_tokens(tokenizer, one.key_ids[row].tolist()),
                title=one.name,
                xlabel="key",
                ylabel="query",
                cmap=ListedColormap(list(COLOURS.values())),
                vmin=0,
                vmax=len(COLOURS) - 1,
            )
        tokens = readable_tokens(tokenizer, tokenizer.encode(text, add_special_tokens=False))
        shown = start_of("".join(tokens), TEXT_LENGTH)
        # The line end leaves room for the name of the panel.
        text_panels[0].set_title(f"“{shown}”\n", loc="left", fontsize=FONT_SIZE + 2, weight="bold", parse_math=False)
    figure.legend(
        handles=[Patch(color=colour, label=name) for name, colour in COLOURS.items()],
        loc="outside lower center",
        fontsize=FONT_SIZE,
    )
    figure.suptitle("attention masks")
    return figure


def _reasons(watched: WatchedAttention, row: int, pad_token_id: int) -> torch.Tensor:
    """(queries, keys): seen, or why not."""
    visible = watched.visible[row]
    padding = (watched.key_ids[row] == pad_token_id).expand_as(visible)
    return torch.where(visible, SEEN, torch.where(padding, PADDING, LATER))
