"""Tests of attention: what is recorded, the pictures of weights and masks, and the HTML page."""

import copy
import itertools
import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderModel,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderModel,
    AtentaTokenizer,
)
from atenta.recipes.pictures.attention_maps import (
    MASK_COLOURS,
    AttentionMap,
    attention_maps,
    draw_attention,
    draw_heads,
    draw_masks,
    show_attention_page,
    watch_attention,
    write_attention_page,
)
from support.models import assert_close, named, tiny_model
from support.saved import tokenizer_of

TEXTS = ["casa", "o rei"]
every_family = pytest.mark.parametrize(
    "model_class", named([AtentaEncoderModel, AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration])
)

LONG_TEXT = "O coração de São Paulo não é só a Avenida Paulista, é a Sé."
HOSTILE = "</script><script>alert(1)</script><!--<b>&amp;\"'"
MASK_SIGNS = {"visible": "#", "hidden: padding": "_", "hidden: a later character": "."}


def make(model_class, text="casa o rei"):
    tokenizer = tokenizer_of(model_class, [text])
    return tiny_model(model_class, vocab_size=len(tokenizer)), tokenizer


def recorded_by_transformers(model, inputs):
    """Return the weights that transformers records, by our names, from a copy, because its hooks stay."""
    model = copy.deepcopy(model)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    if not model.config.is_encoder_decoder:
        return {"self-attention": output.attentions}
    return {
        "encoder self-attention": output.encoder_attentions,
        "decoder self-attention": output.decoder_attentions,
        "cross-attention": output.cross_attentions,
    }


