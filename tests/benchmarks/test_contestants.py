"""Tests of the contestants' size and dropout."""

import pytest
import torch
from torch import nn

from benchmarks.contestants import TRAINING_CONTESTANTS
from benchmarks.measuring import VOCABULARY, Size
from benchmarks.training_speed import make_examples, with_dropout, without_dropout

SIZE = Size(layers=2, width=48, heads=4, inner=96)
FAMILIES = pytest.mark.parametrize("family", TRAINING_CONTESTANTS)


def matrices(model):
    """Count the weights of linear layers. GPT-2's have their own class, and torch's attention has bare weights."""
    return sum(
        weight.numel()
        for name, weight in model.named_parameters()
        if weight.ndim == 2
        and "embed" not in name
        and not name.endswith(("wte.weight", "wpe.weight"))
        and not name.startswith(("tokens", "positions"))
    )


@FAMILIES
def test_all_multiply_by_the_same_number_of_weights(family):
    for name, model in without_dropout(family, SIZE).items():
        extra = SIZE.width**2 if name == "BERT" else 0  # its head has one more layer
        tied = SIZE.width * VOCABULARY if name in ("GPT-2", "BERT") else 0  # counted with the embeddings
        assert matrices(model) == SIZE.matrix_numbers(family) + extra - tied, name


def loss(model, family):
    batch = make_examples(family, rows=2, length=24)
    return model.train()(**{name: torch.tensor([row[name] for row in batch]) for name in batch[0]})["loss"]


@FAMILIES
def test_the_training_loss_is_repeatable_without_dropout_only(family):
    for name, model in without_dropout(family, SIZE).items():
        assert torch.equal(loss(model, family), loss(model, family)), name
    for name, model in with_dropout(family, SIZE).items():
        assert not torch.equal(loss(model, family), loss(model, family)), name


@FAMILIES
def test_same_dropout_excludes_attention_weights_and_inner_activations(family, monkeypatch):
    widths, attention = [], []
    attend = nn.functional.scaled_dot_product_attention

    def dropout(states, p=0.5, training=True, inplace=False):
        widths.extend([states.shape[-1]] if p and training else [])
        return states

    def attention_with(*arguments, dropout_p=0.0, **options):
        attention.append(dropout_p)
        return attend(*arguments, **options)

    monkeypatch.setattr(nn.functional, "dropout", dropout)
    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", attention_with)
    models = with_dropout(family, SIZE)
    for name, model in models.items():
        if f"{name} (same dropout)" not in models:  # otherwise the defaults of the model have other dropout
            widths.clear()
            attention.clear()
            loss(model, family)
            assert set(widths) <= {SIZE.width}, name
            assert set(attention) <= {0.0}, name


def test_torch_predicts_each_character_from_those_before_it():
    model = without_dropout("decoder", SIZE)["torch.nn"].eval()
    ids, others = torch.tensor([[5, 6, 7, 8], [5, 9, 7, 8]])[:, None]
    with torch.no_grad():
        logits, of_others = (model(each, each)["logits"] for each in (ids, others))
    assert torch.allclose(logits[:, 0], of_others[:, 0])  # which only the first character is read for
    assert not torch.allclose(logits[:, 1], of_others[:, 1])
