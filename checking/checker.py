"""Checks of many files: in several processes, with a cache, and with words learned from the tree."""

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..engines.feedback import progress
from ..engines.onnx_models import count_cores
from ..restoration.portuguese import MODEL_FOLDER, load_restorer
from ..restoration.spellings import WORD
from ..tokenization.base_letters import strip_accents
from .cache import Cache, FileFindings, cache_key
from .findings import Finding, find_words
from .prose import ENDINGS, ending_of, find_prose
from .settings import Settings
from .text_files import decode, replace_characters, replace_file

LARGEST = 20_000_000  # bytes; a larger file is data, and is not read
_CHUNK = 300_000  # bytes that a process reads at once
_SHARE = 2_000_000  # bytes for which one more process is worth its start
_ROUNDS = 10  # of writing: a mark may decide a word beside it


class CheckedFiles(NamedTuple):
    """The result of a check.

    Attributes:
        findings: for each file with findings, these in the order of its text.
        keys: for each of these files, the key of the content that was checked.
        not_read: for each file of a known type, and each repository inside of another, that was not checked, why.
        number: number of files that were checked.
        in_portuguese: number of these that have Portuguese in them, and so were read by the model.
        other_types: number of files that are of no known type.
        paths: all files that were asked for.
        undecided: number of words that surely lack a mark, with only Brazil's or Portugal's form in doubt.
        failed: those files of `not_read` that the system could not read.
        saved: the findings in files that have not changed.
    """

    findings: dict[Path, list[Finding]]
    keys: dict[Path, str]
    not_read: dict[Path, str]
    number: int
    in_portuguese: int
    other_types: int
    paths: Sequence[Path]
    undecided: int = 0
    failed: Sequence[Path] = ()
    saved: Cache | None = None


def check_files(
    paths: Sequence[Path], settings: Settings, *, processes: int | None = None, saved: Cache | None = None
) -> CheckedFiles:
    """Return the words that lack marks in the files of a project. On a terminal a bar counts those that are read.

    Args:
        processes: number of processes; by default as many as are worth their start, at most one for each core.
        saved: the findings of an earlier check; by default those that are saved in the project.
    """
    not_read = {path: "a repository of its own: check it by itself" for path in paths if path.is_dir()}
    known = [path for path in paths if path not in not_read and ending_of(path.name) in ENDINGS]
    other_types = len(paths) - len(known) - len(not_read)
    saved = saved or Cache(settings.root if settings.is_project else None)
    found: dict[Path, FileFindings] = {}
    keys: dict[Path, str] = {}
    failed: list[Path] = []
    to_read: list[tuple[Path, int]] = []
    for path in known:
        try:
            size = path.stat().st_size
            content = path.read_bytes() if size <= LARGEST else None
        except OSError as error:
            failed.append(path)
            not_read[path] = str(error.strerror)
            continue
        if content is None:
            not_read[path] = f"{size / 1e6:.0f} MB, more than {LARGEST / 1e6:.0f}"
            continue
        keys[path] = cache_key(content, ending_of(path.name), settings.variant)
        if (before := saved.load(keys[path])) is None:
            to_read.append((path, size))
        else:
            found[path] = before
    with progress(len(to_read), "file") as count_files:
        for path, keys[path], answer in _read_files(to_read, settings.variant, processes):
            if isinstance(answer, str):
                not_read[path] = answer
            else:
                found[path] = answer
                saved.save(keys[path], answer)
            count_files(1)
    marked = {word for _, words in found.values() for word in words}
    findings: dict[Path, list[Finding]] = {}
    undecided = 0
    in_portuguese = 0
    for path in filter(found.get, known):
        if (of_file := found[path][0]) is None:
            continue
        in_portuguese += 1
        in_either = [each._replace(confidence=each.in_either) for each in of_file]
        counted = [each for each in of_file if _is_reported(each, settings, marked)]
        undecided += sum(_is_reported(each, settings, marked) for each in in_either) - len(counted)
        if counted:
            findings[path] = counted
    keys = {path: keys[path] for path in findings}
    counts = len(found), in_portuguese, other_types
    return CheckedFiles(findings, keys, not_read, *counts, paths, undecided, failed, saved)


