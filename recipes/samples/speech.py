"""Texts as speech recognition leaves them: what nobody speaks, and the signs that are restored.

A sign is restored where it is alone between a letter, digit or closing bracket and white space or the end of the text.
So the full stop of an abbreviation is one of them, but not the comma of *3,5*, a colon in *8:30*, or an ellipsis.
"""

import re

SIGNS = {"comma": ",", "period": ".", "question": "?", "exclamation": "!", "colon": ":", "semicolon": ";"}
MARKS = "".join(SIGNS.values())
_SIGN = re.compile(rf"(?<=[\w)\]»”\"'’])[{re.escape(MARKS)}](?=\s|\Z)")
# What nobody speaks. A dash at the start of a line opens a speech, one between words is a pause.
_QUOTES = re.compile(r"[“”„\"«»()\[\]{}]|^\s*[—–-]\s+", re.MULTILINE)
_DASH = re.compile(r"[,;:]?\s+[—–]+\s+|\s+-\s+|[,;:]?\s*—\s*")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.+)")
_PAUSE = re.compile(r",\s*(?=[,;:.!?])|^\s*,\s*|\s+(?=[,.;:!?])", re.MULTILINE)  # beside a sign, a pause says nothing


def strip_punctuation(text: str, signs: str = MARKS) -> str:
    """Return the text without the signs that are restored."""
    return _SIGN.sub(lambda match: "" if match[0] in signs else match[0], text)


def speak(text: str) -> str:
    """Return the text as it would be written down from speech: without quotation marks, brackets, dashes, ellipses."""
    text = _DASH.sub(", ", _QUOTES.sub("", text))
    text = _ELLIPSIS.sub(_sign_of_ellipsis, text)
    return re.sub(r"[^\S\n]+", " ", _PAUSE.sub("", text)).strip()


def _sign_of_ellipsis(match: re.Match) -> str:
    """Return the sign in place of an ellipsis: none beside another one."""
    if match.string[: match.start()][-1:] in {*MARKS}:
        return ""
    after = match.string[match.end() :].lstrip()
    return "," if after and not after[0].isupper() else "."
