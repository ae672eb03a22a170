"""The run of a recipe: its output folder, which it locks, where it starts, and how it ends when it is stopped."""

from atenta.recipes.terminal import escape_missing_characters

import errno
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, is_dataclass
from enum import Enum
from logging import LogRecord, getLogger
from pathlib import Path
from typing import Any

import datasets
import torch
import yaml
from accelerate.utils import broadcast_object_list
from filelock import BaseFileLock, FileLock, Timeout
from safetensors import SafetensorError
from transformers import logging, set_seed
from transformers.integrations import get_reporting_integration_callbacks

from atenta.engines.onnx_models import count_cores
from atenta.hub.publishing import PushError, check_pushable
from atenta.recipes.option_annotations import Mark, Option, options_of
from atenta.recipes.reading.records import BadRow, exit_on, printable
from atenta.recipes.training.checkpoints import (
    ANEW,
    checkpoints_of,
    damage_of,
    delete_checkpoint,
    is_complete,
    read_state,
    set_aside,
    step_of,
    write_whole,
)
from atenta.recipes.training.options import RecipeArguments

_OPTIONS, _END = "options.yaml", "\n...\n"  # YAML's sign for the end of a document
REPLACED = ("config.json", "README.md", "metrics.json", "tokenizer.json", "*.safetensors", "*.py")
"""The files of a folder that a saved model replaces, as patterns."""

_LOCK = ".lock"  # held through the kernel, which releases it however the process ends; it holds the process's number
_LEFT = {_LOCK, "bad_rows.tsv", "bad_further_rows.tsv"}  # by a run that stops before it begins
_LARGE = 1e15  # from which on numbers are typed with an exponent
_SHOWN_OPTIONS = 8  # of those that differ
_NO_LOCKS = {errno.EOPNOTSUPP, errno.ENOLCK}
_IN_A_WORKER = "Caught BadRow in DataLoader worker"  # as torch raises an error that takes two arguments again
_CANNOT_WRITE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_CANNOT_WRITE_IN_WORDS = (  # of safetensors and torch
    *(f"(os error {number})" for number in sorted(_CANNOT_WRITE)),
    *("PytorchStreamWriter", "unexpected pos"),
)


