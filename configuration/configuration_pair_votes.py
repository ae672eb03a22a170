"""Configuration of the pair-votes model."""

import math

from huggingface_hub.dataclasses import strict

from .configuration_base import AtentaConfig

LARGEST_VOCABULARY = 2_097_151  # triples of ids are counted as single int64 numbers: vocab_size**3 must be below 2**63
LEAST_SMOOTHING = 1e-12  # anything less, times the share of a rare token, could underflow in float32: a logit of -inf


@strict
class AtentaPairVotesConfig(AtentaConfig):
    r"""Options of document 1's pairwise feature aggregation. For the vocabulary's options, see [`AtentaConfig`].

    Args:
        max_distance (`int`, *optional*): largest distance in tokens from an earlier token that votes; defaults to no
            limit.
        smoothing (`float`, defaults to 0.1): weight of the single-token distribution that is added to the votes, in
            votes (every earlier token casts one); for the formula, see [`AtentaPairVotesForCausalLM`].
        num_pairs (`int`, defaults to 0): number of distinct pairs (earlier, current); `fit` sets it.
        num_triples (`int`, defaults to 0): number of distinct triples (earlier, current, next); `fit` sets it.

    Raises:
        StrictDataclassError, ValueError: As in [`AtentaConfig`], or if the vocabulary has more than 2,097,151 tokens,
            `max_distance` is below 1, `smoothing` is below 1e-12 or infinite, or a number of pairs or triples is
            negative.

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
        """Check the values, as in [`AtentaConfig`].

        Raises:
            ValueError: As described in the class docstring.
        """
        super().validate_architecture()
        if self.vocab_size > LARGEST_VOCABULARY:
            raise ValueError(
                f"vocab_size={self.vocab_size}; expected at most {LARGEST_VOCABULARY}, the most tokens whose triples "
                "can be counted."
            )
        if self.max_distance is not None and self.max_distance < 1:
            raise ValueError(f"max_distance={self.max_distance}; expected at least 1, or None for no limit.")
        if not LEAST_SMOOTHING <= self.smoothing < math.inf:
            raise ValueError(f"smoothing={self.smoothing}; expected a finite number of at least {LEAST_SMOOTHING}.")
        for name in ("num_pairs", "num_triples"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}; expected 0 (nothing counted) or more.")
