"""The settings of a project, and the files that are checked."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from ..generation_options import is_number
from ..restoration.spans import VARIANTS

CONFIGURATION = ".atenta-check.toml"
_OF_HOOKS = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}  # with which git lists another tree
_TABLE = "atenta-check"  # of pyproject.toml, in `tool`
_KINDS = {
    "min-confidence": "a number, 0 to 1",
    "variant": "br or pt",
    "words": "a list of words",
    "exclude": "a list of patterns of paths",
}


class Settings(NamedTuple):
    """The settings of a project.

    Attributes:
        root: the folder of the configuration, of the repository, or the one in which the command runs.
        is_project: whether there is such a configuration or repository; findings are kept there only then.
        min_confidence: a word is a finding only if the model gives its marks at least this probability.
        variant: Portuguese of Brazil, `"br"`, or of Portugal, `"pt"`; by default words get the marks of either.
        words: those to leave alone, in lower case.
        exclude: patterns of paths from the root, such as `docs/old/*`.
    """

    root: Path
    min_confidence: float = 0.99
    variant: str | None = None
    words: frozenset[str] = frozenset()
    exclude: tuple[str, ...] = ()
    is_project: bool = True

    def excludes(self, path: Path) -> bool:
        """Return whether a file is not to be checked."""
        try:
            inside = (path.parent.resolve() / path.name).relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return False
        return any(fnmatch(inside, each) or fnmatch(inside, f"{each.rstrip('/')}/*") for each in self.exclude)


def read_settings(folder: Path) -> Settings:
    """Return the settings of the project that a folder is in.

    They are in `.atenta-check.toml`, or in `[tool.atenta-check]` of `pyproject.toml`, in the folder or in the nearest
    one above it that has them, up to the root of a repository.

    Raises:
        ValueError: If a file is not valid TOML, or has a key or a value that is not expected.
        OSError: If a file cannot be read.
    """
    folder = folder.absolute()
    for place in (folder, *folder.parents):
        for name in (CONFIGURATION, "pyproject.toml"):
            path = place / name
            if path.is_file() and (table := _read_table(path)) is not None:
                return _check(path, table)
        if (place / ".git").exists():
            return Settings(place)
    return Settings(folder, is_project=False)


def _read_table(path: Path) -> dict[str, Any] | None:
    try:
        table: Any = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from None
    for name in () if path.name == CONFIGURATION else ("tool", _TABLE):
        table = table.get(name)
        if table is None:
            return None
        if not isinstance(table, dict):
            raise ValueError(f"{path} has {name} = {table!r:.80}; expected a table.")
    return table


def _check(path: Path, table: dict[str, Any]) -> Settings:
    for key, value in table.items():
        if key not in _KINDS:
            raise ValueError(f"{path} has {key!r}; expected {', '.join(_KINDS)}.")
        if key == "min-confidence":
            good = is_number(value, 0, 1)
        elif key == "variant":
            good = isinstance(value, str) and value in VARIANTS
        else:
            good = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not good:
            raise ValueError(f"{path} has {key} = {value!r:.80}; expected {_KINDS[key]}.")
    words = frozenset(word.lower() for word in table.get("words", ()))
    exclude = tuple(table.get("exclude", ()))
    return Settings(path.parent, table.get("min-confidence", 0.99), table.get("variant"), words, exclude)


def list_files(paths: Sequence[Path], settings: Settings) -> list[Path]:
    """Return the files that are given or are in given folders, once each, without those that the settings exclude.

    Of a repository, they are those that git does not ignore; elsewhere, those whose names and folders do not begin
    with a full stop. A repository inside of another is returned as a folder. Links in folders are not followed: what
    they lead to in the tree is there itself.

    Raises:
        FileNotFoundError: If there is no such file or folder, or git ignores all that is in a folder.
        OSError: If git finds the repository and cannot list it.
    """
    found: dict[Path, Path] = {}  # by what may have several names
    for path in paths:
        if path.is_dir():
            inside = (path / each for each in _list_folder(path))
            there = (each for each in inside if each.is_file() or (each / ".git").exists())
            listed = [each for each in there if not _through_link(each, path)]
        elif path.is_file():
            listed = [path]
        else:
            raise FileNotFoundError(f"{path}: no such file or folder.")
        for each in listed:
            found.setdefault(each.resolve(), each)
    return [path for path in found.values() if not settings.excludes(path)]


def _through_link(path: Path, folder: Path) -> bool:
    return any(each.is_symlink() for each in (path, *path.parents) if folder in each.parents)


def _list_folder(folder: Path) -> Iterator[str]:
    if shutil.which("git"):
        environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
        listed = subprocess.run(
            ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            env={**environment, "LC_ALL": "C"},
        )
        if listed.returncode == 0:
            names = sorted({os.fsdecode(name) for name in listed.stdout.split(b"\0") if name})
            if not names and (ignored := next(_walk(folder), None)):
                raise FileNotFoundError(
                    f"{folder}: git ignores all that is in it, such as {ignored}: give files by name, or change "
                    "what it ignores."
                )
            yield from names
            return
        if b"not a git repository" not in listed.stderr:
            raise OSError(f"git cannot list {folder}: {listed.stderr.decode(errors='replace').strip()}")
    yield from _walk(folder)


def _walk(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        yield from (os.path.relpath(Path(place, name), folder) for name in sorted(names) if not name.startswith("."))
