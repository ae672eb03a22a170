"""Two processes with an uneven last batch score each example once; run by the test below, this file is one of them."""

import re
from pathlib import Path

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from atenta.recipes.metrics import scores

# Two processes share 5 batches, the last of them short: accelerate fills it, and deals a sixth, with examples from the
# beginning. Those are right and the end is wrong, so that the figures show any that count twice.
REFERENCES = [f"palavra {index}" for index in range(9)]
PREDICTIONS = REFERENCES[:4] + ["palavra"] * 5
EXPECTED = {"exact_match": 4 / 9, "word_accuracy": (8 + 5) / 18}


def test_each_example_is_scored_once():
    from support.ranks import run_ranks

    assert scores(list(EXPECTED), predictions=PREDICTIONS, references=REFERENCES) == EXPECTED
    assert sorted(re.findall(r"\d/2", run_ranks(Path(__file__)))) == ["0/2", "1/2"]  # lines of two may run together


def gather_and_score() -> None:
    """Score, in every process, what all of them hold.

    Raises:
        AssertionError: no example came twice before they were sorted out, or the figures are not those of one process.
    """
    accelerator = Accelerator(cpu=True)
    batches = accelerator.prepare(DataLoader(range(len(REFERENCES)), batch_size=2))
    seen, raw = [], 0
    for indices in batches:
        raw += len(accelerator.gather(indices))
        seen += accelerator.gather_for_metrics(indices).tolist()
    assert raw > len(REFERENCES)
    predictions, references = ([texts[index] for index in seen] for texts in (PREDICTIONS, REFERENCES))
    assert scores(list(EXPECTED), predictions=predictions, references=references) == EXPECTED
    print(f"{accelerator.process_index}/{accelerator.num_processes}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    gather_and_score()
