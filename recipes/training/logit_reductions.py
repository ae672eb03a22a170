"""Reductions of the logits during evaluation.

They are `preprocess_logits_for_metrics` of transformers' Trainer: they keep a few numbers for each
text, so that a validation set fits in memory. `compute_metrics` gets the numbers of all processes, so its sums are
exact and not means of means.
"""

import torch
from torch.nn.functional import cross_entropy


def nats_of_texts(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the negative log-likelihood of each text under a decoder, (batch,) in nats.

    Logits are (batch, length, vocab_size), labels (batch, length): not shifted, and -100 where nothing is predicted.
    """
    return cross_entropy(logits[:, :-1].float().transpose(1, 2), labels[:, 1:], reduction="none").sum(1)


def masked_sums(logits: tuple[torch.Tensor, torch.Tensor], labels: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Return the sums from which masked-character and next-sentence scores are computed.

    Args:
        logits: (batch, length, vocab_size) of the tokens and (batch, 2) of the sentence order, as in `ForPreTraining`.
        labels: (batch, length), -100 for tokens that were not masked, and (batch,) of the order.

    Returns:
        (batch, 4): number of masked tokens, number predicted correctly, their negative log-likelihood in nats, and 1
        if the order was predicted correctly.
    """
    masked = labels[0] != -100
    nats = cross_entropy(logits[0].float().transpose(1, 2), labels[0], reduction="none")
    correct = (logits[0].argmax(-1) == labels[0]) & masked
    order_correct = logits[1].argmax(-1) == labels[1].flatten()
    return torch.stack([masked.sum(1), correct.sum(1), nats.sum(1), order_correct], dim=1)


def best_classes(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the best class: (batch, classes) to (batch,), or (batch, length, classes) to (batch, length)."""
    return logits.argmax(-1)
