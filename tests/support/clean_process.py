"""Run a function where the package cannot be imported, as on a machine that has never seen it."""

import inspect
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

WITHOUT_PACKAGE = "sys.modules['atenta'] = None  # any import of it raises ModuleNotFoundError"


def run_function(
    function: Callable[..., None],
    *arguments: str | Path,
    home: Path,
    with_package: bool = False,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a function by its source in a new Python process, with a Hugging Face cache of its own.

    Args:
        function: it sees nothing of its module, so it makes its own imports.
        arguments: passed on as text.
        home: folder of the process's Hugging Face cache.
        with_package: whether `atenta` can be imported there.
        environment: variables that are added to this process's.

    Returns:
        What it printed.

    Raises:
        AssertionError: it raised; the message shows its error output.
    """
    lines = ["import sys", *([] if with_package else [WITHOUT_PACKAGE])]
    lines += [textwrap.dedent(inspect.getsource(function)), f"{function.__name__}(*sys.argv[1:])"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines), *map(str, arguments)],
        cwd=home,
        env={**os.environ, "HF_HOME": str(home), **(environment or {})},
        stdin=subprocess.DEVNULL,  # a question whether to trust some code fails at once
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{function.__name__} failed in its own process:\n{done.stderr}"
    return done.stdout
