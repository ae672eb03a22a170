"""Pictures of position vectors and their similarity (document 3; Su et al., 2021)."""

import torch
from matplotlib.figure import Figure
from torch import nn
from transformers import PreTrainedConfig

from atenta.modeling.positions import position_angles
from atenta.recipes.pictures.drawing import FONT_SIZE, draw_heatmap, set_decimal_signs
from atenta.recipes.pictures.words import say, say_name

_KINDS = ("sinusoidal", "learned", "rotary")


def position_vectors(config: PreTrainedConfig, length: int, table: torch.Tensor | None = None) -> torch.Tensor:
    """Return the vector that the model uses for each position.

    Args:
        config: The configuration of a model.
        length: Number of positions.
        table: Weights of learned positions, (max_position_embeddings, hidden_size); None for the other kinds.

    Returns:
        (length, hidden_size), or (length, head_dim) for rotary positions. Rotary vectors interleave the cosine and
        sine of the angle by which each plane of a query or key is rotated, so that their dot product is the score of
        equal queries and keys.

    Raises:
        ValueError: If the model has no positions or positions of an unknown kind, if the table of learned positions is
            missing or shorter than `length`, or if there is a table for another kind.
    """
    kind = getattr(config, "position_embedding_type", None)
    if kind not in _KINDS:
        raise ValueError(f"{config.model_type} has position_embedding_type={kind!r}; expected {', '.join(_KINDS)}")
    if (kind == "learned") != (table is not None):
        raise ValueError(f"{kind} positions {'need a' if table is None else 'have no'} table of weights")
    if table is not None:
        if length > len(table):
            raise ValueError(f"length={length}; expected at most {len(table)}, the number of learned positions")
        return table[:length].detach().float().cpu()
    size = config.head_dim if kind == "rotary" else config.hidden_size
    angles = position_angles(torch.arange(length), size, config.position_embedding_theta)
    waves = (angles.cos(), angles.sin()) if kind == "rotary" else (angles.sin(), angles.cos())
    return torch.stack(waves, -1).flatten(-2)


def draw_positions(config: PreTrainedConfig, length: int, table: torch.Tensor | None = None) -> Figure:
    """Draw the position vectors, the cosine similarity of every two of them, and its mean and range by distance.

    Arguments and errors are those of [`position_vectors`].
    """
    vectors = position_vectors(config, length, table)
    unit = nn.functional.normalize(vectors, dim=-1)
    similarity = unit @ unit.T  # (length, length)
    kind = config.position_embedding_type
    figure = Figure(figsize=(9, 7), layout="constrained")
    panels = figure.subplot_mosaic("VS;DD", height_ratios=(3, 2))
    shared, largest = {"ylabel": say("position"), "cmap": "RdBu"}, vectors.abs().max().item()
    xlabel = say("cosine and sine of each plane") if kind == "rotary" else say("dimension")
    labels = {"title": say("position vectors"), "xlabel": xlabel}
    image = draw_heatmap(panels["V"], vectors, vmin=-largest, vmax=largest, aspect="auto", **labels, **shared)
    figure.colorbar(image, ax=panels["V"])
    labels = {"title": say("cosine similarity of positions"), "xlabel": say("position")}
    image = draw_heatmap(panels["S"], similarity, vmin=-1, vmax=1, **labels, **shared)
    figure.colorbar(image, ax=panels["S"])
    axes, distances = panels["D"], range(length)
    diagonals = [similarity.diagonal(distance) for distance in distances]
    least, most = [d.min() for d in diagonals], [d.max() for d in diagonals]
    # The edge keeps the range visible where least and most are equal.
    axes.fill_between(distances, least, most, color="lightblue", linewidth=5, label=say("range"))
    axes.plot(distances, [d.mean() for d in diagonals], label=say("mean"))
    axes.set_title(say("cosine similarity by distance"), fontsize=FONT_SIZE + 2)
    axes.set_xlabel(say("distance"), fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=FONT_SIZE)
    figure.suptitle(say("{kind} positions").format(kind=say_name(kind)))
    set_decimal_signs(figure)
    return figure
