"""What a model is told of positions, and how alike two positions are (document 3; Su et al., 2021)."""

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure  # no pyplot: no display is needed
from torch import nn
from transformers import PreTrainedConfig

from atenta.modeling.positions import position_angles
from atenta.recipes.pictures.heatmap import FONT_SIZE, draw_heatmap

KINDS = ("sinusoidal", "learned", "rotary")


def position_vectors(config: PreTrainedConfig, length: int, table: torch.Tensor | None = None) -> torch.Tensor:
    """Return a vector for each position, as the model has it.

    Args:
        config: of a model.
        length: number of positions.
        table: the weights of learned positions, (max_position_embeddings, hidden_size). Other kinds have none.

    Returns:
        (length, hidden_size); of rotary positions (length, head_dim): cosine and sine in turn of the angle by which
        each plane of a query or key is turned. Their dot product is the score of equal queries and keys.

    Raises:
        ValueError: the model has positions of another kind or none, the table of learned ones is missing or shorter
            than `length`, or there is a table for others.
    """
    kind = getattr(config, "position_embedding_type", None)
    if kind not in KINDS:
        raise ValueError(f"{config.model_type} has position_embedding_type={kind!r}, expected {', '.join(KINDS)}.")
    if (kind == "learned") != (table is not None):
        raise ValueError(f"{kind} positions {'need' if table is None else 'have no'} table of weights.")
    if table is not None:
        if length > len(table):
            raise ValueError(f"length={length}, but the model has learned {len(table)} positions: ask for no more.")
        return table[:length].detach().float().cpu()
    size = config.head_dim if kind == "rotary" else config.hidden_size
    angles = position_angles(torch.arange(length), size, config.position_embedding_theta)
    return torch.stack((angles.cos(), angles.sin()) if kind == "rotary" else (angles.sin(), angles.cos()), -1).flatten(
        -2
    )


def draw_positions(config: PreTrainedConfig, length: int, table: torch.Tensor | None = None) -> Figure:
    """Draw the vectors of positions, how alike each two of them are, and how that depends on their distance.

    Arguments and errors are those of [`position_vectors`].
    """
    vectors = position_vectors(config, length, table)
    unit = nn.functional.normalize(vectors, dim=-1)
    alike = unit @ unit.T  # (length, length)
    kind = config.position_embedding_type
    figure = Figure(figsize=(9, 7), layout="constrained")
    panels = figure.subplot_mosaic("VS;DD", height_ratios=(3, 2))
    largest = vectors.abs().max().item()
    image = draw_heatmap(
        panels["V"],
        vectors,
        title="vector of each position",
        xlabel="cosine and sine of each plane" if kind == "rotary" else "column of the vector",
        ylabel="position",
        aspect="auto",
        cmap="RdBu",
        vmin=-largest,
        vmax=largest,
    )
    figure.colorbar(image, ax=panels["V"])
    image = draw_heatmap(
        panels["S"],
        alike,
        title="cosine similarity of positions",
        xlabel="position",
        ylabel="position",
        cmap="RdBu",
        vmin=-1,
        vmax=1,
    )
    figure.colorbar(image, ax=panels["S"])
    _draw_by_distance(panels["D"], alike)
    figure.suptitle(f"{kind} positions")
    return figure


def _draw_by_distance(axes: Axes, alike: torch.Tensor) -> None:
    diagonals = [alike.diagonal(distance) for distance in range(len(alike))]
    distances = range(len(alike))
    least, most = [d.min() for d in diagonals], [d.max() for d in diagonals]
    axes.fill_between(distances, least, most, alpha=0.3, linewidth=5, label="range")  # seen also where it is nothing
    axes.plot(distances, [d.mean() for d in diagonals], label="mean")
    axes.set_title("cosine similarity by distance", fontsize=FONT_SIZE + 2)
    axes.set_xlabel("distance", fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=FONT_SIZE)