@dataclass
class Run:
    """A run in its output folder, which no other process may use until this one has ended.

    Before `begin`, nothing in the folder is changed but the lock and the list of malformed rows.
    """

    training: RecipeArguments  # which name the folder
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of all options, a token among them
    declared: Mapping[str, Option] = field(default_factory=dict)  # what is known of each option
    checkpoint: Path | None = None  # to resume from; None starts from the beginning
    damaged: Mapping[Path, str] = field(default_factory=dict)  # what is wrong with each later checkpoint
    lock: BaseFileLock | None = None  # of the main process; None where the file system has no locks
    begun: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The values of all options but the incidental ones, as in `options.yaml`."""
        return {name: value for name, value in self.values.items() if Mark.INCIDENTAL not in self.marks(name)}

    def begin(self) -> None:
        """Write the options, delete incomplete checkpoints, and set damaged ones aside; for the main process."""
        folder = Path(self.training.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        named = self.training.resume_from_checkpoint
        start = (Path(named), read_state(self.checkpoint).global_step) if named and self.checkpoint else None
        for each in checkpoints_of(folder):
            if self.training.overwrite_output_dir and not named:
                delete_checkpoint(each)
            elif not is_complete(each):
                print(f"{each} is incomplete, because its run was stopped there: it is deleted.", flush=True)
                delete_checkpoint(each)
            elif start is not None and not _comes_before(each, *start):
                kept = set_aside(each, "replaced").name
                print(f"{each} is no part of a run from {named}: it is kept as {kept}.", flush=True)
        for each, damage in self.damaged.items():
            print(f"{each} is damaged ({damage}): it is kept as {set_aside(each, 'damaged').name}.", flush=True)
        if self.checkpoint is None or named:
            text = yaml.safe_dump(self.options, allow_unicode=True, sort_keys=False, explicit_end=True)
            write_whole(folder / _OPTIONS, text)
        self.begun = True

    def end(self) -> None:
        """Let other processes use the folder."""
        if self.lock is not None:
            self.lock.release()

    def describe_kept(self) -> str:
        """Return a sentence on what is kept if the run stops now, and on how to go on."""
        if not self.begun:
            return "Nothing was trained yet."
        newest = self.newest_checkpoint()
        if newest is None:
            return "There is no checkpoint yet: the same command starts from the beginning."
        starting = ("overwrite_output_dir", "resume_from_checkpoint")
        left_out = " and ".join(f"--{name}" for name in starting if getattr(self.training, name))
        without = f", without {left_out}," if left_out else ""
        return f"{newest} is kept: the same command{without} goes on from there."

    def marks(self, name: str) -> frozenset[Mark]:
        """Return what is known of an option besides its type; nothing of one that recipes do not have any more."""
        return self.declared[name].marks if name in self.declared else frozenset()

    def changed_since(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that differ from those of an earlier run, with their values then.

        An option that did not exist then had its default.
        """
        now = self.options
        before = {name: plain_option(option.default) for name, option in self.declared.items() if name in now} | before
        return {
            name: before.get(name)
            for name in sorted(before.keys() | now.keys())
            if before.get(name) != now.get(name) and Mark.INCIDENTAL not in self.marks(name)
        }

    def describe_changes(self, before: Mapping[str, Any]) -> str:
        """Return the words for options that have changed, whose values before are given: `seed was 42, is 7`."""
        words = [
            f"{name} was {as_typed(value)}, is {as_typed(self.options.get(name))}" for name, value in before.items()
        ]
        further = [f"and {len(words) - _SHOWN_OPTIONS} more"] if len(words) > _SHOWN_OPTIONS else []
        return ", ".join([*words[:_SHOWN_OPTIONS], *further])

    def newest_checkpoint(self) -> Path | None:
        """Return the last complete checkpoint in the folder, if there is one."""
        complete = [each for each in checkpoints_of(Path(self.training.output_dir)) if is_complete(each)]
        return complete[-1] if complete else None


_current: Run | None = None  # of this process, for the last words of `run_recipe`


def run_recipe(main: Callable[[], None]) -> None:
    """Run a recipe. If it is interrupted, or the disk is full, say in a line what is kept and how to go on.

    Raises:
        SystemExit: In these two cases, and for a malformed row of a stream; the exit status of an interrupted run is
            130.
    """
    escape_missing_characters()
    try:
        with exit_on(BadRow):  # of a stream, which is read until the end of training
            main()
    except KeyboardInterrupt:
        if _current is None or _current.training.process_index == 0:
            print(f"\nStopped. {_describe_kept()}", file=sys.stderr, flush=True)
        raise SystemExit(130) from None
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        if str(error).startswith(_IN_A_WORKER):
            message = str(error).strip().partition(f".{BadRow.__name__}: ")[2].replace("\n", r"\n")
            raise SystemExit(printable(message)) from None
        number, text = getattr(error, "errno", None), str(error).partition("\n")[0]
        if number not in _CANNOT_WRITE and not any(words in text for words in _CANNOT_WRITE_IN_WORDS):
            raise
        raise SystemExit(f"The disk is full or fails: {text}. Free some space. {_describe_kept()}") from None


def _describe_kept() -> str:
    return "Nothing was trained yet." if _current is None else _current.describe_kept()


def _is_news(record: LogRecord) -> bool:
    """Return whether a warning should be shown: not that options differ from a checkpoint's, which recipes report.

    transformers also gives it, wrongly, for steps that are given as a share of the run.
    """
    return "do not match the ones in the `trainer_state.json`" not in record.getMessage()


