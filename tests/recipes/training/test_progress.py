"""The progress of a training: bars on a terminal, lines in a log, which has each one at once."""

import io
import re
import sys

import pytest
from transformers import TrainerState

from atenta.recipes.training.progress import FigureLines
from support.trainers import random_pairs, trainer_of

PAIRS = random_pairs([(3, 2), (4, 3), (9, 12), (12, 10)])


@pytest.mark.parametrize("terminal", [True, False])
def test_there_are_bars_only_on_a_terminal(tmp_path, capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    rows = {"train": PAIRS, "validation": PAIRS}
    trainer_of(tmp_path, rows, max_steps=2, disable_tqdm=False, eval_strategy="steps", eval_steps=1).fit(None)
    output, errors = capsys.readouterr()
    assert output.startswith("training    from step 0 to 2\n") is not terminal
    assert ("training    ended at step 2" in output.splitlines()[-1]) is not terminal
    training, validation, *_ = output.splitlines()[not terminal :]
    assert re.fullmatch(
        r"training    step      1  epoch 1\.00  loss \S+  grad norm \S+  learning rate 0\.01", training
    )
    assert re.fullmatch(r"validation  step      1  epoch 1\.00  loss \S+", validation)
    assert ("\r" in errors) is terminal
    assert "\r" not in output


def test_a_log_file_has_each_line_at_once(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="utf-8"))
    state, lines = TrainerState(epoch=0.5, global_step=50, max_steps=100), FigureLines()
    lines.on_train_begin(None, state, None)
    lines.on_log(None, state, None, {"loss": 0.25})
    assert written.getvalue().splitlines()[-1].split()[-2:] == [b"loss", b"0.25"]
