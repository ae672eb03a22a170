"""Learning curves: one run's losses and metric, and several runs beside each other."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure  # no pyplot: no display is needed
from matplotlib.ticker import LogFormatter

LogHistory = Sequence[Mapping[str, float]]


def draw_learning_curve(log_history: LogHistory, metric: str) -> Figure:
    """Draw a run's losses and validation metric against training steps.

    Args:
        log_history: what transformers' Trainer logged (`trainer.state.log_history`, `training` in `metrics.json`).
        metric: name of the validation metric, without `eval_`; `loss` draws no second curve of it.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    lines = []
    for key, label in (("loss", "training loss"), ("eval_loss", "validation loss")):
        points = _points(log_history, key)
        lines += axes.plot(*zip(*points), marker=".", label=label) if points else []
    axes.set(xlabel="training step", ylabel="loss (nats)", yscale="log")
    axes.yaxis.set_major_formatter("{x:g}")  # 1 and 2, not 10⁰ and 2 × 10⁰
    axes.yaxis.set_minor_formatter(LogFormatter())
    points = _points(log_history, f"eval_{metric}")
    if points and metric != "loss":
        name = metric.replace("_", " ")
        right = axes.twinx()
        lines += right.plot(*zip(*points), marker="o", color="tab:green", label=f"validation {name}")
        right.set_ylabel(name)
    figure.legend(handles=lines, loc="outside lower center", ncols=3)
    return figure


def draw_learning_curves(log_histories: Mapping[str, LogHistory], metric: str) -> Figure:
    """Draw one validation metric of several runs against training steps.

    Args:
        log_histories: what transformers' Trainer logged of each run, by the name that the legend gives it.
        metric: name of the validation metric, without `eval_`, such as `loss`.

    Raises:
        ValueError: a run has not measured it. The message says what it has measured.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, log_history in log_histories.items():
        points = _points(log_history, f"eval_{metric}")
        if not points:
            measured = {key.removeprefix("eval_") for entry in log_history for key in entry if key.startswith("eval_")}
            found = ", ".join(sorted(measured)) or "nothing"
            raise ValueError(f"{name} has no validation {metric!r}; it has measured: {found}.")
        axes.plot(*zip(*points), marker="o", markersize=4, label=name)
    title = f"validation {metric.replace('_', ' ')}"
    axes.set(xlabel="training step", ylabel=f"{title} (nats)" if metric == "loss" else title)
    axes.grid(alpha=0.25)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _points(log_history: LogHistory, key: str) -> list[tuple[float, float]]:
    return [(entry["step"], entry[key]) for entry in log_history if key in entry]