def start_run(*options: Any) -> Run:
    """Set the number of threads and the seed, lock the output folder, and find the checkpoint to resume from.

    The last of the dataclasses of options is `RecipeArguments`.

    Raises:
        SystemExit: If the launched processes do not see each other, a logger is not installed, the model could not be
            pushed to the Hub at the end, or the output folder is of other files, cannot be written to or is used by
            another process, or holds nothing that this run may go on from or replace.
    """
    global _current
    training: RecipeArguments = options[-1]
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if launched != training.world_size:
        raise SystemExit(
            f"{launched} processes were started, but this process sees {training.world_size}. On CPUs give "
            "--use_cpu true, or set ACCELERATE_USE_CPU=true."
        )
    is_main = training.process_index == 0
    if is_main:
        check_own_folder(training.output_dir)
    for name in training.report_to:
        try:
            (callback,) = get_reporting_integration_callbacks([name])
            callback()  # which raises one of many errors if the library is missing
        except Exception as error:
            raise SystemExit(f"--report_to {name}: {' '.join(str(error).split())}") from None
    if training.push_to_hub and is_main:
        try:
            check_pushable(**training.push_options())
        except PushError as error:
            options = "--hub_model_id, --hub_private_repo, --replace_on_hub"
            raise SystemExit(f"--push_to_hub: {error} ({options})") from None
    share_cores()
    getLogger("transformers.trainer_utils").addFilter(_is_news)
    logging.disable_progress_bar()  # saving and loading take no time at these sizes
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    set_seed(training.seed)
    if _current is not None:
        _current.end()
    declared = options_of(*map(type, options))
    declared["processes"] = Option(int, 1, marks=frozenset({Mark.ON_CARD_IF_CHANGED}))  # launchers set their number
    values = {"processes": training.world_size}
    for each in options:
        values |= asdict(each)
    _current = Run(training, plain_option(values), declared)
    if is_main:
        _current.lock = _lock(Path(training.output_dir))
        _current.checkpoint, _current.damaged = _checkpoint_to_resume(_current)
    (_current.checkpoint,) = broadcast_object_list([_current.checkpoint])
    return _current


def share_cores() -> None:
    """Divide the cores among the processes of the machine if `accelerate launch` gave each of them one thread.

    The cores are those that this process may use: a container or `taskset` may allow fewer than there are.
    accelerate gives one thread unless OMP_NUM_THREADS or `--num_cpu_threads_per_process` is given. A recipe that is
    started by `python` or `torchrun` keeps the number of threads that OMP_NUM_THREADS sets.
    """
    launched_by_accelerate = "ACCELERATE_MIXED_PRECISION" in os.environ
    if launched_by_accelerate and os.environ.get("OMP_NUM_THREADS") == "1":
        torch.set_num_threads(max(1, count_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))


def _checkpoint_to_resume(run: Run) -> tuple[Path | None, Mapping[Path, str]]:
    """Return the checkpoint to resume from, or None to start from the beginning, and what is wrong with later ones.

    This is the checkpoint named by `resume_from_checkpoint`, or else the last intact one of the same command.
    """
    training, folder = run.training, Path(run.training.output_dir)
    found = checkpoints_of(folder)
    foreign = found + [path for pattern in REPLACED for path in sorted(folder.glob(pattern))]
    named = training.resume_from_checkpoint and Path(training.resume_from_checkpoint)
    is_own = named and folder.resolve() in (named.parent.resolve(), named.resolve().parent)
    is_replaced = training.overwrite_output_dir and not named
    if foreign and not is_own and not is_replaced and not (folder / _OPTIONS).is_file():
        raise SystemExit(
            f"{foreign[0]} was not written by a recipe: there is no {_OPTIONS} next to it. Give another --output_dir"
            + ("." if named else ", or --overwrite_output_dir to replace it.")
        )
    if named:
        if damage := damage_of(named):
            raise SystemExit(
                f"--resume_from_checkpoint {named}: expected a complete checkpoint of a recipe ({damage}). Without "
                f"the option, the last one in {folder} is taken."
            )
        return named, {}
    if training.overwrite_output_dir:
        return None, {}
    complete = list(filter(is_complete, found))
    kept = complete[-1:] or [path for path in foreign if path.suffix == ".safetensors"]
    if not kept:
        return None, {}
    if changed := run.changed_since(_read_options(folder / _OPTIONS)):
        further = f", or --resume_from_checkpoint {kept[0]} to train further with the changed options"
        if not complete or any(Mark.FIXED in run.marks(name) for name in changed):
            further = ""
        raise SystemExit(
            f"{kept[0]} belongs to a run with other options ({run.describe_changes(changed)}), which "
            f"{folder / _OPTIONS} holds. Give {ANEW}{further}."
        )
    if not complete:
        return None, {}
    damaged: dict[Path, str] = {}
    for checkpoint in reversed(complete):
        damage = damage_of(checkpoint, with_best=training.load_best_model_at_end)
        if damage is None:
            return checkpoint, damaged
        damaged[checkpoint] = damage
    listed = ", ".join(f"{each} ({damage})" for each, damage in damaged.items())
    raise SystemExit(f"No checkpoint is intact: {listed}. Put the files back, or give {ANEW}.")


