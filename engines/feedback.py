"""Messages besides answers: the progress of long work, texts that may be meant as files, and errors of libraries."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def progress(total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
    """Count work that is done, with the function that it yields; a terminal shows a bar after two seconds.

    Args:
        total: the number of units of all work, if it is known.
        unit: what the bar calls them.
    """
    if (total is not None and total < 2) or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from tqdm import tqdm  # here, because nothing else needs it

    with tqdm(total=total, unit=unit, delay=2, leave=False) as bar:
        yield bar.update


def user_level() -> int:
    """Return the `stacklevel` with which a function that warns names the first caller outside this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]:
        frame, level = frame.f_back, level + 1
    return level


def warn_of_files(texts: Iterable[Any]) -> None:
    """Warn if a text is the name of a file: it is taken as a text, and the file is not read."""
    if name := next((text for text in texts if isinstance(text, str) and os.path.isfile(text)), None):
        warnings.warn(
            f"The text {name!r} is also the name of a file, which is not read: give its content, such as "
            f'Path({name!r}).read_text(encoding="utf-8").',
            stacklevel=user_level(),
        )


@contextmanager
def loading_errors(folder: Path, part: str) -> Iterator[None]:
    """Turn what a library raises for a damaged file into one line with the folder and the part of the model."""
    try:
        yield
    except BaseException as error:  # each library has errors of its own, and that of tokenizers may be a panic of Rust
        is_of_library = isinstance(error, Exception) or type(error).__name__ == "PanicException"
        is_said = isinstance(error, ValueError) and str(error).startswith(f"{folder}: cannot load ")
        if not is_of_library or is_said or isinstance(error, FileNotFoundError):
            raise
        raise ValueError(
            f"{folder}: cannot load the {part} ({describe_error(error)}); expected a model as it was saved"
        ) from None


def describe_error(error: BaseException) -> str:
    """Return what an error of a library says, on one line and with escapes for what is not printable."""
    text = as_line(f"{type(error).__name__}: {error}")
    return text if len(text) <= 300 else f"{text[:299]}…"


def as_line(text: str, kept: str = "") -> str:
    """Return a text on one line, with escapes for what is not printable, but for characters that are kept."""
    return "".join(each if each.isprintable() or each in kept else repr(each)[1:-1] for each in " ".join(text.split()))
