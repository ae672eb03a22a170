"""A picture of the votes of earlier tokens for the next one (document 1, figures 2 to 4, computed)."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta.recipes.pictures.drawing import CELL, FONT_SIZE, draw_heatmap, readable_tokens, set_decimal_signs
from atenta.recipes.pictures.words import say, say_number

MAX_CANDIDATES = 10


def draw_votes(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, text: str, feature_mask: Sequence[float] | None = None
) -> Figure:
    """Draw the votes of each earlier token (rows) for each candidate (columns), and their sum below.

    The candidates are the tokens with the most votes, at most `MAX_CANDIDATES`. Tokens more than the model's
    `max_distance` before the last one have no votes and no row.

    Args:
        model: An `AtentaPairVotesForCausalLM`.
        tokenizer: The model's tokenizer, of words or of characters.
        text: The text before the predicted token.
        feature_mask: A number from 0 to 1 for each token of the text, including `<bos>` if the tokenizer adds it. The
            votes of each token are multiplied by it. The number of the last token, which is half of each pair, has no
            effect.

    Raises:
        ValueError: If the text has fewer than two tokens, if the length of the mask differs from the text's or it has
            numbers outside 0 to 1, or if there are no votes.
    """
    ids = tokenizer(text).input_ids
    if len(ids) < 2:
        raise ValueError(f"{text!r} has {len(ids)} token(s); expected at least two, an earlier one and the last")
    *earlier, last = readable_tokens(tokenizer, ids)
    votes = model.votes_by_feature(torch.tensor(ids, device=model.device)).float().cpu()  # (earlier, vocab_size)
    if feature_mask is not None:
        if len(feature_mask) != len(ids):
            raise ValueError(f"The mask has {len(feature_mask)} number(s); expected one for each of {len(ids)} tokens")
        if not all(0 <= weight <= 1 for weight in feature_mask):
            raise ValueError(f"The mask is {feature_mask}; expected numbers from 0 to 1")
        earlier = [f"{say_number(weight, 'g')} × {token}" for weight, token in zip(feature_mask, earlier)]
        votes = votes * torch.tensor(feature_mask[:-1], dtype=torch.float32)[:, None]
    total, candidates = votes.sum(0).sort(descending=True, stable=True)
    num_candidates = int((total > 0).sum())
    if not num_candidates:
        raise ValueError(
            f"There are no votes: no pair of a token of {text!r} with its last one was counted, or the mask is 0"
        )
    shown = candidates[: min(num_candidates, MAX_CANDIDATES)]
    note = say("{shown} of {number} candidates").format(shown=len(shown), number=num_candidates)
    distance = model.config.max_distance
    if distance is not None and distance < len(earlier):
        votes, earlier = votes[-distance:], earlier[-distance:]
        far = (
            "no votes from more than {distance} tokens back"
            if distance > 1
            else "no votes from more than 1 token back"
        )
        note += "\n" + say(far).format(distance=distance)
    votes, columns = votes[:, shown], readable_tokens(tokenizer, shown.tolist())
    longest = max(map(len, earlier + columns))
    size = (2 + 0.5 * len(columns) + 0.08 * longest, 1.8 + CELL * (len(earlier) + 2) + 0.08 * longest)
    figure = Figure(figsize=size, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[len(earlier), 1])
    total = votes.sum(0, keepdim=True)  # with a colour scale of its own, as its numbers are larger
    draw_heatmap(above, votes, earlier, columns, ylabel=say("earlier token"), aspect="auto", vmin=0, vmax=1)
    draw_heatmap(below, total, [say("sum")], columns, xlabel=note, aspect="auto", cmap="Oranges", vmin=0)
    _write_numbers(above, votes, 1)
    _write_numbers(below, total, total.max().item())
    title = say("votes for the token after “{last}”").format(last=last)
    figure.suptitle(title, fontsize=FONT_SIZE + 4, parse_math=False)
    set_decimal_signs(figure)
    return figure


def _write_numbers(axes: Axes, numbers: torch.Tensor, largest: float) -> None:
    """Write each number other than 0 into its cell."""
    for row, column in numbers.nonzero().tolist():
        number = numbers[row, column].item()
        colour = "white" if number > 0.6 * largest else "black"
        axes.text(
            column, row, say_number(number, ".2f"), ha="center", va="center", color=colour, fontsize=FONT_SIZE - 1
        )
