"""Muon for the matrices of the blocks, and AdamW for all other parameters, as one optimizer.

Muon (Jordan et al., 2024) replaces the momentum of a matrix by the nearest orthogonal one, so that a step changes all
directions equally. It is made for hidden matrices: embeddings, output layers, norms and biases are AdamW's.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import torch
from torch import nn

from atenta.recipes.training.options import RecipeArguments

# A number in a parameter's name means that it belongs to one of several blocks: `model.encoder.layers.0.…`. Matrices
# that mix and pool characters between the blocks are hidden too.
_IN_A_BLOCK = re.compile(r"\.\d+\.|\.downsampling\.")


class StackedMuon(torch.optim.Muon):
    """`torch.optim.Muon` that orthogonalizes all matrices of one shape together.

    A character model has few and small matrices, and on a CPU a loop over them takes several times as long as one
    product of all. A matrix and one of the transposed shape share a product. Query, key, value and output projections
    are separate matrices here, so each is orthogonalized by itself.

    Args:
        parameters: Matrices.
        precision: The type in which products are computed. Few CPUs are fast in bfloat16, which is torch's.
        options: Those of `torch.optim.Muon`.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], *, precision: torch.dtype = torch.bfloat16, **options: Any
    ) -> None:
        super().__init__(parameters, **options)
        self.precision = precision

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters that have a gradient, as `torch.optim.Muon` does."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            stacks = defaultdict(list)  # parameters and updates, with no more rows than columns, by shape
            for parameter in group["params"]:
                if parameter.grad is not None:
                    update = self._momentum(parameter, group)
                    update = update.mT if len(update) > update.shape[1] else update
                    stacks[update.shape, parameter.device].append((parameter, update))
            for stack in stacks.values():
                parameters, updates = zip(*stack)
                products = torch.stack(updates).to(self.precision)
                orthogonal = orthogonalize(products, group["ns_coefficients"], group["ns_steps"])
                for parameter, update in zip(parameters, orthogonal):
                    rows, columns = parameter.shape
                    update = update.mT if rows > columns else update
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(update, alpha=-group["lr"] * max(1, rows / columns) ** 0.5)
        return loss

    def _momentum(self, parameter: nn.Parameter, group: Mapping[str, Any]) -> torch.Tensor:
        """Update the running mean of a parameter's gradients, and return Nesterov's estimate of the next one."""
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(parameter.grad)
        mean = state["momentum_buffer"].lerp_(parameter.grad, 1 - group["momentum"])
        return parameter.grad.lerp(mean, group["momentum"]) if group["nesterov"] else mean


def orthogonalize(matrices: torch.Tensor, coefficients: tuple[float, float, float], steps: int) -> torch.Tensor:
    """Return (matrices, rows, columns) with singular values near 1, by Newton-Schulz steps (Jordan et al., 2024).

    There are no more rows than columns. The coefficients are those of X, XXᵀX and (XXᵀ)²X in a step; after five steps
    with torch's, singular values are between about 0.7 and 1.2.
    """
    first, second, third = coefficients
    found = matrices / matrices.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)  # no singular value is above 1
    for _ in range(steps):
        gram = found @ found.mT
        found = torch.baddbmm(found, torch.baddbmm(gram, gram, gram, beta=second, alpha=third), found, beta=first)
    return found


class MuonWithAdamW(torch.optim.Optimizer):
    """Two optimizers that are scheduled, saved and loaded as one.

    The parameter groups and the states are those of the two optimizers themselves, AdamW's first, so a schedule scales
    both learning rates, each from its own peak.
    """

    def __init__(self, adamw: torch.optim.AdamW, muon: torch.optim.Muon) -> None:
        self.adamw, self.muon = adamw, muon
        super().__init__([*adamw.param_groups, *muon.param_groups], adamw.defaults)
        self._share()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient."""
        loss = self.adamw.step(closure)
        self.muon.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of both optimizers, as saved by `state_dict`."""
        super().load_state_dict(state_dict)
        self._share()

    def _share(self) -> None:
        groups = len(self.adamw.param_groups)
        self.adamw.param_groups, self.muon.param_groups = self.param_groups[:groups], self.param_groups[groups:]
        self.adamw.state = self.muon.state = self.state


def create_muon(model: nn.Module, decayed: Collection[str], training: RecipeArguments) -> MuonWithAdamW:
    """Return Muon for the matrices of the blocks of a model, and AdamW for its other trainable parameters.

    AdamW has its weight decay for the parameters with `decayed` names alone.

    Raises:
        ValueError: If no trainable parameter is a matrix of a block.
    """
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    matrices = {name for name, each in trained.items() if each.ndim == 2 and _IN_A_BLOCK.search(name)}
    if not matrices:
        raise ValueError("found no trainable matrix in a numbered block, which Muon is for; expected one: use AdamW")
    groups = [
        {"params": [each for name, each in trained.items() if name not in matrices and (name in decayed) == decays]}
        | {"weight_decay": training.weight_decay if decays else 0.0}
        for decays in (True, False)
    ]
    betas = (training.adam_beta1, training.adam_beta2)
    return MuonWithAdamW(
        torch.optim.AdamW(groups, lr=training.learning_rate, betas=betas, eps=training.adam_epsilon, fused=True),
        StackedMuon(
            [each for name, each in trained.items() if name in matrices],
            # On a CPU float32, unless it was said to be fast in 16 bits.
            precision=torch.bfloat16 if training.bf16 or training.device.type != "cpu" else torch.float32,
            lr=training.muon_learning_rate,
            momentum=training.muon_momentum,
            weight_decay=training.muon_weight_decay,
        ),
    )
