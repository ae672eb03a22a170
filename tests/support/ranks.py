"""Start programs as users do: a command, a Python module, or a script in several processes."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]


def run(
    *command: str | Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> str:
    """Run a command that is given nothing on its standard input.

    Args:
        command: Its words.
        cwd: Folder to run it in.
        environment: Variables added to those of this process.
        timeout: Seconds after which it is terminated.

    Returns:
        The standard output of all its processes.

    Raises:
        AssertionError: If it failed or took too long. The message shows its output.
    """
    with subprocess.Popen(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()  # a launcher then ends its processes; killed, it would leave them running
            output, errors = process.communicate()
    assert process.returncode == 0, f"{command} failed:\n{output}\n{errors}"
    return output


def run_module(module: str, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Run `python -m module` where `support` can be imported and no GPU is visible.

    Returns and raises as [`run`], after at most four minutes.
    """
    given = {"PYTHONPATH": str(TESTS), "CUDA_VISIBLE_DEVICES": "", **(environment or {})}
    return run(sys.executable, "-m", module, *arguments, environment=given, timeout=240)


def run_ranks(script: Path, *arguments: str | Path, ranks: int = 2) -> str:
    """Run a script in `ranks` processes that torch.distributed connects. accelerate uses gloo in them.

    Returns and raises as [`run`], after at most four minutes.
    """
    launcher = ["torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    return run_module(*launcher, script, *arguments, environment={"ACCELERATE_USE_CPU": "true"})
