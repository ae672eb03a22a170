"""The memory of each launch file's processes, against counts by hand and against a step that really runs."""

from dataclasses import replace

import pytest
import torch

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM
from benchmarks import launch_memory
from benchmarks.launch_memory import LAUNCH, Memory, largest_units, measure_step, of_process, predict

SIZES = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "vocab_size": 40,
}
WEIGHTS = 4_000
ALONE = Memory(weights=WEIGHTS, gradients=WEIGHTS, states=2 * WEIGHTS, activations=500)


def settings(kind, processes=4, **options):
    return {"distributed_type": kind, "num_processes": processes, **options}


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        (settings("NO", processes=1), ALONE),
        (settings("MULTI_GPU"), replace(ALONE, copies=WEIGHTS)),
        (settings("FSDP"), Memory(1_000, 1_000, 2_000, 500, copies=4 * 300)),
        # 2 bytes for each of 1,000 weights and gradients; AdamW has 12 for each: weight, mean and variance in float32.
        (settings("DEEPSPEED", deepspeed_config={"zero_stage": 2}), Memory(2_000, 500, 3_000, 500, 2_000)),
        (settings("DEEPSPEED", deepspeed_config={"zero_stage": 3}), Memory(500, 500, 3_000, 500, 4 * 300)),
    ],
    ids=["one process", "DDP", "FSDP", "ZeRO-2", "ZeRO-3"],
)
def test_what_processes_split(launch, expected):
    assert of_process(launch, ALONE, gathered=300) == expected


def test_an_unknown_type_is_an_error():
    with pytest.raises(ValueError, match="TPU"):
        of_process(settings("TPU"), ALONE, gathered=300)


@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
def test_a_step_without_data_is_measured_as_one_with_data(half):
    config = AtentaDecoderConfig(**SIZES, dropout=0)
    memory = measure_step(AtentaDecoderForCausalLM, config, batch=2, length=16, half=half)
    model = AtentaDecoderForCausalLM(config)
    optimizer, kept = torch.optim.AdamW(model.parameters()), {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    ids = torch.ones(2, 16, dtype=torch.long)
    precision = torch.autocast("cpu", torch.bfloat16, enabled=half)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), precision:
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    assert memory.weights == memory.gradients == 4 * model.num_parameters()
    states = [value for state in optimizer.state.values() for value in state.values()]
    assert memory.states == pytest.approx(sum(value.nbytes for value in states), rel=0.01)
    saved = sum(size for place, size in kept.items() if place not in {p.data_ptr() for p in model.parameters()})
    assert memory.activations == pytest.approx(saved, rel=0.35)  # outputs that are not kept for gradients count too


def test_two_blocks_and_the_rest_are_gathered():
    model = AtentaDecoderForCausalLM(AtentaDecoderConfig(**SIZES))
    (block, *_) = (sum(weight.numel() for weight in layer.parameters()) for layer in model.model.layers)
    assert largest_units(AtentaDecoderForCausalLM, model.config) == model.num_parameters() - block


@pytest.mark.parametrize("family", ["encoder", "encoder_decoder"])
def test_every_launch_file_is_in_the_table(family):
    stacks = ("encoder_layers", "decoder_layers") if family == "encoder_decoder" else ("num_hidden_layers",)
    sizes = {name: SIZES[name] for name in ("hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")}
    found = {name: memory for name, _, memory in predict(family, sizes | dict.fromkeys(stacks, 1), 64, 64)}
    assert found.keys() == {path.name for path in LAUNCH.glob("*.yaml")}
    assert found["machines.yaml"] == found["gpus.yaml"]
    assert found["gpu.yaml"].activations < found["cpu.yaml"].activations
    assert found["fsdp2.yaml"].states == found["gpu.yaml"].states / 2


def test_the_table_is_printed(capsys):
    launch_memory.main(["--family", "decoder", "--hidden_size", "32", "--layers", "1", "--memory", "24"])
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split()[-2:] == ["24", "GiB"]
    assert [line.split()[0] for line in lines] == sorted(path.name for path in LAUNCH.glob("*.yaml"))
