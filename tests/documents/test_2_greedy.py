"""Document 2, greedy decoding: the most probable word is chosen."""

import pytest
import torch

from atenta import AtentaDecoderForCausalLM
from support.documents import word_tokenizer, worked_example
from support.models import tiny_model


@pytest.fixture
def words():
    """Return a tokenizer of the example's words, with the most probable word last."""
    inputs = worked_example("2/greedy").inputs
    return word_tokenizer([inputs["prefix"], *reversed(inputs["probabilities"])])


@pytest.fixture
def model(words):
    """Return a decoder whose output layer gives the document's probabilities for any input."""
    probabilities = worked_example("2/greedy").inputs["probabilities"]
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(words)).requires_grad_(False)
    model.lm_head.weight.zero_()
    model.lm_head.bias.fill_(-torch.inf)
    for word, probability in probabilities.items():
        model.lm_head.bias[words.convert_tokens_to_ids(word)] = torch.tensor(probability).log()
    return model


def test_greedy_decoding_chooses_the_most_probable_word(words, model):
    example = worked_example("2/greedy")
    ids = words(example.inputs["prefix"], return_tensors="pt").input_ids
    generated = model.generate(ids, max_new_tokens=1, do_sample=False)
    assert words.decode(generated[0]) == f"{example.inputs['prefix']} {example.exact['greedy']}"
    assert example.printed == example.exact
