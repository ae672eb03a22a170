"""Options of the model of pairwise votes."""

import math

from huggingface_hub.dataclasses import strict

from .configuration_base import AtentaConfig

LARGEST_VOCABULARY = 2_097_151  # a triple of ids is counted under one 64-bit number, so its cube must stay below 2**63
LEAST_SMOOTHING = 1e-12  # less, times the share of a rare token, could vanish in float32: its logit would be -inf


@strict
class AtentaPairVotesConfig(AtentaConfig):
    r"""Options of document 1's aggregation of pairwise features. Vocabulary and special ids: see [`AtentaConfig`].

    Args:
        max_distance (`int`, *optional*): how many tokens back a vote may come from; from any distance unless given.
        smoothing (`float`, defaults to 0.1): weight of the distribution of single tokens beside the votes, in votes
            (every earlier token has one); formula: [`AtentaPairVotesForCausalLM`].
        num_pairs (`int`, defaults to 0): distinct pairs (earlier, current) that `fit` has counted, which sets it.
        num_triples (`int`, defaults to 0): distinct triples (earlier, current, next) that `fit` has counted.

    Raises:
        StrictDataclassError, ValueError: as in [`AtentaConfig`], a vocabulary of more than 2,097,151 tokens, a
            `max_distance` below 1, a `smoothing` below 1e-12 or infinite, or negative numbers of pairs or triples.

    Example:

    ```python
    >>> from atenta import AtentaPairVotesConfig, AtentaPairVotesForCausalLM

    >>> config = AtentaPairVotesConfig(vocab_size=5, pad_token_id=None, bos_token_id=None, eos_token_id=None)
    >>> model = AtentaPairVotesForCausalLM(config).fit([[0, 1, 2, 3], [4, 1, 2, 4]])
    ```
    """

    model_type = "atenta_pair_votes"
    keys_to_ignore_at_inference = ["votes"]

    max_distance: int | None = None
    smoothing: float | int = 0.1
    num_pairs: int = 0
    num_triples: int = 0

    def validate_architecture(self) -> None:
        """Check values, as in [`AtentaConfig`].

        Raises:
            ValueError: as described in the class docstring.
        """
        super().validate_architecture()
        if self.vocab_size > LARGEST_VOCABULARY:
            raise ValueError(f"vocab_size={self.vocab_size}: triples are counted up to {LARGEST_VOCABULARY} tokens.")
        if self.max_distance is not None and self.max_distance < 1:
            raise ValueError(f"max_distance={self.max_distance}: it must be at least 1, or None for any distance.")
        if not LEAST_SMOOTHING <= self.smoothing < math.inf:
            raise ValueError(f"smoothing={self.smoothing}: a finite number from {LEAST_SMOOTHING} is needed.")
        for name in ("num_pairs", "num_triples"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}: it must be 0 (nothing counted) or more.")
