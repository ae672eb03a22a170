import json
import subprocess
import sys
from pathlib import Path

import pytest

from atenta.recipes.compare import compare


def folder_of(path, **figures):
    path.mkdir()
    test = {"most frequent label": {"accuracy": 0.25}, "model": figures}
    (path / "metrics.json").write_text(json.dumps({"test": test}), encoding="utf-8")
    return path


def test_models_stand_below_each_other_and_the_baseline_once(tmp_path):
    folders = [folder_of(tmp_path / "a", accuracy=0.5), folder_of(tmp_path / "b", accuracy=0.75)]
    shown = compare(folders)
    lines = [line.split() for line in shown.splitlines()]
    assert [line[-1] for line in lines] == ["accuracy", "0.2500", "0.5000", "0.7500"]
    assert shown.count("most frequent label") == 1
    script = Path(__file__).parents[2] / "recipes" / "compare.py"
    command = [sys.executable, script, *folders]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == shown + "\n"


def test_a_folder_without_scores_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"found no .*metrics.json"):
        compare([tmp_path])
