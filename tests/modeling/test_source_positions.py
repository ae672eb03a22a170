"""Where the decoder stands in the source: rotary cross-attention, and feature tags without a place."""

import json

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, DynamicCache, EncoderDecoderCache
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from atenta import AtentaEncoderDecoderConfig, AtentaEncoderDecoderForConditionalGeneration
from atenta.modeling.attention import MultiHeadAttention
from atenta.modeling.positions import RotaryPositions, source_positions
from support.models import assert_close, assert_equal, double_model, pad, texts, tiny_config

ROTARY = {"position_embedding_type": "rotary"}
TAGS = [30, 31, 32]


def rotary_model(**options):
    return double_model(AtentaEncoderDecoderForConditionalGeneration, **ROTARY, **options)


@torch.no_grad()
def logits(model, source, target, **options):
    return model(input_ids=source, decoder_input_ids=target, **options).logits


@torch.no_grad()
def test_rotary_cross_attention_is_llamas_rotation_of_queries_and_keys():
    config = tiny_config(AtentaEncoderDecoderConfig, attn_implementation="eager", **ROTARY)
    layer = MultiHeadAttention(config, layer_idx=0, is_causal=False).eval()
    target, source = torch.randn(2, 5, config.hidden_size), torch.randn(2, 7, config.hidden_size)
    places = torch.arange(5)[None], torch.tensor([[0, 0, 1, 2, 3, 4, 5]])
    ours = RotaryPositions(config)
    output, weights = layer(
        target,
        position_embeddings=ours(places[0], torch.float32),
        key_value_states=source,
        key_position_embeddings=ours(places[1], torch.float32),
    )
    llama = LlamaRotaryEmbedding(LlamaConfig(hidden_size=32, num_attention_heads=4))
    query, key = layer._split_heads(layer.q_proj(target)), layer._split_heads(layer.k_proj(source))
    query, key = (apply_rotary_pos_emb(each, each, *llama(each, at))[0] for each, at in zip((query, key), places))
    expected = (query @ key.mT * config.head_dim**-0.5).softmax(-1)
    assert_close(weights, expected)
    value = expected @ layer._split_heads(layer.v_proj(source))
    assert_close(output, layer.o_proj(value.transpose(1, 2).flatten(2)))


def test_only_the_distance_between_target_and_source_counts():
    model, source, target = rotary_model(), texts(3, 7, seed=3), texts()
    places = torch.arange(7)[None].expand(3, -1), torch.arange(9)[None].expand(3, -1)
    expected = logits(model, source, target)
    both = logits(model, source, target, position_ids=places[0] + 5, decoder_position_ids=places[1] + 5)
    assert_close(both, expected, 1e-6)  # angles are in float32
    one = logits(model, source, target, position_ids=places[0] + 5, decoder_position_ids=places[1])
    assert (one - expected).abs().max() > 1e-3


def test_the_default_and_saved_configurations_of_earlier_versions(tmp_path):
    assert AtentaEncoderDecoderConfig(**ROTARY).rotary_cross_attention
    assert not AtentaEncoderDecoderConfig().rotary_cross_attention
    model = rotary_model()
    model.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert saved.pop("rotary_cross_attention") is True
    (tmp_path / "config.json").write_text(json.dumps(saved), encoding="utf-8")
    source, target = texts(3, 7, seed=3), texts()
    earlier = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert earlier.config.rotary_cross_attention is False
    without = rotary_model(rotary_cross_attention=False)
    assert_equal(logits(earlier, source, target), logits(without, source, target))
    assert (logits(earlier, source, target) - logits(model, source, target)).abs().max() > 1e-3
    earlier.save_pretrained(tmp_path / "again")
    assert AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "again").config.rotary_cross_attention is False


# Feature tags


