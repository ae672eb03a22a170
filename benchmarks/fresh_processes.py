"""Sections measured in fresh processes: the time of imports, and peak memory in decoding and training."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.contestants import (
    DECODING_CONTESTANTS,
    TRAINING_CONTESTANTS,
    Contestant,
    bind_generate,
    draw_ids,
    ready_to_generate,
)
from benchmarks.measuring import COMPARED, OURS, Settings, Size, Target, Work, measure, run_python
from benchmarks.token_worker import peak_bytes
from benchmarks.training_speed import BATCH_SHAPES, make_examples, make_trainer

IMPORT_ROUNDS = 4
IMPORT_STATEMENTS = {
    f"{OURS}, no name": "import atenta",
    OURS: "from atenta import AtentaEncoderModel",
    "transformers": "from transformers import AutoModel, PreTrainedModel",
}
TIMED_IMPORT = "from time import perf_counter; start = perf_counter(); {}; print(perf_counter() - start)"

MEMORY_ROUNDS = 1  # memory hardly differs between runs, and each run is a process that imports everything
MEMORY_SEQUENCES, MEMORY_PROMPT_LENGTH, MEMORY_NEW_TOKENS = 32, 128, 128


def measure_imports(settings: Settings) -> Iterator[Work]:
    """Measure the seconds of importing a model, against the parts of transformers that users import anyway."""
    seconds = {name: partial(_import_seconds, statement) for name, statement in IMPORT_STATEMENTS.items()}
    yield measure("import", "s", seconds, settings, IMPORT_ROUNDS, [Target(0.3, "transformers", kind="difference")])


def _import_seconds(statement: str) -> float:
    return float(run_python("-c", TIMED_IMPORT.format(statement)))


def measure_memory(settings: Settings) -> Iterator[Work]:
    """Measure peak memory in MB at the first size, above what a process holds once its model is built."""
    size = COMPARED[settings.device][0]
    works = {"decoding": DECODING_CONTESTANTS, "training": TRAINING_CONTESTANTS}
    for work, families in works.items():
        for family, contestants in families.items():
            name = f"peak memory, {work} {family} {size}{', no dropout' if work == 'training' else ''}"
            megabytes = {one.name: partial(_megabytes, work, family, one.name, settings) for one in contestants}
            yield measure(name, "MB", megabytes, settings, MEMORY_ROUNDS, warm_up=False)


def _megabytes(work: str, family: str, name: str, settings: Settings) -> float:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(peak_memory, work, family, name, settings).result() / 1e6


def peak_memory(work: str, family: str, name: str, settings: Settings) -> int:
    """Run the work once, and return by how many bytes the memory of this process has grown at its peak."""
    torch.set_num_threads(settings.threads)
    (contestant,) = (one for one in TRAINING_CONTESTANTS[family] if one.name == name)
    measure = {"decoding": decoding_memory, "training": training_memory}[work]
    return measure(contestant, family, COMPARED[settings.device][0], settings)


def decoding_memory(contestant: Contestant, family: str, size: Size, settings: Settings) -> int:
    """Decode greedily: 32 sequences with a prompt of 128 tokens and 128 new ones, after a warm-up of two tokens."""
    generate = bind_generate(ready_to_generate(contestant, size, settings), num_beams=1)
    ids = draw_ids(settings, MEMORY_SEQUENCES, MEMORY_PROMPT_LENGTH)
    generate(ids[:1, :4], 2)
    return _added_bytes(partial(generate, ids, MEMORY_NEW_TOKENS), settings)


def training_memory(contestant: Contestant, family: str, size: Size, settings: Settings) -> int:
    """Train for a few steps without dropout: gradients, optimizer state and activations count."""
    model = contestant.build(size, **contestant.without_dropout).to(settings.device)
    examples = make_examples(family, *BATCH_SHAPES[settings.device][size])
    with TemporaryDirectory() as folder:
        return _added_bytes(make_trainer(model, examples, folder, settings).train, settings)


def _added_bytes(work: Callable[[], object], settings: Settings) -> int:
    """Return the largest number of bytes that the process holds during the work, above what it held before.

    On a CPU, the figures come from the kernel (Linux). `ru_maxrss` is not suitable: it keeps the peak of the imports.
    """
    peak = torch.cuda.max_memory_allocated if settings.on_gpu else peak_bytes
    if settings.on_gpu:
        torch.cuda.reset_peak_memory_stats()
    else:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the memory held now
    before = peak()
    work()
    return peak() - before
