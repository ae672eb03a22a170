"""Ensembles of encoder-decoders, which choose each token by the mean of their probabilities."""

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

from atenta.modeling.cache_layers import CACHE_NAME, given_cache
from atenta.modeling.modeling_encoder_decoder import AtentaEncoderDecoderForConditionalGeneration
from atenta.modeling.positions import source_positions


class _EnsembleCache(Cache):
    """The caches of the members, all with the same number of tokens."""

    def __init__(self, caches: Sequence[Cache]):
        super().__init__(layers=[])
        self.caches = caches

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the number of tokens that each member has read."""
        return self.caches[0].get_seq_length(layer_idx)

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Keep the selected beams, (batch · beams,), in the cache of each member."""
        for cache in self.caches:
            cache.reorder_cache(beam_idx)


class _EnsembleEncoder(nn.Module):
    """The encoders of the members."""

    main_input_name = "input_ids"

    def __init__(self, encoders: Sequence[nn.Module]):
        super().__init__()
        self.encoders = nn.ModuleList(encoders)

    def forward(
        self, input_ids: torch.LongTensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> dict[str, torch.Tensor]:
        """Return the `hidden_states` of each member by its number, (batch, source_length, hidden_size).

        Those of members with feature tags come with `position_ids`, (batch, source_length). `generate` repeats each
        tensor of a dictionary for the beams.
        """
        outputs: dict[str, torch.Tensor] = {}
        for index, encoder in enumerate(self.encoders):
            own: dict[str, torch.Tensor] = {}
            if tags := getattr(encoder.config, "tag_token_ids", None):
                own = {"position_ids": source_positions(input_ids, attention_mask, input_ids, tags)}
            encoded = encoder(input_ids=input_ids, attention_mask=attention_mask, **own, **kwargs)
            own["hidden_states"] = encoded.last_hidden_state
            outputs |= {f"{name} {index}": value for name, value in own.items()}
        return outputs


class Ensemble(PreTrainedModel, GenerationMixin):
    """Encoder-decoders that generate as one model: p(token) = 1/n Σ pᵢ(token), the mean over the n members.

    The mean is computed in float32 from log-probabilities: log p = logsumexpᵢ(log pᵢ) − log n. The members may differ
    in size and type, but must share one vocabulary. `generate` is transformers' own, with beams and cache. Lengths and
    special tokens come from the first member's generation configuration.
    """

    letter_lock = staticmethod(AtentaEncoderDecoderForConditionalGeneration.letter_lock)

    def __init__(self, members: Sequence[PreTrainedModel]):
        """Combine the members; a model may be a member more than once.

        Raises:
            ValueError: If there are no members, or they differ in vocabulary size or in a special token.
        """
        _check_same_tokens(members)
        config = PreTrainedConfig(is_encoder_decoder=True)
        config.vocab_size = members[0].config.vocab_size
        super().__init__(config)
        self.members = nn.ModuleList(members)
        self.encoder = _EnsembleEncoder([member.get_encoder() for member in members])
        self.generation_config = copy.deepcopy(members[0].generation_config)

    def get_encoder(self, modality: str | None = None) -> _EnsembleEncoder:
        """Return the encoders of the members, which `generate` runs on the source."""
        return self.encoder

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # each member creates its own cache in its first forward pass

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.LongTensor | None = None,
        encoder_outputs: Mapping[str, torch.Tensor] | None = None,
        past_key_values: _EnsembleCache | None = None,
        use_cache: bool | None = None,
        cache: _EnsembleCache | None = None,
    ) -> Seq2SeqLMOutput:
        """Return the log-probabilities of the next target token as `logits`, (batch, target_length, vocab_size).

        `cache` is another name of `past_key_values`, as `generate` passes them from transformers 5.24 on.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask)
        given = given_cache(past_key_values, {"cache": cache})
        caches = [None] * len(self.members) if given is None else given.caches
        outputs = [
            member(
                attention_mask=attention_mask,
                decoder_input_ids=decoder_input_ids,
                encoder_outputs=(encoder_outputs[f"hidden_states {index}"],),
                use_cache=use_cache,
                **{CACHE_NAME: of_member},
                **({"position_ids": positions} if positions is not None else {}),
            )
            for index, (member, of_member) in enumerate(zip(self.members, caches))
            for positions in [encoder_outputs.get(f"position_ids {index}")]
        ]
        log_probabilities = torch.stack([output.logits.float().log_softmax(-1) for output in outputs])
        return Seq2SeqLMOutput(
            logits=log_probabilities.logsumexp(0) - math.log(len(outputs)),
            **{CACHE_NAME: _EnsembleCache([output[CACHE_NAME] for output in outputs]) if use_cache else None},
        )


def check_same_vocabulary(tokenizers: Mapping[str, PreTrainedTokenizerBase]) -> None:
    """Check that tokenizers have the same tokens with the same ids.

    Args:
        tokenizers: Tokenizers by the names that the error uses.

    Raises:
        ValueError: If two differ. The message names them and the first token that differs.
    """
    (first_name, first), *others = ((name, tokenizer.get_vocab()) for name, tokenizer in tokenizers.items())
    for name, vocabulary in others:
        differing = sorted(set(first.items()) ^ set(vocabulary.items()), key=lambda entry: entry[1])
        if differing:
            token = differing[0][0]
            raise ValueError(
                f"The members of an ensemble must share one vocabulary: the id of the token {token!r} is "
                f"{first.get(token)} in {first_name} and {vocabulary.get(token)} in {name}."
            )


def _check_same_tokens(members: Sequence[PreTrainedModel]) -> None:
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
                    f"The members of an ensemble must share one vocabulary: {name} is {first} in member 0 and {found} "
                    f"in member {index}."
                )
