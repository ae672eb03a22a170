"""Findings as lines, JSON, annotations of GitHub, and SARIF."""

import json
import os
from collections.abc import Iterator
from math import floor
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from .checker import CheckedFiles
from .findings import Finding
from .settings import CONFIGURATION

Format = Literal["text", "json", "github", "sarif"]
_RULE = "missing-accent"
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def report(checked: CheckedFiles, format: Format, *, explain: bool, version: str) -> str:
    """Return all findings in a format, with a line end; an empty text if there is nothing to say.

    Args:
        checked: what was found.
        format: a line for each finding, a JSON object for each, annotations, or one SARIF file.
        explain: whether lines also show the sentence with both readings and their probabilities.
        version: of atenta, for SARIF.
    """
    if format == "sarif":
        return json.dumps(_sarif(checked, version), ensure_ascii=False, indent=2) + "\n"
    if format == "json":
        return "".join(json.dumps(_as_json(*each), ensure_ascii=False) + "\n" for each in _all(checked))
    if format == "github":
        return "".join(_annotation(*each) for each in _all(checked))
    return "".join(_line(path, finding, explain) for path, finding in _all(checked))


def _all(checked: CheckedFiles) -> Iterator[tuple[Path, Finding]]:
    for path, findings in checked.findings.items():
        for finding in findings:
            yield path, finding


def _line(path: Path, finding: Finding, explain: bool) -> str:
    line = (
        f"{_readable(str(path))}:{finding.line}:{finding.column} "
        f"{finding.before} → {finding.after} {_rounded(finding.confidence)}\n"
    )
    if explain:
        line += f"    {finding.as_it_stands:.4f} {finding.sentence[0]}\n"
        line += f"    {finding.confidence:.4f} {finding.corrected_sentence}\n"
    return line


def _readable(name: str) -> str:
    """Return the name of a file, with escapes for bytes that are not UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _rounded(probability: float) -> str:
    """Return a probability with two digits, never rounded up to certainty."""
    return f"{floor(100 * probability) / 100:.2f}"


def _as_json(path: Path, finding: Finding) -> dict:
    sentence, start = finding.sentence
    return {
        "file": _readable(path.as_posix()),
        "line": finding.line,
        "column": finding.column,
        "end_column": finding.column + finding.length,
        "before": finding.before,
        "after": finding.after,
        "confidence": finding.confidence,
        "as_it_stands": finding.as_it_stands,
        "sentence": sentence,
        "start": start,
    }


def _annotation(path: Path, finding: Finding) -> str:
    end = finding.column + finding.length
    place = (
        f"file={_escaped(_readable(path.as_posix()), ',:')},line={finding.line},col={finding.column},endColumn={end}"
    )
    message = f"{finding.before} → {finding.after} ({_rounded(finding.confidence)})"
    return f"::warning {place},title=atenta check::{_escaped(message)}\n"


def _escaped(text: str, more: str = "") -> str:
    """Return a text with the signs that end a command of GitHub's workflows in hexadecimal."""
    for sign in "%\r\n" + more:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def _sarif(checked: CheckedFiles, version: str) -> dict:
    rule = {
        "id": _RULE,
        "shortDescription": {"text": "A Portuguese word lacks an accent."},
        "fullDescription": {"text": "A Portuguese word lacks one or more of its accents, or a cedilla."},
        "help": {
            "text": f"Run `atenta check --write`. A word that is right belongs in the `words` of {CONFIGURATION}."
        },
    }
    driver = {"name": "atenta check", "version": version, "rules": [rule]}
    results = [_result(path, finding) for path, finding in _all(checked)]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _result(path: Path, finding: Finding) -> dict:
    artifact = {"uri": quote(os.fsencode(path.as_posix()))}
    end = finding.column + finding.length
    region = {"startLine": finding.line, "startColumn": finding.column, "endLine": finding.line, "endColumn": end}
    replacement = {"deletedRegion": region, "insertedContent": {"text": finding.after}}
    return {
        "ruleId": _RULE,
        "level": "warning",
        "message": {"text": f"{finding.before} → {finding.after}"},
        "rank": round(100 * finding.confidence, 4),
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
        "fixes": [{"artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}]}],
    }
