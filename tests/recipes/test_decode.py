"""The decoding command: windows, files, several outputs with scores, ensembles, and options that it refuses."""

import csv
import json
import sys
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.generation.utils import GenerateEncoderDecoderOutput

from atenta import AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.recipes import decode
from atenta.recipes.decoding.ensemble import Ensemble
from atenta.recipes.decoding.generation import decode_n_best
from support.clean_process import run_function
from support.models import assert_close, double_model

SOURCES = ["ser\tPL", "ver", 'um "dia"']


def save(folder, seed, alphabet='abcdefimrsuv "', **options):
    """Save a tiny model in float64 with its tokenizer, as a recipe does."""
    tokenizer = AtentaTokenizer.from_texts([alphabet], family="encoder-decoder", tags=["<PL>"])
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 16, "encoder_layers": 1, "decoder_layers": 1}
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, seed, **(sizes | options))
    with torch.no_grad():  # bytes that are not valid text would be replaced in the output
        model.lm_head.bias[[i for token, i in tokenizer.get_vocab().items() if token.startswith("<")]] = -100
        model.lm_head.bias[tokenizer.eos_token_id] = 0.5
    model.generation_config.max_length = 8
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [save(folder / "first", 1), save(folder / "second", 2, hidden_size=24)]


@pytest.fixture
def command(monkeypatch, capsys):
    """Return a function that runs the command in this process and returns both of its outputs."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["decode.py", *map(str, arguments)])
        decode.main()
        return capsys.readouterr()

    return run


def rows(printed):
    return [(source, text, float(score)) for source, text, score in csv.reader(printed.splitlines(), delimiter="\t")]


def test_several_outputs_with_source_and_score(folders, command):
    printed = command(folders[0], *SOURCES, "--num_beams", 4, "--num_return_sequences", 3)
    found = rows(printed.out)
    assert [source for source, _, _ in found] == [source for source in SOURCES for _ in range(3)]
    tokenizer, model = decode.load_pretrained(str(folders[0]))
    ids = [tokenizer("ser").input_ids, *(tokenizer(source).input_ids for source in SOURCES[1:])]
    ids[0].insert(0, tokenizer.convert_tokens_to_ids("<PL>"))
    batch = tokenizer.pad({"input_ids": ids}, return_tensors="pt")
    expected = [
        one for each in decode_n_best(model, [batch], tokenizer, num_beams=4, num_return_sequences=3) for one in each
    ]
    assert [text for _, text, _ in found] == [one.text for one in expected]
    assert_close(torch.tensor([score for _, _, score in found]), torch.tensor([one.score for one in expected]))
    for number, best in enumerate(expected[::3], start=1):
        assert (f"source {number}, " in printed.err) is not best.finished


def test_one_output_is_the_best_of_several(folders, command):
    several = rows(command(folders[0], *SOURCES, "--num_beams", 4, "--num_return_sequences", 2).out)
    assert command(folders[0], *SOURCES, "--num_beams", 4).out.splitlines() == [text for _, text, _ in several[::2]]


def test_the_batch_size_changes_nothing(folders, command):
    options = ("--num_beams", 3, "--num_return_sequences", 2)
    together, apart = (rows(command(folders[0], *SOURCES, *options, "--batch_size", size).out) for size in (64, 1))
    assert [row[:2] for row in together] == [row[:2] for row in apart]


def test_an_ensemble(folders, command):
    printed = command(folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2, "--ensemble", folders[1])
    (tokenizer, first), (_, second) = (decode.load_pretrained(str(folder)) for folder in folders)
    expected = decode.decode_texts_n_best(
        tokenizer, Ensemble([first, second]).eval(), SOURCES, num_beams=3, num_return_sequences=2
    )
    assert [row[:2] for row in rows(printed.out)] == [row[:2] for row in expected]
    assert_close(*(torch.tensor([row[2] for row in each]) for each in (rows(printed.out), expected)))
    alone = command(folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2)
    assert printed.out != alone.out


def test_members_with_other_vocabularies_are_refused(folders, command, tmp_path):
    other = save(tmp_path / "other", 1, alphabet='abcdefimrsuw "')
    with pytest.raises(SystemExit, match=r"id of the token '[vw]' is .* in .*first and .* in .*other"):
        command(folders[0], "ser", "--ensemble", other)


def test_more_outputs_than_beams_are_refused(command, capsys):
    with pytest.raises(SystemExit):
        command("nowhere", "ser", "--num_return_sequences", 3)
    assert "--num_return_sequences 3 asks for more outputs than --num_beams 1" in capsys.readouterr().err


def test_the_package_is_not_needed(folders, tmp_path, command):
    def run(script, *arguments):
        import runpy
        import sys

        sys.argv = [script, *arguments]
        runpy.run_path(script, run_name="__main__")

    arguments = (folders[0], *SOURCES, "--num_beams", "3", "--num_return_sequences", "2")
    assert run_function(run, decode.__file__, *arguments, home=tmp_path) == command(*arguments).out


# Windows

TEXTS = st.text(st.sampled_from("ab.!? \t\n\r\x00\u0303\u00a0é日\U0001f600”")) | st.text()


def cost_in_bytes(text):
    return len(text.encode("utf-8", "surrogatepass"))


@given(TEXTS, st.integers(1, 30), st.sampled_from([len, cost_in_bytes]))
def test_windows_joined_are_the_text(text, limit, cost):
    windows = decode.cut_windows(text, limit, cost)
    assert "".join(window + gap for window, gap in windows) == text
    assert all(not gap.strip() for _, gap in windows)
    for window, _ in windows:
        assert window == window.strip()
        assert cost(window) <= limit or len(window) == 1 or len(window.split()) == 1
        assert decode.cut_windows(window, 10**9) == [(window, "")]  # nothing but single spaces inside


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("Um. Dois três.", [("Um. Dois três.", "")]),
        ("Um dois. Tres quatro cinco.", [("Um dois.", " "), ("Tres quatro", " "), ("cinco.", "")]),
        ("Um “dois!” Tres quatro", [("Um “dois!”", " "), ("Tres quatro", "")]),
        ("  a\tb  c\n", [("", "  "), ("a", "\t"), ("b", "  "), ("c", "\n")]),
        ("abcdefghijklmnopq r", [("abcdefghijklmn", ""), ("opq r", "")]),
        ("abcdefghijklmo\u0303p", [("abcdefghijklm", ""), ("o\u0303p", "")]),
        ("", [("", "")]),
        (" ", [("", " ")]),
    ],
)
def test_where_windows_end(text, windows):
    assert decode.cut_windows(text, 14) == windows


class Echo:
    """A stand-in for a model, which writes the letters of its source in capitals, but leaves out each f."""

    config = SimpleNamespace(window_length=9, length_ratios=[1.0, 1.0])

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.batches = []

    def generate(self, input_ids, attention_mask, **options):
        self.batches.append(len(input_ids))
        texts = self.tokenizer.batch_decode(input_ids, skip_special_tokens=True)
        written = self.tokenizer([text.upper().replace("F", "") for text in texts], padding=True, return_tensors="pt")
        start = torch.full((len(texts), 1), self.tokenizer.bos_token_id)
        return GenerateEncoderDecoderOutput(sequences=torch.cat([start, written.input_ids], dim=1))


@pytest.fixture
def echo():
    tokenizer = AtentaTokenizer.from_texts(["abcdef .!ABCDEF"], family="encoder-decoder")
    return tokenizer, Echo(tokenizer)


def test_long_texts_are_decoded_in_windows_and_joined(echo, capsys):
    sources = ["abc abc. abc abc  abc", "", " a\t", "abcdeabcdeab!"]
    assert decode.decode_texts(*echo, sources) == ["ABC ABC. ABC ABC  ABC", "", " A\t", "ABCDEABCDEAB!"]
    assert capsys.readouterr().err == ""


def test_outputs_of_an_implausible_length_are_named(echo, capsys):
    assert decode.decode_texts(*echo, ["abc", "abc. fade dede"])[0] == "ABC"
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning == (
        "warning: source 2, 'abc. fade dede': in the part 'fade', the output has 3 characters for 4; "
        "training suggests 4"
    )


def test_shorter_windows_are_decoded_first_and_order_is_kept(echo):
    sources = ["abcd abc", "a", "abc", "ab"]
    assert decode.decode_texts(*echo, sources, batch_size=2) == [source.upper() for source in sources]
    assert echo[1].batches == [2, 2]


# Files and the standard input


def given_lines(monkeypatch, tmp_path, text):
    path = tmp_path / "lines.txt"
    path.write_bytes(text.encode())
    monkeypatch.setattr(sys, "stdin", path.open(encoding="utf-8"))
    return path


@pytest.mark.parametrize("named", [True, False])
def test_each_line_gives_a_line(folders, command, monkeypatch, tmp_path, named):
    path = given_lines(monkeypatch, tmp_path, "ser\tPL\n\nver\u2028m\x0bi\nser")
    printed = command(folders[0], *(["--files", path, path] if named else []))
    lines = printed.out.split("\n")
    expected = command(folders[0], "ser\tPL", "", "ver\u2028m\x0bi", "ser").out.split("\n")
    assert expected[1] == ""
    assert lines == (expected[:4] * 2 if named else expected[:4]) + [""]


def test_carriage_returns_are_kept_and_not_decoded(folders, command, monkeypatch, tmp_path):
    given_lines(monkeypatch, tmp_path, "ser\tPL\r\n\r\nver\r\n")
    plain = command(folders[0], "ser\tPL", "", "ver").out
    assert command(folders[0]).out == plain.replace("\n", "\r\n")


def test_no_lines_give_no_output(folders, command, monkeypatch, tmp_path):
    given_lines(monkeypatch, tmp_path, "")
    assert command(folders[0]).out == ""


def test_json_lines_hold_any_text(folders, command, monkeypatch, tmp_path):
    sources = ["ser", {"source": "ver\nser\x00", "tags": "PL"}, {"source": "ser"}]
    given_lines(monkeypatch, tmp_path, "".join(json.dumps(source) + "\n" for source in sources))
    lines = command(folders[0], "--json_lines").out.splitlines()
    tokenizer, model = decode.load_pretrained(str(folders[0]))
    expected = decode.decode_texts(tokenizer, model, ["ser", "ver\nser\x00\tPL", "ser"])
    assert [json.loads(line) for line in lines] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ser", "--files", __file__], "found texts and --files; expected one of them"),
        (["--files", "nowhere.txt"], "--files nowhere.txt: found no such file"),
    ],
)
def test_unclear_sources_are_refused(folders, command, capsys, arguments, message):
    with pytest.raises(SystemExit):
        command(folders[0], *arguments)
    assert message in capsys.readouterr().err


def test_several_json_lines_hold_source_and_tags(folders, command, monkeypatch, tmp_path):
    given_lines(monkeypatch, tmp_path, json.dumps({"source": "a\tser", "tags": "PL"}) + "\n")
    printed = command(folders[0], "--json_lines", "--num_beams", 2, "--num_return_sequences", 2).out
    found = list(map(json.loads, printed.splitlines()))
    assert [(one["source"], one["tags"]) for one in found] == [("a\tser", "PL")] * 2
    assert found[0]["score"] >= found[1]["score"]


def test_a_json_text_keeps_its_last_carriage_return(folders, command, monkeypatch, tmp_path):
    given_lines(monkeypatch, tmp_path, json.dumps({"source": "z\r"}) + "\n" + json.dumps("z\r") + "\n")
    printed = command(folders[0], "--json_lines", "--keep_letters").out
    assert list(map(json.loads, printed.splitlines())) == ["z\r"] * 2


@pytest.mark.parametrize("line", ['{"text": "ser"}', "3", '{"source": "ser", "tags": ["PL"]}'])
def test_other_json_lines_are_refused(folders, command, monkeypatch, tmp_path, line):
    given_lines(monkeypatch, tmp_path, line + "\n")
    with pytest.raises(SystemExit, match="expected a JSON text, or an object with `source` and `tags`"):
        command(folders[0], "--json_lines")


def test_a_model_without_a_lock_is_named(folders, command, monkeypatch):
    monkeypatch.delattr(AtentaEncoderDecoderForConditionalGeneration, "letter_lock")
    with pytest.raises(SystemExit, match=r"--keep_letters: .* has no letter_lock"):
        command(folders[0], "ser", "--keep_letters")


def test_characters_that_training_did_not_have_are_named(folders, command):
    assert "training did not have 'z', '日'" in command(folders[0], "z日ser").err
    assert "training did not have" not in command(folders[0], "z日ser", "--keep_letters").err


def test_impossible_outputs_of_long_texts_are_left_out(folders, command):
    long = "ser ver ser ver ser"
    several = command(folders[0], long, "--keep_letters", "--num_beams", 3, "--num_return_sequences", 3)
    assert [row[1] for row in rows(several.out)] == [long]


def test_a_short_text_beside_a_long_one_is_not_thought_too_long(tmp_path, command):
    folder = save(tmp_path / "model", 1, length_ratios=[1.0, 1.0])
    assert command(folder, "ser", "ser ver ser ver", "--keep_letters", "--num_beams", 3).err.count("warning") == 0


def test_outputs_of_windows_are_joined_by_rank():
    windows = [("a b.", " "), ("", "\t"), ("c", "")]
    joined = decode.join_windows(windows, [[("A B.", -1.0), ("a b.", -2.0)], None, [("C", -4.0)]])
    assert [text for text, _ in joined] == ["A B. \tC", "a b. \tC"]
    assert [score for _, score in joined] == pytest.approx([(-5 - 8) / 7, (-10 - 8) / 7])


def test_letters_are_kept_on_request(folders, command):
    sources = ["ser", "vê", "a b"]
    assert command(folders[0], *sources, "--keep_letters").out.splitlines() == ["ser", "vê", "a b"]
    assert command(folders[0], *sources).out.splitlines() != ["ser", "vê", "a b"]
    several = command(folders[0], "ser", "--keep_letters", "--num_beams", 3, "--num_return_sequences", 3)
    assert [row[1] for row in rows(several.out)] == ["ser"]  # the only text that the letters allow
    together = command(folders[0], *sources, "--keep_letters", "--ensemble", folders[1])
    assert together.out.splitlines() == ["ser", "vê", "a b"]
