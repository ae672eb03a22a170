"""The command of a run as `metrics.json` and model cards state it: without secrets and places, and fit for a shell."""

import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path, PureWindowsPath

# Names of options that hold secrets; transformers hides those that end in `_token` too.
_SECRET_NAME = re.compile(r"(^|_)(tokens?|passwords?|secrets?|api_key|access_key|access_key_id)$")
_OF_A_NETWORK = re.compile(r"(_ip|_addr|_endpoint|hostfile)$")  # of the launchers: addresses mean nothing elsewhere
_TOKEN = re.compile(r"hf_[A-Za-z0-9]{20,}")
_ESCAPED = re.compile(r"\$\(printf '%b' '((?:\\0[0-7]{3})+)'\)")
_LONGEST_LINE = 100


def is_secret(option: str) -> bool:
    """Return whether the value of an option, such as `hub_token`, must not be written anywhere."""
    return _SECRET_NAME.search(option.replace("-", "_")) is not None


def has_token(text: str) -> bool:
    """Return whether a text has what looks like a token of the Hub."""
    return _TOKEN.search(text) is not None


def describe_command(program: str, options: Sequence[str], launcher: Sequence[str] = ()) -> str:
    """Return a command in one line that a POSIX shell runs.

    Secrets and network addresses are left out with their options. Absolute paths are named from the current folder, or
    by their last part if they are elsewhere. The program is a script, or `atenta train NAME`; the words before it are
    those of a launcher, such as `accelerate launch`.
    """
    words = list(_without_secrets(launcher))
    words += _module(program) if launcher else _program(program)
    return " ".join(map(quote, [*words, *_without_secrets(options)]))


def restate_command(command: str) -> str:
    """Return a command that was saved earlier, by any version, as `describe_command` does.

    Raises:
        ValueError: If it is not the command of a shell.
    """
    return " ".join(_restated(command))


def format_command(command: str) -> str:
    """Return a saved command for a card: as `restate_command` does, with a line for each option if it is long.

    Raises:
        ValueError: If it is not the command of a shell.
    """
    words = _restated(command)
    if len(line := " ".join(words)) <= _LONGEST_LINE:
        return line
    return " ".join(f"\\\n  {word}" if word.startswith("--") else word for word in words)


def _restated(command: str) -> list[str]:
    """Return the words of a saved command, each as a shell reads it."""
    try:
        first, *rest = map(_unescape, shlex.split(command))
    except ValueError as error:
        raise ValueError(f"found {command!r:.200}; expected a command for a shell ({error})") from None
    is_program = first.endswith(".py") or first.startswith("atenta ")
    return list(map(quote, [*(_program(first) if is_program else [first]), *_without_secrets(rest)]))


def name_from_here(path: Path) -> str:
    """Return how a program that is started here names an absolute path, or its last part if it is elsewhere."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) and path != here else path.name


def without_place(text: str) -> str:
    """Return a text in which absolute paths do not tell where the folders of this machine are."""
    path = Path(text)
    if path.is_absolute() and len(path.parts) > 2:
        return name_from_here(path)
    if (windows := PureWindowsPath(text)).is_absolute() and len(windows.parts) > 2:
        return windows.name
    for folder in (Path.cwd(), Path.home()):  # within a longer text, such as JSON
        if folder != Path(folder.anchor):
            text = re.sub(rf"(?<![\w.~-]){re.escape(str(folder))}(/|(?![\w-]|\.\w))", "", text)
    return text


def _without_secrets(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command without those that are nobody's business."""
    is_hidden = False
    for word in words:
        name, separator, value = word.partition("=")
        if word.startswith("--"):
            option = name.lstrip("-").replace("-", "_")
            is_hidden = is_secret(option) or _OF_A_NETWORK.search(option) is not None
            if not is_hidden:
                yield f"{name}{separator}{without_place(_TOKEN.sub('', value))}"
            is_hidden &= not separator  # its value follows
        elif not is_hidden:
            yield without_place(_TOKEN.sub("", word))
        else:
            is_hidden = False


def _program(program: str) -> list[str]:
    if program.startswith("atenta "):
        return program.split()
    return ["python", *_module(program)]


def _module(program: str) -> list[str]:
    """Return how Python is told to run a recipe, which is installed with the package, or another script."""
    name = program.split()[-1] if program.startswith("atenta ") else Path(program).name.removesuffix(".py")
    if name.isidentifier() and find_spec(f"atenta.recipes.{name}") is not None:
        return ["-m", f"atenta.recipes.{name}"]
    return [Path(program).name]


def quote(word: str) -> str:
    """Return a word for a POSIX shell, without blank lines, and with escapes for what cannot be seen."""
    quoted = []
    for is_seen, part in groupby(word, lambda each: each.isprintable() or each == "\n"):
        text = "".join(part)
        if is_seen:
            quoted.append(re.sub(r"\n(?=\n)", "\n''", shlex.quote(text)))
        else:
            escapes = "".join(f"\\0{byte:03o}" for byte in text.encode("utf-8", "surrogateescape"))
            quoted.append(f"\"$(printf '%b' '{escapes}')\"")
    return "".join(quoted) or "''"


def _unescape(word: str) -> str:
    """Return a word with the characters that `quote` has escaped."""

    def decode(found: re.Match[str]) -> str:
        return bytes(int(each, 8) for each in found[1].split("\\0")[1:]).decode("utf-8", "surrogateescape")

    return _ESCAPED.sub(decode, word)
