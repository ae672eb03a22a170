"""Predict what each process of every launch file holds while it trains: `python -m benchmarks.launch_memory`.

One step of one process is run by torch's MemTracker on tensors without data, so no GPU and no memory is needed. What
the processes split is then divided by their number, as FSDP and DeepSpeed do (Rajbhandari et al., 2020, section 5).
Buffers of the libraries and fragmentation come on top: some hundred MiB on a GPU.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import torch
import yaml
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from transformers import PreTrainedModel

from atenta import (
    AtentaDecoderConfig,
    AtentaDecoderForCausalLM,
    AtentaEncoderConfig,
    AtentaEncoderDecoderConfig,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
)

LAUNCH = Path(__file__).parents[1] / "recipes" / "launch"
FAMILIES = {
    "encoder": (AtentaEncoderForMaskedLM, AtentaEncoderConfig),
    "decoder": (AtentaDecoderForCausalLM, AtentaDecoderConfig),
    "encoder_decoder": (AtentaEncoderDecoderForConditionalGeneration, AtentaEncoderDecoderConfig),
}
HALF = 2  # bytes of a number in bfloat16


@dataclass(frozen=True)
class Memory:
    """The memory of one process, in bytes.

    Attributes:
        weights: the weights that stay, also those in bfloat16 beside float32.
        gradients: the gradients after the backward pass.
        states: the states of AdamW.
        activations: what the forward pass keeps for the backward pass.
        copies: weights gathered from other processes, and gradients on their way to them.
    """

    weights: int
    gradients: int
    states: int
    activations: int
    copies: int = 0

    @property
    def total(self) -> int:
        """The sum, which bounds what is held at any time."""
        return sum(astuple(self))


def measure_step(model_class: type[PreTrainedModel], config: Any, batch: int, length: int, half: bool) -> Memory:
    """Return what one process alone holds for a batch, in float32 or in bfloat16 by autocast.

    Args:
        model_class: the model, with labels for each token.
        config: its configuration.
        batch: number of texts.
        length: number of tokens in each text, and in each target.
        half: whether to compute in bfloat16; weights stay in float32.
    """
    with FakeTensorMode(), torch.device("cpu"):
        model = model_class(config)
        ids = torch.ones(batch, length, dtype=torch.long)
        optimizer = torch.optim.AdamW(model.parameters())
        tracker = MemTracker()
        tracker.track_external(model, optimizer, ids)
        with tracker:
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                loss = model(input_ids=ids, labels=ids).loss
            kept = _by_kind(tracker)
            loss.backward()
            gradients = sum(weight.grad.nbytes for weight in model.parameters() if weight.grad is not None)
            optimizer.step()
        return Memory(kept["Parameter"], gradients, _by_kind(tracker)["Optstate"], kept["Activation"])


def largest_units(model_class: type[PreTrainedModel], config: Any) -> int:
    """Return how many weights are gathered at once: two blocks, and those outside of blocks."""
    with torch.device("meta"):
        model = model_class(config)
    blocks = [
        sum(weight.numel() for weight in module.parameters())
        for module in model.modules()
        if type(module).__name__ in model._no_split_modules
    ]
    return sum(sorted(blocks)[-2:]) + model.num_parameters() - sum(blocks)


def of_process(settings: dict[str, Any], alone: Memory, gathered: int) -> Memory:
    """Return what each process of a launch file holds.

    Args:
        settings: the content of the file.
        alone: what one process alone holds with weights in float32.
        gathered: number of weights that are gathered at once where weights are split.
    """
    processes, numbers = settings["num_processes"], alone.weights // 4
    match settings["distributed_type"]:
        case "NO":
            return alone
        case "MULTI_GPU":  # gradients are averaged in buckets beside them
            return Memory(alone.weights, alone.gradients, alone.states, alone.activations, alone.gradients)
        case "FSDP":
            split = (-(-size // processes) for size in (alone.weights, alone.gradients, alone.states))
            return Memory(*split, alone.activations, gathered * (HALF + HALF))  # weights, and their gradients
        case "DEEPSPEED":  # with --bf16: weights and gradients in bfloat16; AdamW has the weights in float32 too
            whole = settings["deepspeed_config"]["zero_stage"] < 3
            weights = HALF * numbers if whole else -(-HALF * numbers // processes)
            states = -(-(alone.weights + alone.states) // processes)
            copies = HALF * (numbers if whole else 2 * gathered)
            return Memory(weights, -(-HALF * numbers // processes), states, alone.activations, copies)
    raise ValueError(f"distributed_type {settings['distributed_type']!r}; expected NO, MULTI_GPU, FSDP or DEEPSPEED.")


def predict(family: str, sizes: dict[str, int], batch: int, length: int) -> Iterator[tuple[str, int, Memory]]:
    """Yield, for each launch file, its name, its number of processes, and what each of them holds."""
    model_class, config_class = FAMILIES[family]
    config = config_class(**sizes)
    alone = {half: measure_step(model_class, config, batch, length, half) for half in (False, True)}
    gathered = largest_units(model_class, config)
    for path in sorted(LAUNCH.glob("*.yaml")):
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        half = settings["mixed_precision"] == "bf16" or settings["distributed_type"] == "DEEPSPEED"
        yield path.name, settings["num_processes"], of_process(settings, alone[half], gathered)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table of what each process of every launch file holds, in MiB, and its share of a GPU's memory."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--family", choices=FAMILIES, default="encoder_decoder")
    parser.add_argument("--hidden_size", type=int, default=512)
    parser.add_argument("--intermediate_size", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=6, help="blocks of each stack")
    parser.add_argument("--batch_size", type=int, default=64, help="texts of each process")
    parser.add_argument("--length", type=int, default=128, help="tokens of a text, and of its target")
    parser.add_argument("--memory", type=float, default=80, help="memory of a GPU in GiB, to compare with")
    options = parser.parse_args(arguments)
    sizes = {"hidden_size": options.hidden_size, "intermediate_size": options.intermediate_size}
    stacks = ("encoder_layers", "decoder_layers") if options.family == "encoder_decoder" else ("num_hidden_layers",)
    sizes |= dict.fromkeys(stacks, options.layers)
    names = ["processes", *(field.name for field in fields(Memory)), "total", f"of {options.memory:g} GiB"]
    print(f"{'MiB in each process':22}", *(f"{name:>11}" for name in names))
    for name, processes, memory in predict(options.family, sizes, options.batch_size, options.length):
        figures = [f"{size / 2**20:,.0f}" for size in (*astuple(memory), memory.total)]
        figures.append(f"{memory.total / (options.memory * 2**30):.1%}")
        print(f"{name:22} {processes:>11}", *(f"{figure:>11}" for figure in figures))


def _by_kind(tracker: MemTracker) -> dict[str, int]:
    (of_device,) = tracker.get_tracker_snapshot("current").values()
    return {getattr(kind, "value", kind): size for kind, size in of_device.items()}


if __name__ == "__main__":
    main()
