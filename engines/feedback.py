"""Messages besides answers: the progress of long work, and texts that may be meant as files."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress(total: int, unit: str) -> Iterator[Callable[[int], object]]:
    """Count work that is done, with the function that it yields; a terminal shows a bar after two seconds.

    Args:
        total: the number of units of all work.
        unit: what the bar calls them.
    """
    if total < 2 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from tqdm import tqdm  # here, because nothing else needs it

    with tqdm(total=total, unit=unit, delay=2, leave=False) as bar:
        yield bar.update


def warn_of_files(texts: Iterable[Any], stacklevel: int = 3) -> None:
    """Warn if a text is the name of a file: it is taken as a text, and the file is not read.

    `stacklevel` is that of `warnings.warn`; 3 names the line that called the caller of this function.
    """
    if name := next((text for text in texts if isinstance(text, str) and os.path.isfile(text)), None):
        warnings.warn(
            f"The text {name!r} is also the name of a file, which is not read: give its content, such as "
            f'Path({name!r}).read_text(encoding="utf-8").',
            stacklevel=stacklevel,
        )
