import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from atenta import AtentaTokenizer
from atenta.modeling import AtentaEncoderForMaskedLM, AtentaEncoderModel
from atenta.recipes.retrieval.embedding import embed, fingerprint
from support.models import tiny_model
from support.trainers import tiny_tokenizer

TEXTS = ["abcdefghij", "ab", "ponmlk", "a", "abcdefghijkl"]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer("encoder")


def model_of(tokenizer, **options):
    return tiny_model(AtentaEncoderModel, vocab_size=len(tokenizer), **options)


def test_it_is_the_mean_over_the_tokens_of_each_text_by_itself(tokenizer):
    model = model_of(tokenizer)
    found = embed(model, tokenizer, TEXTS, batch_size=2)
    for text, vector in zip(TEXTS, found):
        with torch.no_grad():
            mean = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        np.testing.assert_allclose(vector, normalize(mean, dim=0), atol=1e-5)
    assert found.dtype == np.float32


def test_longer_texts_are_read_in_windows_of_which_none_is_dropped(tokenizer):
    model = model_of(tokenizer, max_position_embeddings=6)  # <bos> and <eos> leave four characters
    (found,) = embed(model, tokenizer, ["abcdefghij"], batch_size=2)
    with torch.no_grad():
        windows = [
            model(**tokenizer(part, return_tensors="pt")).last_hidden_state[0] for part in ("abcd", "efgh", "ij")
        ]
    np.testing.assert_allclose(found, normalize(torch.cat(windows).mean(0), dim=0), atol=1e-5)


def test_a_text_that_writes_eos_is_read_as_its_characters(tokenizer):
    model = model_of(tokenizer)
    written, ended = embed(model, tokenizer, ["ab<eos>", "ab"], batch_size=2)
    assert written @ ended < 0.9999


def test_the_fingerprint_changes_with_weights_vocabulary_and_window(tokenizer):
    models = [model_of(tokenizer), model_of(tokenizer, max_position_embeddings=6), model_of(tokenizer)]
    with torch.no_grad():
        next(models[2].parameters())[0, 0] += 1
    other = AtentaTokenizer.from_texts(["bacdefghijklmnop!"], family="encoder")
    found = [fingerprint(model, tokenizer) for model in models] + [fingerprint(models[0], other)]
    assert len(set(found)) == 4
    assert fingerprint(model_of(tokenizer), tokenizer) == found[0]


def test_a_pooler_drawn_at_loading_changes_no_fingerprint(tokenizer, tmp_path):
    tiny_model(AtentaEncoderForMaskedLM, vocab_size=len(tokenizer)).save_pretrained(tmp_path)
    first, second = (AtentaEncoderModel.from_pretrained(tmp_path) for _ in range(2))
    assert not torch.equal(first.pooler.dense.weight, second.pooler.dense.weight)
    assert fingerprint(first, tokenizer) == fingerprint(second, tokenizer)
