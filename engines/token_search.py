"""The searches of `generate` in numpy: greedy search, sampling, beam search, with and without a letter lock.

They find what transformers' `generate` finds, and score it in the same way. Everything that needs a model goes through
[`TokenModel`], so one search serves every engine.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import NamedTuple, Protocol

import numpy as np

from ..tokenization.text_checks import check_outputs
from .search_options import SearchOptions

_EXCLUDED = np.float32(-1e9)  # the score by which `generate` excludes a beam


class TokenModel(Protocol):
    """A model as the searches see it. It keeps the branches of each source in a tree and stores each token once."""

    def start(self, input_ids: np.ndarray, attention_mask: np.ndarray) -> np.ndarray:
        """Return the logits of the first new token, (sources, 1, vocab_size) float32.

        Args:
            input_ids: (sources, length) int64; prompts are padded on the left, an encoder-decoder's sources on the
                right.
            attention_mask: (sources, length) int64.
        """

    def step(self, token_ids: np.ndarray, parents: np.ndarray) -> np.ndarray:
        """Return the logits of the next token of each branch, (sources, branches, vocab_size) float32.

        The next step may overwrite them.

        Args:
            token_ids: (sources, branches) int64, the new token of each branch.
            parents: (sources, branches) int64, the branch of the step before that each branch continues; 0 in the
                first step. The step before may have had fewer or more branches.
        """

    def keep(self, rows: np.ndarray) -> None:
        """Go on with these sources only, (kept,) int64."""


@dataclass(frozen=True)
class FoundTokens:
    """One output of a search.

    Attributes:
        token_ids: The new tokens, without the prompt, the start token and the token that ended them.
        score: Σ log p(token | source, previous tokens) / length ** `length_penalty`, in nats; the length includes the
            token that ended it. In sampling, p is the probability after temperature, top-k and top-p. A letter lock
            shares the probability among the letters that are allowed, except in beam search.
        finished: Whether a token such as `<eos>` ended it; otherwise it was cut off at the limit of its length.
    """

    token_ids: list[int]
    score: float
    finished: bool


class LetterLock:
    """Allows at each place only the tokens with the base letter of the source's token there, and `<eos>` at its end.

    It does what [`KeepLettersLogitsProcessor`] does in `generate`. An output needs as many tokens as `lengths` says;
    the limits of a search should not be lower.

    Args:
        base_letters: (vocab_size,), of [`number_base_letters`].
        special_ids: ids of the special tokens and tags of the vocabulary, which are not letters.
        eos_token_id: id of `<eos>`.
        input_ids: (sources, source_length), the ids that the encoder reads.
    """

    def __init__(
        self, base_letters: Sequence[int], special_ids: Collection[int], eos_token_id: int, input_ids: np.ndarray
    ) -> None:
        self.base_of_token = np.asarray(base_letters)
        special = set(special_ids)
        letters = [[token for token in row if token not in special] for row in input_ids.tolist()]
        self.lengths = np.array([len(row) + 1 for row in letters])  # (sources,), with <eos>
        padded = np.full((len(letters), self.lengths.max(initial=1)), eos_token_id)
        for row, of_source in zip(padded, letters):
            row[: len(of_source)] = of_source
        self.bases = self.base_of_token[padded]  # (sources, longest + 1)

    def __call__(self, scores: np.ndarray, place: int, sources: np.ndarray) -> np.ndarray:
        """Return the scores with minus infinity for the tokens that are not allowed.

        Args:
            scores: (rows, branches, vocab_size).
            place: number of new tokens before this one.
            sources: (rows,), the source of each row.
        """
        bases = self.bases[sources, min(place, self.bases.shape[1] - 1)]
        return np.where((self.base_of_token == bases[:, None])[:, None], scores, np.float32(-np.inf))


class SearchInputs(NamedTuple):
    """The inputs of a search.

    Attributes:
        input_ids: (sources, length) int64, padded as the model needs it.
        attention_mask: (sources, length) int64.
        options: which search, and how.
        limits: (sources,), the largest number of new tokens, as from `new_token_limits`.
        lock: a lock made for these sources.
    """

    input_ids: np.ndarray
    attention_mask: np.ndarray
    options: SearchOptions
    limits: np.ndarray
    lock: LetterLock | None = None


def search_tokens(model: TokenModel, inputs: SearchInputs) -> list[list[FoundTokens]]:
    """Return the outputs for each source, best first. They do not depend on the sources beside it.

    What the model read before is forgotten.

    Raises:
        ValueError: If an id that ends outputs is not in the model's vocabulary.
    """
    options = inputs.options
    if not len(inputs.input_ids):
        return []
    if options.num_beams > 1:
        return _search_beams(model, inputs)
    steps = list(_follow_branches(model, inputs))
    shape = (len(inputs.input_ids), options.num_return_sequences)
    totals, lengths, finished = np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, bool)
    history = np.zeros((*shape, len(steps)), np.int64)
    done = 0
    for _, of_rows in groupby(steps, key=lambda step: id(step.sources)):  # steps of the same sources, all at once
        sources, token_ids, gains, is_open, ends = zip(*of_rows)
        rows, opened = sources[0], np.stack(is_open)  # (steps, rows, branches)
        history[rows, :, done : done + len(sources)] = np.moveaxis(np.stack(token_ids), 0, -1)
        totals[rows] += np.where(opened, np.stack(gains), 0).sum(0, dtype=np.float64)
        lengths[rows] += opened.sum(0)
        finished[rows] |= (opened & np.stack(ends)).any(0)
        done += len(sources)
    scores = (totals / lengths ** float(options.length_penalty)).tolist()
    kept = (lengths - finished).tolist()
    rows = zip(history.tolist(), kept, scores, finished.tolist())
    found = [[FoundTokens(ids[:length], score, end) for ids, length, score, end in zip(*row)] for row in rows]
    return [sorted(of_source, key=lambda one: one.score, reverse=True) for of_source in found]


def stream_tokens(model: TokenModel, inputs: SearchInputs) -> Iterator[int]:
    """Return an iterator over the tokens of one output, each as soon as it is found, without the one that ends it.

    The options are those of greedy search, or of sampling one output.

    Raises:
        ValueError: If there are several sources, outputs or beams, or as in [`search_tokens`].
    """
    for name, number in (
        ("num_beams", inputs.options.num_beams),
        ("num_return_sequences", inputs.options.num_return_sequences),
        ("the number of texts", len(inputs.input_ids)),
    ):
        if number != 1:
            raise ValueError(f"One text can be streamed as it is written: expected 1 as {name}, found {number}.")
    steps = _follow_branches(model, inputs)
    return (step.token_ids.item() for step in steps if not step.ends.item())


class _BranchStep(NamedTuple):
    """One step of greedy search or of sampling; each array but the first is (rows, branches).

    Attributes:
        sources: (rows,), the source of each row.
        token_ids: The new tokens.
        gains: Their log-probabilities.
        is_open: Whether the branch had not ended before; otherwise its token means nothing.
        ends: Whether the token ends the branch.
    """

    sources: np.ndarray
    token_ids: np.ndarray
    gains: np.ndarray
    is_open: np.ndarray
    ends: np.ndarray


def _follow_branches(model: TokenModel, inputs: SearchInputs) -> Iterator[_BranchStep]:
    """Yield the steps of greedy search, which takes the most probable token, or of sampling, which draws one."""
    input_ids, attention_mask, options, limits, lock = inputs
    choose = _Sampler(input_ids, attention_mask, options) if options.do_sample else _take_most_probable
    sources = np.arange(len(input_ids))
    is_open = np.ones((len(sources), options.num_return_sequences), bool)
    parents = np.zeros(is_open.shape, np.int64)
    soonest = limits.min()  # nothing can be over before, unless a branch ends
    logits = model.start(input_ids, attention_mask)
    is_end = _end_table(options, logits.shape[-1])
    for number in count(1):
        allowed = logits if lock is None else lock(logits, number - 1, sources)
        token_ids, gains = choose(allowed, sources)
        ends = is_end[token_ids]
        yield _BranchStep(sources, token_ids, gains, is_open, ends)
        if number == soonest or ends.any():
            at_limit = limits[sources] <= number
            is_open = is_open & ~ends & ~at_limit[:, None]
            rows = _rows_to_keep(is_open.any(-1), at_limit)
            if not rows.size:
                return
            if len(rows) < len(sources):
                model.keep(rows)
                sources, is_open, token_ids, parents = sources[rows], is_open[rows], token_ids[rows], parents[rows]
            soonest = limits[sources].min()
        logits = model.step(token_ids, parents)
        if number == 1:
            parents = parents + np.arange(parents.shape[1])


def _search_beams(model: TokenModel, inputs: SearchInputs) -> list[list[FoundTokens]]:
    input_ids, attention_mask, options, limits, lock = inputs
    num_beams, penalty = options.num_beams, float(options.length_penalty)
    # Enough that `num_beams` of them do not end, even if every beam ends with every token that can end it.
    num_candidates = num_beams * max(2, 1 + len(options.end_ids))
    sources = np.arange(len(input_ids))
    is_open = np.ones(len(sources), bool)
    running = np.full((len(sources), num_beams), _EXCLUDED)
    running[:, 0] = 0  # the beams are identical at first, so only one is continued
    finished = _FinishedBeams(*running.shape)
    history: list[np.ndarray] = []
    logits = model.start(input_ids, attention_mask)
    is_end = _end_table(options, logits.shape[-1])
    for length in count(1):
        log_probabilities = log_softmax(logits)
        if lock is not None:
            log_probabilities = lock(log_probabilities, length - 1, sources)
        totals = (running[:, :, None] + log_probabilities).reshape(len(sources), -1)
        places, best = _find_best(totals, num_candidates)  # a place is beam × vocab_size + token
        if length == 1:
            places %= len(is_end)
        at_limit = limits[sources] <= length
        ends = is_end[places % len(is_end)] | at_limit[:, None]

        ending = ends[:, :num_beams] & is_open[:, None]
        finished.add(sources, ending, best[:, :num_beams] / np.float32(length**penalty), places[:, :num_beams], length)
        best += ends * _EXCLUDED
        rows = np.arange(len(sources))[:, None]
        order = np.argsort(-best, axis=-1, kind="stable")[:, :num_beams]
        running, places = best[rows, order], places[rows, order]
        history.append(np.zeros((len(input_ids), num_beams), np.int64))
        history[-1][sources] = places

        is_full, worst = finished.state_of(sources)
        # The length at which the best running beam is assumed to end, to compare it with the finished ones.
        assumed_length = limits[sources] if options.early_stopping == "never" and penalty > 0 else length
        can_improve = running[:, 0] / np.float32(assumed_length**penalty) > worst
        is_open = is_open & can_improve & ~ends.all(-1) & ~(is_full & (options.early_stopping is True))
        rows = _rows_to_keep(is_open, at_limit)
        if not rows.size:
            break
        if len(rows) < len(sources):
            model.keep(rows)
            sources, is_open, running, places = sources[rows], is_open[rows], running[rows], places[rows]
        parents, token_ids = np.divmod(places, len(is_end))
        logits = model.step(token_ids, parents)
    return [
        finished.outputs_of(source, history, is_end)[: options.num_return_sequences]
        for source in range(len(input_ids))
    ]


class _FinishedBeams:
    """The best outputs of beam search so far, best first; each array is (all sources, num_beams).

    Attributes:
        scores: Scores of the outputs.
        places: The last token and the beam that it continued.
        lengths: Numbers of tokens, including the one that ended it; 0 where there is no output yet.
    """

    def __init__(self, num_sources: int, num_beams: int) -> None:
        self.scores = np.full((num_sources, num_beams), _EXCLUDED)
        self.places = np.zeros((num_sources, num_beams), np.int64)
        self.lengths = np.zeros((num_sources, num_beams), np.int64)

    def add(
        self, sources: np.ndarray, ending: np.ndarray, scores: np.ndarray, places: np.ndarray, length: int
    ) -> None:
        """Add candidates of one length, (rows, num_beams) each, where they are `ending`."""
        rows = np.flatnonzero(ending.any(-1))
        if not rows.size:
            return
        sources, ending = sources[rows], ending[rows]
        merged = np.concatenate([self.scores[sources], np.where(ending, scores[rows], _EXCLUDED)], axis=-1)
        order = np.argsort(-merged, axis=-1, kind="stable")[:, : merged.shape[1] // 2]
        for array, new in ((self.places, places[rows]), (self.lengths, ending * length)):
            array[sources] = np.take_along_axis(np.concatenate([array[sources], new], axis=-1), order, axis=-1)
        self.scores[sources] = np.take_along_axis(merged, order, axis=-1)

    def state_of(self, sources: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether there are `num_beams` outputs, and the score of the last of them, (rows,) each."""
        is_full = self.lengths[sources].all(-1)
        return is_full, np.where(is_full, self.scores[sources, -1], _EXCLUDED)

    def outputs_of(self, source: int, history: Sequence[np.ndarray], is_end: np.ndarray) -> list[FoundTokens]:
        """Return the outputs of a source; `history` has the places of the running beams after each step."""
        outputs = []
        for rank, length in enumerate(self.lengths[source].tolist()):
            place, token_ids = int(self.places[source, rank]), []
            for step in reversed(range(length)):
                beam, token = divmod(place, len(is_end))
                token_ids.append(token)
                place = int(history[step - 1][source, beam])
            end = bool(token_ids) and bool(is_end[token_ids[0]])
            outputs.append(
                FoundTokens(token_ids[:0:-1] if end else token_ids[::-1], self.scores[source, rank].item(), end)
            )
        return outputs


