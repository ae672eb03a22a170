"""The lines of figures above the progress bar."""

import pytest
from transformers import TrainerControl, TrainerState

from atenta.recipes.reporting.progress import FigureLines, figures


class Bar:
    """Stands for tqdm's."""

    def __init__(self):
        self.lines = []

    def write(self, line):
        self.lines.append(line)


@pytest.fixture
def told():
    """What is written for a log at step 1,950."""
    callback, state = FigureLines(), TrainerState(global_step=1950, epoch=0.5)

    def told(logs, bar=True):
        callback.training_bar = Bar() if bar else None
        callback.on_log(None, state, TrainerControl(), logs=logs)
        return callback.training_bar.lines if bar else []

    return told


def test_a_log_is_a_line_of_its_figures(told):
    logs = {"loss": 0.07191, "grad_norm": 1.5, "learning_rate": 1e-4, "epoch": 0.5}
    assert told(logs) == ["training    step  1,950  epoch 0.50  loss 0.07191  grad norm 1.5  learning rate 0.0001"]


def test_an_evaluation_is_told_from_training(told):
    logs = {"eval_loss": 2.0, "eval_exact_match": 0.25, "eval_runtime": 3.0, "eval_samples_per_second": 9.0}
    assert told(logs) == ["validation  step  1,950  epoch 0.50  loss 2  exact match 0.25"]


@pytest.mark.parametrize(
    "logs", [None, {}, {"epoch": 1.0}, {"train_loss": 0.1, "train_runtime": 3.0, "total_flos": 7, "epoch": 1.0}]
)
def test_what_has_no_figure_of_the_moment_is_no_line(told, logs):
    assert told(logs) == []


def test_without_a_bar_as_in_other_processes_nothing_is_written(told, capsys):
    told({"loss": 1.0}, bar=False)
    assert capsys.readouterr().out == ""


def test_figures_are_neither_durations_nor_counters_nor_texts():
    logs = {"loss": 1.0, "eval_f1": 0.5, "eval_runtime": 2.0, "epoch": 1, "step": 3, "total_flos": 4, "note": "a"}
    assert figures(logs) == {"loss": 1.0, "eval_f1": 0.5}
