"""Pairs of one's own: one file is parted, the options follow from it and are printed, and each may be overridden."""

import sys

import pytest
import yaml

from atenta.recipes import pairs, seq2seq
from support.recipes import read_predictions, run_here, write_lines

FEW = ["--hidden_size", 16, "--num_attention_heads", 2, "--intermediate_size", 32, "--encoder_layers", 1]
FEW += ["--decoder_layers", 1, "--num_beams", 1, "--num_return_sequences", 1]


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """A function that returns the options that `seq2seq.py` gets for lines of a file and other options."""
    monkeypatch.setattr(seq2seq, "main", lambda: None)

    def chosen(lines, *words):
        monkeypatch.setattr(
            sys, "argv", ["pairs.py", "--train_file", str(write_lines(tmp_path / "my.tsv", *lines)), *words]
        )
        pairs.main()
        return dict(zip(sys.argv[1::2], sys.argv[2::2]))

    return chosen


@pytest.mark.parametrize(
    ("line", "kind", "config"),
    [
        ("casa\tkaza", "words", "words.yaml"),
        ("ser\tsou\tV;1;SG", "words with feature tags", "words.yaml"),
        ("Nao e.\tNão é.", "sentences", "sentences.yaml"),
        ("Nao e.\tNão é.\tPT", "sentences with feature tags", "sentences.yaml"),
    ],
)
def test_the_file_of_options_follows_from_the_pairs(line, kind, config, chosen, capsys):
    found = chosen([line] * 100)
    assert found["--config"] == config
    assert found["--output_dir"] == "outputs/my"
    assert found["--max_steps"] == "400"
    assert capsys.readouterr().out == (
        f"100 pairs of {kind}: as `seq2seq --config {config} --output_dir outputs/my --max_steps 400`\n\n"
    )


def test_bad_rows_are_not_counted(tmp_path):
    file = write_lines(tmp_path / "my.tsv", "casa\tkaza", "bola\t", "duas palavras\t ")
    assert pairs.describe_pairs([str(file)]) == (1, "words", "words.yaml")


@pytest.mark.parametrize(("count", "steps"), [(1, 200), (400, 800), (1_600, 1_600), (10**6, 10_000)])
def test_steps_follow_the_number_of_pairs(count, steps):
    assert pairs.choose_steps(count) == steps


def test_what_is_given_is_kept(chosen):
    assert "--max_steps" not in chosen(["a\tA"], "--config", "hebrew.yaml")
    assert "--max_steps" not in chosen(["a\tA"], "--max-steps=3")
    assert chosen(["a\tA"], "--num_beams", "2")["--num_return_sequences"] == "2"  # of words.yaml four
    assert "--num_return_sequences" not in chosen(["a b\tA B"], "--num_beams", "2")
    assert chosen(["a\tA"], "--num_train_epochs", "3")["--max_steps"] == "-1"
    assert chosen(["a\tA", "no tab"], "--output_dir", "here")["--output_dir"] == "here"


def test_data_that_are_missing_are_named(chosen, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pairs.py"])
    with pytest.raises(SystemExit, match="Give --train_file"):
        pairs.main()
    monkeypatch.setattr(sys, "argv", ["pairs.py", "--train_file", "nowhere.tsv"])
    with pytest.raises(SystemExit, match=r"nowhere\.tsv"):
        pairs.main()


def test_a_model_of_one_file(tmp_path, monkeypatch, capsys):
    lines = [f"{first}{second}\t{second}{first}" for first in "abcdef" for second in "ghijk"]
    file = write_lines(tmp_path / "swapped.tsv", *lines)
    monkeypatch.chdir(tmp_path)
    run_here("pairs", tmp_path, "--train_file", file, *FEW, "--max_steps", 10)
    folder = tmp_path / "outputs" / "swapped"
    assert len(read_predictions(folder)) == 3
    saved = yaml.safe_load((folder / "options.yaml").read_text(encoding="utf-8"))
    assert (saved["max_steps"], saved["dropout"], saved["validation_split"]) == (10, 0.3, 0.1)
    assert "3 of 30 rows are set apart for validation" in capsys.readouterr().out
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "--config words.yaml" in card
