"""Several encoder-decoders that decide on each token together, by the mean of their probabilities."""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from transformers import Cache, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.utils import can_return_tuple


class EnsembleCache(Cache):
    """The caches of the members, which have read equally many tokens."""

    def __init__(self, caches: Sequence[Cache]):
        super().__init__(layers=[])
        self.caches = caches

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Number of tokens that every member has read."""
        return self.caches[0].get_seq_length(layer_idx)

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Go on with the beams (batch · beams,) that the search kept, in each member."""
        for cache in self.caches:
            cache.reorder_cache(beam_idx)


class EnsembleEncoder(nn.Module):
    """The encoders of the members, side by side."""

    main_input_name = "input_ids"

    def __init__(self, encoders: Sequence[nn.Module]):
        super().__init__()
        self.encoders = nn.ModuleList(encoders)

    def forward(
        self, input_ids: torch.LongTensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> dict[str, torch.Tensor]:
        """Encode the source with each member.

        Args:
            input_ids: (batch, source_length).
            attention_mask: (batch, source_length), 1 for real source tokens and 0 for padding.
            kwargs: passed on to each encoder.

        Returns:
            Tensors (batch, source_length, hidden_size), a name a member, which `generate` repeats for the beams.
        """
        return {
            f"member_{index}": encoder(input_ids=input_ids, attention_mask=attention_mask, **kwargs).last_hidden_state
            for index, encoder in enumerate(self.encoders)
        }


class Ensemble(PreTrainedModel, GenerationMixin):
    """Encoder-decoders that generate as one: p(token) = 1/n Σ pᵢ(token), the arithmetic mean over the n members.

    It is computed in float32 from log probabilities: log p = logsumexpᵢ(log pᵢ) − log n. The members may differ
    in size and kind, not in vocabulary. `generate` is transformers' own, with beams and cache; lengths and special
    tokens are those of the first member's generation configuration.
    """

    def __init__(self, members: Sequence[PreTrainedModel]):
        """Take the members, of which a member may come twice.

        Raises:
            ValueError: there are none, or they differ in the size of the vocabulary or in a special token.
        """
        check_same_tokens(members)
        super().__init__(PreTrainedConfig(is_encoder_decoder=True, vocab_size=members[0].config.vocab_size))
        self.members = nn.ModuleList(members)
        self.encoder = EnsembleEncoder([member.get_encoder() for member in members])
        self.generation_config = copy.deepcopy(members[0].generation_config)

    def get_encoder(self, modality: str | None = None) -> EnsembleEncoder:
        """The members' encoders, as `generate` asks for them."""
        return self.encoder

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # each member makes a cache that fits it, in its first forward pass

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.LongTensor | None = None,
        encoder_outputs: Mapping[str, torch.Tensor] | None = None,
        past_key_values: EnsembleCache | None = None,
        use_cache: bool | None = None,
    ) -> Seq2SeqLMOutput:
        """Score every token as the next of the target.

        Args:
            input_ids: (batch, source_length).
            attention_mask: (batch, source_length), 1 for real source tokens and 0 for padding.
            decoder_input_ids: (batch, target_length), the target shifted right, or what is not yet in the cache.
            encoder_outputs: of [`EnsembleEncoder`], when it has run already.
            past_key_values: the members' caches.
            use_cache: return them; made when none are given.

        Returns:
            `logits` (batch, target_length, vocab_size), the logarithms of the mean probabilities; `past_key_values`.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask)
        caches = [None] * len(self.members) if past_key_values is None else past_key_values.caches
        outputs = [
            member(
                attention_mask=attention_mask,
                decoder_input_ids=decoder_input_ids,
                encoder_outputs=(hidden_states,),
                past_key_values=cache,
                use_cache=use_cache,
            )
            for member, hidden_states, cache in zip(self.members, encoder_outputs.values(), caches)
        ]
        log_probabilities = torch.stack([output.logits.float().log_softmax(-1) for output in outputs])
        return Seq2SeqLMOutput(
            logits=log_probabilities.logsumexp(0) - math.log(len(outputs)),
            past_key_values=EnsembleCache([output.past_key_values for output in outputs]) if use_cache else None,
        )


def check_same_tokens(members: Sequence[PreTrainedModel]) -> None:
    """Check that models have equally many tokens and the same special ones.

    Raises:
        ValueError: there are no models, or two that differ; the message names where.
    """
    if not members:
        raise ValueError("An ensemble needs at least one member; found none.")
    for index, member in enumerate(members):
        for name in ("vocab_size", "decoder_start_token_id", "eos_token_id", "pad_token_id"):
            first, found = (
                getattr(model.config if name == "vocab_size" else model.generation_config, name)
                for model in (members[0], member)
            )
            if found != first:
                raise ValueError(
                    f"Members of an ensemble share one vocabulary: {name} is {first} in member 0 and {found} in "
                    f"member {index}."
                )


def check_same_vocabulary(tokenizers: Mapping[str, PreTrainedTokenizerBase]) -> None:
    """Check that tokenizers give every token the same id.

    Args:
        tokenizers: each under the name that an error calls it by.

    Raises:
        ValueError: two differ; the message names them and the first token in which they do.
    """
    (first_name, first), *others = ((name, tokenizer.get_vocab()) for name, tokenizer in tokenizers.items())
    for name, vocabulary in others:
        differing = sorted(set(first.items()) ^ set(vocabulary.items()), key=lambda entry: entry[1])
        if differing:
            token = differing[0][0]
            raise ValueError(
                f"Members of an ensemble share one vocabulary: the token {token!r} is number {first.get(token)} in "
                f"{first_name} and {vocabulary.get(token)} in {name}."
            )
