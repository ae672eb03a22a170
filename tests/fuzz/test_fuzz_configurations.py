"""One value of one file of a saved model is damaged, and the model is used in every way.

Each use must answer as before, or as a model with that value may; or end with a clear error: of a command one line,
of a function an exception that says so and names the file, the key or the folder. Nothing may hang or take all memory.
Functions of transformers itself may fail as they like, but not in code of ours.

`FUZZ_CASES=20000 pytest tests/fuzz/test_fuzz_configurations.py` runs more cases.
"""

import faulthandler
import json
import os
import random
import re
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from typer.testing import CliRunner

import atenta
from atenta import CharacterRestorer, load_engine
from atenta.command.main import app
from atenta.engines import onnx_export
from support.damaged_models import DEEP, DELETED, Damage, damaged, draw_damage
from support.small_models import SMALL_MODELS, save_small_model

CASES = int(os.environ.get("FUZZ_CASES", "2000"))
CPU_SECONDS = 20  # after which a case counts as one that hangs; most take 0.1
MEMORY = 4 * 2**30  # bytes that a case may take
PACKAGE = str(Path(atenta.__file__).parent)
CLEAR = (ValueError, OSError, ImportError, StrictDataclassError)
OPTIONS = {"decoder": {"max_new_tokens": 6}, "pair_votes": {"max_new_tokens": 6}}  # the others find their end


class Refused(Exception):
    """The line with which a command ended."""


class Reached(Exception):
    """The export, which takes seconds, after everything was loaded and checked."""


class Hangs(BaseException):
    """A case has taken too long."""


# Doors: each takes the kind of a model and its folder, and returns an answer.


