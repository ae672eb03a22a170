"""The progress of a training: its figures as lines of text, and which figures those are."""

import sys
from collections.abc import Mapping
from typing import Any

from tqdm.auto import tqdm
from transformers import ProgressCallback, TrainerState

# Endings of the names of durations and counters, which are not figures of the training.
_NOT_FIGURES = ("runtime", "per_second", "flos", "epoch", "preparation_time", "step")


def select_figures(logs: Mapping[str, Any]) -> dict[str, float]:
    """Return the losses, rates and scores of a log, without durations and counters."""
    return {
        name: value
        for name, value in logs.items()
        if not name.endswith(_NOT_FIGURES) and isinstance(value, int | float)
    }


class FigureLines(ProgressCallback):
    """transformers' progress bar with logs as lines of text: `step 950  epoch 0.66  loss 0.0719  …`.

    Where errors do not go to a terminal, there are no bars, which would fill a log with copies of themselves; lines
    say how many steps there will be, and when they are done.
    """

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Begin the bar."""
        if state.is_world_process_zero:
            self.training_bar = tqdm(total=state.max_steps, dynamic_ncols=True, disable=None)
            if not sys.stderr.isatty():
                print(f"training    from step {state.global_step:,} to {state.max_steps:,}", flush=True)
        self.current_step = 0

    def on_prediction_step(self, args: Any, state: TrainerState, control: Any, *rest: Any, **kwargs: Any) -> None:
        """Move the bar of an evaluation."""
        if sys.stderr.isatty():
            super().on_prediction_step(args, state, control, *rest, **kwargs)

    def on_train_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """End the bar."""
        super().on_train_end(args, state, control, **kwargs)
        if state.is_world_process_zero and not sys.stderr.isatty():
            print(f"training    ended at step {state.global_step:,}; the test is scored next", flush=True)

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Write the figures above the bar."""
        figures = select_figures(logs or {})
        line = "  ".join(
            f"{name.removeprefix('eval_').replace('_', ' ')} {value:.4g}"
            for name, value in figures.items()
            if not name.startswith("train_")
        )
        if self.training_bar is not None and line:
            kind = "validation" if any(name.startswith("eval_") for name in figures) else "training  "
            self.training_bar.write(f"{kind}  step {state.global_step:>6,}  epoch {state.epoch:.2f}  {line}")
            sys.stdout.flush()  # tqdm does not, and a log file would have nothing for hours
