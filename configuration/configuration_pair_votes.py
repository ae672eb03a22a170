"""Configuration of the pair-votes model."""

from huggingface_hub.dataclasses import strict

from .configuration_base import AtentaConfig

MOST_COUNTED = 2**63 - 1  # an int64
LEAST_SMOOTHING = 1e-12  # anything less, times the share of a rare token, could underflow in float32: a logit of -inf
MOST_SMOOTHING = 1e12  # beside which votes are lost


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
        """Check the values, with the errors of the class docstring."""
        super().validate_architecture()
        self._validate_count("max_distance", 1, MOST_COUNTED, ", or None for no limit")
        if not LEAST_SMOOTHING <= self.smoothing <= MOST_SMOOTHING:
            raise ValueError(
                f"smoothing={self.smoothing!r:.200}; expected a finite number of at least {LEAST_SMOOTHING}, and at "
                f"most {MOST_SMOOTHING}."
            )
        for name in ("num_pairs", "num_triples"):
            self._validate_count(name, 0, MOST_COUNTED, " (nothing counted)")
