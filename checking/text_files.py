"""The text of a file and its bytes: encodings, normal forms, and writing that changes nothing else."""

import codecs
import os
import re
import tempfile
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from ..tokenization.base_letters import strip_accents

_ENCODINGS = (  # by the byte order mark, if there is one
    (codecs.BOM_UTF8, ("utf-8",)),
    (codecs.BOM_UTF16_LE, ("utf-16-le",)),
    (codecs.BOM_UTF16_BE, ("utf-16-be",)),
    (b"", ("utf-8", "cp1252")),
)
_LATIN_1 = rb"(?:iso-?8859-?15?|latin-?[19]|windows-1252|cp-?1252)\b"
_LEGACY = re.compile(  # where XML, HTML, catalogues and the first two lines of Python say it of their own file
    rb"\A<\?xml\b[^>]*\bencoding[ \t]*=[ \t]*[\"']%b|<meta\b[^>]*\bcharset[ \t]*=[ \t]*[\"']?%b|"
    rb"(?m:^\"Content-Type:[^\n]*\bcharset=)%b|\A(?:.*\n)?[ \t\f]*#.*?coding[:=][ \t]*%b" % ((_LATIN_1,) * 4),
    re.IGNORECASE,
)
_OF_UTF8 = re.compile(rb"\xc3[\xa1-\xba]")  # letters with marks; in Windows-1252 pairs that no Portuguese has


class DecodedText(NamedTuple):
    """A file's text and how it is written.

    Attributes:
        text: all characters after the byte order mark, line ends as they are.
        encoding: name of the codec.
        byte_order_mark: the bytes before the text; empty if there is none.
    """

    text: str
    encoding: str
    byte_order_mark: bytes


def decode(content: bytes) -> DecodedText:
    """Read bytes as UTF-8, as UTF-16 if they begin with its mark, and otherwise as Windows-1252.

    Raises:
        ValueError: If they are not text: a null character, or bytes that stand for nothing in Windows-1252; or if
            they are UTF-8 with other bytes among it.
    """
    mark, encodings = next(each for each in _ENCODINGS if content.startswith(each[0]))
    for encoding in encodings:
        if encoding == "utf-8" and not mark and content.isascii() and _LEGACY.search(content[:2048]):
            continue
        if encoding == "cp1252" and _OF_UTF8.search(content):
            raise ValueError("in two encodings")
        with suppress(UnicodeDecodeError):
            text = content[len(mark) :].decode(encoding)
            if "\0" not in text:
                return DecodedText(text, encoding, mark)
    raise ValueError("binary")


def replace_characters(decoded: DecodedText, changes: Mapping[int, str]) -> bytes:
    """Return the bytes of a file with marks added to some of its characters.

    A text whose marks are characters of their own (NFD) gets marks that are, too.

    Args:
        decoded: the file.
        changes: for the places of characters in its text, what they become: the same letter with a mark.

    Raises:
        ValueError: If anything but marks would differ, or the file's encoding lacks a letter.
    """
    text = decoded.text
    composed = unicodedata.is_normalized("NFC", text) or not unicodedata.is_normalized("NFD", text)
    form: Literal["NFC", "NFD"] = "NFC" if composed else "NFD"
    pieces: list[str] = []
    last = 0
    for place, character in sorted(changes.items()):
        pieces += text[last:place], unicodedata.normalize(form, character)
        last = place + 1
    changed = "".join(pieces) + text[last:]
    content = decoded.byte_order_mark + changed.encode(decoded.encoding)
    if decode(content) != (changed, decoded.encoding, decoded.byte_order_mark) or strip_accents(
        changed
    ) != strip_accents(text):
        raise ValueError("More than marks would change; nothing was written.")
    return content


def replace_file(path: Path, content: bytes) -> None:
    """Replace what is in a file in one step, with its mode; a link stays one, and the file that it leads to changes.

    Raises:
        OSError: If it cannot be written; then it is as it was.
    """
    path = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.chmod(path.stat().st_mode & 0o7777)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
