"""Muon for the matrices of the blocks, AdamW for the rest: which parameters, which steps, one schedule, resuming."""

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch.optim.lr_scheduler import LambdaLR

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderForTokenClassification,
)
from atenta.recipes.training.muon import MuonWithAdamW, StackedMuon, create_muon, orthogonalize
from atenta.recipes.training.options import RecipeArguments
from support.models import GENERATORS, named, tiny_model
from support.trainers import random_pairs, trainer_of

RATES = RecipeArguments(learning_rate=0.01, weight_decay=0.1, muon_weight_decay=0.1, use_cpu=True)
PAIRS = random_pairs([(5, 4), (6, 7), (3, 3), (8, 2)])


def set_gradients(parameters, seed):
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)


def matrices():
    generator = torch.Generator().manual_seed(0)
    shapes = [(16, 16), (48, 16), (16, 48), (16, 16), (48, 16)]
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.3, "momentum": 0.5, "nesterov": False, "ns_steps": 3}])
def test_steps_are_those_of_torch(options, precision):
    """torch orthogonalizes in bfloat16, which leaves about two digits."""
    ours, theirs = matrices(), matrices()
    optimizers = StackedMuon(ours, lr=0.1, precision=precision, **options), torch.optim.Muon(theirs, lr=0.1, **options)
    for seed in range(3):
        before = [parameter.detach().clone() for parameter in ours]
        for parameters, optimizer in zip((ours, theirs), optimizers):
            set_gradients(parameters, seed)
            optimizer.step()
        for own, other, earlier in zip(ours, theirs, before):  # matrices of a shape are stacked
            assert (own - earlier).abs().max() > 0.01
            assert torch.allclose(own, other, atol=0.02 * (seed + 1) * 0.1**0.5)
            assert (own - other).norm() < 0.05 * (seed + 1) * (own - earlier).norm()
    coefficients = optimizers[0].defaults["ns_coefficients"]
    assert orthogonalize(ours[0][None].to(precision), coefficients, 1).dtype == precision


@pytest.mark.parametrize("model_class", named(GENERATORS))
@pytest.mark.parametrize("tied", [False, True])
def test_muon_gets_the_matrices_of_the_blocks(model_class, tied):
    model = tiny_model(model_class, tie_word_embeddings=tied, attention_bias=True)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    optimizer = create_muon(model, {name for name in names.values() if "norm" not in name}, RATES)
    of_muon = {names[id(parameter)] for group in optimizer.muon.param_groups for parameter in group["params"]}
    assert of_muon == {name for name in names.values() if ".layers." in name and name.endswith("proj.weight")}
    decayed, others = ({names[id(each)] for each in group["params"]} for group in optimizer.adamw.param_groups)
    assert not decayed & others
    assert decayed | others | of_muon == set(names.values())
    assert all("norm" in name for name in others)
    assert [group["weight_decay"] for group in optimizer.adamw.param_groups] == [0.1, 0.0]


def test_muon_gets_the_matrices_that_pool_characters():
    model = tiny_model(AtentaEncoderForTokenClassification, downsampling_rate=2, downsampling_layers=1)
    optimizer = create_muon(model, (), RATES)
    of_muon = {id(parameter) for group in optimizer.muon.param_groups for parameter in group["params"]}
    pooling = {name: each for name, each in model.model.downsampling.named_parameters() if each.ndim == 2}
    assert {"pool.weight", "unpool.weight", "neighbours.weight"} < pooling.keys()
    assert {id(each) for each in pooling.values()} < of_muon


def test_frozen_parameters_are_left_out_and_a_model_without_matrices_is_refused():
    model = tiny_model(AtentaDecoderForCausalLM)
    adapted = get_peft_model(model, LoraConfig(r=2, target_modules="all-linear"))
    optimizer = create_muon(adapted, (), RATES)
    trained = sum(len(group["params"]) for group in optimizer.param_groups)
    assert trained == sum(parameter.requires_grad for parameter in adapted.parameters())
    with pytest.raises(ValueError, match="no trainable matrix in a numbered block"):
        create_muon(torch.nn.Linear(3, 3), (), RATES)


def test_one_schedule_scales_both_rates():
    optimizer = create_muon(tiny_model(AtentaDecoderForCausalLM), (), RATES)
    schedule = LambdaLR(optimizer, lambda step: 1 / (step + 1))
    set_gradients([each for group in optimizer.param_groups for each in group["params"]], 0)
    optimizer.step()
    schedule.step()
    assert [group["lr"] for group in optimizer.adamw.param_groups] == [0.005, 0.005]
    assert [group["lr"] for group in optimizer.muon.param_groups] == [0.01]
    assert schedule.get_last_lr()[0] == 0.005  # the rate that is logged


def test_a_recipe_trains_with_muon(tmp_path):
    trainer = trainer_of(tmp_path, {"train": PAIRS}, max_steps=30, optim="muon", learning_rate=0.01)
    trainer.fit(None)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < losses[0] / 2
    assert isinstance(trainer.optimizer.optimizer, MuonWithAdamW)
    assert {entry["learning_rate"] for entry in trainer.state.log_history if "learning_rate" in entry} == {0.01}
    trainer.is_fsdp_enabled, trainer.optimizer = True, None
    with pytest.raises(SystemExit, match="--optim muon needs whole matrices"):
        trainer.create_optimizer()
