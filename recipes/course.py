"""The checks of the course's exercises: each notebook keeps a digest of the right answer, not the answer."""

import hashlib
import math
import unicodedata
from typing import Any

from atenta.recipes.pictures.words import say


def check(answer: Any, digest: str) -> None:
    """Print whether an answer is right.

    Args:
        answer: A number, a text, or a list or tensor of them; `...` if there is none yet. Case and spaces around a
            text do not count, and numbers that are not whole are rounded to three significant digits.
        digest: What `answer_digest` returned for the right answer.
    """
    if answer is ...:
        print("…", say("No answer yet: put one in place of `...`."))
    elif answer_digest(answer) == digest:
        print("✓", say("Right."))
    else:
        print("✗", say("Not yet: try again."))


def answer_digest(answer: Any) -> str:
    """Return eight hexadecimal digits that are the same for all ways to write an answer.

    Integers are taken exactly, but for rounding, other numbers to three significant digits.
    """
    return hashlib.sha256(_normal(answer).encode()).hexdigest()[:8]


def _normal(answer: Any) -> str:
    if hasattr(answer, "tolist"):  # a tensor or an array
        answer = answer.tolist()
    if isinstance(answer, list | tuple):
        return "[" + ", ".join(map(_normal, answer)) + "]"
    if isinstance(answer, int | float):
        is_whole = math.isfinite(answer) and math.isclose(answer, round(answer), rel_tol=1e-9)  # 80000 * (1 - 0.981)
        return str(round(answer)) if is_whole else f"{answer:.3g}"
    return unicodedata.normalize("NFC", str(answer)).strip().casefold()
