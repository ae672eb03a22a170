"""The demo's page with the models of the package and a tiny encoder-decoder, in Debian's Chromium."""

import os
import runpy
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from atenta import AtentaEncoderDecoderForConditionalGeneration, Spellings
from atenta.engines.onnx_export import export_onnx
from atenta.phonemization.portuguese_words import PHONES_FOLDER
from atenta.phonemization.readings import save_readings
from atenta.restoration import portuguese
from atenta.restoration.character_codes import base_characters
from support.phones import make_letter_tagger
from support.saved import save_with_tokenizer
from support.served import serve
from support.taggers import make_restorer

DEMO = Path(__file__).parents[2] / "demo"
PICTURES = os.environ.get("DEMO_PICTURES")  # a folder, for people who want to look
SIGNS = [",", ".", "?", "!", ":", ";"]
LETTERS = {each: [each, each.upper()] for each in "bdfghijklmnpqrstuvwxyz"}
VOWELS = {"a": [*"aAáàâãÁÀÂÃ"], "e": [*"eEéêÉÊ"], "o": [*"oOóôõÓÔÕ"], "c": [*"cCçÇ"], "A": ["A", "Á"]}
WITH_SIGNS = {each: [each, *(sign + each for sign in SIGNS)] for each in " \n"}

expect.set_options(timeout=60_000)  # milliseconds, not 5,000: a busy machine loads a model in more


@pytest.fixture(scope="session")
def translator(tmp_path_factory):
    """The folder of an encoder-decoder with random weights."""
    folder = tmp_path_factory.mktemp("encoder_decoder")
    options = {
        "position_embedding_type": "rotary",
        "norm_first": True,
        "rotary_cross_attention": True,
        "encoder_layers": 1,
    }
    model = save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, folder, **options)
    model.generation_config.max_length = 24
    model.generation_config.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def phones(tmp_path_factory):
    """The folder of the package's model of phones; in a clone that has none yet, of one with random weights."""
    if (PHONES_FOLDER / "config.json").is_file():
        return PHONES_FOLDER
    folder = tmp_path_factory.mktemp("phones")
    make_letter_tagger().save_pretrained(folder)
    save_readings(folder, iter([("br", "sede", []), ("pt", "sede", ["s e d ə", "s ɛ d ə"]), ("br", "de", ["d ʒ e"])]))
    return _export(folder)


@pytest.fixture(scope="session")
def speech(tmp_path_factory):
    """The folder of the model of `restore_text`; in a clone that has none yet, of one with random weights."""
    if (portuguese.SPEECH_FOLDER / "config.json").is_file():
        yield portuguese.SPEECH_FOLDER
        return
    folder = tmp_path_factory.mktemp("speech")
    variants = {**WITH_SIGNS, **VOWELS, **LETTERS}
    listed = {"joao": ("João",), "nao": ("não",), "voce": ("você", "Você"), "ana": ("Ana",), "esta": ("está", "esta")}
    spellings = Spellings(base_characters(variants), listed)
    make_restorer(200, spellings, variants, initializer_range=0.5).save_pretrained(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portuguese, "SPEECH_FOLDER", _export(folder))
        yield folder


def _export(folder):
    export_onnx(folder)
    onnx = folder / "onnx"
    (onnx / "model.onnx").rename(onnx / "model_int8.onnx")  # in float32: only its name is asked for
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory, translator, phones, speech):
    """The folder of the page."""
    if not (DEMO / "node_modules").is_dir():
        pytest.skip("onnxruntime-web is not there: npm ci --prefix demo")
    folder = tmp_path_factory.mktemp("site") / "page"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(DEMO), *sys.path])
        runpy.run_path(str(DEMO / "build.py"))["build_site"](folder, translator, phones, speech)
    return folder


@pytest.fixture(scope="session")
def address(site):
    """The address at which this machine serves the page."""
    with serve(site) as address:
        yield address


@pytest.fixture
def open_file(browser, address):
    """Return a function that opens a file of the page's folder; options are those of a context.

    Nothing opened may ask another server for anything, or write a warning or an error to its console.
    """
    contexts, elsewhere, messages = [], [], []

    def note_request(request):
        if not request.url.startswith((address, "data:", "blob:")):
            elsewhere.append(request.url)

    def note_message(message):
        if message.type in ("error", "warning"):
            messages.append(message.text)

    def open_in_context(file, **options):
        context = browser.new_context(**{"locale": "en", "viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        context.route("**/favicon.ico", lambda route: route.fulfill(status=204))  # asked for where no page names one
        context.on("request", note_request)
        context.on("console", note_message)
        context.on("weberror", lambda error: messages.append(str(error.error)))
        page = context.new_page()
        page.goto(address + file)
        return page

    yield open_in_context
    for context in contexts:
        context.close()
    assert elsewhere == []
    assert messages == []


@pytest.fixture
def open_page(open_file):
    """Return a function that opens the page and waits for its first answer; options are those of a context."""

    def open_and_wait(**options):
        page = open_file("", **options)
        expect(page.locator("#restored")).to_contain_text("há três")
        return page

    return open_and_wait


@pytest.fixture
def run_script(open_file):
    """A function that runs a script beside the page's modules, which it imports, and returns what it returns."""
    return open_file("mistakes.json").evaluate


@pytest.fixture
def keep_picture():
    """Return a function that keeps a picture of the whole page, if `DEMO_PICTURES` names a folder."""

    def keep(page, name):
        if PICTURES:
            page.screenshot(path=Path(PICTURES, f"{name}.png"), full_page=True)

    return keep
