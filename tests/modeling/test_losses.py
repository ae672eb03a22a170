"""Losses against their formulas, in parts that add up, and smoothed by transformers' Trainer."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss
from transformers import Trainer, TrainingArguments

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaPairVotesForCausalLM,
)
from support.models import LANGUAGE_MODELS, assert_close, assert_equal, double_model, named, pad, texts

SEQUENCE_CLASSIFIERS = (AtentaEncoderForSequenceClassification, AtentaDecoderForSequenceClassification)
every_language_model = pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))


def assert_equal_losses(actual, expected):
    """Check that losses are equal in float32, in which transformers computes most of them from any logits."""
    assert_close(actual.float(), expected.float())


def batch_for(model_class):
    """Return four padded texts with labels, -100 on padding and in some other places."""
    ids, mask = pad(texts(4), [9, 5, 2, 7], "right")
    labels = ids.masked_fill(mask == 0, -100)
    labels[0, 3:5] = -100
    batch = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    if model_class is AtentaEncoderForTokenClassification:
        batch["labels"] = labels.where(labels == -100, labels % 3)
    return batch


def aligned(model, logits, labels):
    """Return the logits and the label that each of them predicts."""
    if isinstance(model, AtentaDecoderForCausalLM | AtentaPairVotesForCausalLM):
        logits, labels = logits[:, :-1], labels[:, 1:]
    return logits.flatten(0, 1), labels.flatten()


@pytest.mark.parametrize(
    "model_class", named([*LANGUAGE_MODELS, AtentaEncoderForTokenClassification, AtentaPairVotesForCausalLM])
)
def test_loss_is_the_mean_over_the_labels_that_count(model_class):
    model, batch = double_model(model_class, num_labels=3), batch_for(model_class)
    outputs = model(**batch)
    logits, labels = aligned(model, outputs.logits, batch["labels"])
    assert_equal_losses(outputs.loss, cross_entropy(logits, labels))
    assert_parts_add_up(model, batch, (labels != -100).sum())


def assert_parts_add_up(model, batch, total):
    parts = [{name: value[rows] for name, value in batch.items()} for rows in (slice(0, 1), slice(1, 4))]
    losses = [model(**part, num_items_in_batch=total).loss for part in parts]
    assert_equal_losses(sum(losses), model(**batch).loss)
    assert not torch.allclose(sum(losses), sum(model(**part).loss for part in parts) / 2, atol=1e-3)


SEVERAL_LABELS = torch.tensor([[1.0, 0, 1]] * 3 + [[0.0] * 3])
PROBLEMS = [
    ("single_label_classification", 3, torch.tensor([2, 0, 1, 1]), cross_entropy),
    ("multi_label_classification", 3, SEVERAL_LABELS, binary_cross_entropy_with_logits),
    ("regression", 3, torch.arange(12.0).view(4, 3), mse_loss),
    ("regression", 1, torch.arange(4.0), mse_loss),
]


@pytest.mark.parametrize(
    ("model_class", "problem_type", "num_labels", "labels", "loss"),
    [
        *((model_class, *problem) for model_class in SEQUENCE_CLASSIFIERS for problem in PROBLEMS),
        (AtentaEncoderForNextSentencePrediction, None, 2, torch.tensor([0, 1, 1, 0]), cross_entropy),
    ],
)
def test_classification_of_texts(model_class, problem_type, num_labels, labels, loss):
    given = {"problem_type": problem_type} if num_labels == 3 else {}
    model = double_model(model_class, num_labels=num_labels, **given)
    batch = batch_for(model_class) | {"labels": labels}
    outputs = model(**batch)
    assert outputs.logits.shape == (4, num_labels)
    assert_equal_losses(outputs.loss, loss(outputs.logits.squeeze(-1), labels))
    assert model.config.problem_type == problem_type
    assert_parts_add_up(model, batch, labels.numel())


def test_pretraining_adds_both_losses():
    model = double_model(AtentaEncoderForPreTraining)
    batch = batch_for(type(model))
    order = torch.tensor([0, 1, 1, 0])
    outputs = model(**batch, next_sentence_label=order)
    masked = cross_entropy(outputs.prediction_logits.flatten(0, 1), batch["labels"].flatten())
    assert_equal_losses(outputs.loss, masked + cross_entropy(outputs.seq_relationship_logits, order))
    assert model(**batch).loss is None
    count = (batch["labels"] != -100).sum()
    part = model(**batch, next_sentence_label=order, num_items_in_batch=2 * count).loss
    assert_equal_losses(part, outputs.loss / 2)  # its share of a batch with twice as many labels
    with pytest.raises(ValueError, match="num_words=0"):
        model(**batch, word_labels=batch["labels"])


def test_question_answering():
    model = double_model(AtentaEncoderForQuestionAnswering)
    batch = batch_for(type(model))
    del batch["labels"]
    start, end = torch.tensor([1, 0, 0, 20]), torch.tensor([4, 2, 1, 20])  # the last answer is outside the text
    outputs = model(**batch, start_positions=start, end_positions=end)
    assert outputs.start_logits.shape == outputs.end_logits.shape == (4, 9)
    expected = (
        cross_entropy(outputs.start_logits[:3], start[:3]) + cross_entropy(outputs.end_logits[:3], end[:3])
    ) / 2
    assert_equal_losses(outputs.loss, expected)


def test_teacher_forcing_shifts_the_target_right():
    """Document 4: the decoder reads `<bos>` and the target without its last character, not what the encoder reads."""
    model = double_model(AtentaEncoderDecoderForConditionalGeneration)
    batch = batch_for(type(model))
    shifted = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    assert shifted[:, 0].tolist() == [1] * 4
    assert torch.equal(shifted[:, 1:], batch["labels"][:, :-1].where(batch["labels"][:, :-1] != -100, torch.tensor(0)))
    forced, given = model(**batch), model(**batch, decoder_input_ids=shifted)
    assert_equal(forced.logits, given.logits)
    assert_equal_losses(forced.loss, given.loss)
    as_source = model(**batch, decoder_input_ids=batch["input_ids"])
    assert not torch.allclose(forced.logits, as_source.logits, atol=0.1)
    assert batch["labels"][0, 3] == -100  # the labels are unchanged


def test_without_a_target_the_decoder_reads_the_source_shifted_right():
    model = double_model(AtentaEncoderDecoderForConditionalGeneration)
    ids = texts()
    shifted = torch.cat([torch.full_like(ids[:, :1], 1), ids[:, :-1]], dim=1)
    assert_equal(model(input_ids=ids).logits, model(input_ids=ids, decoder_input_ids=shifted).logits)
    with pytest.raises(ValueError, match="decoder_input_ids, decoder_inputs_embeds"):
        model(inputs_embeds=torch.zeros(2, 3, 32, dtype=torch.float64))


def test_teacher_forcing_needs_its_two_ids():
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, decoder_start_token_id=None)
    with pytest.raises(ValueError, match="decoder_start_token_id and pad_token_id, got None and 0"):
        model(**batch_for(type(model)))


@every_language_model
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_trainer_smooths_the_labels_that_are_predicted(model_class, smoothing, tmp_path):
    """The decoder predicts shifted labels; the encoder and the encoder-decoder do not shift them."""
    model, batch = double_model(model_class), batch_for(model_class)
    if model.config.is_encoder_decoder:  # as the collator does, because the Trainer removes the labels
        batch["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    trainer = Trainer(
        model, TrainingArguments(str(tmp_path), label_smoothing_factor=smoothing, report_to="none", use_cpu=True)
    )
    logits = model(**batch).logits
    logits, labels = aligned(model, logits, batch["labels"])
    expected = cross_entropy(logits, labels, label_smoothing=smoothing)
    assert_equal_losses(trainer.compute_loss(model, dict(batch)), expected)

    rows = [{name: value[index : index + 1] for name, value in batch.items()} for index in range(4)]
    total = trainer._get_num_items_in_batch(rows, torch.device("cpu"))
    assert total == (labels != -100).sum()
    assert_equal_losses(
        sum(trainer.compute_loss(model, dict(row), num_items_in_batch=total) for row in rows), expected
    )
