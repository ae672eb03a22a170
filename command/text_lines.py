"""Lines in, lines out: texts from arguments, files or standard input, and results to a file or standard output."""

import errno
import hashlib
import io
import json
import math
import os
import re
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from atenta.tokenization.text_windows import name_source

_Item = TypeVar("_Item")
_NO_LOCKS = (errno.EOPNOTSUPP, errno.ENOLCK)
_OPTIONAL_FIELDS = {  # of JSON, with their types
    "text_pair": (str, "a text"),
    "words": (list, "a list of texts"),
    "tags": ((str, list), "a text or a list of texts"),
}


class InputLine(str):
    """A text to read, without its line end.

    Attributes:
        where: what messages call it, such as `texts.txt, line 3`.
        line_start: the byte order mark that was before it, at the beginning of a file, or nothing.
        line_end: what follows it in the output: a line feed, after a carriage return if the text had one.
        lines: number of lines that were read, with this one.
        digest: SHA-256 of them, as an object of `hashlib`.
    """

    where: str
    line_start: str
    line_end: str
    lines: int
    digest: Any

    def __new__(cls, text: str, where: str, line_end: str = "\n", line_start: str = "") -> "InputLine":
        """Return the text with its place."""
        line = super().__new__(cls, text)
        line.where, line.line_start, line.line_end = where, line_start, line_end
        return line


class LineReader:
    """The texts of the command line, or else the lines of files or of standard input, in order.

    Only a line feed ends a line. A carriage return before it is not part of the text, and is written again after the
    result. A byte order mark at the beginning of a file is not part of its first text either.
    """

    def __init__(
        self, texts: Sequence[str], files: Sequence[Path], skip: int = 0, expected: str | None = None
    ) -> None:
        """Prepare to read; with `skip`, that many lines are read first and must have the `expected` digest."""
        self._texts, self._files, self._skip, self._expected = texts, files, skip, expected

    def __iter__(self) -> Iterator[InputLine]:
        """Yield the lines after those to skip.

        Raises:
            ValueError: If a line is not UTF-8, or the lines to skip are not as before.
        """
        lines, digest = 0, hashlib.sha256()
        for where, mark, content in self._read():
            lines += 1
            digest.update(mark + content + b"\n")
            if lines > self._skip:
                line = _decode(content, where, mark.decode())
                line.lines, line.digest = lines, digest.copy()
                yield line
            elif lines == self._skip and digest.hexdigest() != self._expected:
                raise ValueError(
                    f"The first {self._skip} lines are not those that the output was made from; expected the same "
                    "input: give it, or leave out --resume and write to another file."
                )
        if lines < self._skip:
            raise ValueError(f"Found {lines} lines; the output has results of {self._skip}: it is of another input.")

    def at_once(self, most: int) -> int:
        """Return how many lines are answered together: those that somebody types, one by one."""
        is_typed = not self._texts and not self._files and sys.stdin is not None and sys.stdin.isatty()
        return 1 if is_typed else most

    def _read(self) -> Iterator[tuple[str, bytes, bytes]]:
        """Yield the place of each line, the byte order mark before it, if there is one, and the line."""
        for number, text in enumerate(self._texts, start=1):
            if os.path.isfile(text):
                hint = f"there is a file of this name, which `--files {text}` would read"
                print(printable_lines(f"warning: text {number}, {name_source(text)}: {hint}"), file=sys.stderr)
            yield f"text {number}", b"", text.encode(errors="surrogateescape")
        names: Sequence[Path | None] = self._files or ([] if self._texts else [None])
        if None in names and sys.stdin is None:
            raise ValueError("Standard input is closed: give texts or --files.")
        for name in names:
            with open(sys.stdin.fileno() if name is None else name, "rb", closefd=name is not None) as lines:
                place = "standard input" if name is None else str(name)
                for number, line in enumerate(lines, start=1):
                    mark = BOM_UTF8 if number == 1 and line.startswith(BOM_UTF8) else b""
                    if line != mark:  # an empty file may have one
                        yield f"{place}, line {number}", mark, line.removeprefix(mark).removesuffix(b"\n")


