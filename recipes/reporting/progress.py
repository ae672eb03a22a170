"""The progress bar, with a line of figures at each log and each evaluation."""

from collections.abc import Mapping
from typing import Any

from transformers import ProgressCallback, TrainerControl, TrainerState, TrainingArguments

_UNTOLD = ("runtime", "per_second", "flos", "epoch", "preparation_time", "model_preparation_time", "step")


def figures(logs: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a log that tell of the training: neither durations nor counters."""
    return {
        name: value for name, value in logs.items() if not name.endswith(_UNTOLD) and isinstance(value, int | float)
    }


class FigureLines(ProgressCallback):
    """transformers' progress bar, whose logs are lines to read: `step 950  epoch 0.66  loss 0.0719  …`."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Write the figures above the bar."""
        if self.training_bar is not None and (told := figures(logs or {})):
            line = "  ".join(
                f"{name.removeprefix('eval_').replace('_', ' ')} {value:.4g}"
                for name, value in told.items()
                if not name.startswith("train_")
            )
            kind = "validation" if any(name.startswith("eval_") for name in told) else "training  "
            if line:
                self.training_bar.write(f"{kind}  step {state.global_step:>6,}  epoch {state.epoch:.2f}  {line}")
