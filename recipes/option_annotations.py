"""The facts that the annotation of an option states besides its type: `seed: Annotated[int, SEED, Mark.ON_CARD]`.

A recipe's options are the fields of its dataclasses, and a new one is one field with all that is known of it. What it
says is in the annotation and not in the field's `metadata`, all of which transformers' parser hands on to argparse.
"""

import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from enum import Enum, auto
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


class Range(NamedTuple):
    """The numbers that an option may be. NaN is never in range, and infinity only where every number is.

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


class Mark(Enum):
    """A fact about an option besides its type and range.

    Without a mark it is listed by `--help`, it is on the model card if the command line gives it, and a run that is
    resumed with another value must take a further step with it.
    """

    HIDDEN = auto()  # not listed by --help
    ON_CARD = auto()  # on every card, unless it is 0, false or null
    ON_CARD_IF_CHANGED = auto()  # likewise, and unless it is the default
    OFF_CARD = auto()  # on no card: the card says it elsewhere, or it has no effect on the weights
    FIXED = auto()  # the same in a resumed run: the state in a checkpoint is that of its value
    AFTER_TRAINING = auto()  # takes effect without a further step: on the weights that are kept, on scores, on files
    INCIDENTAL = auto()  # without effect on training: not recorded, and free to differ in a resumed run


class Option(NamedTuple):
    """An option of a recipe.

    Attributes:
        hint: Its type.
        default: Its default; None if it has none.
        range: The numbers that it may be, if it has a range.
        marks: What else its annotation says.
    """

    hint: Any
    default: Any
    range: Range | None
    marks: frozenset[Mark]


def options_of(*dataclasses: type) -> dict[str, Option]:
    """Return the options that dataclasses declare, by name."""
    return {
        field.name: Option(
            hint,
            field.default_factory() if callable(field.default_factory) else _none_if_missing(field.default),
            next((fact for fact in facts if isinstance(fact, Range)), None),
            frozenset(fact for fact in facts if isinstance(fact, Mark)),
        )
        for each in dataclasses
        for field in fields(each)
        for hint, *facts in [_annotation(each, field.name)]
    }


def _none_if_missing(default: Any) -> Any:
    return None if default is MISSING else default


def _annotation(dataclass: type, name: str) -> tuple[Any, ...]:
    """Return the type of an option and what else is known of it."""
    hint = get_type_hints(dataclass, include_extras=True)[name]
    declaring = next(each for each in dataclass.__mro__ if name in vars(each).get("__annotations__", {}))
    if not declaring.__module__.startswith(("transformers.", "sentence_transformers.")):
        return get_args(hint) if get_origin(hint) is Annotated else (hint,)
    without_effect = (Mark.AFTER_TRAINING, Mark.OFF_CARD) if name.startswith(_WITHOUT_EFFECT) else ()
    if name in _OF_TRANSFORMERS:
        return (hint, *_OF_TRANSFORMERS[name], *without_effect)
    return (hint, *_HIDDEN_OF_TRANSFORMERS.get(name, ()), *without_effect, Mark.HIDDEN)


# The options that only transformers' TrainingArguments declares, more than a hundred: those that --help lists, and
# what is known of others.
_WITHOUT_EFFECT = ("logging_", "eval_", "per_device_eval", "save_", "dataloader_")  # on the weights
_OF_TRANSFORMERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("output_dir", "report_to"), (Mark.INCIDENTAL,)),
    "seed": (SEED, Mark.ON_CARD),
    "num_train_epochs": (ABOVE_0, Mark.ON_CARD),
    "max_steps": (
        Range("1 or more, or -1 to train for num_train_epochs", lambda value: value >= 1 or value == -1),
        Mark.ON_CARD_IF_CHANGED,
    ),
    "per_device_train_batch_size": (FROM_1, Mark.ON_CARD),
    "per_device_eval_batch_size": (FROM_1,),
    "gradient_accumulation_steps": (FROM_1, Mark.ON_CARD_IF_CHANGED),
    "weight_decay": (FROM_0, Mark.ON_CARD),
    "adam_beta1": (BELOW_1,),
    "max_grad_norm": (FROM_0,),
    "label_smoothing_factor": (BELOW_1, Mark.ON_CARD),
    **dict.fromkeys(("bf16", "fp16"), (Mark.ON_CARD,)),
    **dict.fromkeys(("gradient_checkpointing", "torch_compile"), ()),
    **dict.fromkeys(("logging_steps", "eval_steps", "save_steps"), (STEPS,)),
    "save_total_limit": (FROM_1,),
    **dict.fromkeys(("eval_strategy", "save_strategy", "metric_for_best_model", "greater_is_better"), ()),
    "load_best_model_at_end": (Mark.AFTER_TRAINING,),
}
_HIDDEN_OF_TRANSFORMERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("eval_accumulation_steps", "torch_empty_cache_steps", "dataloader_prefetch_factor"), (FROM_1,)),
    **dict.fromkeys(("ddp_bucket_cap_mb", "generation_max_length", "generation_num_beams"), (FROM_1,)),
    "ddp_timeout": (FROM_1, Mark.INCIDENTAL),
    "data_seed": (SEED,),
    **dict.fromkeys(("eval_delay", "dataloader_num_workers"), (FROM_0,)),
    "neftune_noise_alpha": (ABOVE_0,),
    **dict.fromkeys(("optim_args", "optim_target_modules"), (Mark.FIXED,)),
    **dict.fromkeys(("run_name", "logging_dir", "disable_tqdm", "log_level", "local_rank"), (Mark.INCIDENTAL,)),
    **dict.fromkeys(("dataloader_pin_memory", "hub_token", "hub_model_id", "hub_private_repo"), (Mark.INCIDENTAL,)),
}
