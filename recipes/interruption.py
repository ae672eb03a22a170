"""The end of a recipe that is interrupted while its libraries are imported: a line, and exit status 130.

Scripts import this module before all others, which take seconds. Later, `run_recipe` says what is kept.
"""

import sys
from types import TracebackType

_show = sys.excepthook


def _show_in_a_line(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Show an error that nothing has caught; `sys.excepthook`."""
    if not issubclass(kind, KeyboardInterrupt):
        _show(kind, error, traceback)
        return
    print("\nStopped.", file=sys.stderr, flush=True)
    raise SystemExit(130)  # which Python exits with


sys.excepthook = _show_in_a_line
