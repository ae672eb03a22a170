"""`atenta check`: missing accents in the files of a repository, without torch if onnxruntime is installed."""

from atenta.recipes.terminal import allow_interrupts

import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from atenta.checking.checker import CheckedFiles, check_files, write_findings
from atenta.checking.prose import ENDINGS, ending_of
from atenta.checking.reports import Format, report
from atenta.checking.settings import list_files, read_settings
from atenta.command.text_lines import print_results, printable_lines

_NAMED = 10  # files of other types that are named at most; a hook is given all that change


def check_paths(
    paths: Sequence[Path],
    *,
    write: bool,
    min_confidence: float | None,
    variant: str | None,
    words: Sequence[str],
    explain: bool,
    format: Format,
    processes: int | None,
) -> bool:
    """Check files and folders, write what was found to standard output, and return whether anything is left to mend.

    Raises:
        ValueError: If the configuration is wrong, or a file cannot be changed as it should be.
        OSError: If a path is not there, or a file cannot be read or written.
    """
    settings = read_settings(Path.cwd())
    given: dict[str, Any] = {"min_confidence": min_confidence, "variant": variant}
    settings = settings._replace(**{name: value for name, value in given.items() if value is not None})
    settings = settings._replace(words=settings.words | {word.lower() for word in words})
    files = list_files(paths, settings)
    allow_interrupts()
    checked = check_files(files, settings, processes=processes)
    if write:
        checked = write_findings(checked, settings)
    print_results(report(checked, format, explain=explain, version=version("atenta")))
    given_files = [path for path in paths if not path.is_dir() and not settings.excludes(path)]
    unknown = [path for path in given_files if ending_of(path.name) not in ENDINGS]
    print(printable_lines("\n".join(_summary(checked, unknown, write))), file=sys.stderr)
    if checked.failed:  # nobody should take them for checked
        raise OSError(f"could not read {checked.failed[0]}" + " and others" * (len(checked.failed) > 1))
    return bool(checked.findings) and not write


def _summary(checked: CheckedFiles, unknown: Sequence[Path], write: bool) -> Iterator[str]:
    for path in unknown if len(unknown) <= _NAMED else []:
        yield f"{path}: not checked: its type is not read"
    for path, reason in checked.not_read.items():
        yield f"{path}: not checked: {reason}"
    count = sum(map(len, checked.findings.values()))
    done = "added to" if write else "lacking in"
    others = f"; {checked.other_types} of other types left out" if checked.other_types else ""
    found = f"{_counted(count, 'word')} of {_counted(len(checked.findings), 'file')}"
    is_all = checked.in_portuguese in (0, checked.number)
    read = "" if is_all else f", {checked.in_portuguese} of them in Portuguese"
    yield f"{_counted(checked.number, 'file')} checked{read}{others}; accents {done} {found}"
    if checked.number and not checked.in_portuguese:
        yield "nothing was read: too few of the words are small words of Portuguese, such as não and uma"
    if checked.undecided:
        number = f"{checked.undecided} more lack{'s' * (checked.undecided == 1)} an accent"
        yield f"{number} that Brazil and Portugal write differently: --variant br, or pt, finds them"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
