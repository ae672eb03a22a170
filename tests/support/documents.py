"""The documents' worked examples: inputs and exact figures, recomputed in float64 where a document errs."""

import json
from pathlib import Path

import torch

EXAMPLES = json.loads((Path(__file__).parents[1] / "data" / "worked_examples.json").read_text(encoding="utf-8"))
LAST_DIGIT = 2e-6  # the figures have six, and softmax is taken in float32


def worked_example(name):
    """Inputs and exact figures of a worked example, such as `"2/causal-mask"`: its document and what it shows."""
    inputs, exact = (EXAMPLES[name][part] for part in ("inputs", "exact"))
    return as_tensors(inputs), as_tensors(exact)


def as_tensors(figures):
    """Lists of numbers become tensors in float64; all else stays."""
    return {
        name: torch.tensor(value, dtype=torch.float64) if isinstance(value, list) else value
        for name, value in figures.items()
    }
