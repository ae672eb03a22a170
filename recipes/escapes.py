"""Output in a terminal or a file whose encoding lacks characters."""

import sys
from io import TextIOWrapper


def escape_missing_characters() -> None:
    r"""Let standard output and error show what their encoding lacks as escapes, such as `\u2192` for → in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
