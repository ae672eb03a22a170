"""The encoder-decoder that the page computes: its logits and beams are the package's, and a reader steps through."""

import base64
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from atenta import AtentaEncoderDecoderConfig, AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer

DOCS = Path(__file__).parents[2] / "docs"
PAGE_DATA = runpy.run_path(str(DOCS / "page_data.py"))
LAB = '<div class="decoding-lab" data-text="minha avo"></div>'
SOURCE, TARGET = "minha avo", "minha av"
READ = """([saved, source, target]) => {
  const model = new AccentsModel(saved), ids = (text) => [...text].map((character) => model.id(character));
  const encoded = model.encode([...ids(source), model.id("<eos>")]);
  const { logits, self, cross } = model.decode([model.id("<bos>"), ...ids(target)], encoded.y);
  const numbers = (all) => all.map(({ data }) => [...data]);
  return { logits: [...logits.data], encoder: numbers(encoded.self), decoder: numbers(self), cross: numbers(cross) };
}"""
SEARCH = """([saved, source, width]) => {
  const model = new AccentsModel(saved), decoding = new Decoding(model, source);
  while (!decoding.isOver) decoding.follow(decoding.best(width, {}));
  return decoding.beams.map(({ ids, score }) => ({ ids, score }));
}"""


@pytest.fixture(scope="module")
def saved_model():
    """Return a random model with weights that 8 bits hold exactly, its tokenizer, and what the page reads of it."""
    torch.manual_seed(0)
    tokenizer = AtentaTokenizer.from_texts(["abcdefghijklmnopqrstuvwxyz àáâãçéêíóôõú"], family="encoder-decoder")
    config = AtentaEncoderDecoderConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_attention_heads=4, intermediate_size=24, encoder_layers=2,
        decoder_layers=3, norm_first=True, dropout=0.0, tie_word_embeddings=True, initializer_range=0.4,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.bos_token_id, attn_implementation="eager",
    )  # fmt: skip
    model = AtentaEncoderDecoderForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter += 0.1 * torch.randn_like(parameter)
            part = parameter[: tokenizer.convert_tokens_to_ids("<0x00>")] if "embed_tokens" in name else parameter
            matrix = part if part is not parameter or part.ndim == 1 else part.T  # torch multiplies from the left
            levels, scales = PAGE_DATA["quantize"](torch.atleast_2d(matrix))
            matrix.copy_((levels * scales).reshape(matrix.shape))
    return model, tokenizer, PAGE_DATA["page_weights"](model, tokenizer)


def test_logits_and_attention_are_those_of_torch(open_page, saved_model):
    model, tokenizer, saved = saved_model
    found = open_page("").evaluate(READ, [saved, SOURCE, TARGET])
    source, target = tokenizer([SOURCE, TARGET]).input_ids
    target = torch.tensor([[tokenizer.bos_token_id, *target[:-1]]])
    with torch.no_grad():
        read = model(input_ids=torch.tensor([source]), decoder_input_ids=target, output_attentions=True)
    assert saved["characters"] == tokenizer.convert_ids_to_tokens(range(len(saved["characters"])))
    expected = read.logits[0, -1, : len(saved["characters"])]
    np.testing.assert_allclose(found["logits"], expected, atol=1e-4)
    assert expected.std() > 0.5
    for name in ("encoder", "decoder", "cross"):
        maps = read.cross_attentions if name == "cross" else read[f"{name}_attentions"]
        for of_page, of_torch in zip(found[name], maps, strict=True):
            np.testing.assert_allclose(of_page, of_torch.flatten(), atol=1e-4, err_msg=name)


@pytest.mark.parametrize(("source", "first", "second"), [
    ("minha avo", "minha avó", "minha avô"), ("meu avo", "meu avô", "meu avó"), ("eles tem", "eles têm", "eles tem"),
])  # fmt: skip
def test_the_shipped_model_knows_what_is_around_a_word(open_page, source, first, second):
    page = open_page(LAB)
    page.locator("[data-act=next]").wait_for()
    saved = page.evaluate("() => ACCENTS_WEIGHTS")
    assert (DOCS / "_static" / "accents_weights.js").stat().st_size < 300_000
    for width, expected in ((1, [first]), (2, [first, second])):
        beams = page.evaluate(SEARCH, [saved, source, width])
        texts = ["".join(saved["characters"][each] for each in beam["ids"][1:-1]) for beam in beams]
        assert texts == expected
        assert sorted((beam["score"] for beam in beams), reverse=True) == [beam["score"] for beam in beams]


def test_the_scales_and_levels_of_a_matrix_are_within_half_a_step(saved_model):
    matrix = torch.randn(7, 3)
    levels, scales = PAGE_DATA["quantize"](matrix)
    assert levels.abs().max() == 127
    assert ((levels * scales - matrix).abs() <= scales / 2 * 1.001).all()
    packed = saved_model[2]["weights"]["headBias"]
    assert len(base64.b64decode(packed["levels"])) == packed["columns"] == len(saved_model[2]["characters"])


