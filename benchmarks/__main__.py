"""Run the benchmarks: measure the sections, print tables, and write the results and the README."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import torch
from transformers.utils import logging

from benchmarks.benchmark_report import FOLDER, figure_table, write_readme, write_section
from benchmarks.decoding_speed import measure_decoding
from benchmarks.engine_speed import measure_engines
from benchmarks.measuring import Settings, Work, describe_run
from benchmarks.tokenizer_speed import measure_corpus, measure_tokenizers
from benchmarks.training_speed import measure_training


class Section(NamedTuple):
    """A part of the benchmarks that can be measured alone, and the seconds that it takes on two cores."""

    measure: Callable[[Settings], Iterator[Work]]
    seconds: int
    on_cpu: bool = False  # also where there is a GPU


SECTIONS = {
    "decoding": Section(measure_decoding, 190),
    "training": Section(measure_training, 230),
    "tokenizers": Section(measure_tokenizers, 12, on_cpu=True),
    "corpus": Section(measure_corpus, 25, on_cpu=True),
    "engines": Section(measure_engines, 200, on_cpu=True),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sections in turn and write each as soon as it is measured; then print the tables, write the README."""
    options = parse_command_line(arguments)
    settings = Settings(options.device, options.rounds, options.threads)
    torch.set_num_threads(settings.threads)
    logging.set_verbosity_error()
    folder = options.output_dir / settings.device
    measured = []
    for number, name in enumerate(options.only, start=1):
        left = sum(SECTIONS[other].seconds for other in options.only[number - 1 :])
        print(f"\n{name} ({number} of {len(options.only)}, about {left / 60:.0f} min left on two cores)", flush=True)
        started = perf_counter()
        works = list(SECTIONS[name].measure(settings))
        used = replace(settings, device="cpu") if SECTIONS[name].on_cpu else settings
        about = {
            "place": list(SECTIONS).index(name),
            **describe_run(used, " ".join(["python -m benchmarks", *sys.argv[1:]])),
            "seconds": perf_counter() - started,
        }
        measured.append(write_section(folder / f"{name}.json", works, about))
    print(f"\nfigures\n{figure_table([row for section in measured for row in section['rows']])}")
    for name, section in zip(options.only, measured):
        print(f"{name} took {section['about']['seconds']:.0f} s")
    write_readme(options.output_dir, options.readme)
    print(f"Results written to {options.readme} and {folder}")


def parse_command_line(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: bfloat16 and larger models")
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="sections to measure; default: all"
    )
    parser.add_argument("--rounds", type=int, help="rounds of every measurement; default: each section's own number")
    parser.add_argument("--threads", type=int, default=2, help="number of CPU threads; default: 2")
    parser.add_argument("--output_dir", type=Path, default=FOLDER / "results", help="folder for the results as JSON")
    parser.add_argument(
        "--readme", type=Path, help="file for the tables; default: README.md, in --output_dir if that is given"
    )
    options = parser.parse_args(arguments)
    if options.readme is None:
        own = options.output_dir == parser.get_default("output_dir")
        options.readme = (FOLDER if own else options.output_dir) / "README.md"
    for name in ("threads", "rounds"):
        if (number := getattr(options, name)) is not None and number < 1:
            parser.error(f"--{name} {number}: expected 1 or more")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no GPU on this machine")
    return options


if __name__ == "__main__":
    main()
