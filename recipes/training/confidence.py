"""The confidence of a tagger of characters, its temperature and how often sure answers are wrong, and its report."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import yaml
from scipy.optimize import minimize_scalar
from torch.nn.functional import cross_entropy

from atenta.recipes.training.results import print_examples
from atenta.restoration.restorer import CharacterRestorer

_EXAMPLES = 10


def fit_confidence(restorer: CharacterRestorer, sources: Sequence[str], pieces: Sequence[str]) -> float:
    """Set and return the temperature with which what characters become is most likely (Guo et al., 2017).

    Sources are in NFC, and `pieces` are what the characters of all of them become, one after another; what the tagger
    cannot make is left out.
    """
    scored = list(restorer.score(sources))
    places = np.concatenate([of_batch for of_batch, _ in scored])
    labels = torch.tensor([restorer.codes.label_of.get(pieces[place], -1) for place in places])
    logits = torch.from_numpy(np.concatenate([each for _, each in scored]))
    possible = (labels >= 0) & logits.gather(1, labels.clamp(min=0)[:, None]).squeeze(1).isfinite()
    logits, labels = logits[possible], labels[possible]
    found = minimize_scalar(
        lambda log: cross_entropy(logits / math.exp(log), labels).item(), bounds=(-2, 2), method="bounded"
    )
    restorer.model.config.confidence_temperature = round(math.exp(found.x), 4)
    return restorer.model.config.confidence_temperature


def summarize_confidence(confidence: np.ndarray, is_right: np.ndarray, least: float) -> dict[str, float]:
    """Return the share of answers with at least this confidence, and the share of these that are wrong."""
    sure = confidence >= least
    return {"decided": float(sure.mean()), "wrong": float(1 - is_right[sure].mean()) if sure.any() else 0.0}


def report_outputs(details: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], outputs: Sequence[str]) -> None:
    """Print what was measured, and the first test texts beside what is right."""
    print(yaml.safe_dump(dict(details), sort_keys=False, allow_unicode=True))
    print_examples(zip(rows[:_EXAMPLES], outputs))
