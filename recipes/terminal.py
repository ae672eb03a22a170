"""A process and its terminal: Ctrl+C before there is any work to end, and characters that the terminal lacks.

Scripts import this module before all others, which take seconds: an interruption is one line from then on, and exit
status 130. Later, `run_recipe` says what is kept. The command `atenta` calls `stop_at_once` first.
"""

import os
import signal
import sys
from io import TextIOWrapper
from types import TracebackType
from typing import Any

_show = sys.excepthook


def _show_in_a_line(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Show an error that nothing has caught; `sys.excepthook`."""
    if not issubclass(kind, KeyboardInterrupt):
        _show(kind, error, traceback)
        return
    print("\nStopped.", file=sys.stderr, flush=True)
    raise SystemExit(130)  # which Python exits with


sys.excepthook = _show_in_a_line


def stop_at_once() -> None:
    """Let Ctrl+C end the process: while modules are imported, `KeyboardInterrupt` may be lost or another error."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # in the background it may be ignored
        signal.signal(signal.SIGINT, _stop)


def allow_interrupts() -> None:
    """Let Ctrl+C raise `KeyboardInterrupt` from here on."""
    if signal.getsignal(signal.SIGINT) is _stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(*_: Any) -> None:
    os.write(2, b"\nStopped.\n")
    os._exit(130)


def escape_missing_characters() -> None:
    r"""Let standard output and error show what their encoding lacks as escapes, such as `\u2192` for → in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
