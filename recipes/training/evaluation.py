"""What an evaluation keeps of the logits: a few numbers a text, so that a validation set fits in memory.

Each function is a `preprocess_logits_for_metrics` of transformers' Trainer. The texts of all processes come together
in `compute_metrics`, where sums over them are exact: no mean of means.
"""

from collections.abc import Iterable, Sequence

import torch
from torch.nn.functional import cross_entropy

from atenta.recipes.baselines import uniform_characters, unigram_characters
from atenta.recipes.metrics import scores
from atenta.recipes.training.options import RecipeArguments


def nats_of_texts(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return how much each text surprises a decoder.

    Args:
        logits: (batch, length, vocab_size).
        labels: (batch, length), not shifted; -100 where nothing is predicted.

    Returns:
        (batch,) in nats, the sum over the text's tokens that are predicted.
    """
    return cross_entropy(logits[:, :-1].float().transpose(1, 2), labels[:, 1:], reduction="none").sum(1)


def expect_metric(training: RecipeArguments, figures: Iterable[str]) -> None:
    """Check, before any training, that the figure that chooses the best checkpoint will be there.

    Raises:
        SystemExit: it will not; the message names those that will.
    """
    known, named = ["loss", *figures], training.metric_for_best_model
    if named and named.removeprefix("eval_") not in known:
        raise SystemExit(f"--metric_for_best_model {named}: expected one of {', '.join(known)}")


def bits(nats: Iterable[float], texts: Sequence[str]) -> dict[str, float]:
    """Return bits per character and perplexities of texts that surprise by so many nats, their ends included."""
    return scores(["bits_per_character"], predictions=list(nats), references=list(texts))


def beside_characters(
    nats: Iterable[float], train_texts: Iterable[str], texts: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return a model's `bits` beside those of two baselines that know characters only.

    Args:
        nats: of each text, by the model.
        train_texts: what the model was trained on; read twice.
        texts: that the model did not see.
    """
    return {
        "uniform characters": bits(uniform_characters(train_texts, texts), texts),
        "unigram characters": bits(unigram_characters(train_texts, texts), texts),
        "model": bits(nats, texts),
    }


def masked_sums(logits: tuple[torch.Tensor, torch.Tensor], labels: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Return what the scores of masked characters and of the order of sentences are made of.

    Args:
        logits: (batch, length, vocab_size) of the tokens and (batch, 2) of the order, as in `ForPreTraining`.
        labels: (batch, length), -100 where nothing was masked, and (batch,) of the order.

    Returns:
        (batch, 4): number of masked tokens, how many were guessed, their nats, and 1 where the order was guessed.
    """
    masked = labels[0] != -100
    nats = cross_entropy(logits[0].float().transpose(1, 2), labels[0], reduction="none")
    guessed = (logits[0].argmax(-1) == labels[0]) & masked
    in_order = logits[1].argmax(-1) == labels[1].flatten()
    return torch.stack([masked.sum(1), guessed.sum(1), nats.sum(1), in_order], dim=1)


def choices(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the best class: (batch, classes) to (batch,), or (batch, length, classes) to (batch, length)."""
    return logits.argmax(-1)
