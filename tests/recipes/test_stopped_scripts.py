"""Scripts that do not train say in one line that they were interrupted, or that --output_dir is a file."""

from unittest.mock import Mock

import pytest

from support.recipes import run_here


@pytest.mark.parametrize(
    ("name", "interrupted", "options", "kept"),
    [
        ("export", "export.find_model", ["nowhere"], "Run the command again."),
        (
            *("search", "search.load_encoder", []),
            "The same command uses the vectors of passages that are saved.",
        ),
        (
            *("show", "decoding.loading.load_model", ["positions", "--model", "nowhere"]),
            "The pictures whose paths are printed are complete.",
        ),
    ],
)
def test_an_interruption_is_one_line(name, interrupted, options, kept, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"atenta.recipes.{interrupted}", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(SystemExit) as stopped:
        run_here(name, tmp_path, *options)
    assert stopped.value.code == 130
    assert capsys.readouterr().err == f"\nStopped. {kept}\n"


@pytest.mark.parametrize("folder", ["file", "file/below"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fit_pair_votes", ["--train_file", "nowhere.txt"]),
        ("search", ["--model_name_or_path", "nowhere"]),
        ("show", ["positions", "--model", "nowhere"]),
    ],
)
def test_an_output_folder_that_is_a_file_is_refused_before_anything_is_read(name, options, folder, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=rf"^--output_dir {tmp_path / folder}: .*expected a folder"):
        run_here(name, tmp_path, *options, "--output_dir", tmp_path / folder)
