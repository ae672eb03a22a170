"""The command that draws the learning curves of several runs."""

import json
import sys

import pytest

from atenta.recipes import show_learning_curves
from support.recipes import assert_picture


def folder_of(path, **evaluation):
    path.mkdir()
    training = [{"step": step, "epoch": step / 2, **evaluation} for step in (2, 4)]
    (path / "metrics.json").write_text(json.dumps({"test": {}, "training": training}), encoding="utf-8")
    return path


@pytest.fixture
def command(monkeypatch, tmp_path):
    def run(*arguments):
        options = [*arguments, "--output_dir", tmp_path / "pictures"]
        monkeypatch.setattr(sys, "argv", ["show_learning_curves.py", *map(str, options)])
        show_learning_curves.main()

    return run


def test_runs_are_drawn_together(command, tmp_path, capsys):
    folders = [folder_of(tmp_path / "a", eval_loss=2.0), folder_of(tmp_path / "b", eval_loss=1.0)]
    command(*folders)
    path = tmp_path / "pictures" / "learning_curves.png"
    assert capsys.readouterr().out == f"{path}\n"
    assert_picture(path, colours=10)


def test_a_run_without_the_metric_is_named(command, tmp_path):
    with pytest.raises(SystemExit, match=r"a has no validation 'accuracy'; it has measured: loss\."):
        command(folder_of(tmp_path / "a", eval_loss=2.0), "--metric", "accuracy")


def test_a_run_without_training_is_named(command, tmp_path):
    (tmp_path / "metrics.json").write_text(json.dumps({"test": {}}), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"metrics.json tells of no training"):
        command(tmp_path)


def test_a_folder_without_a_run_is_named(command, tmp_path):
    with pytest.raises(SystemExit, match=r"found no .*metrics.json"):
        command(tmp_path)
