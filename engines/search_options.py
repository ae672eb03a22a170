"""The options of a search, under the names of `generate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..generation_options import check_options, end_ids

_DEFAULT_NEW_TOKENS = 20  # what `generate` writes if nothing says how much

# Options of transformers' `GenerationConfig` that the searches below do not have, with the value that changes nothing.
_NEUTRAL_VALUES: dict[str, float | None] = {
    **dict.fromkeys(("min_length", "min_new_tokens", "min_p", "epsilon_cutoff", "eta_cutoff"), 0),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "penalty_alpha", "diversity_penalty"), 0),
    **dict.fromkeys(("typical_p", "repetition_penalty", "encoder_repetition_penalty", "guidance_scale"), 1),
    **dict.fromkeys(("renormalize_logits", "remove_invalid_values", "token_healing", "low_memory", "use_mtp"), False),
    **dict.fromkeys(("max_time", "stop_strings", "top_h", "bad_words_ids", "suppress_tokens", "sequence_bias")),
    **dict.fromkeys(("begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id", "force_words_ids")),
    **dict.fromkeys(("exponential_decay_length_penalty", "watermarking_config", "constraints", "dola_layers")),
    **dict.fromkeys(("prompt_lookup_num_tokens", "assistant_early_exit")),
    "num_beam_groups": 1,
}
# Entries of a saved file that do not change which tokens are found: ids that the model and the tokenizer know, caches,
# what else `generate` returns, and options that need another one, which is listed above.
_WITHOUT_EFFECT = {
    *("transformers_version", "_from_model_config", "_commit_hash", "return_dict_in_generate"),
    *("bos_token_id", "pad_token_id", "decoder_start_token_id"),
    *("use_cache", "cache_implementation", "cache_config", "max_cache_len", "prefill_chunk_size"),
    *("continuous_batching_config", "compile_config", "disable_compile"),
    *("output_attentions", "output_hidden_states", "output_scores", "output_logits"),
    *("is_assistant", "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold"),
    *("assistant_lookbehind", "assistant_ensemble_weight", "target_lookbehind"),
    *("max_matching_ngram_size", "speculation_type"),
}


@dataclass(frozen=True)
class SearchOptions:
    """The options of a search, with the names, meanings and defaults of transformers' `GenerationConfig`.

    Attributes:
        max_length: Largest number of tokens including the prompt, or the start token of an encoder-decoder.
        max_new_tokens: Largest number of new tokens, instead of `max_length`. Without both it is 20.
        num_beams: Width of beam search; 1 is greedy search or sampling.
        num_return_sequences: Number of outputs for each source: samples, or at most `num_beams`.
        length_penalty: Exponent of the length by which the score of an output is divided, from -2 to 10.
        early_stopping: When beam search ends: `True`, when there are `num_beams` outputs; `False`, when no better one
            is likely; `"never"`, when none is possible.
        do_sample: Whether to draw each token.
        temperature: Divides the logits before a token is drawn.
        top_k: Draw from the `top_k` most probable tokens; `None` or 0, from all.
        top_p: Draw from the fewest most probable tokens whose probabilities add up to `top_p`.
        eos_token_id: Token that ends an output, or several; `None` for none.
        seed: Seed of sampling. A sample depends on it and on its source, not on other sources. `None` for a new one.

    Raises:
        ValueError: If a value has the wrong type or range, or two of them contradict each other.
    """

    max_length: int | None = None
    max_new_tokens: int | None = None
    num_beams: int = 1
    num_return_sequences: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int | None = 50
    top_p: float = 1.0
    eos_token_id: int | list[int] | tuple[int, ...] | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        check_options({field.name: getattr(self, field.name) for field in fields(self)})
        if self.do_sample and self.num_beams > 1:
            raise ValueError(
                f"do_sample=True with num_beams={self.num_beams} asks for sampling in beam search, which is not "
                "available: give num_beams=1 or do_sample=False."
            )
        if self.num_return_sequences > self.num_beams and not self.do_sample:
            raise ValueError(
                f"num_return_sequences={self.num_return_sequences} asks for more outputs than "
                f"num_beams={self.num_beams} can find: raise num_beams, or give do_sample=True."
            )

    @classmethod
    def from_saved(cls, saved: Mapping[str, Any], **options: Any) -> "SearchOptions":
        """Return the options of a saved `generation_config.json`, overridden by those of a call, as in `generate`.

        Args:
            saved: the entries of the file; `None` means that it does not set the option.
            options: `max_new_tokens` overrides `max_length` of the file.

        Raises:
            ValueError: If an option is unknown or the searches do not have it, unless its value changes nothing; if an
                option of the call has no effect beside the others; or as in the class.
        """
        own = {field.name: field.default for field in fields(cls)}
        for name in options:
            if name not in own.keys() | _NEUTRAL_VALUES.keys() | _WITHOUT_EFFECT | saved.keys():
                closest = get_close_matches(name, own, n=1)
                expected = f"did you mean {closest[0]}?" if closest else f"expected some of {', '.join(own)}."
                raise ValueError(f"There is no option {name}; {expected}")
        values = {name: value for name, value in saved.items() if value is not None} | options
        for name, value in values.items():
            neutral = _NEUTRAL_VALUES.get(name, False)
            if name not in own.keys() | _WITHOUT_EFFECT and value not in (None, [], neutral):
                raise ValueError(
                    f"{name}={value!r} is set, which this search does not have: give {name}={neutral!r} to search "
                    "without it, or use `generate` of transformers."
                )
        found = cls(**{name: value for name, value in values.items() if name in own})
        if options.get("max_length") is not None and found.max_new_tokens is not None:
            raise ValueError(
                f"max_length={found.max_length} has no effect beside max_new_tokens={found.max_new_tokens}: give only "
                "max_new_tokens."
            )
        needed = dict.fromkeys(("temperature", "top_k", "top_p"), (found.do_sample, "sampling: give do_sample=True"))
        needed["early_stopping"] = (found.num_beams > 1, "beams: raise num_beams")
        for name, (is_met, condition) in needed.items():
            if options.get(name, own[name]) != own[name] and not is_met:
                raise ValueError(f"{name}={options[name]!r} has no effect without {condition}.")
        return found

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The tokens that end an output."""
        return end_ids(self.eos_token_id)

    def new_token_limits(self, prompt_lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the largest number of new tokens for each source, (sources,), whatever it is padded to.

        Args:
            prompt_lengths: (sources,), without padding; 1 for an encoder-decoder, the start token.

        Raises:
            ValueError: If a prompt leaves no room for a new token.
        """
        lengths = np.asarray(prompt_lengths, np.int64)
        if self.max_new_tokens is not None or self.max_length is None:
            return np.full(len(lengths), self.max_new_tokens or _DEFAULT_NEW_TOKENS)
        if (lengths >= self.max_length).any():
            raise ValueError(
                f"Found a prompt of length {lengths.max()}; expected less than max_length={self.max_length}, which "
                "counts the prompt: raise it, or give max_new_tokens."
            )
        return self.max_length - lengths
