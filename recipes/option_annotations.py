"""The facts that the annotation of an option states: `epochs: Annotated[float, ABOVE_0, Mark.ON_CARD, "passes"] = 3`.

A recipe's options are the fields of its dataclasses, and a new one is one field whose annotation has its type, the
values that it may have, marks, and its text in `--help`.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from enum import Enum, auto
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

# In `--help` of the scripts that load a model.
TRUST_REMOTE_CODE = "run the Python code that comes with the model, which can do anything that you can"


class Range(NamedTuple):
    """The values that an option may have, and the words for them in a message. NaN is never in range."""

    words: str
    holds: Callable[[Any], bool]


class IdleIf(NamedTuple):
    """When the other options of its dataclass leave an option without effect: a card does not state it then."""

    holds: Callable[[Any], bool]


def one_of(values: Iterable[str]) -> Range:
    """Return the range of a text that must be one of a few."""
    known = list(values)
    return Range(f"one of {', '.join(known)}", known.__contains__)


ABOVE_0 = Range("a number above 0", lambda value: 0 < value < math.inf)
FROM_0 = Range("0 or more", lambda value: 0 <= value < math.inf)
FROM_1 = Range("1 or more", lambda value: 1 <= value < math.inf)
FROM_2 = Range("2 or more", lambda value: 2 <= value < math.inf)
PROBABILITY = Range("a number from 0 to 1", lambda value: 0 <= value <= 1)
BELOW_1 = Range("a number from 0 up to, but not including, 1", lambda value: 0 <= value < 1)
SHARE = Range("a number above 0 and below 1", lambda value: 0 < value < 1)
SEED = Range("a whole number from 0 to 4,294,967,295", lambda value: 0 <= value < 2**32)
NOT_BLANK = Range("a text that is not blank", lambda value: bool(value.strip()))
STEPS = Range(
    "a whole number of steps, or a number above 0 and below 1, their share of the run",
    lambda value: 0 < value < 1 or (value >= 1 and value % 1 == 0),
)
STEPS_OR_0 = Range(f"0, {STEPS.words}", lambda value: value == 0 or STEPS.holds(value))


class Mark(Enum):
    """A fact about an option, without a value of its own.

    An option without marks is listed by `--help`, is on the model card if the command line gives it, and, if a resumed
    run gives it another value, the run must take at least one more step.
    """

    HIDDEN = auto()  # not listed by --help
    ON_CARD = auto()  # on every card, unless it is false, null or, but for a seed, 0
    ON_CARD_IF_CHANGED = auto()  # likewise, and unless it is the default
    OFF_CARD = auto()  # on no card: the card says it elsewhere, or it has no effect on the weights
    FIXED = auto()  # the same in a resumed run: the state in a checkpoint is that of its value
    AFTER_TRAINING = auto()  # takes effect without a further step: on the weights that are kept, on scores, on files
    INCIDENTAL = auto()  # without effect on training: not recorded, and free to differ in a resumed run
    RANKING = auto()  # decides which checkpoint is the best: scores of another value cannot be compared


class Option(NamedTuple):
    """An option of a recipe: its type, its default, which is None if it has none, and what else is known of it."""

    hint: Any
    default: Any
    range: Range | None = None
    idle_if: IdleIf | None = None
    marks: frozenset[Mark] = frozenset()
    help: str | None = None


def options_of(*dataclasses: type) -> dict[str, Option]:
    """Return the options that dataclasses declare, by name."""
    found = {}
    for each in dataclasses:
        hints = get_type_hints(each, include_extras=True)
        for field in fields(each):
            hint, *facts = _annotation(each, field.name, hints[field.name])
            default = None if field.default is MISSING else field.default
            default = field.default_factory() if callable(field.default_factory) else default
            single = {type(fact): fact for fact in facts}
            marks = frozenset(fact for fact in facts if isinstance(fact, Mark))
            found[field.name] = Option(hint, default, single.get(Range), single.get(IdleIf), marks, single.get(str))
    return found


def _annotation(dataclass: type, name: str, hint: Any) -> tuple[Any, ...]:
    """Return the type of an option and what else is known of it."""
    declaring = next(each for each in dataclass.__mro__ if name in vars(each).get("__annotations__", {}))
    if not declaring.__module__.startswith(("transformers.", "sentence_transformers.")):
        return get_args(hint) if get_origin(hint) is Annotated else (hint,)
    without_effect = (Mark.AFTER_TRAINING, Mark.OFF_CARD) if name.startswith(_WITHOUT_EFFECT) else ()
    return (hint, *_OF_TRANSFORMERS.get(name, (Mark.HIDDEN,)), *without_effect)


# What is known of the options that only transformers' TrainingArguments declares, more than a hundred: those that are
# neither here nor listed by --help have any value that transformers takes.
_WITHOUT_EFFECT = ("logging_", "eval_", "per_device_eval", "save_", "dataloader_")  # on the weights
_OF_TRANSFORMERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("output_dir", "report_to"), (Mark.INCIDENTAL,)),
    "seed": (SEED, Mark.ON_CARD),
    "num_train_epochs": (ABOVE_0, Mark.ON_CARD, IdleIf(lambda training: training.max_steps > 0)),
    "max_steps": (
        Range("1 or more, or -1 to train for num_train_epochs", lambda value: value >= 1 or value == -1),
        Mark.ON_CARD_IF_CHANGED,
    ),
    "per_device_train_batch_size": (FROM_1, Mark.ON_CARD, IdleIf(lambda training: training.max_tokens_per_batch)),
    "per_device_eval_batch_size": (FROM_1,),
    "gradient_accumulation_steps": (FROM_1, Mark.ON_CARD_IF_CHANGED),
    "weight_decay": (FROM_0, Mark.ON_CARD),
    "adam_beta1": (BELOW_1,),
    "max_grad_norm": (FROM_0,),
    "label_smoothing_factor": (BELOW_1, Mark.ON_CARD),
    **dict.fromkeys(("bf16", "fp16"), (Mark.ON_CARD,)),
    **dict.fromkeys(("gradient_checkpointing", "torch_compile", "eval_strategy", "save_strategy"), ()),
    **dict.fromkeys(("logging_steps", "eval_steps", "save_steps"), (STEPS,)),
    "save_total_limit": (FROM_1,),
    **dict.fromkeys(("metric_for_best_model", "greater_is_better"), (Mark.RANKING,)),
    "load_best_model_at_end": (Mark.AFTER_TRAINING,),
    **dict.fromkeys(("eval_accumulation_steps", "torch_empty_cache_steps"), (FROM_1, Mark.HIDDEN)),
    **dict.fromkeys(("dataloader_prefetch_factor", "ddp_bucket_cap_mb"), (FROM_1, Mark.HIDDEN)),
    **dict.fromkeys(("generation_max_length", "generation_num_beams"), (FROM_1, Mark.HIDDEN)),
    "ddp_timeout": (FROM_1, Mark.INCIDENTAL, Mark.HIDDEN),
    "data_seed": (SEED, Mark.HIDDEN),
    **dict.fromkeys(("eval_delay", "dataloader_num_workers"), (FROM_0, Mark.HIDDEN)),
    "neftune_noise_alpha": (ABOVE_0, Mark.HIDDEN),
    **dict.fromkeys(("optim_args", "optim_target_modules"), (Mark.FIXED, Mark.HIDDEN)),
    **dict.fromkeys(("run_name", "logging_dir", "disable_tqdm", "log_level"), (Mark.INCIDENTAL, Mark.HIDDEN)),
    **dict.fromkeys(("local_rank", "dataloader_pin_memory"), (Mark.INCIDENTAL, Mark.HIDDEN)),
    **dict.fromkeys(("hub_token", "hub_model_id", "hub_private_repo"), (Mark.INCIDENTAL, Mark.HIDDEN)),
}
