"""Decoding through `generate`: greedy and with beams, a decoder and an encoder-decoder against their peers."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import nn

from benchmarks.contestants import DECODERS, ENCODER_DECODERS, Contestant
from benchmarks.limits import GreedyLimit
from benchmarks.measure import interleave, timed
from benchmarks.results import LIMIT, Target, Work
from benchmarks.settings import Settings
from benchmarks.sizes import COMPARED, FIRST_CHARACTER, SMALL, VOCABULARY, Size

SECONDS = 190
ROUNDS = {SMALL: 11}
ROUNDS_OF_LARGER = 5
PROMPT = 16
NEW = 64
BEAMS = 5
FAMILIES = {"decoder": DECODERS, "encoder-decoder": ENCODER_DECODERS}
# Family, sequences, beams; the peer and the share of its time that is to be reached at 4 × 256 on a CPU.
WORKS = (
    ("decoder", 1, 1, Target(0.35, "GPT-2")),
    ("decoder", 32, 1, Target(0.5, "GPT-2")),
    ("encoder-decoder", 1, 1, Target(0.4, "BART")),
    ("encoder-decoder", 32, 1, Target(0.5, "BART")),
    ("encoder-decoder", 8, BEAMS, Target(0.5, "BART")),
)


def run(settings: Settings) -> Iterator[Work]:
    """Measure every work at every size: milliseconds a new character, the prompt's share included."""
    for size in COMPARED[settings.device]:
        for family, sequences, beams, target in WORKS:
            name = f"{family} {size}, {'greedy' if beams == 1 else f'beam {beams}'}, {_count(sequences)}"
            ids = draw_ids(settings, sequences, PROMPT)
            contestants = {
                contestant.name: generator(make(contestant, size, settings), num_beams=beams)
                for contestant in FAMILIES[family]
            }
            model = make(FAMILIES[family][0], size, settings)  # ours
            contestants[LIMIT] = GreedyLimit(model, sequences * beams, PROMPT + NEW).generate
            inputs = dict.fromkeys(contestants, ids) | {LIMIT: ids.repeat_interleave(beams, 0)}
            steps = {
                who: partial(_milliseconds, generate, inputs[who], family, settings)
                for who, generate in contestants.items()
            }
            figures = interleave(steps, settings.rounds or ROUNDS.get(size, ROUNDS_OF_LARGER), name)
            asked = [target] if size == SMALL and not settings.on_gpu else []
            yield Work(name, "ms a step", figures, asked)


def make(contestant: Contestant, size: Size, settings: Settings, positions: int = 512) -> nn.Module:
    """Return a model that is ready to decode, and that no `<eos>` stops."""
    model = contestant.build(size, positions).to(settings.device, settings.dtype).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def generator(model: nn.Module, **options: object) -> Callable[..., torch.Tensor]:
    """Return `model.generate` as it is called on a tokenizer's output, which has a mask."""

    def generate(ids: torch.Tensor, max_new_tokens: int, **more: object) -> torch.Tensor:
        return model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=max_new_tokens,
            do_sample=False,
            **options,
            **more,
        )

    return generate


def draw_ids(settings: Settings, sequences: int, length: int) -> torch.Tensor:
    """Return ids of characters, (sequences, length), the same at each call."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(FIRST_CHARACTER, VOCABULARY, (sequences, length), generator=generator).to(settings.device)


def _milliseconds(generate: Callable[..., torch.Tensor], ids: torch.Tensor, family: str, settings: Settings) -> float:
    outputs = []
    seconds = timed(lambda: outputs.append(generate(ids, NEW)), settings.wait)
    expected = NEW + (PROMPT if family == "decoder" else 1)
    if outputs[0].shape[1] != expected:
        raise RuntimeError(f"generate gave {outputs[0].shape[1]} tokens, expected {expected}: it stopped early.")
    return 1000 * seconds / NEW


def _count(sequences: int) -> str:
    return "1 sequence" if sequences == 1 else f"{sequences} sequences"
