"""Reductions of the logits, compared with loops over single tokens and with the models' own losses."""

import math

import torch

from atenta import AtentaEncoderForPreTraining
from atenta.recipes.training.logit_reductions import best_classes, masked_sums, nats_of_texts
from support.models import assert_close, texts, tiny_model


def test_nats_of_texts_worked_by_hand():
    # The first text has two characters to predict, with probabilities 1/2 and 1/4; the second has one, with 1/8.
    probabilities = torch.tensor([[[0.5, 0.5], [0.75, 0.25], [0.5, 0.5]], [[0.5, 0.5], [0.125, 0.875], [0.5, 0.5]]])
    labels = torch.tensor([[0, 1, 1], [-100, -100, 0]])
    nats = nats_of_texts(probabilities.log(), labels)
    assert_close(nats, torch.tensor([math.log(2) + math.log(4), math.log(8)]))
    half = probabilities.log().bfloat16()
    assert_close(nats_of_texts(half, labels), nats_of_texts(half.float(), labels))
    assert best_classes(probabilities, labels).tolist() == [[0, 0, 0], [0, 1, 0]]


def test_masked_sums_equal_those_of_single_tokens_and_the_model_s_loss():
    model = tiny_model(AtentaEncoderForPreTraining)
    ids, order = texts(), torch.tensor([0, 1, 1])
    labels = torch.full_like(ids, -100)
    places = [(0, 2), (0, 5), (2, 7)]
    for place in places:
        labels[place] = ids[place]
    with torch.no_grad():
        output = model(input_ids=ids, labels=labels, next_sentence_label=order)
    logits = (output.prediction_logits, output.seq_relationship_logits)
    labels[0, 2] = output.prediction_logits[0, 2].argmax()  # so that at least one is correct
    sums = masked_sums(logits, (labels, order))
    expected = torch.zeros(3, 4)
    for text, position in places:
        distribution = output.prediction_logits[text, position].log_softmax(-1)
        expected[text, 0] += 1
        expected[text, 1] += distribution.argmax() == labels[text, position]
        expected[text, 2] -= distribution[labels[text, position]]
    expected[:, 3] = torch.tensor([row.argmax() == label for row, label in zip(logits[1], order)])
    assert_close(sums, expected)
    assert expected[0, 1] >= 1
    with torch.no_grad():
        order_loss = torch.nn.functional.cross_entropy(logits[1], order)
        loss = model(input_ids=ids, labels=labels, next_sentence_label=order).loss
    assert_close(sums[:, 2].sum() / len(places) + order_loss, loss)
