"""Generation from pairwise votes with `generate` and with a pipeline, without a cache and without warnings."""

import warnings
from functools import partial

import pytest
import torch
from transformers import pipeline
from transformers.testing_utils import CaptureLogger
from transformers.utils.logging import get_logger

from atenta import AtentaPairVotesConfig, AtentaPairVotesForCausalLM
from support.documents import word_tokenizer
from support.models import double_model, pad, texts

EIGHT = {"max_new_tokens": 8, "min_new_tokens": 8}


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings(), CaptureLogger(get_logger("transformers")) as log:
        warnings.simplefilter("error")
        yield
    assert log.out.replace("Device set to use cpu", "").strip() == ""


double_votes = partial(double_model, AtentaPairVotesForCausalLM)


def continued(model, ids, steps, feature_mask=None):
    """Add the most probable token at each step, without `generate`. New tokens vote in full."""
    for _ in range(steps):
        outputs = model(ids, feature_mask=feature_mask)
        best = outputs.logits[:, -1:].index_fill(-1, torch.tensor([2]), -torch.inf).argmax(-1)
        ids = torch.cat([ids, best], dim=1)
        if feature_mask is not None:
            feature_mask = torch.cat([feature_mask, torch.ones(len(ids), 1)], dim=1)
    return ids


@pytest.mark.parametrize("max_distance", [None, 3])
@pytest.mark.parametrize("use_cache", [None, False, True])
def test_greedy_decoding(max_distance, use_cache):
    model, ids = double_votes(max_distance=max_distance), texts()
    options = {} if use_cache is None else {"use_cache": use_cache}
    actual = model.generate(ids, attention_mask=torch.ones_like(ids), **EIGHT, **options)
    assert torch.equal(actual, continued(model, ids, 8))


def test_a_feature_mask_grows_with_the_text():
    model, ids = double_votes(), texts(seed=4)
    feature_mask = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 0, 0], [1, 0, 0.5, 0, 0, 0, 0, 0, 0], [0] * 9])
    options = {"attention_mask": torch.ones_like(ids), "feature_mask": feature_mask} | EIGHT
    masked = model.generate(ids, **options)
    assert torch.equal(masked, continued(model, ids, 8, feature_mask))
    assert not torch.equal(masked, continued(model, ids, 8))
    assert torch.equal(
        model.generate(ids, **options, num_beams=2, num_return_sequences=2)[:, :9].unique(dim=0), ids.unique(dim=0)
    )


def test_padding_on_the_left_changes_nothing():
    model, ids = double_votes(), texts()
    padded, mask = pad(ids, [9, 5, 2], "left")
    together = model.generate(padded, attention_mask=mask, **EIGHT)[:, 9:]
    for row, length in enumerate([9, 5, 2]):
        alone = model.generate(ids[row : row + 1, :length], attention_mask=torch.ones(1, length), **EIGHT)
        assert torch.equal(together[row], alone[0, length:])


def test_a_step_looks_up_one_position():
    model, ids, shapes = double_votes(), texts(), []
    model.register_forward_hook(lambda _, __, outputs: shapes.append(tuple(outputs.votes.shape)))
    model.generate(ids, attention_mask=torch.ones_like(ids), **EIGHT)
    assert shapes == [(3, 1, 40)] * 8


def test_pipeline_over_words(tmp_path):
    """Document 1's own example is continued, with a tokenizer of words from `tokenizers`."""
    documents = ["ele executou o programa por isso obteve os resultados", "a bateria acabou por favor"]
    tokenizer = word_tokenizer(documents)
    options = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"))
    model = AtentaPairVotesForCausalLM(AtentaPairVotesConfig(vocab_size=len(tokenizer), **options))
    model.fit(tokenizer(documents).input_ids)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    generate = pipeline("text-generation", model=str(tmp_path))
    text = generate("ele executou o", max_new_tokens=6, do_sample=False, return_full_text=False)[0]["generated_text"]
    assert text == "programa por isso obteve os resultados"
