"""Transduction: a decoder that goes through its source from left to right (Graves, 2012)."""

import torch
from torch import nn
from transformers import Cache, DynamicCache, EncoderDecoderCache
from transformers.cache_utils import DynamicLayer

from ..configuration.configuration_encoder_decoder import AtentaEncoderDecoderConfig

_NEVER = -1e4  # a logarithm of no probability, with which sums and gradients stay finite


class Transducer(nn.Module):
    """A walk through the source: each target token is written at one place of the source, and it never goes back.

    At each place, the model either writes a token or moves on to the next place; moving on from the last one ends the
    target. Both stacks decide, by the sum of their logits: the decoder by what was written, the encoder by what is at
    the place. Where a token was written is not known, so its probability is the sum over all walks (Graves, 2012,
    "Sequence transduction with recurrent neural networks", equations 12 to 16; Wu and Cotterell, 2019, "Exact hard
    monotonic attention"). As a product over the tokens it gives logits like those of any decoder:

        P(yⱼ | y₁…yⱼ₋₁) = Σᵢ P(place i | y₁…yⱼ₋₁) · P(yⱼ | place i, y₁…yⱼ₋₁)

    Where to look need not be learned, which helps where pairs are few. The target has to keep the order of the source,
    as phones do.

    Args:
        config: the model's hyper-parameters. The token `<eos>` moves on to the next place.
    """

    def __init__(self, config: AtentaEncoderDecoderConfig) -> None:
        super().__init__()
        self.eos_token_id = config.eos_token_id
        self.layer_idx = config.decoder_layers  # in the cache, after those of the blocks
        self.source_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(
        self,
        logits: torch.Tensor,
        source_logits: torch.Tensor,
        input_ids: torch.LongTensor,
        attention_mask: torch.Tensor | None = None,
        encoder_attention_mask: torch.Tensor | None = None,
        past_key_values: Cache | None = None,
    ) -> torch.Tensor:
        """Return the logarithms of the probabilities of each next token, (batch, length, vocab_size).

        Args:
            logits: (batch, length, vocab_size), the decoder's after each token.
            source_logits: (batch, source_length, vocab_size), those of each place: the output layer's for what
                `source_proj` makes of the encoder's output.
            input_ids: (batch, length), the tokens that were written, the first of which starts the target.
            attention_mask: (batch, cached length + length), 1 for real tokens of the target and 0 for padding, after
                which each place keeps its weight.
            encoder_attention_mask: (batch, source_length), 1 for real source tokens and 0 for padding.
            past_key_values: the cache of the decoder. It has the weights of the places after each target token.

        Raises:
            ValueError: If the cache is static.
        """
        exact = torch.promote_types(logits.dtype, torch.float32)  # sums of many logarithms
        is_place = source_logits.new_ones(source_logits.shape[:2])
        is_place = (is_place if encoder_attention_mask is None else encoder_attention_mask).bool()
        cache = _cache_of_target(past_key_values)
        weights = _last_of(cache, self.layer_idx)
        if weights is None:
            weights = torch.where(is_place & (is_place.cumsum(1) == 1), 0.0, _NEVER)
        length, places = logits.shape[1], []
        is_token = None if attention_mask is None else attention_mask[:, -length:, None].bool()
        with torch.autocast(logits.device.type, enabled=False):
            summands = logits.to(exact), source_logits.to(exact)
            steps = [each.unbind(1) for each in self.decide(*summands, input_ids)]
            for step, (written, going_on, totals) in enumerate(zip(*steps)):
                moved = self.go_on(weights, written, going_on, totals, is_place)
                weights = moved if is_token is None else torch.where(is_token[:, step], moved, weights)
                places.append(weights)
            all_places = torch.stack(places, 1)
            mixed = self.mix(all_places, *summands, is_place)
        if cache is not None:
            if len(cache.layers) == self.layer_idx:
                cache.layers.append(DynamicLayer())
            cache.update(all_places[:, None], all_places[:, None, :, :0], self.layer_idx)
        return mixed.to(logits.dtype)

    def decide(
        self, logits: torch.Tensor, source_logits: torch.Tensor, input_ids: torch.LongTensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return what each place says about each token that was read, (batch, length, source_length) each.

        They are: the logits of the token, without the decoder's, which are the same at all places; the logarithms of
        the probabilities of moving on after it; and those of the sums over all that may follow it.
        """
        shares, height = _scaled(source_logits)
        of_decoder, level = _scaled(logits)
        totals = _logarithms(of_decoder @ shares.mT) + level + height.mT
        written = source_logits.mT.gather(1, input_ids[..., None].expand(-1, -1, source_logits.shape[1]))
        return (
            written,
            logits[..., self.eos_token_id, None] + source_logits[:, None, :, self.eos_token_id] - totals,
            totals,
        )

    @staticmethod
    def go_on(
        weights: torch.Tensor,
        written: torch.Tensor,
        going_on: torch.Tensor,
        totals: torch.Tensor,
        is_place: torch.Tensor,
    ) -> torch.Tensor:
        """Return the weights of the places after a token, given those before it; all are (…, source_length)."""
        arrival = (weights + written).log_softmax(-1)
        moved = nn.functional.pad(torch.where(is_place, going_on, 0.0).cumsum(-1), (1, -1))
        return torch.where(is_place, moved + (arrival - moved).logcumsumexp(-1), _NEVER) - totals

    def mix(
        self, places: torch.Tensor, logits: torch.Tensor, source_logits: torch.Tensor, is_place: torch.Tensor
    ) -> torch.Tensor:
        """Return the logarithms of the probabilities of each next token, (batch, length, vocab_size).

        Args:
            places: (batch, length, source_length), their weights.
            logits: (batch, length, vocab_size).
            source_logits: (batch, source_length, vocab_size).
            is_place: (batch, source_length).
        """
        at_places, height = _scaled(source_logits)
        shares, level = _scaled(places + height.mT)
        mixed = _logarithms(shares @ at_places) + level + logits
        is_last = is_place & (is_place.flip(1).cumsum(1).flip(1) == 1)
        at_end = torch.where(is_last, source_logits[..., self.eos_token_id], _NEVER)
        ends = (places + at_end[:, None]).logsumexp(-1, keepdim=True) + logits[..., self.eos_token_id, None]
        return torch.where(torch.arange(logits.shape[-1], device=logits.device).eq(self.eos_token_id), ends, mixed)


def _scaled(logarithms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return exponentials divided so that the largest of each row is 1, and the log of each divisor, (…, 1)."""
    largest = logarithms.amax(-1, keepdim=True)
    return (logarithms - largest).exp(), largest


def _logarithms(sums: torch.Tensor) -> torch.Tensor:
    return sums.clamp_min(torch.finfo(sums.dtype).tiny).log()


def _cache_of_target(cache: Cache | None) -> DynamicCache | None:
    of_target = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
    if not isinstance(of_target, DynamicCache | None):
        raise ValueError(f"Found a {type(of_target).__name__}; expected a DynamicCache, as transducers need.")
    return of_target


def _last_of(cache: DynamicCache | None, layer_idx: int) -> torch.Tensor | None:
    """Return the weights of the places after the last token, (batch, source_length); None before the first."""
    if cache is None or len(cache.layers) <= layer_idx or not cache.layers[layer_idx].get_seq_length():
        return None
    return cache.layers[layer_idx].keys[:, 0, -1]
