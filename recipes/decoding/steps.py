"""Decoding step by step: the candidates for the next token, and which of them are kept and chosen.

The searches below follow the loops of `generate` for one sequence and are written to be read. `generate` calls them
itself, with the inputs, the logits processors and the stopping criteria that it prepares for its own loops.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import isclose
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
from transformers.generation import GenerationMode

_EXCLUDED = -1e9  # the score by which `generate` excludes a beam


@dataclass(frozen=True)
class Candidate:
    """A token that might come next.

    Attributes:
        token_id: The token.
        probability: Its probability under the model, 0 to 1.
        kept_probability: Its probability after temperature, top-k, top-p and all other processing of the scores. They
            sum to 1 over the vocabulary and are 0 for tokens that were dropped. Greedy and beam search drop nothing by
            default.
        score: Score of the hypothesis continued with this token, in nats.
        chosen: Whether the hypothesis continues with this token, or ends with it and is among the finished ones.
    """

    token_id: int
    probability: float
    kept_probability: float
    score: float
    chosen: bool

    @property
    def kept(self) -> bool:
        """Whether the token could have been chosen."""
        return self.kept_probability > 0

    @property
    def changed(self) -> bool:
        """Whether temperature, top-k, top-p or another option dropped the token or changed its probability."""
        dropped = self.probability > 0 and not self.kept
        return dropped or not isclose(self.probability, self.kept_probability, abs_tol=5e-4)


@dataclass(frozen=True)
class Hypothesis:
    """A sequence that may be continued.

    Attributes:
        token_ids: Its tokens before this step, including the prompt, or the start token of an encoder-decoder.
        score: Σ log p of the tokens generated so far, in nats, where p is the probability after processing.
        candidates: The most probable next tokens under the model and the chosen ones, most probable first.
    """

    token_ids: tuple[int, ...]
    score: float
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Finished:
    """A sequence that has ended, with a token such as `<eos>` or at the maximum length.

    Attributes:
        token_ids: Its tokens, including the prompt or the start token, as `generate` returns them.
        score: Score of the hypothesis, in nats; in beam search, divided by its number of generated tokens **
            `length_penalty`.
    """

    token_ids: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class DecodingStep:
    """One step of a search, which adds one token to each hypothesis.

    Attributes:
        number: Number of the step, from 1.
        hypotheses: One, or at most `num_beams`, best first.
        finished: Sequences that have ended so far, including this step, best first. `generate` returns the first one
            of the last step.
    """

    number: int
    hypotheses: tuple[Hypothesis, ...]
    finished: tuple[Finished, ...]


def decoding_steps(
    model: PreTrainedModel, inputs: torch.Tensor | None = None, *, num_candidates: int = 5, **options: Any
) -> Iterator[DecodingStep]:
    """Yield the steps by which `model.generate(inputs, **options)` arrives at its result.

    A step is computed when it is requested, and reads the complete sequence, without a cache of keys and values.

    Args:
        model: A model that generates, in evaluation mode.
        inputs: (1, length) ids of the prompt or the source; they may also be given as the option `input_ids`.
        num_candidates: Number of most probable candidates in each hypothesis; chosen ones are added to them.
        options: Other inputs and options of `generate`: `attention_mask`, `max_new_tokens`, `num_beams`, `do_sample`,
            `temperature`, `top_k`, `top_p`, `length_penalty`, … With the same seed, sampling gives the same tokens as
            `generate`, unless other random numbers are drawn between the steps.

    Raises:
        ValueError: If the options ask for another search than greedy search, sampling or beam search, there is more
            than one input sequence, or `generate` rejects the options.
    """
    if num_candidates < 1:
        raise ValueError(f"num_candidates is {num_candidates}; expected 1 or more.")
    search = partial(_search, num_candidates=num_candidates)
    return model.generate(inputs, custom_generate=search, use_cache=False, **options)


def _search(
    model: PreTrainedModel, input_ids: torch.Tensor, *, generation_config: GenerationConfig, **prepared: Any
) -> Iterator[DecodingStep]:
    if generation_config.num_beams < 1:
        raise ValueError(f"num_beams is {generation_config.num_beams}; expected 1 (no beam search) or more.")
    mode = generation_config.get_generation_mode()
    searches = {
        GenerationMode.GREEDY_SEARCH: _follow_one,
        GenerationMode.SAMPLE: _follow_one,
        GenerationMode.BEAM_SEARCH: _follow_beams,
    }
    if mode not in searches:
        raise ValueError(f"The options ask for {mode.value}; expected one of {', '.join(searches)}.")
    if len(input_ids) != generation_config.num_beams:
        raise ValueError(
            f"Found {len(input_ids) // generation_config.num_beams} sequences; expected inputs of one sequence, "
            "(1, length), and num_return_sequences=1 unless there are beams."
        )
    return searches[mode](model, input_ids, generation_config=generation_config, **prepared)


@torch.no_grad()
def _follow_one(
    model: PreTrainedModel,
    input_ids: torch.Tensor,
    *,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    num_candidates: int,
    **model_inputs: Any,
) -> Iterator[DecodingStep]:
    """Yield the steps of greedy search, which takes the most probable token, or of sampling, which draws one."""
    score = 0.0
    for number in count(1):
        logits, model_inputs = _next_token_logits(model, input_ids, model_inputs)
        processed = logits_processor(input_ids, logits)
        if generation_config.do_sample:
            chosen = torch.multinomial(processed.softmax(-1), 1)
        else:
            chosen = processed.argmax(-1, keepdim=True)
        log_probabilities = processed.log_softmax(-1)
        hypothesis = _hypothesis(input_ids[0], score, logits[0], log_probabilities[0], {chosen.item()}, num_candidates)
        score += log_probabilities[0, chosen].item()
        input_ids = torch.cat([input_ids, chosen], dim=-1)
        ended = stopping_criteria(input_ids, None).item()
        yield DecodingStep(number, (hypothesis,), (Finished(tuple(input_ids[0].tolist()), score),) if ended else ())
        if ended:
            return


@torch.no_grad()
def _follow_beams(
    model: PreTrainedModel,
    input_ids: torch.Tensor,
    *,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    num_candidates: int,
    **model_inputs: Any,
) -> Iterator[DecodingStep]:
    """Yield the steps of beam search, which keeps the `num_beams` best continuations of all hypotheses."""
    num_beams, prompt_length = input_ids.shape
    early_stopping, length_penalty = generation_config.early_stopping, generation_config.length_penalty
    end_tokens = generation_config._eos_token_tensor
    # Enough that `num_beams` of them do not end, even if every hypothesis ends with every end token.
    num_continuations = num_beams * (2 if end_tokens is None else max(2, 1 + len(end_tokens)))
    scores = torch.full((num_beams,), _EXCLUDED, device=input_ids.device)
    scores[0] = 0.0  # the beams are identical at first, so only one is continued
    finished: list[Finished] = []
    for number in count(1):
        logits, model_inputs = _next_token_logits(model, input_ids, model_inputs)
        log_probabilities = logits_processor(input_ids, logits.log_softmax(-1))
        totals = scores[:, None] + log_probabilities
        best, places = totals.flatten().topk(num_continuations)
        beams, tokens = places // totals.shape[1], places % totals.shape[1]
        continued = torch.cat([input_ids[beams], tokens[:, None]], dim=-1)
        ends = stopping_criteria(continued, None)
        next_scores, running = (best + _EXCLUDED * ends).topk(num_beams)

        ending = {
            place: Finished(tuple(continued[place].tolist()), best[place].item() / number**length_penalty)
            for place in ends[:num_beams].nonzero().flatten().tolist()
        }
        finished = sorted([*finished, *ending.values()], key=lambda one: one.score, reverse=True)[:num_beams]
        full = len(finished) == num_beams
        # The length at which the best running hypothesis is assumed to end, to compare it with the finished ones.
        if early_stopping == "never" and length_penalty > 0:
            assumed_length = generation_config.max_length - prompt_length
        else:
            assumed_length = number
        hopeless = full and next_scores[0].item() / assumed_length**length_penalty <= finished[-1].score
        over = ends.all().item() or hopeless or (full and early_stopping is True)

        chosen = [place for place, one in ending.items() if one in finished]
        if not over:
            chosen += [place for place in running.tolist() if not ends[place]]
        chosen = [(beams[place].item(), tokens[place].item()) for place in chosen]
        hypotheses = tuple(
            _hypothesis(
                input_ids[beam],
                scores[beam].item(),
                logits[beam],
                log_probabilities[beam],
                {token for of_beam, token in chosen if of_beam == beam},
                num_candidates,
            )
            for beam in range(num_beams)
            if scores[beam] > _EXCLUDED / 2
        )
        yield DecodingStep(number, hypotheses, tuple(finished))
        if over:
            return
        input_ids, scores = continued[running], next_scores


def _next_token_logits(
    model: PreTrainedModel, input_ids: torch.Tensor, model_inputs: dict[str, Any]
) -> tuple[torch.Tensor, dict[str, Any]]:
    """Return the logits of each sequence's next token, (sequences, vocab_size), and the inputs of the next step."""
    outputs = model(**model.prepare_inputs_for_generation(input_ids, **model_inputs), return_dict=True)
    model_inputs = model._update_model_kwargs_for_generation(
        outputs, model_inputs, is_encoder_decoder=model.config.is_encoder_decoder
    )
    return outputs.logits[:, -1].float(), model_inputs


def _hypothesis(
    input_ids: torch.Tensor,
    score: float,
    logits: torch.Tensor,
    log_probabilities: torch.Tensor,
    chosen: Collection[int],
    num_candidates: int,
) -> Hypothesis:
    """Return the hypothesis of one sequence; `logits` are the model's, `log_probabilities` are after processing."""
    probabilities, kept = logits.softmax(-1), log_probabilities.softmax(-1)
    ranked = probabilities.argsort(descending=True).tolist()
    shown = ranked[:num_candidates] + [token for token in ranked[num_candidates:] if token in chosen]
    candidates = (
        Candidate(
            token_id=token,
            probability=probabilities[token].item(),
            kept_probability=kept[token].item(),
            score=score + log_probabilities[token].item(),
            chosen=token in chosen,
        )
        for token in shown
    )
    return Hypothesis(tuple(input_ids.tolist()), score, tuple(candidates))
