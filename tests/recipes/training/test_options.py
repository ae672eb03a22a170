"""Options: Vaswani's defaults, equation 3 at every step, what is given stays, and what excludes each other."""

import pytest
import torch
from transformers import get_scheduler

from atenta.recipes.training import RecipeArguments, Seq2SeqRecipeArguments

both = pytest.mark.parametrize("arguments", [RecipeArguments, Seq2SeqRecipeArguments])


def settled(hidden_size, steps, **options):
    arguments = RecipeArguments(use_cpu=True, **options)
    arguments.settle_schedule(hidden_size, steps)
    return arguments


def rates(arguments, steps):
    """The rate of each step, by the scheduler that the trainer makes of these options."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=arguments.learning_rate)
    warmup = arguments.get_warmup_steps(steps)
    scheduler = get_scheduler(
        arguments.lr_scheduler_type, optimizer, num_warmup_steps=warmup, num_training_steps=steps
    )
    found = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


@both
def test_the_defaults_are_those_of_vaswani(arguments):
    options = arguments(use_cpu=True)
    assert (options.adam_beta1, options.adam_beta2, options.adam_epsilon) == (0.9, 0.98, 1e-9)
    assert options.lr_scheduler_type == "inverse_sqrt"
    assert options.learning_rate is None
    assert options.warmup_steps is None
    assert options.weight_decay == 0.0


@pytest.mark.parametrize(
    ("steps", "warmup"), [(100_000, 4000), (40_000, 4000), (39_990, 3999), (1000, 100), (10, 1), (3, 1)]
)
def test_the_warm_up_is_4000_steps_or_a_tenth_of_a_shorter_run(steps, warmup):
    assert settled(512, steps).warmup_steps == warmup


@pytest.mark.parametrize(("hidden_size", "steps"), [(512, 50_000), (128, 600)])
def test_the_rate_is_that_of_equation_3_at_every_step(hidden_size, steps):
    arguments = settled(hidden_size, steps)
    warmup = arguments.warmup_steps
    expected = [hidden_size**-0.5 * min(step**-0.5, step * warmup**-1.5) for step in range(1, steps + 1)]
    assert rates(arguments, steps) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "warmup", "rate"),
    [
        ({"warmup_steps": 250}, 250, (64 * 250) ** -0.5),
        ({"warmup_steps": 0.02}, 0.02, (64 * 100) ** -0.5),
        ({"warmup_steps": 0, "learning_rate": 3e-4}, 0, 3e-4),
        ({"learning_rate": 3e-4}, 500, 3e-4),
    ],
)
def test_what_is_given_stays(options, warmup, rate):
    arguments = settled(64, 5000, **options)
    assert arguments.warmup_steps == warmup
    assert arguments.learning_rate == pytest.approx(rate)


def test_a_cosine_with_warm_up_rises_and_ends_at_zero():
    found = rates(settled(64, 1000, lr_scheduler_type="cosine", learning_rate=0.1), 1000)
    assert max(found) == found[99] == 0.1
    assert found[549] == pytest.approx(0.05)  # half of the way down
    assert found[-1] == pytest.approx(0, abs=1e-12)


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average_last_checkpoints": 2, "average_best_checkpoints": 2}, "Give one of --average_last_checkpoints and"),
        ({"average_last_checkpoints": 3, "save_total_limit": 2}, "keeps fewer checkpoints than the 3 to average"),
        ({"average_best_checkpoints": 3, "save_total_limit": 2}, "--save_total_limit 2"),
    ],
)
def test_options_that_exclude_each_other_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        arguments(use_cpu=True, **options)
    kept = {name: value for name, value in options.items() if name != "average_last_checkpoints"}
    if "save_total_limit" not in options:
        assert arguments(use_cpu=True, **kept).average_best_checkpoints == 2
