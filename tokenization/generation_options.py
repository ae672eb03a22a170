"""The values that options of generation may have: those of a call, and those that a model is saved with."""

from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Integral, Real
from typing import Any

_MOST_NEW_TOKENS = 256  # as in transformers 4
_LEAST_TEMPERATURE = 1e-30  # logits divided by less, or by more than its reciprocal, leave the range of float32
_MOST_OUTPUTS = 10_000  # of a text: each beam takes memory of its own
# Beyond these powers of lengths, scores of outputs are mixed up with the -1e9 that stands for no output, or underflow.
_LEAST_PENALTY, _MOST_PENALTY = -2, 10


def check_options(options: Mapping[str, Any]) -> None:
    """Check options of generation by their names, as far as they are those of [`SearchOptions`].

    Raises:
        ValueError: If a value has the wrong type, or is out of range.
    """
    for name, value in options.items():
        if name in _OPTIONS and not _OPTIONS[name][0](value):
            raise ValueError(f"{name} is {value!r:.60}; expected {_OPTIONS[name][1]}.")


def check_saved_options(saved: Mapping[str, Any], config: Mapping[str, Any], folder: str) -> None:
    """Check the options that a model of this package is saved with.

    Args:
        saved: what `generation_config.json` holds; `None` means that it does not set the option.
        config: the model's configuration.
        folder: what messages call the folder of both.

    Raises:
        ValueError: If a value has the wrong type or is out of range, or the ids of special tokens are not those of the
            configuration, whose `eos_token_id` may have others beside it.
    """
    file = f"{folder}/generation_config.json"
    values = {name: value for name, value in saved.items() if value is not None}
    try:
        check_options(values)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    for name in ("bos_token_id", "pad_token_id", "decoder_start_token_id"):
        own = config.get(name)
        if own is not None and values.get(name, own) != own:
            raise ValueError(f"{file}: {name} is {values[name]!r:.60}; expected {own}, as in config.json.")
    if "eos_token_id" in values:
        found, own, vocab_size = values["eos_token_id"], config.get("eos_token_id"), config.get("vocab_size")
        is_known = vocab_size is None or all(each < vocab_size for each in end_ids(found))
        if not is_known or not {*end_ids(found)}.issuperset(end_ids(own)):
            raise ValueError(
                f"{file}: eos_token_id is {found!r:.60}; expected {own}, as in config.json, or a list with it and "
                f"other ids below {vocab_size}."
            )


def default_length(saved: Mapping[str, Any]) -> dict[str, int]:
    """Return the option that limits the outputs of an encoder-decoder if those that it is saved with do not."""
    is_limited = any(saved.get(name) is not None for name in ("max_length", "max_new_tokens"))
    return {} if is_limited else {"max_new_tokens": _MOST_NEW_TOKENS}


def end_ids(eos_token_id: Any) -> tuple[int, ...]:
    """Return the ids of an `eos_token_id`, which is one, several or `None`."""
    if eos_token_id is None:
        return ()
    return tuple(eos_token_id) if isinstance(eos_token_id, list | tuple) else (eos_token_id,)


def is_whole(value: Any, least: int, most: float = float("inf")) -> bool:
    """Return whether a value is a whole number of a range."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= value <= most


def _is_number(value: Any, least: float, most: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value) and least <= value <= most


_OUTPUTS = (lambda value: is_whole(value, 1, _MOST_OUTPUTS), f"a whole number from 1 to {_MOST_OUTPUTS}")
_LENGTH = (lambda value: value is None or is_whole(value, 1), "a whole number above 0")
_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "max_length": _LENGTH,
    "max_new_tokens": _LENGTH,
    "num_beams": _OUTPUTS,
    "num_return_sequences": _OUTPUTS,
    "length_penalty": (
        lambda value: _is_number(value, _LEAST_PENALTY, _MOST_PENALTY),
        f"a number from {_LEAST_PENALTY} to {_MOST_PENALTY}",
    ),
    "early_stopping": (lambda value: isinstance(value, bool) or value == "never", 'True, False or "never"'),
    "do_sample": (lambda value: isinstance(value, bool), "True or False"),
    "temperature": (
        lambda value: _is_number(value, _LEAST_TEMPERATURE, 1 / _LEAST_TEMPERATURE),
        f"a number above 0, from {_LEAST_TEMPERATURE} to {1 / _LEAST_TEMPERATURE}",
    ),
    "top_k": (lambda value: value is None or is_whole(value, 0), "a whole number, 0 for all tokens"),
    "top_p": (lambda value: _is_number(value, 0, 1), "a number from 0 to 1"),
    "eos_token_id": (lambda value: all(is_whole(each, 0) for each in end_ids(value)), "an id or a list of ids"),
    "seed": (lambda value: value is None or is_whole(value, 0), "a whole number, 0 or more"),
}
