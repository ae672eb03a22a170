"""The model of pairwise votes: document 1's sums, and probabilities from them."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

from atenta import AtentaPairVotesConfig, AtentaPairVotesForCausalLM
from atenta.modeling import modeling_pair_votes, vote_table
from support.models import assert_close, assert_equal, double_model, pad, texts, tiny_model
from support.pair_votes import MAX_DISTANCES, VOCAB_SIZE, WEIGHTED_DOCUMENTS, counts_of, votes_of

TEXT = st.lists(st.integers(0, VOCAB_SIZE - 1), min_size=1, max_size=10)
MASK = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=10, max_size=10)


def fitted(weighted_documents, **options):
    documents, weights = zip(*weighted_documents)
    model = AtentaPairVotesForCausalLM(AtentaPairVotesConfig(vocab_size=VOCAB_SIZE, **options))
    return model.double().fit(documents, weights)  # which keeps the data type


tiny_votes = partial(tiny_model, AtentaPairVotesForCausalLM)
double_votes = partial(double_model, AtentaPairVotesForCausalLM)


@given(WEIGHTED_DOCUMENTS, TEXT, MAX_DISTANCES, st.none() | MASK)
def test_votes_are_the_sums_of_the_formula(weighted_documents, text, max_distance, feature_mask):
    model = fitted(weighted_documents, max_distance=max_distance)
    counts = counts_of(weighted_documents, max_distance)
    mask = None if feature_mask is None else torch.tensor([feature_mask[: len(text)]])
    votes = model(torch.tensor([text]), feature_mask=mask).votes[0]
    expected = [votes_of(counts, text, place, feature_mask, max_distance) for place in range(len(text))]
    assert_equal(votes, torch.tensor(expected, dtype=torch.float64))


@given(WEIGHTED_DOCUMENTS, TEXT, MAX_DISTANCES)
def test_votes_by_feature(weighted_documents, text, max_distance):
    model = fitted(weighted_documents, max_distance=max_distance)
    ids = torch.tensor(text)
    by_feature = model.votes_by_feature(ids)
    assert by_feature.shape == (len(text) - 1, VOCAB_SIZE)
    for earlier, row in enumerate(by_feature):
        alone = (torch.arange(len(text)) == earlier).float()
        assert_equal(row, model(ids[None], feature_mask=alone[None]).votes[0, -1])
    assert_equal(by_feature.sum(0), model(ids[None]).votes[0, -1])
    assert torch.equal(model.votes_by_feature(ids[None]), by_feature)


@given(WEIGHTED_DOCUMENTS, TEXT, st.sampled_from([0.01, 1, 2.5]))
def test_probabilities_are_the_smoothed_votes(weighted_documents, text, smoothing):
    outputs = fitted(weighted_documents, smoothing=smoothing)(torch.tensor([text]))
    following = [0] * VOCAB_SIZE
    for document, weight in weighted_documents:
        for token in document[1:]:
            following[token] += weight
    shares = [(count + 1) / (sum(following) + VOCAB_SIZE) for count in following]
    for votes, logits in zip(outputs.votes[0].tolist(), outputs.logits[0].tolist()):
        expected = [
            math.log((vote + smoothing * share) / (sum(votes) + smoothing)) for vote, share in zip(votes, shares)
        ]
        assert logits == pytest.approx(expected, abs=1e-9)


def test_before_fitting_all_tokens_are_equally_probable():
    model = AtentaPairVotesForCausalLM(AtentaPairVotesConfig(vocab_size=VOCAB_SIZE))
    assert_close(model(torch.tensor([[1, 2, 3]])).logits.exp(), torch.full((1, 3, VOCAB_SIZE), 1 / VOCAB_SIZE))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_logits_are_finite_with_the_least_smoothing(dtype):
    """Also if a count is above the data type's largest number, or a share below its smallest."""
    model = fitted([([0, 1, 2], 1e9)], smoothing=1e-12).to(dtype)
    outputs = model(torch.tensor([[0, 1], [5, 5]]))
    assert outputs.logits.isfinite().all()
    assert outputs.logits[0, -1].argmax() == 2
    assert outputs.logits.dtype == (dtype if dtype == torch.float64 else torch.float32)


@pytest.mark.parametrize("max_distance", [None, 2])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_neither_votes_nor_gets_votes(side, max_distance):
    model, ids, lengths = double_votes(max_distance=max_distance), texts(), [9, 5, 2]
    feature_mask = torch.rand(3, 9)
    padded, mask = pad(ids, lengths, side)
    padded[mask == 0] = int(ids[0, 0])  # which would vote
    features = torch.zeros(padded.shape)
    features[mask == 1] = torch.cat([row[:length] for row, length in zip(feature_mask, lengths)])
    outputs = model(padded, attention_mask=mask, feature_mask=features)
    for row, length in enumerate(lengths):
        alone = model(ids[row : row + 1, :length], feature_mask=feature_mask[row : row + 1, :length])
        for name in ("votes", "logits"):
            assert_equal(outputs[name][row][mask[row] == 1], alone[name][0])
    assert outputs.votes[mask == 0].count_nonzero() == 0


