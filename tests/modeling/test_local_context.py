"""N-grams and the short convolution of an encoder: what they see, and that padding changes nothing."""

import pytest
import torch

from atenta import AtentaEncoderForMaskedLM, AtentaEncoderModel
from support.models import assert_equal, double_model, pad, texts

SIZES = [1, 2, 3]
OPTIONS = {"ngram_sizes": SIZES, "ngram_buckets": 50, "conv_kernel_size": 5, "shared_ngram_sizes": [1, 2]}


@torch.no_grad()
def test_an_ngram_is_the_tokens_that_end_at_a_position():
    ngrams = double_model(AtentaEncoderModel, **OPTIONS).ngrams
    one = texts(1, 12)
    other = one.clone()
    other[0, 4] += 1
    same = (ngrams(one) == ngrams(other)).all(-1)[0]
    assert same.tolist() == [not 4 <= place < 4 + max(SIZES) for place in range(12)]
    assert torch.equal(ngrams(one.int()), ngrams(one))


@torch.no_grad()
def test_each_size_has_vectors_of_its_own():
    ngrams = double_model(AtentaEncoderModel, **OPTIONS).ngrams
    assert ngrams.table.weight.shape[0] == len(SIZES) * OPTIONS["ngram_buckets"]
    torch.nn.init.zeros_(ngrams.table.weight)
    ngrams.table.weight[: OPTIONS["ngram_buckets"]] = torch.randn(OPTIONS["ngram_buckets"], 1).double()
    text = texts(1, 6)
    vectors, reverse = ngrams(text), ngrams(text.flip(1)).flip(1)
    assert torch.equal(vectors, reverse)  # only single tokens have vectors now, which have no order


def test_shared_ngrams_mark_what_is_in_both_segments():
    shared = double_model(AtentaEncoderModel, shared_ngram_sizes=[1, 3]).shared_ngrams
    shared.vectors.weight.data.fill_(0)
    shared.vectors.weight.data[:, 0], shared.vectors.weight.data[:, 1] = 1, 10
    question, context = [3, 4, 5, 6, 7], [9, 4, 5, 6, 9, 5, 7, 8, 7]
    segments = torch.tensor([[0] * len(question) + [1] * len(context)])
    marks = shared(torch.tensor([question + context]), segments)[0, :, 0].tolist()
    assert marks == [0, 11, 11, 11, 1, 0, 11, 11, 11, 0, 1, 1, 0, 1]
    alone = shared(torch.tensor([context + question]), torch.zeros_like(segments))
    assert not alone.any()  # in the same segment nothing is shared
    model, text = double_model(AtentaEncoderModel, shared_ngram_sizes=[2]), texts(1, 9)
    one_segment = model(text, token_type_ids=torch.zeros_like(text)).last_hidden_state
    assert torch.equal(model(text).last_hidden_state, one_segment)


@torch.no_grad()
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side):
    model = double_model(AtentaEncoderModel, position_embedding_type="rotary", **OPTIONS)
    text = texts(2, 9)
    text[0, 7], text[1, 6] = text[0, 2], text[1, 3]  # shared by the two segments
    segments = torch.tensor([[0] * 4 + [1] * 5] * 2)
    (padded, mask), (padded_segments, _) = (pad(each, [9, 9], side, longest=13) for each in (text, segments))
    output = model(padded, attention_mask=mask, token_type_ids=padded_segments).last_hidden_state
    expected = model(text, token_type_ids=segments).last_hidden_state
    assert_equal(output[mask.bool()], expected.flatten(0, 1))


@torch.no_grad()
def test_embeddings_of_the_caller_have_no_ngrams():
    model = double_model(AtentaEncoderModel, **OPTIONS)
    text = texts(1, 7)
    tokens = model.get_input_embeddings()(text)
    with_ngrams = tokens + model.ngrams(text)
    torch.testing.assert_close(model(inputs_embeds=with_ngrams).last_hidden_state, model(text).last_hidden_state)


def test_every_new_weight_is_trained():
    model = double_model(AtentaEncoderForMaskedLM, **OPTIONS).train()
    text = texts(2, 9)
    model(text, token_type_ids=torch.tensor([[0] * 4 + [1] * 5] * 2), labels=text).loss.backward()
    new = [*model.model.ngrams.parameters(), *model.model.shared_ngrams.parameters()]
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in new)
    assert all(parameter.grad is not None for parameter in model.model.convolution.parameters())
