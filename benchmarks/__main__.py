"""Measure, print, and write the results: `python -m benchmarks --help` tells what can be chosen."""

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from time import perf_counter

import torch
from transformers.utils import logging

from benchmarks import corpus, decoding, growth, imports, memory, padding, tokenizers, training, variants
from benchmarks.machine import machine, versions
from benchmarks.pictures import draw_growth
from benchmarks.report import (
    FIGURES,
    FOLDER,
    GOALS,
    as_text,
    figure_cells,
    goal_cells,
    write_readme,
    write_section,
)
from benchmarks.settings import Settings

SECTIONS = {
    module.__name__.removeprefix("benchmarks."): module
    for module in (decoding, training, tokenizers, corpus, padding, imports, memory, growth, variants)
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sections, one after another, each written as soon as it is measured; then the table and the README."""
    options = parse(arguments)
    settings = Settings(options.device, options.rounds, options.threads)
    torch.set_num_threads(settings.threads)
    logging.set_verbosity_error()
    folder = options.output_dir / settings.device
    measured = []
    for number, name in enumerate(options.only, start=1):
        left = sum(SECTIONS[other].SECONDS for other in options.only[number - 1 :])
        print(f"\n{name} ({number} of {len(options.only)}, about {left / 60:.0f} min left on two cores)", flush=True)
        measured.append(run_section(name, folder, settings))
    for title, header, cells in (
        ("figures", FIGURES, figure_cells([row for section in measured for row in section["rows"]])),
        ("what was to be reached", GOALS, goal_cells([goal for section in measured for goal in section["goals"]])),
    ):
        print(f"\n{title}\n{as_text(header, cells)}" if cells else "", flush=True)
    for name, section in zip(options.only, measured):
        print(f"{name} took {section['about']['seconds']:.0f} s")
    write_readme(options.output_dir, options.readme)
    print(f"Written: {options.readme}, and {folder}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: bfloat16 and larger models")
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="measure these; others keep their figures"
    )
    parser.add_argument("--rounds", type=int, help="of every work, in place of each section's own number")
    parser.add_argument("--threads", type=int, default=2, help="that torch computes with on the CPU")
    parser.add_argument("--output_dir", type=Path, default=FOLDER / "results", help="of JSON and picture")
    parser.add_argument("--readme", type=Path, help="what the tables are written to; README.md in --output_dir")
    options = parser.parse_args(arguments)
    if options.readme is None:
        own = options.output_dir == parser.get_default("output_dir")
        options.readme = (FOLDER if own else options.output_dir) / "README.md"
    if options.threads < 1:
        parser.error(f"--threads {options.threads}: expected 1 or more")
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: expected 1 or more")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no GPU here")
    return options


def run_section(name: str, folder: Path, settings: Settings) -> dict:
    """Measure a section and write it: figures, and a picture where it has curves."""
    started = perf_counter()
    works = list(SECTIONS[name].run(settings))
    about = {
        "place": list(SECTIONS).index(name),
        "command": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "machine": machine(settings),
        "versions": versions(),
        "date": date.today().isoformat(),
        "seconds": perf_counter() - started,
    }
    section = write_section(folder / f"{name}.json", works, about)
    if name == "growth":
        title = f"A step of greedy decoding: {machine(settings)}"
        draw_growth(folder / "growth.png", growth.curves(works, settings), title)
    return section


if __name__ == "__main__":
    main()
