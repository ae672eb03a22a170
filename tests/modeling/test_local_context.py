"""Hashed n-grams and the short convolution of an encoder: what they see, and that padding changes nothing."""

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from atenta import AtentaEncoderForMaskedLM, AtentaEncoderForTokenClassification, AtentaEncoderModel
from support.models import double_model

SIZES = [1, 2, 3]
OPTIONS = {"ngram_sizes": SIZES, "ngram_buckets": 50, "conv_kernel_size": 5}


def ids(*shape):
    return torch.randint(3, 40, shape, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_an_ngram_is_the_tokens_that_end_at_a_position():
    ngrams = double_model(AtentaEncoderModel, **OPTIONS).ngrams
    one = ids(1, 12)
    other = one.clone()
    other[0, 4] += 1
    same = (ngrams(one) == ngrams(other)).all(-1)[0]
    assert same.tolist() == [not 4 <= place < 4 + max(SIZES) for place in range(12)]


@torch.no_grad()
def test_each_size_has_vectors_of_its_own():
    ngrams = double_model(AtentaEncoderModel, **OPTIONS).ngrams
    assert ngrams.table.weight.shape[0] == len(SIZES) * OPTIONS["ngram_buckets"]
    torch.nn.init.zeros_(ngrams.table.weight)
    ngrams.table.weight[: OPTIONS["ngram_buckets"]] = torch.randn(OPTIONS["ngram_buckets"], 1).double()
    text = ids(1, 6)
    vectors, reverse = ngrams(text), ngrams(text.flip(1)).flip(1)
    assert torch.equal(vectors, reverse)  # only single tokens have vectors now, which have no order


@torch.no_grad()
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side):
    model = double_model(AtentaEncoderModel, position_embedding_type="rotary", **OPTIONS)
    text, padding = ids(2, 9), torch.zeros(2, 4, dtype=torch.long)
    parts = [padding, text] if side == "left" else [text, padding]
    padded = torch.cat(parts, 1)
    places = slice(4, None) if side == "left" else slice(0, 9)
    output = model(padded, attention_mask=(padded != 0).long()).last_hidden_state[:, places]
    torch.testing.assert_close(output, model(text).last_hidden_state)


@torch.no_grad()
def test_embeddings_of_the_caller_have_no_ngrams():
    model = double_model(AtentaEncoderModel, **OPTIONS)
    text = ids(1, 7)
    tokens = model.get_input_embeddings()(text)
    with_ngrams = tokens + model.ngrams(text)
    torch.testing.assert_close(model(inputs_embeds=with_ngrams).last_hidden_state, model(text).last_hidden_state)


def test_every_new_weight_is_trained():
    model = double_model(AtentaEncoderForMaskedLM, **OPTIONS).train()
    text = ids(2, 9)
    model(text, labels=text).loss.backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.model.ngrams.parameters())
    assert all(parameter.grad is not None for parameter in model.model.convolution.parameters())


def test_saved_and_loaded(tmp_path):
    model = double_model(AtentaEncoderForTokenClassification, **OPTIONS)
    model.save_pretrained(tmp_path)
    loaded = AtentaEncoderForTokenClassification.from_pretrained(tmp_path, dtype=torch.float64)
    text = ids(2, 9)
    with torch.no_grad():
        assert torch.equal(loaded(text).logits, model(text).logits)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"ngram_sizes": [0, 2]}, "ngram_sizes"),
        ({"ngram_sizes": [2, 2]}, "ngram_sizes"),
        ({"ngram_buckets": 0, "ngram_sizes": [2]}, "ngram_buckets"),
        ({"conv_kernel_size": 4}, "conv_kernel_size"),
        ({"num_words": -1}, "num_words"),
    ],
)
def test_wrong_options_are_named(options, named):
    with pytest.raises(StrictDataclassError, match=named):
        double_model(AtentaEncoderModel, **options)