@every_family
def test_the_weights_are_those_that_transformers_records(model_class):
    model, tokenizer = make(model_class)
    targets = ["rei", "casa"] if model.config.is_encoder_decoder else None
    watched = watch_attention(model, tokenizer, TEXTS, targets)
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    if targets:
        labels = tokenizer(targets, padding=True, return_tensors="pt").input_ids
        inputs["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels)
    expected = recorded_by_transformers(model, inputs)
    assert [one.name for one in watched] == list(expected)
    for one in watched:
        assert_close(one.weights, torch.stack(expected[one.name], dim=1))
        assert one.weights.shape[-2:] == (one.query_ids.shape[1], one.key_ids.shape[1])
        assert one.query_ids.shape[2] == one.key_ids.shape[2] == 1
        # Padding before a text sees nothing, so its weights mean nothing.
        hidden = ~one.visible & one.visible.any(-1, keepdim=True)
        assert not one.weights[hidden[:, None, None].expand_as(one.weights)].any()


@every_family
def test_the_model_is_left_unchanged_also_by_an_error(model_class, monkeypatch):
    model, tokenizer = make(model_class)
    model.train()
    hooks = {name: len(module._forward_hooks) for name, module in model.named_modules()}
    if model.config.is_encoder_decoder:
        model.generation_config.max_length = 7
    watch_attention(model, tokenizer, TEXTS)
    with pytest.raises(ValueError, match="target"):
        watch_attention(model, tokenizer, TEXTS, ["one", "too", "many"])
    monkeypatch.setattr(model, "forward", None)
    with pytest.raises(TypeError):
        watch_attention(model, tokenizer, TEXTS, TEXTS if model.config.is_encoder_decoder else None)
    assert model.training
    assert model.config._attn_implementation == "sdpa"
    assert {name: len(module._forward_hooks) for name, module in model.named_modules()} == hooks


def test_without_a_target_the_generated_one_is_read():
    model, tokenizer = make(AtentaEncoderDecoderForConditionalGeneration)
    model.generation_config.max_length = 7
    *_, cross = watch_attention(model, tokenizer, TEXTS[:1])
    written = model.generate(**tokenizer(TEXTS[:1], return_tensors="pt"))
    assert cross.query_ids.squeeze(2).tolist() == written[:, :-1].tolist()
    assert cross.key_ids.squeeze(2).tolist() == tokenizer(TEXTS[:1]).input_ids


def test_groups_of_characters_have_maps_of_their_own():
    tokenizer = AtentaTokenizer.from_texts(TEXTS, family="encoder")
    sizes = {"downsampling_rate": 4, "downsampling_layers": 3, "num_hidden_layers": 2}
    model = tiny_model(AtentaEncoderModel, vocab_size=len(tokenizer), **sizes)
    groups, characters = attention_maps(model, tokenizer, "casa o rei")  # 10 characters, <bos> and <eos>
    assert groups.name == "self-attention of groups"
    assert groups.query_labels == groups.key_labels == ["⟨bos⟩cas", "a␣o␣", "rei⟨eos⟩"]
    assert groups.weights.shape[::2] == (3, 3)
    assert_close(groups.weights.sum(-1), torch.ones_like(groups.weights[..., 0]))
    assert characters.name == "self-attention"
    assert characters.weights.shape[::2] == (2, 12)
    draw_masks(model, tokenizer, TEXTS)
    *_, last = attention_maps(model, tokenizer, "o")
    assert last.query_labels == ["⟨bos⟩", "o", "⟨eos⟩"]


@pytest.mark.parametrize(
    ("model_class", "targets", "message"),
    [
        (AtentaEncoderModel, ["rei", "rei"], "reads no target"),
        (AtentaEncoderDecoderForConditionalGeneration, ["rei"], r"1 target\(s\) were given for 2 text"),
        (AtentaEncoderDecoderModel, None, "cannot generate"),
    ],
)
def test_unsuitable_targets_are_refused(model_class, targets, message):
    with pytest.raises(ValueError, match=message):
        watch_attention(*make(model_class), TEXTS, targets)


def test_a_model_without_our_attention_is_refused():
    with pytest.raises(ValueError, match="Linear has no attention layers of atenta"):
        watch_attention(torch.nn.Linear(1, 1), None, TEXTS)


def test_an_encoder_decoder_has_three_maps():
    model, tokenizer = make(AtentaEncoderDecoderForConditionalGeneration, "açãoc")
    maps = {one.name: one for one in attention_maps(model, tokenizer, "acao", target="ação")}
    source, target = ["a", "c", "a", "o", "⟨eos⟩"], ["⟨bos⟩", "a", "ç", "ã", "o"]
    assert {name: (one.query_labels, one.key_labels) for name, one in maps.items()} == {
        "encoder self-attention": (source, source),
        "decoder self-attention": (target, target),
        "cross-attention": (target, source),
    }
    *_, cross = watch_attention(model, tokenizer, ["acao"], ["ação"])
    assert torch.equal(maps["cross-attention"].weights, cross.weights[0])


def random_map(queries, keys, heads=3):
    weights = torch.rand(2, heads, len(queries), len(keys), generator=torch.Generator().manual_seed(0)).softmax(-1)
    return AttentionMap(name="cross-attention", weights=weights, query_labels=[*queries], key_labels=[*keys])


def drawn(axes):
    return axes.get_images()[0].get_array()


def test_one_head_is_drawn_with_queries_on_rows_and_keys_on_columns():
    attention = random_map("ação", "a cao")
    figure = draw_attention(attention, 1, -1)
    axes, bar = figure.axes
    np.testing.assert_array_equal(drawn(axes), attention.weights[1, 2].numpy())
    assert [label.get_text() for label in axes.get_yticklabels()] == [*"ação"]
    assert [label.get_text() for label in axes.get_xticklabels()] == [*"a cao"]
    assert figure.get_suptitle() == "cross-attention, layer 1, head 2"
    assert bar.get_ylabel() == "attention weight\n(square-root scale)"


def test_all_heads_of_a_layer_share_one_scale():
    attention = random_map("ab", "cd")
    figure = draw_heads(attention, 0)
    *panels, _ = figure.axes
    assert [axes.get_title() for axes in panels] == ["head 0", "head 1", "head 2"]
    for axes, weights in zip(panels, attention.weights[0]):
        np.testing.assert_array_equal(drawn(axes), weights.numpy())
        assert axes.get_images()[0].get_clim() == (0, 1)
    assert figure.get_suptitle() == "cross-attention, layer 0"


def overlapping(labels):
    """Return the pairs of neighbouring labels whose boxes overlap."""
    boxes = [(label.get_text(), label.get_window_extent()) for label in labels if label.get_text()]
    return [(first, second) for (first, a), (second, b) in itertools.pairwise(boxes) if a.overlaps(b)]


def test_labels_do_not_overlap():
    figure = draw_heads(random_map(LONG_TEXT, [*LONG_TEXT, "⟨eos⟩", "⟨pad⟩", *LONG_TEXT], heads=2), 0)
    figure.draw_without_rendering()
    for axes in figure.axes[:2]:
        assert not overlapping(axes.get_xticklabels())
        assert not overlapping(axes.get_yticklabels())


@pytest.mark.parametrize(("layer", "head", "missing"), [(-3, 0, "layer -3"), (0, 3, "head 3")])
def test_a_missing_layer_or_head_is_named(layer, head, missing):
    with pytest.raises(IndexError, match=f"cross-attention has no {missing}; expected 0 to"):
        draw_attention(random_map("a", "b"), layer, head)


@pytest.mark.parametrize(
    ("model_class", "targets", "expected"),
    [
        (AtentaEncoderModel, None, [("self-attention", ["###__"] * 5), ("self-attention", ["#####"] * 5)]),
        (
            AtentaDecoderModel,  # padded on the left
            None,
            [
                ("self-attention", ["__..", "__..", "__#.", "__##"]),
                ("self-attention", ["#...", "##..", "###.", "####"]),
            ],
        ),
        (
            AtentaEncoderDecoderModel,
            ["abc", "a"],
            [
                ("encoder self-attention", ["##__"] * 4),
                ("decoder self-attention", ["#...", "##..", "###.", "####"]),
                ("cross-attention", ["##__"] * 4),
                ("encoder self-attention", ["####"] * 4),
                ("decoder self-attention", ["#.._", "##._", "###_", "####"]),
                ("cross-attention", ["####"] * 4),
            ],
        ),
    ],
)
def test_masks_hide_padding_and_for_decoders_later_characters(model_class, targets, expected):
    figure = draw_masks(*make(model_class, "abc"), ["a", "abc"], targets)
    signs = [MASK_SIGNS[name] for name in MASK_COLOURS]
    assert expected == [
        (axes.get_title(), ["".join(signs[cell] for cell in row) for row in drawn(axes)]) for axes in figure.axes
    ]


def test_each_row_has_its_text_as_title():
    figure = draw_masks(*make(AtentaDecoderModel, "c$_"), ["c", "$_$"])
    figure.draw_without_rendering()  # fails for a title that is read as a malformed formula
    assert [axes.get_title(loc="left").strip() for axes in figure.axes] == ["“c”", "“$_$”"]


class Page(HTMLParser):
    """The elements of a page, and the text of each script."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.scripts = [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] == "script":
            self.scripts[-1] += data


def test_the_page_contains_the_maps_and_loads_nothing(tmp_path):
    maps = [random_map([HOSTILE], "␣<>é"), replace(random_map([*HOSTILE], "ab"), name=HOSTILE)]
    path = write_attention_page(tmp_path / "new" / "attention.html", maps)
    page = Page(path)
    scripts = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert scripts == ["application/json", None]  # no text ends the script that contains it
    first, second = json.loads(page.scripts[0])
    assert (first["name"], first["queries"], first["keys"]) == ("cross-attention", [HOSTILE], ["␣", *"<>é"])
    assert (second["name"], second["queries"]) == (HOSTILE, [*HOSTILE])
    assert_close(torch.tensor(first["weights"]), maps[0].weights, tolerance=0.6e-4)
    assert max(len(str(weight)) for row in first["weights"][0][0] for weight in row) <= len("0.1234")
    links = [value for _, names in page.elements for name, value in names.items() if name in ("src", "href")]
    assert links == ["data:,"]  # an empty icon, so that no icon is requested
    assert "http" not in path.read_text(encoding="utf-8")


SITE = """<!DOCTYPE html><meta name=viewport content="width=device-width">
<style>body { color: black; background: white } body[data-theme=dark] { color: white; background: black }</style>
<body><div class="output">{}</div><p>After</p></body>"""


@pytest.fixture
def framed(browser, portuguese):
    """The page in Portuguese in a notebook's cell, at the width of a phone, and what it requests from the network."""
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_content(
        SITE.replace("{}", show_attention_page([random_map("ação", "a cao"), random_map("a", "b")])._repr_html_())
    )
    yield page, page.frames[1], requests
    page.close()


def test_a_notebook_shows_the_page_in_a_frame_that_fits_it(framed):
    page, frame, requests = framed
    assert page.locator("iframe").get_attribute("title") == "Mapas de atenção"
    for kind in "01":  # the second map is lower
        frame.select_option("#kind", kind)
        page.wait_for_function(
            "f => f.clientHeight === Math.ceil(f.contentDocument.documentElement.getBoundingClientRect().height)",
            arg=page.query_selector("iframe"),
        )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert frame.evaluate(ground) == "rgb(255, 255, 255)"  # as the text around it, although the system is dark
    page.evaluate("document.body.dataset.theme = 'dark'")
    frame.wait_for_function(f"{ground} !== 'rgb(255, 255, 255)'")
    assert not [url for url in requests if not url.startswith(("about:", "data:"))]


def test_the_page_speaks_portuguese(framed):
    _, frame, _ = framed
    assert frame.get_attribute("html", "lang") == "pt"
    assert frame.inner_text("h1") == "Mapas de atenção"
    weight = frame.evaluate("weights()[3][4]")
    frame.locator("#map").hover(position=frame.evaluate("({ x: left + 4.5 * size, y: above + 3.5 * size })"))
    assert frame.inner_text("#cell") == f"o (3) olha para o (4): {weight:.4f}".replace(".", ",")
