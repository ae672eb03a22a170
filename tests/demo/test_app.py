"""The Gradio app, through its functions and its client."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from gradio_client import Client

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    load_engine,
    restore_accents,
    restore_text,
)
from atenta.restoration.portuguese import MODEL_FOLDER
from support.saved import save_with_tokenizer

APP = Path(__file__).parents[2] / "demo" / "app.py"


@pytest.fixture(scope="module")
def app():
    return SimpleNamespace(**runpy.run_path(str(APP)))


def ask(page, name, *inputs):
    """Serve a page, and return all that a client of it receives for inputs."""
    page.launch(prevent_thread_lock=True, quiet=True)
    try:
        client = Client(page.local_url, verbose=False, analytics_enabled=False)
        job = client.submit(*inputs, api_name=f"/{name}")
        return list(job) or [job.result()]  # what is not streamed comes once
    finally:
        page.close()


@pytest.mark.parametrize("separator", ["", "\n"])
def test_a_decoder_continues_a_prompt(app, tmp_path, separator):
    saved = {"text-generation": {"separator": separator}}
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path, task_specific_params=saved)
    prompt = f"a casa{separator}"
    received = ask(app.make_page(tmp_path), "generate", "a casa", 8, 0, 1)
    assert received[0] == prompt
    assert len(received) > 1
    new = load_engine(tmp_path).stream(prompt, max_new_tokens=8)
    assert received[-1] == prompt + "".join(new)


def test_a_tagger_of_characters_restores(app):
    ((restored, marked),) = ask(app.make_page(MODEL_FOLDER), "restore", "Vovo chegou.", 0)
    assert restored == restore_accents("Vovo chegou.")
    assert "".join(piece["token"] for piece in marked) == restored
    assert any((piece["class_or_confidence"] or "").endswith("%") for piece in marked)
    assert app.mark_doubtful("avó", [1.0, 0.99, 0.614]) == [("av", None), ("ó", "61 %")]


def test_a_tagger_of_signs_shows_what_each_character_becomes(app, speech):
    text = "voce vem amanha nao sei"
    ((restored, marked),) = ask(app.make_page(speech), "restore", text, 0)
    assert restored == restore_text(text)
    assert "".join(piece["token"] for piece in marked) == restored


def test_a_tagger_of_words_tags_each_word(app, tmp_path):
    tags = {0: "O", 1: "B-PER", 2: "I-PER"}
    save_with_tokenizer(AtentaEncoderForTokenClassification, tmp_path, num_labels=3, id2label=tags)
    (marked,) = ask(app.make_page(tmp_path), "tag", "Maria da Silva foi")
    assert "".join(piece["token"] for piece in marked).split() == ["Maria", "da", "Silva", "foi"]
    words, tags = ["Ana", "Lima", "Rui", "foi", "a"], ["B-PER", "I-PER", "B-PER", "O", "O"]
    assert app.mark_tags(words, tags) == [("Ana Lima ", "PER"), ("Rui ", "PER"), ("foi a ", None)]  # entities are one


def test_errors_are_one_line(app, tmp_path, monkeypatch):
    save_with_tokenizer(AtentaEncoderModel, tmp_path / "encoder")
    for name, message in (
        ("encoder", "has a model of AtentaEncoderModel, of the kind feature-extraction"),
        ("none", "has no config.json"),
    ):
        monkeypatch.setattr(sys, "argv", ["app.py", str(tmp_path / name)])
        with pytest.raises(SystemExit) as refused:
            app.main()
        assert refused.value.code.startswith(f"{tmp_path / name} {message}")
        assert "\n" not in refused.value.code


def test_without_gradio_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gradio", None)  # an import of it fails
    with pytest.raises(SystemExit, match=r'gradio: pip install "atenta\[demo\]"'):
        runpy.run_path(str(APP))