def write_findings(checked: CheckedFiles, settings: Settings) -> CheckedFiles:
    """Write the marks that a check has found, check the files again, and go on until nothing is found.

    All of them: a mark that is written in one says how a name in another is spelt.

    Returns:
        All findings that were written.

    Raises:
        ValueError: If more than marks would change.
        OSError: If a file cannot be written.
    """
    written = {path: list(findings) for path, findings in checked.findings.items()}
    again = checked
    for _ in range(_ROUNDS):
        for path, findings in again.findings.items():
            content = path.read_bytes()
            if cache_key(content, ending_of(path.name), settings.variant) != again.keys[path]:
                raise ValueError(f"{path} has changed since it was checked: check it again.")
            changes = dict(change for each in findings for change in each.changes)
            try:
                replace_file(path, replace_characters(decode(content), changes))
            except OSError as error:
                raise OSError(
                    f"{path} cannot be written ({error.strerror}): change its rights or its folder's, or leave it "
                    "out. Those before it are written."
                ) from None
        if not again.findings:
            break
        again = check_files(checked.paths, settings, processes=1, saved=checked.saved)
        for path, findings in again.findings.items():
            written.setdefault(path, []).extend(findings)
    return checked._replace(findings=written)


def _is_reported(finding: Finding, settings: Settings, marked: set[str]) -> bool:
    """Return whether a finding is reported: sure enough, and not a name that the tree always spells so."""
    word = finding.before.lower()
    return (
        finding.confidence >= settings.min_confidence
        and word not in settings.words
        and (not finding.is_name or strip_accents(word) in marked)
    )


def _read_files(
    files: Sequence[tuple[Path, int]], variant: str | None, processes: int | None
) -> Iterator[tuple[Path, str, FileFindings | str]]:
    """Yield for each file its key and what was found, or why it was not read."""
    chunks: list[list[Path]] = []
    filled = 0
    for path, size in sorted(files, key=lambda file: -file[1]):  # the longest first, so that all end together
        if not chunks or filled + size > _CHUNK:
            chunks.append([])
            filled = 0
        chunks[-1].append(path)
        filled += size
    if processes is None:
        processes = min(count_cores(), 1 + sum(size for _, size in files) // _SHARE)
    if processes == 1 or len(chunks) < 2:
        for chunk in chunks:
            yield from _check_chunk(chunk, variant)
        return
    # Not forked: the threads of onnxruntime would be missing.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(chunks)), context, _start_process) as pool:
        for answers in pool.map(partial(_check_chunk, variant=variant), chunks):
            yield from answers


def _start_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # or each one would print a traceback
    load_restorer(MODEL_FOLDER).threads = 1


def _check_chunk(paths: list[Path], variant: str | None = None) -> list[tuple[Path, str, FileFindings | str]]:
    restorer = load_restorer(MODEL_FOLDER)
    answers: list[tuple[Path, str, FileFindings | str]] = []
    read = []
    for path in paths:
        ending = ending_of(path.name)
        try:
            source = decode(content := path.read_bytes()).text
        except ValueError as error:
            answers.append((path, "", str(error)))
            continue
        read.append((path, cache_key(content, ending, variant), source, find_prose(path.name, source)))
    found = find_words(restorer, [source for *_, source, _ in read], [prose for *_, prose in read], variant)
    for (path, key, _, prose), findings in zip(read, found):
        words = {word.lower() for block in prose.blocks for word in WORD.findall(block.text) if not word.isascii()}
        answers.append((path, key, (findings, sorted(map(strip_accents, words)))))
    return answers
