"""Maps of attention: what they hold, and what is drawn and can be read."""

import itertools

import numpy as np
import pytest
import torch

from atenta import AtentaTokenizer
from atenta.modeling import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes.pictures.attention import AttentionMap, attention_maps, draw_attention, draw_heads
from atenta.recipes.pictures.watching import watch_attention
from support.models import tiny_model

TEXT = "O coração de São Paulo não é só a Avenida Paulista, é a Sé."


def random_map(queries=TEXT, keys=TEXT, heads=3):
    weights = torch.rand(2, heads, len(queries), len(keys), generator=torch.Generator().manual_seed(0)).softmax(-1)
    return AttentionMap(name="cross-attention", weights=weights, query_labels=[*queries], key_labels=[*keys])


def drawn(axes):
    return axes.get_images()[0].get_array()


def test_a_decoder_has_one_map_whose_labels_are_its_characters():
    tokenizer = AtentaTokenizer.from_texts(["é um"], family="decoder")
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer))
    (attention,) = attention_maps(model, tokenizer, "é um")
    assert attention.name == "self-attention"
    assert attention.query_labels == attention.key_labels == ["⟨bos⟩", "é", "␣", "u", "m"]
    assert attention.weights.shape == (2, 4, 5, 5)
    assert not attention.weights.triu(1).any()


def test_an_encoder_decoder_has_three_maps():
    tokenizer = AtentaTokenizer.from_texts(["açãoc"], family="encoder-decoder")
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration, vocab_size=len(tokenizer))
    maps = {one.name: one for one in attention_maps(model, tokenizer, "acao", target="ação")}
    source, target = ["a", "c", "a", "o", "⟨eos⟩"], ["⟨bos⟩", "a", "ç", "ã", "o"]
    assert {name: (one.query_labels, one.key_labels) for name, one in maps.items()} == {
        "encoder self-attention": (source, source),
        "decoder self-attention": (target, target),
        "cross-attention": (target, source),
    }
    *_, cross = watch_attention(model, tokenizer, ["acao"], ["ação"])
    assert torch.equal(maps["cross-attention"].weights, cross.weights[0])


def test_one_head_is_drawn_with_queries_on_rows_and_keys_on_columns():
    attention = random_map("ação", "a cao")
    figure = draw_attention(attention, 1, -1)
    axes, bar = figure.axes
    np.testing.assert_array_equal(drawn(axes), attention.weights[1, 2].numpy())
    assert [label.get_text() for label in axes.get_yticklabels()] == [*"ação"]
    assert [label.get_text() for label in axes.get_xticklabels()] == [*"a cao"]
    assert figure.get_suptitle() == "cross-attention, layer 1, head 2"
    assert bar.get_ylabel() == "attention weight"


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
    """Pairs of neighbours whose boxes meet."""
    boxes = [(label.get_text(), label.get_window_extent()) for label in labels if label.get_text()]
    return [(first, second) for (first, a), (second, b) in itertools.pairwise(boxes) if a.overlaps(b)]


@pytest.mark.parametrize("times", [1, 3], ids=["60 characters", "180 characters"])
def test_no_label_touches_its_neighbour(times):
    figure = draw_heads(random_map(TEXT * times, "⟨bos⟩".join([TEXT] * times), heads=2), 0)
    figure.draw_without_rendering()
    for axes in figure.axes[:2]:
        assert not overlapping(axes.get_xticklabels())
        assert not overlapping(axes.get_yticklabels())


@pytest.mark.parametrize(("layer", "head", "missing"), [(2, 0, "layer 2"), (-3, 0, "layer -3"), (0, 3, "head 3")])
def test_a_layer_or_head_that_is_not_there_is_named(layer, head, missing):
    with pytest.raises(IndexError, match=f"cross-attention has no {missing}: expected 0 to"):
        draw_attention(random_map(), layer, head)
