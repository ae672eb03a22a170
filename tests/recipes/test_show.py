"""Tests of the commands of recipes/show.py: their pictures and tables, and what they refuse."""

import io
import json
import shutil
import sys

import pytest
from transformers import AutoTokenizer, set_seed

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderModel,
    AtentaPairVotesForCausalLM,
)
from atenta.recipes import show
from atenta.recipes.decoding.loading import load_model
from atenta.recipes.decoding.steps import decoding_steps
from atenta.recipes.pictures.decoding_charts import decoding_table
from support.recipes import assert_picture
from support.saved import edit_json, save_pairs, save_with_tokenizer

MODELS = {
    "encoder": (AtentaEncoderModel, {}),
    "decoder": (AtentaDecoderForCausalLM, {"position_embedding_type": "rotary"}),
    "encoder-decoder": (AtentaEncoderDecoderForConditionalGeneration, {"position_embedding_type": "learned"}),
    "pair votes": (AtentaPairVotesForCausalLM, {}),
}
CROSS_ATTENTION = ["encoder_self_attention.png", "decoder_self_attention.png", "cross_attention.png"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a tiny model of each family, as a recipe saves it."""
    folder = tmp_path_factory.mktemp("models")
    for name, (model_class, options) in MODELS.items():
        model = save_with_tokenizer(model_class, folder / name, **options)
        if model_class is AtentaPairVotesForCausalLM:
            tokenizer = AutoTokenizer.from_pretrained(folder / name)
            model.fit([tokenizer("ação").input_ids]).save_pretrained(folder / name)
        elif model.can_generate():
            model.generation_config.max_length = 4  # shorter than what show.py is asked for
            model.generation_config.save_pretrained(folder / name)
    return folder


@pytest.fixture
def run(models, tmp_path, capsys):
    """A function that runs a command for a model, and returns its output and its folder of pictures."""

    def run(command, model, *arguments):
        pictures = tmp_path / "pictures"
        show.main([command, "--model", str(models / model), "--output_dir", str(pictures), *map(str, arguments)])
        return capsys.readouterr().out, pictures

    return run


def save_run(folder, scores=None, **evaluation):
    """Save the metrics.json of a run."""
    folder.mkdir()
    training = [{"step": step, "epoch": step / 2, **evaluation} for step in (2, 4)]
    metrics = {"test": scores or {}} | ({"training": training} if evaluation else {})
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    return str(folder)


def test_help_lists_all_commands(capsys):
    with pytest.raises(SystemExit):
        show.main(["--help"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    commands = ["attention", "decoding", "masks", "positions", "votes", "curves", "comparison"]
    assert [words[0] for words in lines if words and words[0] in commands] == commands
    for command in commands[:5]:  # code that comes with a model is run only on request
        with pytest.raises(SystemExit):
            show.main([command, "--help"])
        assert "--trust_remote_code" in capsys.readouterr().out


def test_a_terminal_in_ascii_gets_escapes_and_no_commands(tmp_path, monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    show.main(["comparison", save_run(tmp_path / "ação", {"\x1b[31m": {"accuracy": 1.0}})])
    shown = terminal.buffer.getvalue().decode()
    assert "\\x1b[31m" in shown
    save_run(tmp_path / "ções", {"model": {"accuracy": 1.0}})
    show.main(["comparison", str(tmp_path / "ções")])
    assert "\\xe7\\xf5es: model" in terminal.buffer.getvalue().decode()


@pytest.mark.parametrize(
    ("model", "arguments", "names"),
    [
        ("encoder", ["--text", "ação"], ["self_attention.png"]),
        ("encoder-decoder", ["--text", "acao", "--target", "ação", "--layer", 0, "--head", 3], CROSS_ATTENTION),
    ],
    ids=["all heads", "one head"],
)
def test_attention_has_a_picture_of_each_kind_and_a_page(run, model, arguments, names):
    printed, pictures = run("attention", model, *arguments)
    assert printed.splitlines() == [str(pictures / name) for name in [*names, "attention.html"]]
    for name in names:
        assert_picture(pictures / name, colours=10)
    page = (pictures / "attention.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('type="application/json">')[2].partition("</script>")[0])
    kinds = [name.removesuffix(".png").replace("_", " ") for name in names]
    assert sorted(one["name"].replace("-", " ") for one in data) == sorted(kinds)
    if model == "encoder-decoder":  # the page starts with what is read across
        assert data[0]["queries"] == ["⟨bos⟩", *"ação"]
        assert data[0]["keys"] == [*"acao", "⟨eos⟩"]


def test_tags_follow_a_text_behind_a_tab(tmp_path, capsys):
    save_pairs(tmp_path / "pairs", tag_token_ids=[275])
    command = ["attention", "--model", str(tmp_path / "pairs"), "--output_dir", str(tmp_path), "--text"]
    show.main([*command, "ser\tPL"])
    assert json.dumps(["⟨PL⟩", "s", "e", "r", "⟨eos⟩"], separators=(",", ":")) in (
        tmp_path / "attention.html"
    ).read_text(encoding="utf-8")
    assert "warning" not in capsys.readouterr().err
    show.main([*command, "ser"])
    assert "ser<TAB>V;1;SG" in capsys.readouterr().err
    for text in ("ser\tSG", "<PL>ser\tPL"):
        with pytest.raises(SystemExit, match="expected tags of the model after a tab: <PL>"):
            show.main([*command, text])


@pytest.mark.usefixtures("portuguese")  # after which it is English again
def test_pictures_are_drawn_in_the_language_that_is_asked_for(run):
    arguments = ["decoding", "decoder", "--text", "a b", "--max_new_tokens", 2]
    assert run(*arguments, "--language", "pt")[0].startswith("começa com  ")
    assert run(*arguments)[0].startswith("starts with  ")


@pytest.mark.parametrize(
    ("model", "search"),
    [("encoder-decoder", {"num_beams": 2}), ("decoder", {"do_sample": True, "temperature": 0.7})],
    ids=["beams", "sampling"],
)
def test_decoding_is_printed_and_drawn(run, models, model, search):
    arguments = [part for name, value in search.items() for part in (f"--{name}", value) if part is not True]
    printed, pictures = run("decoding", model, "--text", "a b", "--max_new_tokens", 5, "--seed", 3, *arguments)
    tokenizer, loaded = load_model(str(models / model))
    loaded.generation_config.max_length = None
    set_seed(3)
    steps = list(decoding_steps(loaded, **tokenizer("a b", return_tensors="pt"), max_new_tokens=5, **search))
    assert printed == f"{decoding_table(steps, tokenizer)}\n{pictures / 'decoding.png'}\n"
    assert_picture(pictures / "decoding.png", colours=10)


def test_decoding_starts_after_the_separator_that_follows_prompts(models, tmp_path, capsys):
    """As a recipe notes it in the model of finetune_generation."""
    folder = shutil.copytree(models / "decoder", tmp_path / "prompts")
    edit_json(folder / "config.json", task_specific_params={"text-generation": {"separator": " ç"}})
    printed = []
    for model, text in ((folder, "a b"), (models / "decoder", "a b ç")):
        show.main(["decoding", "--model", str(model), "--text", text, "--output_dir", str(tmp_path)])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


LEARNED = ["model.decoder.embeddings.positions.png", "model.encoder.embeddings.positions.png"]


@pytest.mark.parametrize(
    ("command", "model", "arguments", "names"),
    [
        ("masks", "encoder-decoder", ["--text", "e", "acao", "--target", "é", "ação"], ["masks.png"]),
        ("positions", "decoder", ["--length", 20], ["positions.png"]),
        ("positions", "encoder-decoder", ["--length", 20], LEARNED),
        ("votes", "pair votes", ["--text", "aç", "--feature_mask", 1, 0.5, 0], ["votes.png"]),
    ],
)
def test_masks_positions_and_votes_have_pictures(run, command, model, arguments, names):
    printed, pictures = run(command, model, *arguments)
    assert sorted(printed.splitlines()) == [str(pictures / name) for name in names]
    for name in names:
        assert_picture(pictures / name)


@pytest.mark.parametrize(
    ("command", "model", "arguments", "message"),
    [
        ("attention", "decoder", ["--text", "ab", "--head", 4], "self-attention has no head 4; expected 0 to 3"),
        ("attention", "encoder-decoder", ["--text", "a", "--target", "a" * 3000], "tokens; expected at most 500"),
        ("masks", "encoder-decoder", ["--text", "a", "a" * 3000], "tokens; expected at most 500"),
        ("decoding", "encoder", ["--text", "a"], "holds AtentaEncoderModel; expected a model that generates"),
        ("decoding", "nowhere", ["--text", "a", "--top_p", 0.5], "--top_p: used only for sampling; add --do_sample"),
        ("masks", "decoder", ["--text", "a", "--target", "b"], "reads no target"),
        ("positions", "nowhere", ["--length", 0], "--length is 0; expected 1 or more"),
        ("votes", "decoder", ["--text", "aç"], "AtentaDecoderForCausalLM; expected AtentaPairVotesForCausalLM"),
    ],
)
def test_a_refusal_is_one_line_and_writes_nothing(run, tmp_path, command, model, arguments, message):
    with pytest.raises(SystemExit) as refused:
        run(command, model, *arguments)
    assert message in refused.value.code
    assert "\n" not in refused.value.code
    assert not (tmp_path / "pictures").exists()


def test_beams_and_sampling_exclude_each_other(run, capsys):
    with pytest.raises(SystemExit):
        run("decoding", "nowhere", "--text", "a", "--do_sample", "--num_beams", 2)
    assert "--num_beams: not allowed with argument --do_sample" in capsys.readouterr().err


def test_curves_of_several_runs_have_a_picture(tmp_path, capsys):
    folders = [save_run(tmp_path / "a", eval_loss=2.0), save_run(tmp_path / "b", eval_loss=1.0)]
    show.main(["curves", *folders, "--output_dir", str(tmp_path / "pictures")])
    path = tmp_path / "pictures" / "learning_curves.png"
    assert capsys.readouterr().out == f"{path}\n"
    assert_picture(path, colours=10)


@pytest.mark.parametrize("command", ["curves", "comparison"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        b"{}",
        '{"ç": 1}'.encode("latin-1"),
        b'{"test": {"model": {"accuracy": "high"}}, "training": [{"step": "first"}]}',
        b'{"test": [1], "training": [{"eval_loss": 1.0}]}',
    ],
    ids=lambda content: content[:30].decode("latin-1") or "empty",
)
def test_damaged_metrics_are_named_in_one_line(tmp_path, command, content):
    (tmp_path / "metrics.json").write_bytes(content)
    with pytest.raises(SystemExit, match=rf"^{tmp_path}/metrics\.json (is damaged|has no)") as refused:
        show.main([command, str(tmp_path)])
    assert "\n" not in refused.value.code


def test_a_text_that_names_a_file_is_pointed_out(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.txt").touch()
    with pytest.raises(SystemExit):
        show.main(["masks", "--model", "./nowhere", "--text", "ação", "ca.txt"])
    assert "warning: --text 'ca.txt': there is a file of this name" in capsys.readouterr().err


def test_the_comparison_has_each_model_and_each_distinct_baseline(tmp_path, capsys):
    def scores(baseline, model):
        return {"most frequent label": {"accuracy": baseline}, "model": {"accuracy": model}}

    same, other = scores(0.25, 0.5), scores(0.125, 1.0)
    folders = [save_run(tmp_path / name, one) for name, one in (("a", same), ("b", same), ("c", other))]
    show.main(["comparison", *folders])
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.strip() == "accuracy"
    assert {line[:-6].strip(): line[-6:] for line in lines} == {
        "most frequent label": "0.2500",
        f"{folders[0]}: model": "0.5000",
        f"{folders[1]}: model": "0.5000",
        f"{folders[2]}: most frequent label": "0.1250",
        f"{folders[2]}: model": "1.0000",
    }
