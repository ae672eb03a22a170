"""What every section of a run is told: the device, and how often to measure."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Settings:
    """One run's settings.

    Attributes:
        device: `cpu` (float32) or `cuda` (bfloat16, larger sizes).
        rounds: of every work, in place of each section's own number.
        threads: that torch computes with on the CPU.
    """

    device: str = "cpu"
    rounds: int | None = None
    threads: int = 2

    @property
    def on_gpu(self) -> bool:
        """Whether sizes are a GPU's."""
        return self.device == "cuda"

    @property
    def dtype(self) -> torch.dtype:
        """Type of weights and matrix products."""
        return torch.bfloat16 if self.on_gpu else torch.float32

    def wait(self) -> None:
        """Return when the device has done what it was given."""
        if self.on_gpu:
            torch.cuda.synchronize()