def chunks_of(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """Yield lists of `size` items; where an error ends them, first those that came before it."""
    chunk: list[_Item] = []
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except (OSError, ValueError):
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def _decode(content: bytes, where: str, line_start: str) -> InputLine:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(_describe_byte(where, content, error.start)) from None
    ending = "\r" if text.endswith("\r") else ""
    return InputLine(text.removesuffix("\r"), where, ending + "\n", line_start)


def _describe_byte(where: str, content: bytes, start: int) -> str:
    encoding = "utf-16" if content.startswith((BOM_UTF16_BE, BOM_UTF16_LE)) else "latin1"
    return (
        f"{where}: found byte 0x{content[start]:02X}; expected a text in UTF-8: save it so, such as with "
        f"`iconv -f {encoding} -t utf-8 OLD > NEW`"
    )


def read_whole(path: Path) -> InputLine:
    """Return the text of a file with all its line ends.

    Raises:
        ValueError: If it is not UTF-8.
        OSError: If it cannot be read.
    """
    content = path.read_bytes()
    mark = BOM_UTF8 if content.startswith(BOM_UTF8) else b""
    content = content.removeprefix(mark)
    try:
        return InputLine(content.decode(), str(path), "", mark.decode())
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise ValueError(_describe_byte(f"{path}, line {number}", content, error.start)) from None


def parse_json_line(line: InputLine, *names: str) -> dict[str, Any]:
    """Return the fields of a JSON line: an object, or a text that is its first field.

    Args:
        line: the line.
        names: the fields that the object must have, all of them texts. It may have others: `text_pair`, a text,
            `words`, a list of texts, and `tags`, a text or a list of texts, are checked too.

    Raises:
        ValueError: If the line is none, or a field is missing or of another type.
    """
    reason = ""
    try:
        value = json.loads(line, object_pairs_hook=_distinct, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        value, reason = None, f" ({getattr(error, 'msg', error)!s:.60})"  # without a place of its own
    fields = {names[0]: value} if isinstance(value, str) else value if isinstance(value, dict) else {}
    if missing := [name for name in names if not isinstance(fields.get(name), str)]:
        raise ValueError(
            f"{line.where}: found {line.strip()!r:.80}{reason}; expected "
            + (f"a JSON text, or an object with `{names[0]}`" if len(names) == 1 else f"an object with {missing[0]!r}")
        )
    text = json.dumps(fields, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{line.where}: found the lone surrogate {text[error.start]!r}; expected a text") from None
    for name, value in fields.items():
        if value is not None and name in {*names, *_OPTIONAL_FIELDS}:
            _check_field(value, *_OPTIONAL_FIELDS.get(name, (str, "a text")), f"`{name}`", line.where)
    return fields


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(fields := dict(pairs)) < len(pairs):
        raise ValueError("a field occurs twice")  # and one of its values would be lost
    return fields


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} cannot be written as JSON")
    return value


def _check_field(value: Any, types: Any, expected: str, name: str, where: str) -> None:
    if not isinstance(value, types):
        raise ValueError(f"{where}: found {value!r:.80} as {name}; expected {expected}")
    for each in value if isinstance(value, list) else []:
        if not (isinstance(each, str) and each.strip()):
            raise ValueError(f"{where}: found {each!r:.80} in {name}; expected texts that are not blank")


def check_output_file(output: Path, resume: bool = False, read: Sequence[Path] = ()) -> None:
    """Check that a file can be written: in a folder that exists and, unless it is resumed, a new one.

    Args:
        output: the file.
        resume: whether to go on with it.
        read: files that are read, none of which it may be.

    Raises:
        FileExistsError: If it is one of those that are read, or there is such a file and `resume` is not given; or
            if what is written beside it, `FILE.lock` and `FILE.progress`, is there already.
        IsADirectoryError: If it is a folder.
        FileNotFoundError: If there is no such folder.
        PermissionError: If files cannot be made in it.
    """
    if output.is_dir():
        raise IsADirectoryError(f"--output {output} is a folder; expected a file to write.")
    if output.exists() and any(each.exists() and output.samefile(each) for each in read):
        raise FileExistsError(f"--output {output} is a file to read, which would be lost: give another --output.")
    if output.exists() and not resume:
        hint = "give --resume to go on with it" if _progress_of(output).exists() else "remove it"
        raise FileExistsError(f"{output} exists: {hint}, or give another --output.")
    lock, progress = _lock_of(output), _progress_of(output)
    if (lock.exists() and lock.stat().st_size) or (progress.exists() and not resume):
        found = progress if progress.exists() and not resume else lock
        raise FileExistsError(f"{found}, which --output {output} needs, exists: remove it, or give another --output.")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"--output {output}: found no folder {output.parent}; make it, or give another.")
    if not os.access(output.parent, os.W_OK):
        raise PermissionError(f"--output {output}: the folder {output.parent} cannot be written to; give another.")


@contextmanager
def lock_output_file(output: Path | None) -> Iterator[None]:
    """Keep other processes from writing to a file in the meantime, through `FILE.lock` beside it.

    Raises:
        FileExistsError: If another process writes to it.
    """
    if output is None:
        yield
        return
    from filelock import FileLock, Timeout  # here, because `atenta --help` does not need it

    path = _lock_of(output)
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise FileExistsError(
            f"--output {output} is in use by another process: wait until it has ended, or give another."
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        print(f"warning: the file system of {output} has no locks: let no other process write to it", file=sys.stderr)
    try:
        yield
    finally:
        with suppress(OSError):  # on Windows, which removes no open file, releasing removes it
            path.unlink()
        lock.release()


def _lock_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.lock")


def _progress_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.progress")


class LineWriter:
    """Results written to standard output, or to a file that an interrupted run can go on with.

    Beside the file, `FILE.progress` says how far it is complete. It is removed at the end.
    """

    def __init__(self, output: Path | None, about: dict[str, Any], resume: bool = False) -> None:
        """Open the output.

        Args:
            output: the file; standard output by default.
            about: what the results depend on, besides the lines: the model and the options.
            resume: whether to go on after the results that the file has.

        Raises:
            FileExistsError: If the file has results and `resume` is not given.
            ValueError: If the results of the file are of another model or other options.
        """
        self._output, self._about = output, json.loads(json.dumps(about))  # as it is read back
        self.done: dict[str, Any] = {"lines": 0, "digest": None, "bytes": 0}
        if output is None:
            return
        self._progress = _progress_of(output)
        if resume:
            self._read_progress(output, self._progress)
        else:
            check_output_file(output)
        self._note_progress()  # before there is a file, which would seem complete without it
        try:
            self._file: BinaryIO = open(output, "r+b" if output.exists() else "xb")  # noqa: SIM115  # closed by __exit__
        except FileExistsError:  # a link to nothing, or made in the meantime, by another program
            self._progress.unlink()
            raise
        self._file.truncate(self.done["bytes"])  # a line that was half written is written again
        self._file.seek(self.done["bytes"])

    def _read_progress(self, output: Path, progress: Path) -> None:
        if not progress.exists() and output.exists():
            raise ValueError(f"{output} has no {progress.name} beside it: it is complete, or was made without one.")
        if not progress.exists():
            return
        try:
            saved = json.loads(progress.read_bytes())
            about, self.done = saved["about"], {name: saved[name] for name in ("lines", "digest", "bytes")}
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{progress} is damaged: remove it and {output.name}, and begin again.") from None
        if differing := sorted(name for name in {*about, *self._about} if about.get(name) != self._about.get(name)):
            name = differing[0]
            raise ValueError(
                f"{output} was begun with {name}={about.get(name)!r:.60}, not {self._about.get(name)!r:.60}: give the "
                "same, or write to another file."
            )
        if not output.exists() or output.stat().st_size < self.done["bytes"]:
            raise ValueError(f"{output} is shorter than {progress.name} says: remove both, and begin again.")

    def __enter__(self) -> "LineWriter":
        return self

    def write(self, text: str, last: InputLine | None = None) -> None:
        """Write results, and note that they go as far as the line `last`, or not further than those before."""
        if self._output is None:
            print_results(text)
            return
        self._file.write(text.encode())
        self._file.flush()
        if last is not None:
            self.done |= {"lines": last.lines, "digest": last.digest.hexdigest()}
        self.done["bytes"] = self._file.tell()
        self._note_progress()

    def _note_progress(self) -> None:
        part = self._progress.with_name(f"{self._progress.name}.part")
        part.write_text(json.dumps({"about": self._about, **self.done}), encoding="utf-8")
        part.replace(self._progress)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file and, if it is complete, remove what says how far it goes."""
        if self._output is not None:
            self._file.close()
            if kind is None:
                self._progress.unlink(missing_ok=True)


def warn_of_tabs(lines: Iterable[Mapping[str, Any]]) -> None:
    """Warn once for each file whose lines, read as texts, are rows of a table."""
    for fields in lines:
        if "\t" in fields.get("text", ""):
            file = fields.get("where", "").partition(", line ")[0]
            warn_once(f"{file}: tabs are read as part of the texts; if it is a table, give only its texts (`cut -f1`)")


def part_tags(fields: Mapping[str, Any], has_tags: bool, is_prompt: bool = False) -> tuple[str, list[str]]:
    """Return the source of a line and its feature tags, which follow a tab, or are a field of JSON.

    Args:
        fields: `text`, `where` and perhaps `tags` of a line.
        has_tags: whether the model was trained with tags.
        is_prompt: whether tabs are a part of texts, as in prompts.

    Raises:
        ValueError: If there are tags, and the model has none.
    """
    text, tags, file = fields["text"], fields.get("tags"), fields["where"].partition(", line ")[0]
    if tags and not has_tags:
        raise ValueError(f"{fields['where']}: found the tags {tags!r}; expected none: the model was trained without.")
    if not has_tags:
        if "\t" in text and not is_prompt:
            warn_once(
                f"{file}: tabs are read as part of the texts, because the model has no tags; if it is a file of "
                "pairs, give only the sources (`cut -f1`)"
            )
        return text, []
    if tags is None and "\t" in text:
        text, tags = text.rsplit("\t", 1)
        if "\t" in text:
            warn_once(
                f"{file}: tabs before the last one are read as part of the texts; if it is a file of pairs with tags, "
                "give only sources and tags (`cut -f1,3`)"
            )
    if tags is None:
        warn_once(
            f"{file}: found no tags, and the model was trained with them; expected them after a tab, such as "
            "ser<TAB>V;1;SG, or the tab alone"
        )
    names = tags.split(";") if isinstance(tags, str) else tags or []
    return text, [name for name in names if name]


@cache
def warn_once(message: str) -> None:
    """Write a warning to standard error, the first time that it is given."""
    print(f"warning: {message}", file=sys.stderr)


def print_results(text: str) -> None:
    """Write results to standard output at once; a terminal gets no control characters of theirs."""
    try:
        sys.stdout.buffer.write((printable_lines(text) if sys.stdout.isatty() else text).encode())
        sys.stdout.buffer.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def printable_lines(text: str) -> str:
    """Return a text with all control characters but tabs and line ends as Python writes them, for a terminal."""
    return re.sub(r"(?![\t\n]|\r\n)[\x00-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


def close_quietly() -> None:
    """Point standard output nowhere, after the program that read it has ended, so that Python does not flush it."""
    with suppress(OSError, ValueError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
