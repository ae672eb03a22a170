"""What a step of decoding tells: the sequences that may go on, what might come next in each, and which ended."""

from dataclasses import dataclass
from math import isclose


@dataclass(frozen=True)
class Candidate:
    """A token that might come next.

    Attributes:
        token_id: the token.
        probability: the model's, 0 to 1.
        kept_probability: after temperature, top-k, top-p and what else processes the scores, over all tokens 1; 0 for
            a token that they dropped. In greedy and beam search nothing is dropped unless other options ask for it.
        score: of the hypothesis with this token behind it, in nats.
        chosen: the hypothesis went on with this token, or ended with it and is among the finished ones.
    """

    token_id: int
    probability: float
    kept_probability: float
    score: float
    chosen: bool

    @property
    def kept(self) -> bool:
        """The token could have been chosen."""
        return self.kept_probability > 0

    @property
    def changed(self) -> bool:
        """Temperature, top-k, top-p or another option dropped the token, or made it more or less probable."""
        dropped = self.probability > 0 and not self.kept
        return dropped or not isclose(self.probability, self.kept_probability, abs_tol=5e-4)


@dataclass(frozen=True)
class Hypothesis:
    """A sequence that may go on.

    Attributes:
        token_ids: before this step, with the prompt or, of an encoder-decoder, the token that starts the target.
        score: Σ log p of the tokens generated so far, in nats, where p is the probability after processing.
        candidates: the most probable ones by the model, and the chosen ones; most probable first.
    """

    token_ids: tuple[int, ...]
    score: float
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Finished:
    """A sequence that has ended, by a token such as `<eos>` or at the greatest length.

    Attributes:
        token_ids: with the prompt or the token that starts the target, as `generate` returns them.
        score: of the hypothesis, in nats; in beam search over its number of generated tokens ** `length_penalty`.
    """

    token_ids: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class DecodingStep:
    """One step of a search: one more token for each hypothesis.

    Attributes:
        number: from 1.
        hypotheses: one, or at most `num_beams`; best first.
        finished: those that have ended so far, this step included; best first. The first of the last step is what
            `generate` returns.
    """

    number: int
    hypotheses: tuple[Hypothesis, ...]
    finished: tuple[Finished, ...]