def _comes_before(checkpoint: Path, start: Path, step: int) -> bool:
    """Return whether a checkpoint is that from which a run starts, or an earlier one of the same folder."""
    is_earlier = step_of(checkpoint) <= step
    return checkpoint.samefile(start) or (is_earlier and checkpoint.parent.samefile(start.parent))


def _read_options(path: Path) -> dict[str, Any]:
    """Return the options that a run has written, all of them: those that are missing would have their defaults."""
    try:
        text = path.read_text(encoding="utf-8")
        if text.endswith(_END):
            return plain_option(dict(yaml.safe_load(text).items()))
    except (yaml.YAMLError, ValueError, AttributeError):
        pass
    raise SystemExit(
        f"{path} is damaged: expected the options of the run, one to a line. Put it back, or give {ANEW}."
    )


def check_own_folder(folder: str) -> None:
    """Check that an output folder is not the current one, the home folder, one above them or a git repository.

    Raises:
        SystemExit: If it is, and it is neither empty, but for what a refused run leaves, nor of a run.
    """
    place = os.path.realpath(folder)
    inside = [os.path.realpath(each) for each in (".", os.path.expanduser("~"))]
    is_shared = any(Path(each).is_relative_to(place) for each in inside) or os.path.exists(f"{place}/.git")
    if is_shared and not os.path.isfile(f"{place}/{_OPTIONS}") and (found := sorted({*os.listdir(place)} - _LEFT)):
        raise SystemExit(
            f"--output_dir {folder}: found a folder of other files, such as {found[0]}; expected one for this run "
            f"alone, such as {Path(folder, 'outputs')}."
        )


def _lock(folder: Path) -> BaseFileLock | None:
    """Lock a folder, which is made if it does not exist, and write the number of this process into the lock."""
    path, owner = folder / _LOCK, ""
    with suppress(OSError):
        owner = path.read_text(encoding="utf-8", errors="replace").strip()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, blocking=False, thread_local=False).acquire().lock
        if os.name != "nt":  # where nobody may write to what is locked, nor its owner through another handle
            path.write_text(f"{os.getpid()} on {platform.node()}", encoding="utf-8")
    except Timeout:
        process = f"process {owner}" if owner else "another process"
        raise SystemExit(
            f"--output_dir {folder} is in use by {process}: wait until it has ended, or give another one."
        ) from None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            print(f"--output_dir {folder}: its file system has no locks. Start no other run there.", flush=True)
            return None
        reason = error.strerror or str(error)
        raise SystemExit(
            f"--output_dir {folder}: expected a folder that can be written to ({reason}); give another one."
        ) from None
    return lock


def plain_option(value: Any) -> Any:
    """Return the value of an option as YAML can hold it: `linear` for `SchedulerType.LINEAR`."""
    if is_dataclass(value):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(name): plain_option(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_option(inner) for inner in value]
    value = value.value if isinstance(value, Enum) else value
    return value if type(value) in (int, float, bool, str, type(None)) else str(value)


def as_typed(value: Any) -> str:
    """Return the value of an option as one types it: `20` for 20.0, `true`, `null`, `'two words'`."""
    if isinstance(value, list):
        return " ".join(map(as_typed, value))
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        value = int(value)
    return shlex.quote(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
