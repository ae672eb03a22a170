"""The values that options of generation may have: those of a call, and those that a model is saved with."""

import math
import sys
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

_MOST_NEW_TOKENS = 256  # as in transformers 4
_LEAST_TEMPERATURE = 1e-30  # logits divided by less, or by more than its reciprocal, leave the range of float32
_MOST_OUTPUTS = 10_000  # of a text: each beam takes memory of its own
_LONGEST_NGRAM = 1000
SPECIAL_IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
# Beyond these powers of lengths, scores of outputs are mixed up with the -1e9 that stands for no output, or underflow.
_LEAST_PENALTY, _MOST_PENALTY = -2, 10


def check_options(options: Mapping[str, Any]) -> None:
    """Check options of generation by their names, as far as they are in the table below.

    Raises:
        ValueError: If a value has the wrong type, or is out of range.
    """
    for name, value in options.items():
        if name in _OPTIONS and not _OPTIONS[name][0](value):
            raise ValueError(f"{name} is {value!r:.60}; expected {_OPTIONS[name][1]}.")


def check_saved_options(saved: Mapping[str, Any], config: Mapping[str, Any], folder: str) -> None:
    """Check the options that a model is saved with; of another package's, those that transformers does not check.

    Args:
        saved: what `generation_config.json` holds; `None` means that it does not set the option.
        config: the model's configuration.
        folder: what messages call the folder of both.

    Raises:
        ValueError: If a value has the wrong type or is out of range, or the ids of special tokens are not those of the
            configuration, whose `eos_token_id` may have others beside it.
    """
    file, is_ours = f"{folder}/generation_config.json", str(config.get("model_type")).startswith("atenta")
    values = {name: each for name, each in saved.items() if each is not None and (is_ours or name in _UNCHECKED)}
    try:
        check_options(values)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    for name in SPECIAL_IDS if is_ours else ():
        found, own, vocab_size = values.get(name), config.get(name), config.get("vocab_size")
        if name == "eos_token_id" and found is not None:
            is_known = vocab_size is None or all(each < vocab_size for each in end_ids(found))
            if not is_known or not {*end_ids(found)}.issuperset(end_ids(own)):
                raise ValueError(
                    f"{file}: {name} is {found!r:.60}; expected {own}, as in config.json, or a list with it and other "
                    f"ids below {vocab_size}."
                )
        elif None not in (found, own) and found != own:
            raise ValueError(f"{file}: {name} is {found!r:.60}; expected {own}, as in config.json.")


def default_length(saved: Mapping[str, Any]) -> dict[str, int]:
    """Return the option that limits the outputs of an encoder-decoder if those that it is saved with do not."""
    is_limited = any(saved.get(name) is not None for name in ("max_length", "max_new_tokens"))
    return {} if is_limited else {"max_new_tokens": _MOST_NEW_TOKENS}


def end_ids(eos_token_id: Any) -> tuple[int, ...]:
    """Return the ids of an `eos_token_id`, which is one, several or `None`."""
    if eos_token_id is None:
        return ()
    return tuple(eos_token_id) if isinstance(eos_token_id, list | tuple) else (eos_token_id,)


def is_whole(value: Any, least: int, most: float = math.inf) -> bool:
    """Return whether a value is a whole number of a range."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most


def is_number(value: Any, least: float, most: float = sys.float_info.max) -> bool:
    """Return whether a value is a number of a range."""
    number: Any = value  # a comparison holds for integers that no float has, and not for NaN
    return isinstance(value, Real) and not isinstance(value, bool) and bool(least <= number <= most)


_OUTPUTS = (lambda value: is_whole(value, 1, _MOST_OUTPUTS), f"a whole number from 1 to {_MOST_OUTPUTS}")
_IDS = (lambda value: all(is_whole(each, 0) for each in end_ids(value)), "an id or a list of ids")
_NGRAM = (
    lambda value: value is None or is_whole(value, 0, _LONGEST_NGRAM),
    f"a whole number from 0 to {_LONGEST_NGRAM}",
)
_SWITCH = (lambda value: isinstance(value, bool | None), "True or False")
# What transformers uses without a check, or without a limit, of any model.
_UNCHECKED: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(SPECIAL_IDS, _IDS),
    **dict.fromkeys(("output_attentions", "output_hidden_states", "output_scores", "output_logits"), _SWITCH),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size"), _NGRAM),
}
_LENGTH = (lambda value: value is None or is_whole(value, 1), "a whole number above 0")
_OPTIONS = {
    **_UNCHECKED,
    "max_length": _LENGTH,
    "max_new_tokens": _LENGTH,
    "num_beams": _OUTPUTS,
    "num_return_sequences": _OUTPUTS,
    "length_penalty": (
        lambda value: is_number(value, _LEAST_PENALTY, _MOST_PENALTY),
        f"a number from {_LEAST_PENALTY} to {_MOST_PENALTY}",
    ),
    "early_stopping": (lambda value: isinstance(value, bool) or value == "never", 'True, False or "never"'),
    "do_sample": (lambda value: isinstance(value, bool), "True or False"),
    "temperature": (
        lambda value: is_number(value, _LEAST_TEMPERATURE, 1 / _LEAST_TEMPERATURE),
        f"a number above 0, from {_LEAST_TEMPERATURE} to {1 / _LEAST_TEMPERATURE}",
    ),
    "top_k": (lambda value: value is None or is_whole(value, 0), "a whole number, 0 for all tokens"),
    "top_p": (lambda value: is_number(value, 0, 1), "a number from 0 to 1"),
    "seed": (lambda value: value is None or is_whole(value, 0), "a whole number, 0 or more"),
}