def test_votes_summed_in_pieces_equal_those_summed_at_once(monkeypatch):
    model, ids = double_votes(), texts(2, 30)
    at_once = model(ids).votes
    assert at_once.count_nonzero()
    for pairs, votes in ((1, 2), (200, 7)):
        monkeypatch.setattr(modeling_pair_votes, "PAIRS_AT_ONCE", pairs)
        monkeypatch.setattr(vote_table, "VOTES_AT_ONCE", votes)
        assert_equal(model(ids).votes, at_once)


@pytest.mark.parametrize("kept", [1, 3, torch.tensor([0, 7, 2])], ids=str)
def test_logits_to_keep(kept):
    model, ids = double_votes(), texts()
    everywhere, some = model(ids), model(ids, logits_to_keep=kept)
    places = slice(-kept, None) if isinstance(kept, int) else kept
    assert_equal(some.votes, everywhere.votes[:, places])
    assert_equal(some.logits, everywhere.logits[:, places])


def test_trainer_scores_with_the_logits_alone(tmp_path):
    model, ids = tiny_votes(), texts()
    trainer = Trainer(model, TrainingArguments(output_dir=tmp_path, report_to="none", use_cpu=True))
    scored = trainer.predict([{"input_ids": row, "labels": row} for row in ids])
    expected = model(ids, labels=ids)
    assert_close(torch.from_numpy(scored.predictions), expected.logits)
    assert scored.metrics["test_loss"] == pytest.approx(expected.loss.item(), abs=1e-5)


def test_gradients_flow_to_the_feature_mask_alone(tmp_path):
    """Also in a loaded model, whose floats transformers makes trainable. Votes are linear in the mask."""
    tiny_votes().save_pretrained(tmp_path)
    model, ids = AtentaPairVotesForCausalLM.from_pretrained(tmp_path), texts(1)
    assert not model(ids).logits.requires_grad
    feature_mask = torch.full((1, 9), 0.5, requires_grad=True)
    votes = model(ids, feature_mask=feature_mask).votes[0, -1]
    token = int(votes.argmax())
    votes[token].backward()
    assert votes[token] > 0
    assert_close(feature_mask.grad[0, :-1], model.votes_by_feature(ids)[:, token])
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("when", ["before saving", "when loading"])
def test_saved_and_loaded_in_a_data_type(dtype, when, tmp_path):
    model, ids = tiny_votes(max_distance=5), texts()
    expected = model(ids).votes
    (model.to(dtype) if when == "before saving" else model).save_pretrained(tmp_path)
    options = {"dtype": dtype} if when == "when loading" else {}
    loaded, report = AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True, **options)
    assert type(loaded) is AtentaPairVotesForCausalLM
    assert not any(report.values())
    assert (loaded.config.num_pairs, loaded.config.num_triples) == (len(model.table.pair_keys), len(model.table.votes))
    assert {loaded.table.votes.dtype, loaded.token_logits.dtype} == {dtype}
    assert {loaded.table.pair_keys.dtype, loaded.table.row_starts.dtype} == {torch.int64}
    for name in ("votes", "logits"):
        assert_close(loaded(ids)[name], model.to(dtype)(ids)[name], 0)
    assert_close(loaded(ids).votes, expected, {torch.bfloat16: 0.02, torch.float16: 0.002}.get(dtype, 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_fitting_again_replaces_what_was_counted_and_fails_without_a_change(dtype):
    model, ids = tiny_votes().to(dtype), texts()
    fresh = AtentaPairVotesForCausalLM(AtentaPairVotesConfig(vocab_size=40)).to(dtype).fit(texts(20, seed=9))
    assert not torch.equal(fresh(ids).votes, model(ids).votes)
    model.fit(texts(20, seed=9))
    with pytest.raises(ValueError, match="document 1 has the id 40"):
        model.fit([[3, 4, 5], [3, 40]])
    for name in ("votes", "logits"):
        assert torch.equal(fresh(ids)[name], model(ids)[name])
    assert model.config.num_triples == fresh.config.num_triples == len(model.table.votes)
    assert {model.table.votes.dtype, model.token_logits.dtype} == {dtype}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"input_ids": torch.tensor([[3, 40]])}, r"input_ids has 40.*0 to 39"),
        ({"input_ids": torch.tensor([[-1]])}, r"input_ids has -1"),
        ({"input_ids": torch.tensor([3, 4])}, r"input_ids is \(2,\)"),
        ({"input_ids": torch.zeros(1, 0, dtype=torch.long)}, r"input_ids is \(1, 0\)"),
        ({"attention_mask": torch.ones(1, 2)}, r"attention_mask is \(1, 2\); expected \(1, 3\)"),
        ({"feature_mask": torch.ones(3)}, r"feature_mask is \(3,\); expected \(1, 3\)"),
        ({"feature_mask": torch.tensor([[0, 1.5, 1]])}, r"feature_mask is .* 1\.5.* 0 to 1"),
        ({"feature_mask": torch.tensor([[0, math.nan, -1]])}, "feature_mask is .*nan.* 0 to 1"),
    ],
    ids=str,
)
def test_wrong_inputs(inputs, message):
    with pytest.raises(ValueError, match=message):
        tiny_votes()(**({"input_ids": torch.tensor([[3, 4, 5]])} | inputs))


@pytest.mark.parametrize("shape", [(2, 3), (1, 1, 3), (0,)])
def test_votes_by_feature_of_several_texts_are_refused(shape):
    with pytest.raises(ValueError, match=f"input_ids is .*{shape[-1]}"):
        tiny_votes().votes_by_feature(torch.zeros(shape, dtype=torch.long))
