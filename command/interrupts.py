"""Ctrl+C: how the command ends before there is any work to be ended."""

import os
import signal
from typing import Any


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
