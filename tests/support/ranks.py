"""Start programs as users do, on CPU alone: a module of this Python, or a script in several processes."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]


def run_module(
    module: str, *arguments: str | Path, environment: Mapping[str, str] | None = None, timeout: float = 240
) -> str:
    """Run `python -m module`; what it starts can import `support` and sees no GPU.

    Args:
        module: such as `"accelerate.commands.launch"`.
        arguments: passed on as text.
        environment: variables that are added to this process's.
        timeout: seconds until it is ended.

    Returns:
        What it printed, all its processes together.

    Raises:
        AssertionError: it failed or took too long; the message shows its error output.
    """
    with subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(TESTS), "CUDA_VISIBLE_DEVICES": "", **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()  # a launcher ends its processes first; killed, it would leave them behind
            output, errors = process.communicate()
    assert process.returncode == 0, f"{module} failed:\n{errors}"
    return output


def run_ranks(script: Path, *arguments: str | Path, ranks: int = 2) -> str:
    """Run a script in `ranks` processes that find each other by torch.distributed; accelerate takes gloo for them.

    Returns and raises as [`run_module`].
    """
    launcher = ["torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    return run_module(*launcher, script, *arguments, environment={"ACCELERATE_USE_CPU": "true"})
