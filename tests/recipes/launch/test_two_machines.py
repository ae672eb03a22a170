"""Two machines, one of which is killed: started again on both, the run ends as one that was never killed.

Both machines are this one, with one process each, which reach each other by the loopback address. They have the same
folder, as machines that train together must.
"""

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import killed
from support.recipes import RECIPES, read_metrics, tiny, write_lines

pytestmark = pytest.mark.slow

WORDS = [(word, label) for label in ("fra", "por") for word in ("amor", "mer", "ler", "dois", "deux", "um", "une")]
MACHINES = RECIPES / "launch" / "machines.yaml"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def train(folder: Path, output: str, killed_at: tuple[int, str, int] | None = None) -> list[subprocess.Popen]:
    """Train on both machines. If `killed_at` is given, the process of that machine is killed at that place."""
    port = free_port()

    def start(rank: int) -> subprocess.Popen:
        kill = [killed.__file__, *map(str, killed_at[1:])] if killed_at and killed_at[0] == rank else []
        files = {"train_file": folder / "words.tsv", "validation_file": folder / "words.tsv"}
        options = tiny("finetune_classification", **files, output_dir=folder / output, max_steps=6, dropout=0.2)
        command = [
            *(sys.executable, "-m", "accelerate.commands.launch", "--config_file", MACHINES, "--num_processes", "2"),
            *("--machine_rank", rank, "--main_process_ip", "127.0.0.1", "--main_process_port", port),
            *(*kill, RECIPES / "finetune_classification.py", *options),
            *("--per_device_train_batch_size", "2", "--use_cpu", "true", "--load_best_model_at_end", "false"),
        ]
        process = subprocess.Popen(
            list(map(str, command)),
            env={**os.environ, "PYTHONPATH": str(Path(killed.__file__).parents[1]), "CUDA_VISIBLE_DEVICES": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # to end the launcher with its processes
        )
        try:
            process.said, _ = process.communicate(timeout=240)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return process

    with ThreadPoolExecutor(2) as machines:
        return list(machines.map(start, range(2)))


def result(folder: Path):
    """Return the bytes of the weights, the scores and the losses of a run."""
    metrics = read_metrics(folder)
    return (folder / "model.safetensors").read_bytes(), metrics["test"], metrics["training"]


def complete(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("checkpoint-*/whole")}


@pytest.fixture(scope="module")
def never(tmp_path_factory):
    """A folder with words to train on, and the result of a run that is never killed."""
    folder = tmp_path_factory.mktemp("machines")
    write_lines(folder / "words.tsv", "text\tlabel", *map("\t".join, WORDS))
    for machine in train(folder, "never"):
        assert machine.returncode == 0, machine.said
    return folder, result(folder / "never")


def test_both_machines_resume_after_one_is_killed(never):
    """The first while it saves and, when both have been started again, the second in a step."""
    folder, expected = never
    output = folder / "killed"
    for killed_at in ((0, "weights", 2), (1, "step", 2)):
        for machine in train(folder, output.name, killed_at):
            assert machine.returncode != 0, machine.said
        assert complete(output) == {"checkpoint-2"}
    first, second = train(folder, output.name)
    assert first.returncode == 0, first.said
    assert second.returncode == 0, second.said
    assert f"Resuming from {output / 'checkpoint-2'} " in first.said
    assert result(output) == expected
