"""Run a function in a process without the package, as on a machine where it is not installed."""

import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

from support.ranks import run

WITHOUT_PACKAGE = "sys.modules['atenta'] = None  # any import of it raises ModuleNotFoundError"


def run_function(
    function: Callable[..., None],
    *arguments: str | Path,
    home: Path,
    with_package: bool = False,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a function from its source in a new Python process with its own Hugging Face cache.

    Args:
        function: Cannot use names of its module, so it makes its own imports.
        arguments: Passed on as text.
        home: Folder of the process's Hugging Face cache.
        with_package: Whether `atenta` can be imported there.
        environment: Variables added to those of this process.

    Returns:
        What the function printed.

    Raises:
        AssertionError: If the function raised an error. The message shows its error output.
    """
    lines = ["import sys", *([] if with_package else [WITHOUT_PACKAGE])]
    lines += [textwrap.dedent(inspect.getsource(function)), f"{function.__name__}(*sys.argv[1:])"]
    words = [sys.executable, "-c", "\n".join(lines), *arguments]
    return run(*words, cwd=home, environment={"HF_HOME": str(home), **(environment or {})})
