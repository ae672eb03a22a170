"""A training that diverges ends at once: losses, gradients and weights that are not finite."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from accelerate import Accelerator
from torch.nn.utils import get_total_norm

from atenta.recipes.training.options import RecipeArguments
from atenta.recipes.training.runs import Run


def expect_finite(figures: Mapping[str, float], step: int, run: Run, accelerator: Accelerator) -> None:
    """Check that figures of the training are finite in every process; every process must call this.

    Args:
        figures: The figures by the names that the message has for them.
        step: The number of the optimizer step they belong to.
        run: Knows the options, and what is kept of the run.
        accelerator: That of the training.

    Raises:
        SystemExit: If one is NaN or infinite in a process: in all of them, with a message in the main one.
    """
    found = torch.tensor([list(figures.values())], device=accelerator.device)
    if accelerator.num_processes > 1:
        found = accelerator.gather(found)  # (processes, figures)
    wrong = {
        name: next(value for value in values if not math.isfinite(value))
        for name, values in zip(figures, found.T.tolist())
        if not all(map(math.isfinite, values))
    }
    if not wrong:
        return
    if not accelerator.is_main_process:
        raise SystemExit(1)
    values = " and ".join(f"the {name} is {value}" for name, value in wrong.items())
    raise SystemExit(
        f"Step {step:,}: {values}; expected finite numbers. The training has diverged, and no model is saved: "
        f"{_advise(run.training, accelerator)}. {_go_on(run)}"
    )


def norm_of_weights(model: torch.nn.Module) -> float:
    """Return the norm of all weights of a model, which is not finite if one of them is not."""
    norm: Any = get_total_norm([weight.detach() for weight in model.parameters() if weight.is_floating_point()])
    return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)  # of FSDP


def _advise(training: RecipeArguments, accelerator: Accelerator) -> str:
    rates = [("learning_rate", training.learning_rate)]
    if training.optim == "muon":
        rates.append(("muon_learning_rate", training.muon_learning_rate))
    lower = " and ".join(f"--{name}" + (f" ({rate:.4g})" if rate else "") for name, rate in rates)
    half = "" if accelerator.mixed_precision == "no" else f", or train without {accelerator.mixed_precision}"
    return f"lower {lower}{half}"


def _go_on(run: Run) -> str:
    kept = run.newest_checkpoint() if run.begun else None
    if kept is None:
        return "There is no checkpoint yet: the run starts from the beginning then."
    return (
        f"{kept} is kept: --resume_from_checkpoint {kept} goes on from there with the changed options, and "
        "--overwrite_output_dir starts from the beginning."
    )
