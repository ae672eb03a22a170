"""Decoding, step by step: which tokens were candidates, what was kept of them and what was chosen.

The searches below are the loops of `generate` for one sequence, written to be read. `generate` itself calls them, with
the inputs, the processors of scores and the criteria for stopping that it prepares for its own.
"""

from collections.abc import Collection, Iterator
from functools import partial
from itertools import count
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
from transformers.generation import GenerationMode

from atenta.recipes.decoding.hypotheses import Candidate, DecodingStep, Finished, Hypothesis

NO_CHANCE = -1e9  # the score by which generate excludes a beam


def decoding_steps(
    model: PreTrainedModel, inputs: torch.Tensor | None = None, *, num_candidates: int = 5, **options: Any
) -> Iterator[DecodingStep]:
    """Yield each step by which `model.generate(inputs, **options)` gets to its result, when it is asked for.

    Every step reads the whole sequence again, with no cache of keys and values.

    Args:
        model: any model that generates, in evaluation mode.
        inputs: (1, length) ids of the prompt or the source; they may stand among the options, as `input_ids`.
        num_candidates: number of candidates told of each hypothesis; the chosen ones are told beyond it.
        options: other inputs and options of `generate`: `attention_mask`, `max_new_tokens`, `num_beams`, `do_sample`,
            `temperature`, `top_k`, `top_p`, `length_penalty`, … Draws are those of `generate` from the same seed,
            where nothing else draws between the steps.

    Raises:
        ValueError: the options ask for another search than greedy, sampling or beam search, the inputs are more than
            one sequence, or `generate` refuses them.
    """
    if num_candidates < 1:
        raise ValueError(f"num_candidates is {num_candidates}, expected 1 or more.")
    search = partial(_search, num_candidates=num_candidates)
    return model.generate(inputs, custom_generate=search, use_cache=False, **options)


def _search(
    model: PreTrainedModel, input_ids: torch.Tensor, *, generation_config: GenerationConfig, **prepared: Any
) -> Iterator[DecodingStep]:
    if generation_config.num_beams < 1:
        raise ValueError(f"num_beams is {generation_config.num_beams}, expected 1 (no beam search) or more.")
    mode = generation_config.get_generation_mode()
    searches = {
        GenerationMode.GREEDY_SEARCH: _follow_one,
        GenerationMode.SAMPLE: _follow_one,
        GenerationMode.BEAM_SEARCH: _follow_beams,
    }
    if mode not in searches:
        known = ", ".join(searches)
        raise ValueError(f"These options ask for {mode.value}, expected one of {known}.")
    if len(input_ids) != generation_config.num_beams:
        raise ValueError(
            f"{len(input_ids) // generation_config.num_beams} sequences at once: give inputs of one sequence, "
            "(1, length), and leave num_return_sequences at 1 where there are no beams."
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
    """Greedy search, which takes the most probable token, and sampling, which draws one."""
    score = 0.0
    for number in count(1):
        logits, model_inputs = _read(model, input_ids, model_inputs)
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
    """Beam search, which goes on with the `num_beams` best of all hypotheses with one more token."""
    num_beams, prompt_length = input_ids.shape
    early_stopping, length_penalty = generation_config.early_stopping, generation_config.length_penalty
    end_tokens = generation_config._eos_token_tensor
    # So many that enough of them go on, even if each hypothesis ends in every way that it can.
    num_continuations = num_beams * (2 if end_tokens is None else max(2, 1 + len(end_tokens)))
    scores = torch.full((num_beams,), NO_CHANCE, device=input_ids.device)
    scores[0] = 0.0  # the beams are alike at first: one goes on
    finished: list[Finished] = []
    for number in count(1):
        logits, model_inputs = _read(model, input_ids, model_inputs)
        log_probabilities = logits_processor(input_ids, logits.log_softmax(-1))
        totals = scores[:, None] + log_probabilities
        best, places = totals.flatten().topk(num_continuations)
        beams, tokens = places // totals.shape[1], places % totals.shape[1]
        continued = torch.cat([input_ids[beams], tokens[:, None]], dim=-1)
        ends = stopping_criteria(continued, None)
        next_scores, going_on = (best + NO_CHANCE * ends).topk(num_beams)

        ending = {
            place: Finished(tuple(continued[place].tolist()), best[place].item() / number**length_penalty)
            for place in ends[:num_beams].nonzero().flatten().tolist()
        }
        finished = sorted([*finished, *ending.values()], key=lambda one: one.score, reverse=True)[:num_beams]
        full = len(finished) == num_beams
        # The length at which the best one that goes on may end, if it is to get among the finished.
        if early_stopping == "never" and length_penalty > 0:
            hoped_length = generation_config.max_length - prompt_length
        else:
            hoped_length = number
        hopeless = full and next_scores[0].item() / hoped_length**length_penalty <= finished[-1].score
        over = ends.all().item() or hopeless or (full and early_stopping is True)

        chosen = [place for place, one in ending.items() if one in finished]
        if not over:
            chosen += [place for place in going_on.tolist() if not ends[place]]
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
            if scores[beam] > NO_CHANCE / 2
        )
        yield DecodingStep(number, hypotheses, tuple(finished))
        if over:
            return
        input_ids, scores = continued[going_on], next_scores


def _read(
    model: PreTrainedModel, input_ids: torch.Tensor, model_inputs: dict[str, Any]
) -> tuple[torch.Tensor, dict[str, Any]]:
    """Return the logits of what follows each sequence, (sequences, vocab_size), and the inputs of the next step."""
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
    """Put together what a step tells of one sequence.

    Args:
        input_ids: (length,).
        score: its log probability.
        logits: (vocab_size,) the model's.
        log_probabilities: (vocab_size,) after processing.
        chosen: tokens.
        num_candidates: number of candidates told.
    """
    probabilities, kept = logits.softmax(-1), log_probabilities.softmax(-1)
    ranked = probabilities.argsort(descending=True).tolist()
    told = ranked[:num_candidates] + [token for token in ranked[num_candidates:] if token in chosen]
    candidates = (
        Candidate(
            token_id=token,
            probability=probabilities[token].item(),
            kept_probability=kept[token].item(),
            score=score + log_probabilities[token].item(),
            chosen=token in chosen,
        )
        for token in told
    )
    return Hypothesis(tuple(input_ids.tolist()), score, tuple(candidates))
