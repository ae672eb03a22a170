"""Results as JSON, as tables in Markdown, and as benchmarks/README.md."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atenta.hub.card_words import markdown_table
from benchmarks.measuring import Work
from results.figures import write_json

FOLDER = Path(__file__).parent


def write_section(path: Path, works: Sequence[Work], about: Mapping[str, Any]) -> dict[str, Any]:
    """Write a section's figures as JSON, those of every round included, and return what was written."""
    section = {
        "about": dict(about),
        "rows": [row for work in works for row in work.rows()],
        "rounds": {work.name: work.figures for work in works},
    }
    write_json(path, section)
    return section


def write_readme(output_dir: Path, readme: Path) -> None:
    """Fill in the template with the findings and with all sections in `output_dir`, which has a folder per device."""
    devices = [_device_report(folder) for name in ("cpu", "cuda") if (folder := output_dir / name).is_dir()]
    template = (FOLDER / "template.md").read_text(encoding="utf-8")
    findings = (FOLDER / "findings.md").read_text(encoding="utf-8").strip()
    readme.write_text(template.format(results="\n\n".join(devices), findings=findings), encoding="utf-8")


def _device_report(folder: Path) -> str:
    sections = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    sections = dict(sorted(sections.items(), key=lambda item: item[1]["about"]["place"]))
    machines = dict.fromkeys(section["about"]["machine"] for section in sections.values())
    parts = [f"## Results on {' and '.join(machines)}"]
    for name, section in sections.items():
        about = section["about"]
        run = f"`{about['command']}`, {about['date']}, {about['versions']}, {about['seconds']:.0f} s."
        parts += [f"### {name.capitalize()}", run, figure_table(section["rows"])]
    return "\n\n".join(parts)


def figure_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table in Markdown with a row for each contestant; only the first row of a work names it."""
    cells = [("work", "contestant", "median", "min … max", "to the best peer", "min … max", "to the limit")]
    for before, row in zip([None, *rows], rows):
        work = "" if before and before["work"] == row["work"] else row["work"]
        figure, its_range = _middle_and_range(row["figure"])
        to_limit, _ = _middle_and_range(row["to_limit"])
        to_peer = _middle_and_range(row["to_best_peer"])
        cells.append((work, row["contestant"], f"{figure} {row['unit']}", its_range, *to_peer, to_limit))
    return markdown_table(cells, "llrrrrr")


def three_digits(value: float) -> str:
    """Return a figure as text, with three significant digits from 0.1 to 1,000."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


def _middle_and_range(spread: Mapping[str, float] | None) -> tuple[str, str]:
    if spread is None:
        return "", ""
    return three_digits(spread["middle"]), f"{three_digits(spread['lowest'])} … {three_digits(spread['highest'])}"
