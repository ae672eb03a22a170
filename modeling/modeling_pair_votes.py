"""Pairwise feature aggregation (document 1): each earlier token, paired with the last one, votes for the next."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import initialization as init
from transformers.generation import GenerationMixin, GenerationMode
from transformers.processing_utils import Unpack
from transformers.utils import ModelOutput, TransformersKwargs, can_return_tuple

from ..configuration.configuration_pair_votes import AtentaPairVotesConfig
from .modeling_base import AtentaPreTrainedModel
from .vote_table import Document, VoteTable, count_triples

PAIRS_AT_ONCE = 2**18


@dataclass
class AtentaPairVotesOutput(ModelOutput):
    """Output of [`AtentaPairVotesForCausalLM`], in float32 (float64 for a float64 model).

    Args:
        loss: mean cross-entropy in nats, if there are labels.
        logits: (batch, positions kept, vocab_size), logarithms of probabilities, which are the smoothed votes.
        votes: (batch, positions kept, vocab_size), the sum of the votes of the earlier tokens.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    votes: torch.Tensor | None = None


class AtentaPairVotesForCausalLM(AtentaPreTrainedModel, GenerationMixin):
    r"""A model that predicts the next token from the votes of all pairs (earlier token, current token).

    Its parameters are counted, not trained. As in document 1, the vote of the pair of an earlier token w_i and the
    current token w_t for a token k is the share of k among all tokens that followed w_t with w_i at most
    `max_distance` tokens before it. The votes of all earlier tokens are summed, each weighted by its value in the
    feature mask::

        votes_k = sum over i < t of mask_i * C(w_i, w_t, k) / sum over w of C(w_i, w_t, w)

    The votes are smoothed with the shares u of the single tokens, whose counts have one added (Laplace's rule), and
    divided by their sum, which gives probabilities::

        p(k) = (votes_k + smoothing * u_k) / (sum over w of votes_w + smoothing)
        u_k = (C(k) + 1) / (sum over w of C(w) + vocab_size)

    C(k) is the weighted count of a token over all positions but the first of each document. If no pair was seen in
    the documents, p is u.
    """

    config: AtentaPairVotesConfig
    _supported_generation_modes = [
        GenerationMode.GREEDY_SEARCH,
        GenerationMode.SAMPLE,
        GenerationMode.BEAM_SEARCH,
        GenerationMode.BEAM_SAMPLE,
    ]

    def __init__(self, config: AtentaPairVotesConfig) -> None:
        super().__init__(config)
        self.table = VoteTable(config.vocab_size, config.num_pairs, config.num_triples)
        self.token_logits = nn.Parameter(torch.zeros(config.vocab_size), requires_grad=False)  # log(C(k) + 1)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        for parameter in module.parameters(recurse=False):
            init.zeros_(parameter)

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # there is nothing to cache: each step looks up its pairs

    def fit(
        self, documents: Iterable[Document], weights: Iterable[float] | None = None
    ) -> "AtentaPairVotesForCausalLM":
        """Count the triples of documents. Earlier counts are replaced.

        Pairs do not cross the boundaries of a document, such as a sentence or a paragraph. The documents are read
        once, in order. A document of fewer than three tokens adds no votes. The sizes of the table, `num_pairs` and
        `num_triples`, are set in `config`, which is saved with the model.

        Args:
            documents: token ids of each document.
            weights: weight of each document, above 0; defaults to 1 for all.

        Returns:
            The model itself.

        Raises:
            ValueError: As in [`count_triples`]. The model is then unchanged.
        """
        counts = count_triples(documents, weights, self.config.vocab_size, self.config.max_distance)
        self.table.fill(counts)
        self.config.num_pairs, self.config.num_triples = len(self.table.pair_keys), len(self.table.votes)
        self.token_logits.data = torch.from_numpy(counts.token_counts).log1p().to(self.token_logits)
        return self

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor,
        attention_mask: torch.Tensor | None = None,
        feature_mask: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        **kwargs: Unpack[TransformersKwargs],
    ) -> AtentaPairVotesOutput:
        """Sum the votes at each position kept. Gradients flow to the feature mask only.

        Args:
            input_ids: (batch, length).
            attention_mask: (batch, length), 1 for real tokens and 0 for padding, which casts and receives no votes.
            feature_mask: (batch, length), numbers from 0 to 1 that multiply the votes of each earlier token
                (document 1's Hadamard product): 0 and 1 select, other numbers weight. Defaults to 1 for all.
            labels: (batch, length), usually a copy of `input_ids`; -100 is ignored. They are shifted here: position t
                is scored on label t + 1.
            logits_to_keep: number of last positions to compute logits for (0 for all), or their indices.
            kwargs: passed to the loss, such as `num_items_in_batch`.

        Raises:
            ValueError: If there are no ids, an id is outside the vocabulary, the shape of a mask differs from the ids'
                shape, or the feature mask has numbers outside 0 to 1.
        """
        self._check(input_ids, attention_mask, feature_mask)
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        kept = positions[-logits_to_keep:] if isinstance(logits_to_keep, int) else positions[logits_to_keep]
        votes = self._sum_votes(input_ids, kept, attention_mask, feature_mask)
        logits = self._log_probabilities(votes)
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, self.config.vocab_size, **kwargs)
        return AtentaPairVotesOutput(loss=loss, logits=logits, votes=votes)

    def votes_by_feature(self, input_ids: torch.LongTensor) -> torch.Tensor:
        """Return the votes of each earlier token for the token after the last one (document 1, figure 2).

        Args:
            input_ids: (length,) or (1, length).

        Returns:
            (length - 1, vocab_size), one row per earlier token. The sum of the rows is `votes` at the last position.
            Rows of tokens further back than `max_distance` are 0.

        Raises:
            ValueError: If there are no ids, they are of several texts, or an id is outside the vocabulary.
        """
        if input_ids.ndim > 2 or (input_ids.ndim == 2 and len(input_ids) != 1):
            raise ValueError(f"input_ids is {tuple(input_ids.shape)}; expected one text, (length,) or (1, length).")
        ids = input_ids.flatten()
        self._check(ids[None])
        voters = torch.arange(len(ids) - 1, device=ids.device)[len(ids) - 1 - self._reach(len(ids)) :]
        votes = torch.zeros(len(ids) - 1, self.config.vocab_size, dtype=self._sum_dtype, device=ids.device)
        self.table.add_votes(votes, voters, ids[voters], ids[-1].expand(len(voters)), votes.new_ones(len(voters)))
        return votes

    def prepare_inputs_for_generation(  # type: ignore[override]  # the rest is in kwargs
        self,
        input_ids: torch.LongTensor,
        next_sequence_length: int | None = None,
        feature_mask: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return all tokens at each step, because there is no cache; generated tokens have feature mask 1."""
        if feature_mask is not None:
            generated = input_ids.shape[1] - feature_mask.shape[1]
            feature_mask = nn.functional.pad(feature_mask, (0, generated), value=1)
        return super().prepare_inputs_for_generation(input_ids, feature_mask=feature_mask, **kwargs)

    @property
    def _sum_dtype(self) -> torch.dtype:
        return torch.promote_types(self.dtype, torch.float32)

    def _reach(self, length: int) -> int:
        """Return the largest distance of a token that votes."""
        return min(length - 1, self.config.max_distance or length)

    def _check(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        feature_mask: torch.Tensor | None = None,
    ) -> None:
        if input_ids.ndim != 2 or not input_ids.numel():
            raise ValueError(f"input_ids is {tuple(input_ids.shape)}; expected (batch, length) with at least one id.")
        outside = (input_ids < 0) | (input_ids >= self.config.vocab_size)
        if outside.any():
            raise ValueError(
                f"input_ids has {int(input_ids[outside][0])}, outside the vocabulary; expected ids from 0 to "
                f"{self.config.vocab_size - 1}. Encode with the tokenizer that the model was fitted with."
            )
        for name, mask in (("attention_mask", attention_mask), ("feature_mask", feature_mask)):
            if mask is not None and mask.shape != input_ids.shape:
                raise ValueError(
                    f"{name} is {tuple(mask.shape)}; expected {tuple(input_ids.shape)}, the shape of input_ids."
                )
        if feature_mask is not None and not ((feature_mask >= 0) & (feature_mask <= 1)).all():
            raise ValueError(f"feature_mask is {feature_mask!r:.200}; expected numbers from 0 to 1.")

    def _sum_votes(
        self,
        input_ids: torch.Tensor,
        kept: torch.Tensor,
        attention_mask: torch.Tensor | None,
        feature_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return (batch, positions kept, vocab_size). The number of pairs in memory at once is bounded."""
        batch, length = input_ids.shape
        real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        weights = torch.ones_like(input_ids) if feature_mask is None else feature_mask
        real, weights = real.bool(), weights.to(self._sum_dtype)
        votes = torch.zeros(batch * len(kept), self.config.vocab_size, dtype=self._sum_dtype, device=input_ids.device)
        distances = torch.arange(1, self._reach(length) + 1, device=input_ids.device)
        for some_distances in distances.split(max(1, PAIRS_AT_ONCE // len(votes))):
            voters = kept[:, None] - some_distances
            voting = (voters >= 0) & real[:, kept, None] & real[:, voters.clamp(min=0)]
            text, position, distance = voting.nonzero(as_tuple=True)
            earlier, current = voters[position, distance], kept[position]
            self.table.add_votes(
                votes,
                rows=text * len(kept) + position,
                earlier=input_ids[text, earlier],
                current=input_ids[text, current],
                weights=weights[text, earlier],
            )
        return votes.view(batch, len(kept), -1)

    def _log_probabilities(self, votes: torch.Tensor) -> torch.Tensor:
        """Return the logarithms of the smoothed votes; for the formula, see the class docstring."""
        shares = self.token_logits.detach().to(votes.dtype).softmax(-1)
        smoothing = self.config.smoothing
        return (votes + smoothing * shares).log() - (votes.sum(-1, keepdim=True) + smoothing).log()
