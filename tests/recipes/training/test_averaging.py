"""The mean of checkpoints: by hand, of real models, tied and sharded; and which checkpoints are chosen."""

import json

import pytest
import torch
from safetensors.torch import save_file

from atenta.modeling import AtentaDecoderForCausalLM
from atenta.recipes.training.averaging import average_checkpoints, best_checkpoints, last_checkpoints, load_weights
from support.models import assert_close, texts, tiny_model


def save(folder, **weights):
    folder.mkdir()
    save_file(weights, folder / "model.safetensors")
    return folder


def tiny(seed, **options):
    return tiny_model(AtentaDecoderForCausalLM, seed, hidden_size=16, num_hidden_layers=1, **options)


def test_the_mean_is_that_worked_by_hand(tmp_path):
    steps = torch.tensor([7])
    folders = [
        save(tmp_path / str(index), weight=torch.tensor(weight), steps=steps)
        for index, weight in enumerate([[1.0, -2.0], [2.0, 2.0], [6.0, 3.0]])
    ]
    mean = average_checkpoints(folders)
    assert mean.keys() == {"weight", "steps"}
    assert torch.equal(mean["weight"], torch.tensor([3.0, 1.0]))
    assert torch.equal(mean["steps"], steps)


def test_halves_are_added_in_float32_and_stay_halves(tmp_path):
    # in float16 60,000 + 60,000 is infinite
    folders = [save(tmp_path / name, weight=torch.tensor([60_000.0], dtype=torch.float16)) for name in "ab"]
    mean = average_checkpoints(folders)["weight"]
    assert mean.dtype == torch.float16
    assert mean.item() == 60_000


def test_doubles_keep_their_precision(tmp_path):
    value = 1 + 2**-40
    folders = [save(tmp_path / name, weight=torch.tensor([value], dtype=torch.float64)) for name in "ab"]
    assert average_checkpoints(folders)["weight"].item() == value


@pytest.mark.parametrize("tied", [False, True])
def test_a_model_gets_the_mean_of_the_parameters(tmp_path, tied):
    models = [tiny(seed, tie_word_embeddings=tied) for seed in (1, 2, 3)]
    folders = [tmp_path / str(index) for index in range(3)]
    models[0].save_pretrained(folders[0], max_shard_size="5KB")
    for model, folder in zip(models[1:], folders[1:]):
        model.save_pretrained(folder)
    assert len(list(folders[0].glob("model-*.safetensors"))) > 1  # one in shards
    averaged = tiny(0, tie_word_embeddings=tied)
    load_weights(averaged, average_checkpoints(folders))
    for name, parameter in averaged.named_parameters():
        assert_close(parameter, sum(model.get_parameter(name) for model in models) / 3, 1e-6)
    assert (averaged.lm_head.weight is averaged.get_input_embeddings().weight) is tied

    averaged.save_pretrained(tmp_path / "averaged")
    loaded = AtentaDecoderForCausalLM.from_pretrained(tmp_path / "averaged")
    assert torch.equal(loaded(texts()).logits, averaged(texts()).logits)

    for name, weight in average_checkpoints(folders[::-1]).items():  # the order does not matter
        assert_close(weight, averaged.state_dict()[name], 1e-6)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"weight": torch.zeros(3)}, r"weight is torch.float32 of shape \(2,\) in .*a and .* \(3,\) in .*b"),
        ({"weight": torch.zeros(2).half()}, "weight is torch.float32 .* torch.float16"),
        ({}, r"weight is torch.float32 .* and missing in .*b"),
        ({"weight": torch.zeros(2), "bias": torch.zeros(1)}, "bias is missing in .*a and torch.float32"),
        ({"weight": torch.zeros(2), "steps": torch.tensor([8])}, "steps differs"),
    ],
)
def test_checkpoints_that_differ_are_refused_by_name(tmp_path, other, message):
    folders = [
        save(tmp_path / "a", weight=torch.zeros(2), steps=torch.tensor([7])),
        save(tmp_path / "b", **({"steps": torch.tensor([7])} | other)),
    ]
    with pytest.raises(ValueError, match=message):
        average_checkpoints(folders)


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no model\.safetensors"):
        average_checkpoints([tmp_path])
    with pytest.raises(ValueError, match="no checkpoints"):
        average_checkpoints([])


def test_weights_of_another_model_are_refused():
    weights = tiny(0).state_dict()
    with pytest.raises(ValueError, match=r"missing are \['lm_head.bias'\]"):
        load_weights(tiny(0), {name: weight for name, weight in weights.items() if name != "lm_head.bias"})
    with pytest.raises(ValueError, match=r"too many are \['more'\]"):
        load_weights(tiny(0), weights | {"more": torch.zeros(1)})


@pytest.fixture
def run(tmp_path):
    """Checkpoints as the Trainer leaves them: each with the history up to its step; step 5 was not evaluated."""
    losses = {4: 0.5, 8: 0.2, 12: 0.2, 100: 0.4}
    for last in (4, 5, 8, 12, 100):
        history = [{"step": step, "eval_loss": loss, "epoch": 1.0} for step, loss in losses.items() if step <= last]
        folder = tmp_path / f"checkpoint-{last}"
        folder.mkdir()
        state = {"log_history": [{"step": 3, "loss": 9.0}, *history], "global_step": last}
        (folder / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    (tmp_path / "checkpoint-notes").mkdir()
    return tmp_path


def steps(checkpoints):
    return [int(checkpoint.name.removeprefix("checkpoint-")) for checkpoint in checkpoints]


def test_the_last_are_chosen_by_number(run):
    assert steps(last_checkpoints(run, 2)) == [12, 100]
    assert steps(last_checkpoints(run, 5)) == [4, 5, 8, 12, 100]


def test_the_best_are_chosen_by_the_score_of_their_step(run):
    assert steps(best_checkpoints(run, 3, "loss", False)) == [12, 8, 100]
    assert steps(best_checkpoints(run, 2, "eval_loss", True)) == [4, 100]


def test_too_few_are_refused(run):
    with pytest.raises(ValueError, match=r"Found 5 checkpoints .* expected 6 .* raise --save_total_limit"):
        last_checkpoints(run, 6)
    with pytest.raises(ValueError, match=r"Found 4 checkpoints with eval_loss .* expected 5"):
        best_checkpoints(run, 5, "loss", False)
    with pytest.raises(ValueError, match="Found 0 checkpoints with eval_bleu"):
        best_checkpoints(run, 1, "bleu", True)
    with pytest.raises(ValueError, match="positive"):
        last_checkpoints(run, 0)
