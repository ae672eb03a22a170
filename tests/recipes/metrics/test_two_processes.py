"""Two processes with an incomplete last batch score each example once. The test runs this file in both processes."""

import re
from pathlib import Path

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from atenta.recipes.metrics import scores

# The processes share 5 batches. accelerate completes the short last batch, and adds a sixth, with examples from the
# beginning. These are right and the last ones are wrong, so examples that are counted twice change the figures.
REFERENCES = [f"palavra {index}" for index in range(9)]
PREDICTIONS = REFERENCES[:4] + ["palavra"] * 5
EXPECTED = {"exact_match": 4 / 9, "word_accuracy": (8 + 5) / 18}


def test_each_example_is_scored_once():
    from support.ranks import run_ranks

    assert scores(list(EXPECTED), predictions=PREDICTIONS, references=REFERENCES) == EXPECTED
    assert sorted(re.findall(r"\d/2", run_ranks(Path(__file__)))) == ["0/2", "1/2"]  # output lines may be mixed


def gather_and_score() -> None:
    """Score, in every process, the outputs of all processes.

    Raises:
        AssertionError: If no example was duplicated before gathering, or the figures are not those of one process.
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
