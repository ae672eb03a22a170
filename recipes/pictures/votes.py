"""How each earlier token votes for what comes next (document 1, figures 2 to 4, computed)."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure  # no pyplot: no display is needed
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta.recipes.pictures.heatmap import CELL, FONT_SIZE, draw_heatmap
from atenta.recipes.pictures.labels import readable_tokens

MOST_CANDIDATES = 10


def draw_votes(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    text: str,
    feature_mask: Sequence[float] | None = None,
) -> Figure:
    """Draw the votes of each earlier token (rows) for each candidate (columns), and below them their sum.

    The candidates are the `MOST_CANDIDATES` with most votes, or fewer where fewer have any.

    Args:
        model: an `AtentaPairVotesForCausalLM`.
        tokenizer: the model's, of words or of characters.
        text: what the next token is to follow.
        feature_mask: a number from 0 to 1 for each token of the text, `<bos>` among them where the tokenizer puts it:
            the votes of each are multiplied by it. That of the last token, which is half of each pair, has no effect.

    Raises:
        ValueError: the text has less than two tokens, the mask is not as long as the text or not of numbers from 0 to
            1, or nobody votes.
    """
    ids = tokenizer(text).input_ids
    if len(ids) < 2:
        raise ValueError(f"{text!r} has {len(ids)} token(s): at least two are needed, an earlier one and the last.")
    *features, last = readable_tokens(tokenizer, ids)
    votes = model.votes_by_feature(torch.tensor(ids, device=model.device)).float().cpu()  # (features, vocab_size)
    if feature_mask is not None:
        if len(feature_mask) != len(ids):
            raise ValueError(f"The mask has {len(feature_mask)} number(s) for {len(ids)} tokens: give one for each.")
        if not all(0 <= weight <= 1 for weight in feature_mask):
            raise ValueError(f"The mask is {feature_mask}: give numbers from 0 to 1.")
        features = [f"{weight:g} × {feature}" for weight, feature in zip(feature_mask, features)]
        votes = votes * torch.tensor(feature_mask[:-1], dtype=torch.float32)[:, None]
    total, candidates = votes.sum(0).sort(descending=True, stable=True)
    voted_for = int((total > 0).sum())
    if not voted_for:
        raise ValueError(f"Nobody votes: no pair of a token of {text!r} and its last one was seen, or the mask is 0.")
    shown = candidates[: min(voted_for, MOST_CANDIDATES)]
    return _draw(
        votes[:, shown],
        features,
        readable_tokens(tokenizer, shown.tolist()),
        title=f"votes for what follows “{last}”",
        xlabel=f"{len(shown)} of {voted_for} candidates",
    )


def _draw(votes: torch.Tensor, rows: list[str], columns: list[str], *, title: str, xlabel: str) -> Figure:
    """The votes, and in a panel of its own, as its numbers are larger, their sum."""
    longest = max(map(len, rows + columns))
    figure = Figure(
        figsize=(2 + 0.5 * len(columns) + 0.08 * longest, 1.8 + CELL * (len(rows) + 2) + 0.08 * longest),
        layout="constrained",
    )
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[len(rows), 1])
    total = votes.sum(0, keepdim=True)
    draw_heatmap(above, votes, rows, columns, ylabel="earlier token", aspect="auto", vmin=0, vmax=1)
    draw_heatmap(below, total, ["sum"], columns, xlabel=xlabel, aspect="auto", cmap="Oranges", vmin=0)
    _write(above, votes, 1)
    _write(below, total, total.max().item())
    figure.suptitle(title, fontsize=FONT_SIZE + 4, parse_math=False)
    return figure


def _write(axes: Axes, numbers: torch.Tensor, largest: float) -> None:
    """Write each number that is not 0 into its cell."""
    for row, column in numbers.nonzero().tolist():
        number = numbers[row, column].item()
        colour = "white" if number > 0.6 * largest else "black"
        axes.text(column, row, f"{number:.2f}", ha="center", va="center", color=colour, fontsize=FONT_SIZE - 1)
