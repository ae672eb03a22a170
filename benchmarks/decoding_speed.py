"""Decoding speed: `generate` with greedy search and beams against the peers."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import torch
from torch import nn

from benchmarks.contestants import DECODING_CONTESTANTS, draw_ids, ready_to_generate
from benchmarks.measuring import COMPARED, SMALL, Settings, Size, Work, measure, milliseconds

DECODING_ROUNDS, DECODING_ROUNDS_OF_LARGER = 11, 5
PROMPT_LENGTH = 16
NEW_TOKENS = 64
BEAMS = 5
DECODING_WORKS = (  # family, sequences, beams
    ("decoder", 1, 1),
    ("decoder", 32, 1),
    ("encoder-decoder", 1, 1),
    ("encoder-decoder", 32, 1),
    ("encoder-decoder", 8, BEAMS),
)


def measure_decoding(settings: Settings) -> Iterator[Work]:
    """Measure every work at every size."""
    for size in COMPARED[settings.device]:
        for family, sequences, beams in DECODING_WORKS:
            ids = draw_ids(settings, sequences, PROMPT_LENGTH)
            decoders = {
                one.name: bind_decoder(ready_to_generate(one, size, settings), ids, beams)
                for one in DECODING_CONTESTANTS[family]
            }
            rounds = DECODING_ROUNDS if size == SMALL else DECODING_ROUNDS_OF_LARGER
            yield decoding_work(describe_decoding(family, size, sequences, beams), decoders, settings, rounds)


def describe_decoding(family: str, size: Size, sequences: int, beams: int = 1) -> str:
    """Return the name of a work, such as `decoder 4 × 256, greedy, 32 sequences`."""
    search = "greedy" if beams == 1 else f"beam {beams}"
    return f"{family} {size}, {search}, {sequences} sequence{'s' if sequences > 1 else ''}"


def bind_decoder(model: nn.Module, ids: torch.Tensor, beams: int) -> Callable[[], int]:
    """Return a function that decodes ids and returns the number of new tokens of each text."""
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    generate = partial(model.generate, **inputs, max_new_tokens=NEW_TOKENS, num_beams=beams, do_sample=False)
    given = 1 if model.config.is_encoder_decoder else PROMPT_LENGTH
    return lambda: generate().shape[1] - given


def decoding_work(name: str, decoders: Mapping[str, Callable[[], int]], settings: Settings, rounds: int) -> Work:
    """Measure milliseconds per new token, prompt included, of functions that return their number."""
    steps = {who: partial(step_milliseconds, decode, settings) for who, decode in decoders.items()}
    return measure(name, "ms a step", steps, settings, rounds)


def step_milliseconds(decode: Callable[[], int], settings: Settings) -> float:
    """Return the milliseconds that a new token takes.

    Raises:
        RuntimeError: If there are not `NEW_TOKENS`.
    """
    lengths = []
    each = milliseconds(lambda: lengths.append(decode()), settings, NEW_TOKENS)
    if lengths != [NEW_TOKENS]:
        raise RuntimeError(f"Decoding stopped early: expected {NEW_TOKENS} new tokens, got {lengths[0]}.")
    return each
