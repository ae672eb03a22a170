"""Dropout, drawn four numbers at a time on a CPU (Srivastava et al., 2014; Vaswani et al., 2017, section 5.4)."""

import torch
from torch import nn
from transformers import PreTrainedConfig

CHOICES = 1 << 16


class Dropout(nn.Dropout):
    """`torch.nn.Dropout`, which spends most of its time on a CPU drawing one random number for each of the input's.

    There, one draw of 64 bits decides for four of them, with 16 bits each: a number is left out with the probability
    `p` rounded to a multiple of 1/65,536, and the others grow so that the mean stays the same. On other devices, and
    where a compiler fuses it, it is torch's own.
    """

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Of any shape, and of the same one."""
        if not self.training or self.p == 0:
            return hidden_states
        left_out = round(self.p * CHOICES)
        if hidden_states.device.type != "cpu" or left_out == CHOICES or torch.compiler.is_compiling():
            return super().forward(hidden_states)
        draws = torch.empty(-(-hidden_states.numel() // 4), dtype=torch.int64, device="cpu").random_(-(1 << 63), None)
        chosen = draws.view(torch.int16)[: hidden_states.numel()].view(hidden_states.shape)
        kept = (chosen >= left_out - CHOICES // 2).to(hidden_states.dtype)
        return hidden_states * kept.mul_(CHOICES / (CHOICES - left_out))


def classifier_dropout(config: PreTrainedConfig) -> Dropout:
    """Dropout before a classification head: `classifier_dropout`, or else `dropout`."""
    return Dropout(config.dropout if config.classifier_dropout is None else config.classifier_dropout)