def shares(page, beam=0):
    """Return the letters of a beam's buttons and their bars, from 0 to 1."""
    letters = page.locator(".beam").nth(beam).locator(".letter")
    return letters.evaluate_all(
        """all => all.map((one) => [one.children[0].textContent,
          parseFloat(one.children[1].style.getPropertyValue("--share")) / 100])"""
    )


def test_a_reader_steps_chooses_another_letter_and_goes_back(open_page, reader):
    page = open_page(LAB, **reader)
    following, written = page.locator("[data-act=next]"), page.locator(".written").first
    for _ in range(8):
        following.press("Enter")
    expect(written).to_have_text("minha av▏")
    (best, p), (other, q), *_ = shares(page)
    assert (best, other) == ("ó", "ô")
    assert 1 > p > q > 0.05
    cells = page.locator(".maps figure").evaluate_all(
        """all => all.map((one) => [...one.querySelectorAll("rect:not(.last)")]
          .map((cell) => +cell.getAttribute("fill-opacity")))"""
    )
    encoder, decoder, cross = (np.array(each).reshape(size) for each, size in zip(cells, [(10, 10), (9, 9), (9, 10)]))
    for weights in (encoder, decoder, cross):
        np.testing.assert_allclose(weights.sum(-1), 1, atol=0.01)
    assert np.triu(decoder, 1).max() == 0
    assert np.triu(encoder, 1).max() > 0
    page.get_by_label("Cabeça" if reader["language"] == "pt-BR" else "Head").select_option("2")
    assert page.locator(".maps rect").first.get_attribute("fill-opacity") != f"{cells[0][0]:.3f}"

    page.locator(".letter").nth(1).press("Enter")
    expect(written).to_have_text("minha avô▏")
    page.keyboard.press("ArrowRight")
    expect(written).to_have_text("minha avô ⊣")
    expect(page.get_by_role("status")).to_contain_text("“minha avô”")
    page.keyboard.press("ArrowRight")  # nothing is left to do
    for _ in range(2):
        page.locator("[data-act=back]").click()
    expect(written).to_have_text("minha av▏")


@pytest.mark.parametrize("width", [390, 1280])
def test_two_beams_go_side_by_side(open_page, width):
    page = open_page(LAB, viewport={"width": width, "height": 900})
    page.get_by_role("button", name="two beams").click()
    expect(page.locator(".beam:visible")).to_have_count(1)
    page.get_by_role("button", name="to the end").click()
    expect(page.locator(".written").nth(0)).to_have_text("minha avó ⊣")
    expect(page.locator(".written").nth(1)).to_have_text("minha avô ⊣")
    left, right = (page.locator(".beam").nth(at).bounding_box() for at in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]
    page.get_by_label("Maps of beam").select_option("2")
    expect(page.get_by_role("status")).to_contain_text("“minha avô”")
    page.get_by_role("button", name="back").click()
    page.locator(".beam").nth(1).locator(".letter").nth(0).click()  # goes on with this beam alone
    expect(page.locator(".beam:visible")).to_have_count(1)
    expect(page.get_by_role("slider")).to_be_disabled()


def test_temperature_and_top_k_change_what_may_be_drawn(open_page):
    page = open_page(LAB)
    for _ in range(8):
        page.locator("[data-act=next]").click()
    before = dict(shares(page))
    page.get_by_role("slider").fill("2")
    flat = dict(shares(page))
    assert flat["ô"] > before["ô"]
    assert flat["ó"] / flat["ô"] == pytest.approx((before["ó"] / before["ô"]) ** 0.5, rel=1e-6)
    page.get_by_label("Top-k").select_option("2")
    kept = [p for _, p in shares(page)]
    assert sum(kept[:2]) == pytest.approx(1)
    assert kept[2:] == [0, 0, 0]
    expect(page.locator(".letter").nth(2)).to_be_disabled()
    page.get_by_label("Top-k").select_option("1")
    page.get_by_role("button", name="draw one").click()
    expect(page.locator(".written").first).to_have_text("minha avó▏")


def test_any_text_is_read_as_the_model_has_learned_or_asked_for(open_page):
    page = open_page(LAB)
    text, said = page.get_by_label("Text without accents"), page.get_by_role("status")
    text.fill("  Não, é FÁCIL! 12")
    expect(said).to_contain_text("“nao e facil”")
    text.fill("123 …")
    expect(said).to_have_text("Write a text.")
    page.locator("[data-act=next]").dispatch_event("click")  # nothing to do
    text.press("ArrowRight")  # moves the cursor, not the decoder
    text.fill("so")
    expect(page.locator(".written").first).to_have_text("▏")
    page.locator("[data-act=all]").click()
    expect(page.locator(".written").first).to_have_text("só ⊣")