def command(*arguments: Any) -> str:
    """Run the command in this process, and return what it prints."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if isinstance(result.exception, SystemExit):
        message = result.exception.code if isinstance(result.exception.code, str) else result.stderr.strip()
        raise Refused(message)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def predict(kind: str, folder: Path) -> str:
    model = SMALL_MODELS[kind]
    given = [f"--{name}={value}" for name, value in OPTIONS.get(kind, {}).items()]
    if kind == "questions":
        (folder.parent / "lines.jsonl").write_text(model.text + "\n", encoding="utf-8")
        return command("predict", folder, "--json_lines", "--files", folder.parent / "lines.jsonl")
    return command("predict", folder, model.text, *given)


def restore(kind: str, folder: Path) -> str:
    return command("restore", "--model", folder, SMALL_MODELS[kind].text)


def evaluate(kind: str, folder: Path) -> str:
    name = SMALL_MODELS[kind].rows[0] if SMALL_MODELS[kind].rows else "test.tsv"
    return command("evaluate", folder, "--test_file", folder.parent / name)


def info(kind: str, folder: Path) -> str:
    described = json.loads(command("info", folder, "--json"))
    command("info", folder)
    return str([described.get(key) for key in ("class", "parameters", "characters", "restores", "labels")])


def export(kind: str, folder: Path) -> str:
    arguments = sys.argv
    try:
        with patch.object(onnx_export, "export_onnx", side_effect=Reached):
            return command("export", folder)
    except Reached:
        return "exports"
    finally:
        sys.argv = arguments


def push(kind: str, folder: Path) -> str:
    return command("push", folder, "someone/model")


def engine(kind: str, folder: Path, name: str) -> Any:
    loaded = load_engine(folder, name)
    text = SMALL_MODELS[kind].text
    if loaded.can_generate:
        return loaded.generate([text], **OPTIONS.get(kind, {}))
    question = json.loads(text) if kind == "questions" else {}
    texts = [question.get("question", text)]
    answers = loaded.predict(texts, [question["context"]] if question else None)
    return [{name: rounded(value) for name, value in each.items()} for each in answers]


def torch_engine(kind: str, folder: Path) -> Any:
    return engine(kind, folder, "torch")


def onnx_engine(kind: str, folder: Path) -> Any:
    return engine(kind, folder, "onnx")


def restorer(kind: str, folder: Path) -> Any:
    name = random.Random(str(folder)).choice(["auto", "onnx", "torch"])
    (found,) = CharacterRestorer.from_pretrained(folder, engine=name).restore([SMALL_MODELS[kind].text])
    return found.text, rounded(found.probabilities)


def auto_config(kind: str, folder: Path) -> str:
    return type(transformers.AutoConfig.from_pretrained(folder)).__name__


def auto_tokenizer(kind: str, folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)(SMALL_MODELS[kind].text).input_ids


def auto_model(kind: str, folder: Path) -> Any:
    model = getattr(transformers, SMALL_MODELS[kind].auto_class).from_pretrained(folder).eval()
    ids = torch.tensor([[1, 20, 21, 2]])
    more = {"decoder_input_ids": ids} if kind == "pairs" else {}
    with torch.inference_mode():
        return rounded(model(input_ids=ids, return_dict=True, **more)[0].float().numpy())


def pipeline(kind: str, folder: Path) -> str:
    model = SMALL_MODELS[kind]
    loaded = transformers.pipeline(model.task, str(folder), device="cpu")
    given = json.loads(model.text) if kind == "questions" else model.text
    return str(loaded(given, **OPTIONS.get(kind, {})) if kind != "questions" else loaded(**given))


OURS = {predict: 4, restore: 1, evaluate: 2, info: 1, export: 2, push: 1, torch_engine: 3, onnx_engine: 2, restorer: 2}
OF_TRANSFORMERS = {auto_config: 2, auto_tokenizer: 1, auto_model: 2, pipeline: 2}


def doors_of(kind: str) -> dict[Callable[[str, Path], Any], int]:
    """Return the doors that a kind of model has, with how often they are taken."""
    model = SMALL_MODELS[kind]
    missing: set[Any] = set() if model.onnx else {onnx_engine}
    missing |= set() if kind == "characters" else {restore, restorer}
    missing |= set() if model.task else {pipeline}
    return {door: weight for door, weight in (OURS | OF_TRANSFORMERS).items() if door not in missing}


def rounded(values: np.ndarray) -> Any:
    return np.round(np.asarray(values, np.float64), 2).tolist()


@contextmanager
def limited() -> Iterator[None]:
    """Stop what takes too long or too much memory."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hangs

    before = signal.signal(signal.SIGPROF, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    faulthandler.dump_traceback_later(10 * CPU_SECONDS, exit=True, file=sys.__stderr__)  # what never returns to Python
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        faulthandler.cancel_dump_traceback_later()


def use(door: Callable[[str, Path], Any], kind: str, folder: Path) -> tuple[Any, BaseException | None]:
    """Return an answer, or what was raised."""
    try:
        with limited():
            return door(kind, folder), None
    except (Exception, Hangs, KeyboardInterrupt) as error:
        return None, error


def problem(
    door: Callable[[str, Path], Any], damage: Damage, folder: Path, found: Any, error: BaseException | None, good: Any
) -> str | None:
    """Return what is wrong about an outcome, or `None`."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    described = f"{type(error).__name__}: {error}"
    if door in OF_TRANSFORMERS and not any(is_ours(frame) and frame.name != "from_pretrained" for frame in frames):
        return None  # what it raises itself
    if isinstance(error, Hangs | MemoryError) or "allocate memory" in str(error):
        return f"takes too much: {described}"
    if door in OF_TRANSFORMERS:
        return None if is_clear(error, frames) else f"in our code: {described}"
    if error is None:
        if re.search(r"\bnan\b|\bNaN\b", str(found)):
            return f"answers with NaN: {found!r:.80}"
        is_described = door is info and damage.value == DELETED  # as far as there are files
        return (
            None
            if found == good or damage.is_plausible or is_described
            else f"answers {found!r:.80} instead of {good!r:.80}"
        )
    message = str(error)
    if isinstance(error, Refused):
        if not message or "\n" in message or len(message) > 2000:
            return f"ends with {message.count(chr(10)) + 1} lines: {message!r:.80}"
    elif not is_clear(error, frames):
        return described
    key = next((str(each) for each in reversed(damage.place) if isinstance(each, str)), damage.file)
    if not any(name in message for name in (str(folder.parent), damage.file, key, *map(str, damage.place))):
        return f"names neither the file nor {key}: {described}"
    return None


def is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(PACKAGE)


def is_clear(error: BaseException | None, frames: list[traceback.FrameSummary]) -> bool:
    """Return whether an exception is one that says what is wrong: one of those, or a check of a type in our code."""
    checked = isinstance(error, TypeError) and is_ours(frames[-1]) and str(frames[-1].line).startswith("raise")
    return checked or isinstance(error, CLEAR)


@pytest.fixture(scope="module")
def model_folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the folder of a kind of model, which it saves when it is first asked."""
    made: dict[str, Path] = {}
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()

    def folder_of(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind) / "model"
            made[kind].mkdir()
            save_small_model(kind, made[kind])
        return made[kind]

    return folder_of


# Cases that have failed: how the model is used, its kind, and the damage.
EXAMPLES = [
    (torch_engine, "labels", Damage("config.json", ("num_hidden_layers",), 10**9, False)),
    (restorer, "characters", Damage("config.json", ("window_length",), 10**12, False)),
    (restore, "characters", Damage("config.json", ("spellings_file",), "../x.txt", False)),
    (pipeline, "characters", Damage("config.json", ("spellings_file",), "/dev/zero", False)),
    (auto_config, "characters", Damage("config.json", ("rope_parameters",), "relu", False)),
    (auto_config, "decoder", Damage("config.json", ("num_labels",), 10**12, False)),
    (torch_engine, "labels", Damage("config.json", ("num_labels",), 900_000, False)),
    (auto_model, "pairs", Damage("config.json", ("type_vocab_size",), "5", False)),
    (pipeline, "characters", Damage("tokenizer_config.json", ("eos_token",), None, False)),
    (restorer, "characters", Damage("tokenizer.json", ("model", "vocab", "<0xC3>"), DELETED, False)),
    (predict, "labels", Damage("config.json", ("architectures",), {"a": 1}, False)),
    (predict, "pairs", Damage("config.json", ("window_length",), {}, False)),
    (info, "decoder", Damage("config.json", ("model_type",), "", False)),
    (evaluate, "pair_votes", Damage("config.json", ("num_pairs",), DEEP, False)),
    (export, "pair_votes", Damage("config.json", ("vocab_size",), None, False)),
    (export, "questions", Damage("tokenizer_config.json", ("backend",), DEEP, False)),
    (predict, "questions", Damage("model.safetensors", ("qa_outputs.weight", "dtype"), 5, False)),
    (predict, "tags", Damage("tokenizer.json", ("normalizer",), 0, False)),
    (torch_engine, "characters", Damage("config.json", ("intermediate_size",), 2**20, False)),
    (torch_engine, "next_sentence", Damage("tokenizer.json", ("normalizer",), ["a"], False)),
    (pipeline, "pairs", Damage("generation_config.json", ("encoder_no_repeat_ngram_size",), 10**12, False)),
    (predict, "decoder", Damage("generation_config.json", ("no_repeat_ngram_size",), 10**12, False)),
]


@pytest.mark.timeout(0)  # each case is watched
@pytest.mark.parametrize(
    ("door", "kind", "damage"), EXAMPLES, ids=[f"{each[0].__name__}-{each[1]}-{each[2]}" for each in EXAMPLES]
)
def test_models_that_have_failed(model_folders, outcome, door, kind, damage):
    folder = model_folders(kind)
    good, _ = use(door, kind, folder)
    with damaged(folder, damage):
        found, error = use(door, kind, folder)
    assert problem(door, damage, folder, found, error, good) is None
    outcome("right" if error is None else "clear error")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", SMALL_MODELS)
def test_damaged_models(kind, model_folders, outcome, fuzz_seed):
    folder = model_folders(kind)
    rng = random.Random(f"{fuzz_seed} {kind}")
    doors = doors_of(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = {door: use(door, kind, folder) for door in doors}
        failures: Counter[str] = Counter()
        for _ in range(-(-CASES // len(SMALL_MODELS))):
            damage = draw_damage(rng, folder)
            (door,) = rng.choices(list(doors), list(doors.values()))
            with damaged(folder, damage):
                found, error = use(door, kind, folder)
            if error is not None and str(error) == str(good[door][1]):
                outcome("right")
            elif reason := problem(door, damage, folder, found, error, good[door][0]):
                failures[f"{door.__name__}: {damage}: {reason:.300}".replace(str(folder), "FOLDER")] += 1
            else:
                outcome("right" if error is None else "clear error")
    assert not failures, f"{len(failures)} cases of {kind} failed:\n" + "\n".join(sorted(failures))
