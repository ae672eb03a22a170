"""One contestant's peak memory, alone in a process: `python -m benchmarks.peak WORK FAMILY CONTESTANT DEVICE`."""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.contestants import TRAINED, Contestant
from benchmarks.decoding import draw_ids, generator, make
from benchmarks.settings import Settings
from benchmarks.sizes import COMPARED, Size
from benchmarks.training import BATCHES, make_examples, make_trainer

SEQUENCES, PROMPT, NEW = 32, 128, 128


class PeakMemory:
    """Bytes that a process holds at most, over what it holds now.

    On a CPU they are the kernel's (Linux). `ru_maxrss` would not do: it begins with the memory of the process that
    started this one, and what importing took is never forgotten.
    """

    def __init__(self, settings: Settings):
        self.on_gpu = settings.on_gpu
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()
        else:
            Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what is held now
        self.before = self._peak()

    def added(self) -> int:
        """Return the bytes that were added since this was made."""
        return self._peak() - self.before

    def _peak(self) -> int:
        if self.on_gpu:
            return torch.cuda.max_memory_allocated()
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def main(work: str, family: str, name: str, device: str) -> None:
    """Do the work once, and print the bytes."""
    settings = Settings(device)
    torch.set_num_threads(settings.threads)
    size = COMPARED[device][0]
    measure = {"decoding": decode, "training": train}[work]
    (contestant,) = (one for one in TRAINED[family] if one.name == name)
    print(measure(contestant, family, size, settings).added())


def decode(contestant: Contestant, family: str, size: Size, settings: Settings) -> PeakMemory:
    """Decode greedily, 32 sequences of 128 new tokens behind as many, after a warm-up of two."""
    generate = generator(make(contestant, size, settings), num_beams=1)
    ids = draw_ids(settings, SEQUENCES, PROMPT)
    generate(ids[:1, :4], 2)
    peak = PeakMemory(settings)
    generate(ids, NEW)
    return peak


def train(contestant: Contestant, family: str, size: Size, settings: Settings) -> PeakMemory:
    """Train some steps, without dropout: gradients, the optimizer's state and what the backward pass needs."""
    model = contestant.build(size, **contestant.without_dropout).to(settings.device)
    examples = make_examples(settings, family, *BATCHES[settings.device][size])
    with TemporaryDirectory() as folder:
        trainer = make_trainer(model, examples, folder, settings)
        peak = PeakMemory(settings)
        trainer.train()
    return peak


if __name__ == "__main__":
    main(*sys.argv[1:])
