"""A run's figures as JSON for machines, as a table in the terminal, and as benchmarks/README.md."""

import json
from collections.abc import Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

from benchmarks.results import Work

FOLDER = Path(__file__).parent
GOALS = ("work", "to reach", "reached", "least … most", "met")
FIGURES = ("work", "contestant", "median", "least … most", "to the best peer", "least … most", "to the limit")


def write_section(path: Path, works: Sequence[Work], about: Mapping[str, Any]) -> dict[str, Any]:
    """Write a section's figures, every round of them, as JSON, and return what was written."""
    section = {
        "about": dict(about),
        "goals": [goal for work in works for goal in work.goals()],
        "rows": [row for work in works for row in work.rows()],
        "rounds": {work.name: work.figures for work in works},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(section, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return section


def goal_cells(goals: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row of texts a target, under `GOALS`."""
    return [
        (
            goal["work"],
            f"at {goal['at']} {goal['bound']:g} {_compared(goal)}",
            number(goal["reached"]["middle"]),
            _range(goal["reached"]),
            "yes" if goal["met"] else "NO",
        )
        for goal in goals
    ]


def figure_cells(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row of texts a contestant of each work, under `FIGURES`; a work is named once."""
    cells = []
    for before, row in zip([None, *rows], rows):
        work = "" if before and before["work"] == row["work"] else row["work"]
        peer, limit = row["to_best_peer"], row["to_limit"]
        cells.append(
            (
                work,
                row["contestant"],
                f"{number(row['figure']['middle'])} {row['unit']}",
                _range(row["figure"]),
                number(peer["middle"]) if peer else "",
                _range(peer) if peer else "",
                number(limit["middle"]) if limit else "",
            )
        )
    return cells


def as_text(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Lay a table out for the terminal: columns of one width, texts to the left and figures to the right."""
    table = [header, *cells]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = (
        [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        for row in table
    )
    return "\n".join("  ".join(line) for line in lines)


def as_markdown(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Lay a table out as Markdown."""
    ruler = ["---", "---", *["---:"] * (len(header) - 2)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ruler, *cells))


def write_readme(output_dir: Path, readme: Path) -> None:
    """Fill in the template with all sections in `output_dir`, a folder a device, and with the findings."""
    devices = [_of_device(folder, readme) for folder in sorted(output_dir.iterdir()) if folder.is_dir()]
    template = (FOLDER / "template.md").read_text(encoding="utf-8")
    findings = (FOLDER / "findings.md").read_text(encoding="utf-8").strip()
    readme.write_text(template.format(results="\n\n".join(devices), findings=findings), encoding="utf-8")


def number(value: float) -> str:
    """Write a figure with three digits that count."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


def _of_device(folder: Path, readme: Path) -> str:
    sections = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    sections = dict(sorted(sections.items(), key=lambda item: item[1]["about"]["place"]))
    machines = dict.fromkeys(section["about"]["machine"] for section in sections.values())
    parts = [f"## On {' and '.join(machines)}"]
    if goals := [goal for section in sections.values() for goal in section["goals"]]:
        parts += ["### What was to be reached", as_markdown(GOALS, goal_cells(goals))]
    for name, section in sections.items():
        about = section["about"]
        told = f"`{about['command']}`, {about['date']}, {about['versions']}, {about['seconds']:.0f} s."
        parts += [f"### {name.capitalize()}", told, as_markdown(FIGURES, figure_cells(section["rows"]))]
        if (picture := folder / f"{name}.png").is_file():
            parts.append(f"![{name}]({Path(relpath(picture, readme.parent)).as_posix()})")
    return "\n\n".join(parts)


def _compared(goal: Mapping[str, Any]) -> str:
    if goal["kind"] == "figure":
        return goal["unit"]
    return f"of {goal['against']}'s" if goal["kind"] == "ratio" else f"{goal['unit']} over {goal['against']}'s"


def _range(spread: Mapping[str, float]) -> str:
    return f"{number(spread['lowest'])} … {number(spread['highest'])}"
