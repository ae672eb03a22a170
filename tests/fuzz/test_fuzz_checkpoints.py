"""The folder of a run is damaged at random, and the run is started again.

It must go on from the newest checkpoint that is intact, with its weights and states, and say which later ones are
damaged; or stop with a line that names what is damaged or changed, and change nothing.
"""

import io
import shutil
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest
import torch
import yaml
from datasets import Dataset
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.training.runs import start_run
from support.recipes import contents
from support.trainers import random_texts, tiny, trainer_of

CHECKPOINTS = ["checkpoint-1", "checkpoint-2", "checkpoint-3"]
FILES = [
    *("whole", "data.json", "model.safetensors", "config.json", "trainer_state.json", "optimizer.pt", "scheduler.pt"),
    *("rng_state.pth", "tokenizer.json", "tokenizer_config.json", "generation_config.json"),
]
TARGETS = [f"{checkpoint}/{file}" for checkpoint in CHECKPOINTS for file in FILES]
ROWS = {"train": random_texts([3, 4]), "validation": random_texts([5])}
CHANGED = {
    "training rows": {"train": Dataset.from_list([*ROWS["train"], *ROWS["train"]])},
    "validation rows": {"validation": ROWS["train"]},
}
OUTSIDE = "options.yaml"
MODEL = tiny(AtentaDecoderForCausalLM)

garbage = st.one_of(
    st.binary(max_size=64),
    st.sampled_from([b"{}", b"[]", b"null", b"{", b"\x80\x02.", b"PK\x03\x04", b"1: 2", b"a", b"\xff\xfe{\x00"]),
)
damages = st.one_of(
    st.tuples(st.just("delete"), st.sampled_from([*TARGETS, OUTSIDE])),
    st.tuples(st.just("empty"), st.sampled_from([*TARGETS, OUTSIDE])),
    st.tuples(st.just("cut"), st.sampled_from([*TARGETS, OUTSIDE]), st.floats(0, 0.999)),
    st.tuples(st.just("flip"), st.sampled_from([*TARGETS, OUTSIDE]), st.floats(0, 0.999), st.integers(1, 255)),
    st.tuples(st.just("replace"), st.sampled_from([*TARGETS, OUTSIDE]), garbage),
    st.tuples(st.just("swap"), st.sampled_from(TARGETS), st.sampled_from(CHECKPOINTS)),
)


class Reached(Exception):
    """The first step after everything was loaded."""


def make(folder, changed=None):
    """Return a trainer, of changed rows or another alphabet if so asked; it ends with the best weights."""
    trainer = trainer_of(
        folder,
        ROWS | CHANGED.get(changed, {}),
        MODEL,
        max_steps=3,
        **{"eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1},
    )
    if changed == "alphabet":
        trainer.processing_class = AtentaTokenizer.from_texts(["abcdefghijklmnoq"], family="decoder")
    return trainer


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a finished run, and another in which each example damages a copy, under one name."""
    folder = tmp_path_factory.mktemp("run")
    trainer = make(folder / "copy")
    run = start_run(trainer.args)
    trainer.fit(run)
    run.end()
    (folder / "copy").rename(folder / "whole")
    return folder / "whole", folder / "copy"


def harm(folder: Path, kind: str, target: str, *how) -> None:
    """Damage one file, if it is still there."""
    path = folder / target
    if not path.exists():
        return
    if kind == "delete":
        path.unlink()
    elif kind == "swap":
        other = folder / how[0] / path.name
        if other.exists() and other != path:
            mine, theirs = path.read_bytes(), other.read_bytes()
            path.write_bytes(theirs)
            other.write_bytes(mine)
    else:
        content = bytearray(path.read_bytes())
        if kind == "flip" and content:
            content[int(how[0] * len(content))] ^= how[1]
        elif kind == "cut":
            content = content[: int(how[0] * len(content))]
        elif kind == "replace":
            content = how[0]
        elif kind == "empty":
            content = b""
        path.write_bytes(content)


def options_that_are_set(folder: Path) -> dict:
    """Return the options of a run that are not null."""
    options = yaml.safe_load((folder / OUTSIDE).read_text(encoding="utf-8"))
    return {name: value for name, value in options.items() if value is not None}


def assert_loaded(trainer, original: Path, chosen: str) -> None:
    """Check that the weights and the optimizer's state are those that were saved."""
    weights = load_file(original / chosen / "model.safetensors")
    found = trainer.model.state_dict()
    assert all(torch.equal(found[name], weight) for name, weight in weights.items())
    if trainer.optimizer is not None:
        expected = torch.load(original / chosen / "optimizer.pt", weights_only=True)
        for index, state in trainer.optimizer.state_dict()["state"].items():
            assert all(torch.equal(value, expected["state"][index][name]) for name, value in state.items())
        schedule = torch.load(original / chosen / "scheduler.pt", weights_only=True)
        assert trainer.lr_scheduler.state_dict()["last_epoch"] == schedule["last_epoch"]


@settings(max_examples=250)
@example([], None)
@example([("delete", "checkpoint-3/optimizer.pt")], None)
@example([("delete", "checkpoint-3/scheduler.pt"), ("delete", "checkpoint-2/whole")], None)
@example([("empty", "checkpoint-3/whole")], None)
@example([("replace", OUTSIDE, b"1: 2")], None)
@example([("flip", OUTSIDE, 0.5703125, 1)], None)
@example([("swap", "checkpoint-3/model.safetensors", "checkpoint-2")], None)
@example([], "alphabet")
@given(
    st.lists(damages, max_size=4), st.sampled_from([None, None, None, "training rows", "validation rows", "alphabet"])
)
def test_a_damaged_run_goes_on_from_what_is_intact_or_says_what_is_not(whole, outcome, damage, changed):
    original, folder = whole
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    for each in damage:
        harm(folder, *each)
    expected, before = contents(original), contents(folder)
    harmed = sorted(name for name in expected if before.get(name) != expected[name])
    broken = [name for name in CHECKPOINTS if any(file.startswith(f"{name}/") for file in harmed)]
    trainer = make(folder, changed)
    with torch.no_grad():
        for parameter in MODEL.parameters():
            parameter.fill_(7)  # the weights must come from the checkpoint

    def reach(*arguments, **options):
        raise Reached

    trainer.training_step = reach
    output, run, refusal = io.StringIO(), None, None
    with redirect_stdout(output), suppress(Reached):
        try:
            run = start_run(trainer.args)
            trainer.fit(run)
        except SystemExit as stopped:
            refusal = stopped.code
    said = output.getvalue()

    if refusal is not None:
        assert isinstance(refusal, str)
        assert "\n" not in refusal
        names = [*harmed, *broken, *(Path(name).name for name in harmed)]
        is_change = changed is not None and changed in refusal
        assert is_change or any(name in refusal for name in names), refusal
        assert contents(folder) == before
        outcome("clear error")
        return
    chosen = run.checkpoint and run.checkpoint.name
    if OUTSIDE in harmed and chosen is not None:  # a letter of the name of an option that is not given changes nothing
        assert options_that_are_set(folder) == options_that_are_set(original), (
            "resumed although its options were damaged"
        )
    assert chosen is None or changed is None
    skipped = CHECKPOINTS[CHECKPOINTS.index(chosen) + 1 :] if chosen else CHECKPOINTS
    for name in skipped:
        assert name in broken
        assert f"{folder / name} is damaged (" in said or f"{folder / name} is incomplete" in said
    if chosen is not None:
        assert chosen not in broken
        assert_loaded(trainer, original, chosen)
    outcome("right")