def test_tags_have_position_0_and_letters_count_from_1():
    ids = torch.tensor([[0, 31, 30, 5, 6, 2], [31, 7, 2, 0, 0, 0]])
    expected = [[0, 0, 0, 1, 2, 3], [0, 1, 2, 0, 0, 0]]
    assert source_positions(ids, ids != 0, ids, TAGS).tolist() == expected
    assert source_positions(ids, None, ids).tolist() == [[0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary"])
def test_the_order_of_tags_changes_nothing(kind):
    model = double_model(
        AtentaEncoderDecoderForConditionalGeneration, position_embedding_type=kind, tag_token_ids=TAGS
    )
    letters, target = texts(3, 5, seed=3, vocab_size=30), texts()
    one, other = (torch.cat([torch.tensor(tags).expand(3, -1), letters], 1) for tags in ([30, 31], [31, 30]))
    assert_equal(logits(model, one, target), logits(model, other, target))
    counted = double_model(AtentaEncoderDecoderForConditionalGeneration, position_embedding_type=kind)
    assert (logits(counted, one, target) - logits(counted, other, target)).abs().max() > 1e-3


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("search", [{}, {"num_beams": 3}, {"use_cache": False}, {"cache_implementation": "static"}])
def test_generation_knows_the_tags(side, search):
    model = rotary_model(tag_token_ids=TAGS)
    letters = torch.cat([torch.tensor([[30, 31], [31, 30], [32, 30]]), texts(3, 5, seed=3, vocab_size=30)], dim=1)
    source, mask = pad(letters, [4, 7, 3], side)
    generated = model.generate(input_ids=source, attention_mask=mask, max_new_tokens=6, min_new_tokens=6, **search)
    for row, length in zip(range(3), [4, 7, 3]):
        alone, num_beams = letters[row : row + 1, :length], search.get("num_beams", 1)
        limits = {"max_new_tokens": 6, "min_new_tokens": 6, "use_cache": False}
        expected = model.generate(alone, num_beams=num_beams, **limits)
        assert generated[row].tolist() == expected[0].tolist()


@pytest.mark.parametrize("pad_token_id", [2, None])
def test_what_is_no_padding_has_a_position_in_generation(pad_token_id):
    """Without a mask, as in transformers, where padding is `<eos>` or there is none."""
    model = rotary_model(tag_token_ids=TAGS, pad_token_id=pad_token_id)
    letters = [torch.tensor([[30], [31], [32]]), texts(3, 5, vocab_size=30), torch.full((3, 1), 2)]
    source = torch.cat(letters, dim=1)
    options = {"max_new_tokens": 6, "output_scores": True, "return_dict_in_generate": True}
    found, expected = (model.generate(source, **each, **options) for each in ({}, {"attention_mask": source > 0}))
    assert_equal(torch.stack(found.scores), torch.stack(expected.scores))


@pytest.mark.parametrize("tags", [(), TAGS])
def test_padding_is_hidden_in_generation_without_a_mask(tags):
    model = rotary_model(tag_token_ids=list(tags))
    source = torch.cat([torch.tensor([[30], [31], [32]]), texts(3, 5, seed=3, vocab_size=30)], dim=1)
    padded = torch.nn.functional.pad(source, (0, 4), value=model.config.pad_token_id)
    options = {"max_new_tokens": 6, "output_scores": True, "return_dict_in_generate": True}
    expected, found = (model.generate(each, **options) for each in (source, padded))
    assert_close(torch.stack(found.scores), torch.stack(expected.scores), 1e-10)


def test_without_ids_positions_are_needed():
    model, target = rotary_model(tag_token_ids=TAGS), texts()
    source = torch.cat([torch.tensor([[30], [31], [32]]), texts(3, 5, seed=3, vocab_size=30)], dim=1)
    embedded = model.get_encoder().embeddings.embed_tokens(source)
    encoded = model.get_encoder()(input_ids=source)
    places = torch.arange(6)[None].expand(3, -1)
    expected = logits(model, source, target)
    for inputs in ({"inputs_embeds": embedded}, {"encoder_outputs": encoded}):
        with pytest.raises(ValueError, match="neither input_ids nor position_ids"):
            model(**inputs, decoder_input_ids=target)
        with torch.no_grad():
            assert_equal(model(**inputs, position_ids=places, decoder_input_ids=target).logits, expected)
    cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
    with torch.no_grad():
        model(input_ids=source, decoder_input_ids=target[:, :4], past_key_values=cache)
        later = model(encoder_outputs=encoded, decoder_input_ids=target[:, 4:], past_key_values=cache).logits
    assert_equal(later, expected[:, 4:])  # the keys of the source are in the cache
