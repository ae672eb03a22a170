"""Ranges of the options that are numbers: `learning_rate: Annotated[float, ABOVE_0]`."""

import math
from collections.abc import Callable
from typing import NamedTuple


class Range(NamedTuple):
    """The numbers that an option may be. NaN is in no range, and infinity in none that a number can be outside of.

    Attributes:
        words: What is expected, for the message.
        holds: Whether a number is one of them.
    """

    words: str
    holds: Callable[[float], bool]


ABOVE_0 = Range("a number above 0", lambda value: 0 < value < math.inf)
FROM_0 = Range("0 or more", lambda value: 0 <= value < math.inf)
FROM_1 = Range("1 or more", lambda value: 1 <= value < math.inf)
FROM_2 = Range("2 or more", lambda value: 2 <= value < math.inf)
PROBABILITY = Range("a number from 0 to 1", lambda value: 0 <= value <= 1)
BELOW_1 = Range("a number from 0 up to, but not including, 1", lambda value: 0 <= value < 1)
SHARE = Range("a number above 0 and below 1", lambda value: 0 < value < 1)
SEED = Range("a whole number from 0 to 4,294,967,295", lambda value: 0 <= value < 2**32)
STEPS = Range(
    "a whole number of steps, or a number above 0 and below 1, their share of the run",
    lambda value: 0 < value < 1 or (value >= 1 and value % 1 == 0),
)
STEPS_OR_0 = Range(f"0, {STEPS.words}", lambda value: value == 0 or STEPS.holds(value))

# The ranges of options that only transformers declares.
TRAINING_RANGES = {
    **dict.fromkeys(
        (
            *("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps"),
            *("eval_accumulation_steps", "torch_empty_cache_steps", "save_total_limit", "dataloader_prefetch_factor"),
            *("ddp_bucket_cap_mb", "ddp_timeout", "generation_max_length", "generation_num_beams"),
        ),
        FROM_1,
    ),
    **dict.fromkeys(("logging_steps", "eval_steps", "save_steps"), STEPS),
    **dict.fromkeys(("seed", "data_seed"), SEED),
    **dict.fromkeys(("weight_decay", "max_grad_norm", "eval_delay", "dataloader_num_workers"), FROM_0),
    **dict.fromkeys(("adam_beta1", "label_smoothing_factor"), BELOW_1),
    **dict.fromkeys(("num_train_epochs", "neftune_noise_alpha"), ABOVE_0),
    "max_steps": Range("1 or more, or -1 to train for num_train_epochs", lambda value: value >= 1 or value == -1),
}
