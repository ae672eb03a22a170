"""The ends of the command: errors in a line, interrupts, and a standard output that cannot be written."""

from atenta.recipes.terminal import escape_missing_characters

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from atenta.command.text_lines import close_quietly, printable_lines

_CANNOT_WRITE = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF)


@contextmanager
def errors_in_a_line() -> Iterator[None]:
    """Turn errors that a user can mend into one line and exit status 1, and broken pipes into silence."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        close_quietly()
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("\nStopped. What was written is complete up to its last line.", file=sys.stderr)
        raise SystemExit(130) from None
    except MemoryError as error:
        raise SystemExit(f"The memory is not enough: {str(error) or 'give less at once'}.") from None
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        raise SystemExit(printable_lines(" ".join(str(error).split()))) from None
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime."):  # whose errors share no base but Exception
            raise
        raise SystemExit(printable_lines(f"onnxruntime has failed: {' '.join(str(error).split())}")) from None


@contextmanager
def standard_streams() -> Iterator[None]:
    """Expect a standard output, show what a terminal lacks as escapes, and notice at the end what is not written."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # or warnings would be written to standard output
    if sys.stdout is None:
        raise SystemExit("Standard output is closed: open it, such as with >/dev/null.")
    escape_missing_characters()
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _CANNOT_WRITE or error.filename is not None:
            raise
        close_quietly()
        is_pipe = isinstance(error, BrokenPipeError)
        raise SystemExit(1 if is_pipe else f"Standard output cannot be written: {error.strerror}.") from None