def _take_most_probable(logits: np.ndarray, sources: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the most probable tokens and their log-probabilities, (rows, branches) each."""
    return logits.argmax(-1), -np.log(np.exp(_below_largest(logits)).sum(-1))


class _Sampler:
    """Draws tokens after temperature, top-k and top-p, with random numbers of its own for each source."""

    def __init__(self, input_ids: np.ndarray, attention_mask: np.ndarray, options: SearchOptions) -> None:
        self.options = options
        self.generators = [
            np.random.default_rng(None if options.seed is None else [options.seed, *ids[mask != 0].tolist()])
            for ids, mask in zip(input_ids, attention_mask)
        ]

    def __call__(self, logits: np.ndarray, sources: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens and their log-probabilities, (rows, num_return_sequences) each."""
        log_probabilities = log_softmax(self._filter(logits / np.float32(self.options.temperature)))
        cumulative = np.exp(log_probabilities, dtype=np.float64).cumsum(-1)
        cumulative /= cumulative[..., -1:]  # exactly 1 at the end, which no random number reaches
        numbers = np.stack([self.generators[source].random(self.options.num_return_sequences) for source in sources])
        token_ids = (cumulative <= numbers[..., None]).sum(-1)
        branches = np.arange(token_ids.shape[1]) % logits.shape[1]  # all start from one
        return token_ids, log_probabilities[np.arange(len(sources))[:, None], branches, token_ids]

    def _filter(self, scores: np.ndarray) -> np.ndarray:
        """Exclude tokens as the processors of `generate` do: all that equal the last of the top k are kept."""
        if self.options.top_k and self.options.top_k < scores.shape[-1]:
            last = np.partition(scores, -self.options.top_k, axis=-1)[..., -self.options.top_k, None]
            scores = np.where(scores < last, np.float32(-np.inf), scores)
        if self.options.top_p < 1:
            order = np.argsort(scores, axis=-1, kind="stable")
            probabilities = np.exp(log_softmax(np.take_along_axis(scores, order, axis=-1)))
            dropped = probabilities.cumsum(-1) <= 1 - self.options.top_p
            dropped[..., -1] = False
            is_dropped = np.empty_like(dropped)
            np.put_along_axis(is_dropped, order, dropped, axis=-1)
            scores = np.where(is_dropped, np.float32(-np.inf), scores)
        return scores


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return the logarithm of the softmax over the last axis."""
    shifted = _below_largest(logits)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _below_largest(logits: np.ndarray) -> np.ndarray:
    largest = logits.max(-1, keepdims=True)
    check_outputs(largest)  # which it is not if any of them is not a number
    return logits - largest


def _find_best(totals: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places and values of the greatest totals, best first, and of equal ones the first first.

    Args:
        totals: (rows, places).
        number: how many; the rows have more.
    """
    rows, losses = np.arange(len(totals))[:, None], -totals
    places = losses.argpartition(number - 1, axis=-1)[:, :number]
    worst = losses[rows, places].max(-1, keepdims=True)
    if ((losses <= worst).sum(-1) > number)[np.isfinite(worst[:, 0])].any():
        # The partition leaves open which of equal totals it takes. Those of excluded tokens do not matter.
        places = losses.argsort(axis=-1, kind="stable")[:, :number]
    places.sort(axis=-1)
    order = losses[rows, places].argsort(axis=-1, kind="stable")
    places = places[rows, order]
    return places, totals[rows, places]


def _end_table(options: SearchOptions, vocab_size: int) -> np.ndarray:
    """Return whether each token of the vocabulary ends an output."""
    is_end = np.zeros(vocab_size, bool)
    for token in options.end_ids:
        if token >= vocab_size:
            raise ValueError(f"eos_token_id={options.eos_token_id} is not in the vocabulary of {vocab_size} tokens.")
        is_end[token] = True
    return is_end


def _rows_to_keep(is_open: np.ndarray, at_limit: np.ndarray) -> np.ndarray:
    """Return the rows to go on with: all of them, or only the open ones.

    Closed rows are dropped once they are a quarter of all, which is worth the copy of what is kept, or if a row is at
    its limit, where the model may have no position left for it.
    """
    rows = np.flatnonzero(is_open)
    few = 4 * (len(is_open) - len(rows)) < len(is_open) and not at_limit.any()
    return np.arange(len(is_open)) if few else rows
