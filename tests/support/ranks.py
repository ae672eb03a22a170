"""Start programs as users do, without a GPU: a Python module, or a script in several processes."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]


def run_module(
    module: str, *arguments: str | Path, environment: Mapping[str, str] | None = None, timeout: float = 240
) -> str:
    """Run `python -m module` where `support` can be imported and no GPU is visible.

    Args:
        module: Name such as `"accelerate.commands.launch"`.
        arguments: Passed on as text.
        environment: Variables added to those of this process.
        timeout: Seconds after which it is terminated.

    Returns:
        The standard output of all its processes.

    Raises:
        AssertionError: If it failed or took too long. The message shows its error output.
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
            process.terminate()  # a launcher then ends its processes; killed, it would leave them running
            output, errors = process.communicate()
    assert process.returncode == 0, f"{module} failed:\n{errors}"
    return output


def run_ranks(script: Path, *arguments: str | Path, ranks: int = 2) -> str:
    """Run a script in `ranks` processes that torch.distributed connects. accelerate uses gloo in them.

    Returns and raises as [`run_module`].
    """
    launcher = ["torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    return run_module(*launcher, script, *arguments, environment={"ACCELERATE_USE_CPU": "true"})
