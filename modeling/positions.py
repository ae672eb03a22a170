"""Where a character stands: position ids, and the three ways to tell a model (documents 3 and 5; Su et al., 2021)."""

import torch
from torch import nn
from transformers import PreTrainedConfig
from transformers.utils import torch_compilable_check


def position_ids_from_mask(
    attention_mask: torch.Tensor | None, length: int, past_length: int | torch.Tensor, device: torch.device
) -> torch.Tensor:
    """Positions counted over real tokens, so that padding on the left moves nothing.

    Args:
        attention_mask: (batch, past_length + length) with 1 for real tokens and 0 for padding. `None`, or a mask of
            another form from which padding cannot be read, counts every token.
        length: number of tokens in this step.
        past_length: number of tokens already in the cache.
        device: where the result is made when there is no mask.

    Returns:
        Integers of shape (batch, length), or (1, length) when every token counts. Padding gets position 0.
    """
    if isinstance(attention_mask, torch.Tensor) and attention_mask.ndim == 2:
        return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, -length:]
    return (torch.arange(length, device=device) + past_length).unsqueeze(0)


def position_angles(position_ids: torch.Tensor, size: int, theta: float) -> torch.Tensor:
    """Angle of each position in each of `size / 2` planes: position · theta^(-2i / size) (document 3).

    In float32, whatever the model's type: bfloat16 would round the positions.

    Args:
        position_ids: (...).
        size: width of the vector to be filled or turned; even.
        theta: base of the wavelengths.

    Returns:
        (..., size / 2), in radians.
    """
    exponents = torch.arange(0, size, 2, device=position_ids.device, dtype=torch.float32) / size
    return position_ids[..., None].float() * theta**-exponents


class ComputedPositions(nn.Module):
    """Vectors that depend on nothing but the position, for any length. Nothing is learned or saved.

    On a CPU they are kept once computed: for a single position the sines alone would cost as much as a block.
    """

    longest_table = 16384  # rows, beyond which they are computed anew at each step

    def __init__(self):
        super().__init__()
        self.table: torch.Tensor | None = None  # no buffer: a cast of the model to bfloat16 would round it

    def compute(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Integers of any shape → float32 of that shape and one dimension more."""
        raise NotImplementedError

    def look_up(self, position_ids: torch.Tensor) -> torch.Tensor:
        """What `compute` gives, from the table where there can be one."""
        if (
            position_ids.device.type != "cpu"
            or type(position_ids) is not torch.Tensor  # stands for one without numbers
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
            places = torch.arange(min(2 * last + 256, self.longest_table), device="cpu")
            table = self.table = self.compute(places)
        return nn.functional.embedding(position_ids, table)


class SinusoidalPositions(ComputedPositions):
    """Sines and cosines in turn: even columns hold sines, odd ones cosines (document 3; Vaswani et al., 2017)."""

    def __init__(self, config: PreTrainedConfig):
        super().__init__()
        self.size = config.hidden_size
        self.theta = config.position_embedding_theta

    def compute(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Integers (...) → (..., hidden_size) in float32."""
        angles = position_angles(position_ids, self.size, self.theta)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)

    def forward(self, position_ids: torch.Tensor) -> torch.Tensor:
        """(batch, length) integers → (batch, length, hidden_size) in float32."""
        return self.look_up(position_ids)


class LearnedPositions(nn.Embedding):
    """A learned vector for each of `max_position_embeddings` positions (document 5; Devlin et al., 2019)."""

    def __init__(self, config: PreTrainedConfig):
        super().__init__(config.max_position_embeddings, config.hidden_size)

    def forward(self, position_ids: torch.Tensor) -> torch.Tensor:
        """(batch, length) integers → (batch, length, hidden_size).

        Raises:
            ValueError: a position at or beyond `max_position_embeddings`.
        """
        torch_compilable_check(
            (position_ids < self.num_embeddings).all(),
            f"The text is longer than the {self.num_embeddings} positions this model has learned "
            "(max_position_embeddings). Shorten it, or train with sinusoidal or rotary positions, which have none.",
        )
        return super().forward(position_ids)


class RotaryPositions(ComputedPositions):
    """Cosines and sines that turn queries and keys, so that scores depend on distances (Su et al., 2021)."""

    def __init__(self, config: PreTrainedConfig):
        super().__init__()
        self.size = config.head_dim
        self.theta = config.position_embedding_theta

    def compute(self, position_ids: torch.Tensor) -> torch.Tensor:
        """Integers (...) → (..., 2 * head_dim) in float32: the cosines, then the sines, of each plane twice."""
        angles = position_angles(position_ids, self.size, self.theta)
        angles = torch.cat((angles, angles), dim=-1)
        return torch.cat((angles.cos(), angles.sin()), dim=-1)

    def forward(self, position_ids: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, length) integers → cosines and sines, (batch, length, head_dim) of type `dtype` each."""
        return self.look_up(position_ids).to(dtype).chunk(2, dim=-1)


def apply_rotary(states: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Turn queries or keys: number i and number i + head_dim/2 are a plane, as in transformers' Llama.

    Args:
        states: (batch, heads, length, head_dim).
        cosines, sines: (batch or 1, length, head_dim), from [`RotaryPositions`].

    Returns:
        (batch, heads, length, head_dim).
    """
    first, second = states.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return states * cosines.unsqueeze(1) + turned * sines.unsqueeze(1)


ADDED_POSITIONS = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}
