"""Position ids, and sinusoidal, learned and rotary positions (documents 3 and 5; Su et al., 2021)."""

import torch
from torch import nn
from transformers import PreTrainedConfig
from transformers.utils import torch_compilable_check


def position_ids_from_mask(
    attention_mask: torch.Tensor | None, length: int, past_length: int | torch.Tensor, device: torch.device
) -> torch.Tensor:
    """Return positions counted over real tokens only, so that padding on the left does not shift them.

    Args:
        attention_mask: (batch, past_length + length), 1 for real tokens and 0 for padding. If it is `None`, or has
            another shape from which padding cannot be read, every token is counted.
        length: number of tokens in this step.
        past_length: number of tokens already in the cache.
        device: device of the result if there is no mask.

    Returns:
        Integers of shape (batch, length), or (1, length) if every token is counted. Padding on the left gets
        position 0, and on the right that of the last token.
    """
    if isinstance(attention_mask, torch.Tensor) and attention_mask.ndim == 2:
        return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, -length:]
    return (torch.arange(length, device=device) + past_length).unsqueeze(0)


def source_positions(
    input_ids: torch.Tensor | None,
    attention_mask: torch.Tensor | None,
    states: torch.Tensor,
    tag_token_ids: list[int] | None = None,
) -> torch.Tensor:
    """Return the positions of an encoder's tokens. With feature tags, tags have position 0 and letters count from 1.

    The number and the order of the tags then do not shift the letters (Wu et al., 2021).

    Args:
        input_ids: (batch, length), from which tags are told; not needed without tags.
        attention_mask: (batch, length), 1 for real tokens and 0 for padding, or `None` without padding.
        states: (batch, length, ...), ids or vectors of the tokens, for their number and device.
        tag_token_ids: ids of the tags, if the model has any.

    Returns:
        Integers of shape (batch, length), or (1, length) if every token counts. Padding on the left gets
        position 0, and on the right that of the last token; with tags, all padding gets 0.

    Raises:
        ValueError: If there are tags but no ids.
    """
    if not tag_token_ids:
        return position_ids_from_mask(attention_mask, states.shape[1], 0, states.device)
    if input_ids is None:
        raise ValueError(
            "Found neither input_ids nor position_ids; expected one of them, because this model gives position 0 to "
            "feature tags, which it knows by their ids. With inputs_embeds or encoder_outputs, give position_ids."
        )
    tags = torch.tensor(tag_token_ids, device=input_ids.device)
    counted = (input_ids[..., None] != tags).all(-1).long()  # not torch.isin, which ONNX has no operator for
    if attention_mask is not None:
        counted = counted * attention_mask.long()
    return counted.cumsum(-1) * counted


def position_angles(position_ids: torch.Tensor, size: int, theta: float) -> torch.Tensor:
    """Return the angle of each position in each of `size / 2` planes, position · theta^(-2i / size) (document 3).

    The angles are float32 for models of any dtype, because bfloat16 would round the positions.

    Args:
        position_ids: integers of any shape (...).
        size: width of the vector that the angles fill or rotate; even.
        theta: base of the wavelengths.

    Returns:
        (..., size / 2), in radians.
    """
    exponents = torch.arange(0, size, 2, device=position_ids.device, dtype=torch.float32) / size
    return position_ids[..., None].float() * theta**-exponents


class ComputedPositions(nn.Module):
    """Base class of position vectors that are computed, for texts of any length. Nothing is trained or saved.

    On a CPU, computed vectors are kept in a table: for a single position, the sines alone would take as long as a
    block.
    """

    longest_table = 16384  # rows; vectors of later positions are computed again at each step

    def __init__(self, size: int, theta: float) -> None:
        super().__init__()
        self.size, self.theta = size, theta
        self.table: torch.Tensor | None = None  # not a buffer, which casting the model to bfloat16 would round

    def compute(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Map integers of any shape (...) to float32 vectors (..., width)."""
        raise NotImplementedError

    def look_up(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Return the result of `compute`, from the table if possible."""
        if (
            position_ids.device.type != "cpu"
            or type(position_ids) is not torch.Tensor  # a tensor without data, such as a fake tensor
            or position_ids.numel() == 0
            or torch.compiler.is_compiling()
            or torch.jit.is_tracing()
        ):
            return self.compute(position_ids)
        first, last = map(int, position_ids.aminmax())
        if first < 0 or last >= self.longest_table:
            return self.compute(position_ids)
        table = self.table
        if table is None or last >= len(table):
            positions = torch.arange(min(2 * last + 256, self.longest_table), device="cpu")
            table = self.table = self.compute(positions)
        return nn.functional.embedding(position_ids, table)


class SinusoidalPositions(ComputedPositions):
    """Sinusoidal positions: sines in even columns, cosines in odd columns (document 3; Vaswani et al., 2017)."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config.hidden_size, config.position_embedding_theta)

    def compute(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Map integers (...) to float32 vectors (..., hidden_size)."""
        angles = position_angles(position_ids, self.size, self.theta)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)

    def forward(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Map integers (batch, length) to float32 vectors (batch, length, hidden_size)."""
        return self.look_up(position_ids)


class LearnedPositions(nn.Embedding):
    """Learned vectors, one for each of `max_position_embeddings` positions (document 5; Devlin et al., 2019)."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config.max_position_embeddings, config.hidden_size)

    def forward(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Map integers (batch, length) to vectors (batch, length, hidden_size).

        Raises:
            ValueError: If a position is `max_position_embeddings` or more.
        """
        if not torch.onnx.is_in_onnx_export():  # ONNX has no assertions; its look-up refuses such positions itself
            torch_compilable_check(
                (position_ids < self.num_embeddings).all(),
                f"The text is longer than the {self.num_embeddings} positions that this model has learned "
                "(max_position_embeddings). Shorten it, or use sinusoidal or rotary positions, which have no limit.",
            )
        return super().forward(position_ids)


class RotaryPositions(ComputedPositions):
    """Cosines and sines that rotate queries and keys, so that scores depend on distances (Su et al., 2021)."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config.head_dim, config.position_embedding_theta)

    def compute(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Map integers (...) to float32 vectors (..., 2 * head_dim): cosines, then sines, each plane's twice."""
        angles = position_angles(position_ids, self.size, self.theta)
        angles = torch.cat((angles, angles), dim=-1)
        return torch.cat((angles.cos(), angles.sin()), dim=-1)

    def forward(self, position_ids: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """Map integers (batch, length) to cosines and sines, (batch, length, head_dim) of type `dtype` each."""
        cosines, sines = self.look_up(position_ids).to(dtype).chunk(2, dim=-1)
        return cosines, sines


def apply_rotary(states: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Rotate queries or keys. Numbers i and i + head_dim/2 form a plane, as in transformers' Llama.

    Args:
        states: (batch, heads, length, head_dim).
        cosines, sines: (batch or 1, length, head_dim) each, from [`RotaryPositions`].

    Returns:
        (batch, heads, length, head_dim).
    """
    first, second = states.chunk(2, dim=-1)
    rotated = torch.cat((-second, first), dim=-1)  # by a quarter turn
    return states * cosines.unsqueeze(1) + rotated * sines.unsqueeze(1)


# Positions that are added to the embeddings: a new kind goes here and into `position_embedding_type` of
# configuration_transformer.py. Rotary positions act in the attention instead: see `RotaryPositions` in the two stacks,
# and `apply_rotary` in attention.py.
ADDED_POSITIONS = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}
