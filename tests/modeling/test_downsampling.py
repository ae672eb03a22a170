"""Blocks that read groups of characters: what they see. test_equalities.py has what must not change their answers."""

import pytest
import torch

from atenta import AtentaEncoderForTokenClassification, AtentaEncoderModel
from atenta.modeling.downsampling import DOWNSAMPLING_WINDOW
from support.models import GROUPS, assert_close, assert_equal, double_model, every_layout, pad, texts, tiny_model

OPTIONS = GROUPS | {"num_hidden_layers": 1, "num_labels": 5}
LENGTHS = [13, 8, 5, 3, 1]  # most are no multiples of the rate


def tagger(make=double_model, **options):
    return make(AtentaEncoderForTokenClassification, **OPTIONS | options)


@torch.no_grad()
def test_what_is_mixed_and_what_a_group_is():
    """Without the deep blocks, a character reaches its neighbours, and then all characters of their groups."""
    branch = double_model(AtentaEncoderModel, norm_first=True, **OPTIONS).downsampling
    states = torch.randn(1, 16, 32, dtype=torch.double)
    other = states.clone()
    other[0, 6] += 1
    reach = DOWNSAMPLING_WINDOW // 2
    mask = torch.ones(1, 16, dtype=torch.long)
    mixed = [branch._mix_neighbours(each, mask) for each in (states, other)]
    assert (mixed[0] != mixed[1]).any(-1)[0].nonzero().flatten().tolist() == list(range(6 - reach, 6 + reach + 1))
    branch.blocks = torch.nn.ModuleList()
    spread = [branch._read_groups(each, mask) for each in (states, other)]
    assert (spread[0] != spread[1]).any(-1)[0].nonzero().flatten().tolist() == [4, 5, 6, 7]


@torch.no_grad()
def test_all_characters_are_seen_from_anywhere_and_the_order_of_groups_too():
    model, ids = tagger(position_embedding_type="rotary", norm_first=True), texts(1, 13)
    model.model.layers = torch.nn.ModuleList()  # so that only groups are read
    logits = model(ids).logits
    for place in (0, 6, 12):
        other = ids.clone()
        other[0, place] = 3 + (other[0, place] + 1) % 30
        assert ((model(other).logits - logits).abs().amax(-1) > 1e-9).all()
    ids = texts(1, 24)
    swapped = torch.cat([ids[:, 12:16], ids[:, 4:12], ids[:, :4], ids[:, 16:]], dim=1)
    assert (model(swapped).logits - model(ids).logits)[:, 18:].abs().max() > 1e-6  # whose neighbours are the same


def test_a_mask_of_pairs_is_refused():
    model, (ids, mask) = tagger(), pad(texts(2, 9), [9, 6], "right")
    with pytest.raises(ValueError, match=r"attention_mask has 4 dimensions; expected .*downsampling_rate"):
        model(ids, attention_mask=mask[:, None, None, :].expand(-1, -1, 9, -1).bool())


@every_layout
def test_embeddings_of_the_caller_and_what_is_recorded(layout):
    """Only blocks that read characters are recorded; the first state is what they read."""
    model, ids = double_model(AtentaEncoderModel, attn_implementation="eager", **layout, **OPTIONS), texts(2, 9)
    outputs = model(ids, output_hidden_states=True, output_attentions=True)
    assert [tuple(each.shape) for each in outputs.hidden_states] == [(2, 9, 32)] * 2
    assert [tuple(each.shape) for each in outputs.attentions] == [(2, 4, 9, 9)]
    assert_equal(outputs.hidden_states[-1], outputs.last_hidden_state)
    embedded = model(inputs_embeds=model.get_input_embeddings()(ids)).last_hidden_state
    assert_equal(embedded, outputs.last_hidden_state)


def test_bfloat16_is_close_and_trains():
    model = tagger(tiny_model, position_embedding_type="rotary", norm_first=True).train()
    ids, mask = pad(texts(5, 13), LENGTHS, "right")
    exact = model(ids, attention_mask=mask).logits
    with torch.autocast("cpu", torch.bfloat16):
        outputs = model(ids, attention_mask=mask, labels=ids % 5)
    outputs.loss.backward()
    assert (outputs.logits - exact)[mask.bool()].abs().mean() < 0.05 * exact.std()
    assert all(each.grad.isfinite().all() for each in model.parameters())
    rounded = tagger(tiny_model).bfloat16()(ids, attention_mask=mask).logits
    assert rounded.dtype == torch.bfloat16
    assert rounded.isfinite().all()


@torch.no_grad()
def test_the_attention_of_all_blocks_is_chosen_together():
    sizes = {"hidden_size": 64, "downsampling_size": 32}  # flex attention takes no narrower heads
    model, (ids, mask) = tagger(position_embedding_type="rotary", **sizes), pad(texts(5, 13), LENGTHS, "left")
    expected = model(ids, attention_mask=mask).logits[mask.bool()]
    for chosen in ("eager", "flex_attention"):  # compilation, which takes half a minute, is turned off
        model.set_attn_implementation(chosen)
        with torch.compiler.set_stance("force_eager"):
            assert_equal(model(ids, attention_mask=mask).logits[mask.bool()], expected)


def one_block_each(**options):
    return tagger(downsampling_layers=1, position_embedding_type="rotary", norm_first=True, **options)


@pytest.mark.slow
def test_training_is_one_graph():
    """For a length that is divisible by the rate and one that is not."""
    torch.compiler.reset()
    model = one_block_each().train()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    for length in (13, 16):
        ids, mask = pad(texts(2, length), [length, 6], "left")
        gradients = []
        for module in (model, compiled):
            model.zero_grad()
            module(ids, attention_mask=mask, labels=ids % 5).loss.backward()
            gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
        assert_close(*gradients)
    torch.compiler.reset()
