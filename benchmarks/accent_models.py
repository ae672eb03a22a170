"""Four ways to restore the accents of Portuguese, on the same sentences: two look-ups, an encoder-decoder, a tagger.

`python -m benchmarks.accent_models` prints the scores and the characters a second of each, and writes them. It needs
`outputs/accents`, which `make run` trains; the tagger comes with the package.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import pipeline

from atenta import restore_accents
from atenta.recipes.samples.portuguese_texts import portuguese_texts
from atenta.recipes.tasks.characters import RestorationTask
from atenta.recipes.training.results import table
from atenta.restoration.portuguese import MODEL_FOLDER
from benchmarks.benchmark_report import FOLDER
from benchmarks.measuring import Settings, describe_run
from results.figures import write_json

_SENTENCES = 400  # of each test
_TESTS = ("test", "encyclopaedia", "essays", "everyday", "plays")


def main(arguments: Sequence[str] | None = None) -> None:
    """Restore the sentences in each way, and write scores and speeds."""
    parser = argparse.ArgumentParser("python -m benchmarks.accent_models", description=__doc__)
    parser.add_argument("--model", default="outputs/accents", help="the encoder-decoder that `make run` trained")
    parser.add_argument("--output_file", type=Path, default=FOLDER / "results" / "accent_models.json")
    options = parser.parse_args(arguments)
    torch.set_num_threads(2)
    rows = portuguese_texts()
    task = RestorationTask(json.loads((MODEL_FOLDER / "config.json").read_text(encoding="utf-8")))
    tests = {name: random.Random(0).sample(rows[name], min(_SENTENCES, len(rows[name]))) for name in _TESTS}
    decode = pipeline("text2text-generation", options.model, device="cpu")
    look_ups = {name: answer for name, answer in task.baselines(rows["train"]).items() if name != "left as it is"}
    models: dict[str, Callable[..., Any]] = {
        "encoder-decoder of `make run`, letters kept": lambda texts: [
            each["generated_text"] for each in decode(texts, keep_letters=True, batch_size=64)
        ],
        "tagger, `restore_accents`": restore_accents,
    }
    restore_accents("")  # loads the model
    scored: dict[str, dict[str, dict[str, float]]] = {name: {} for name in tests}
    speeds = {}
    for way, restore in {**look_ups, **models}.items():
        seconds = length = 0.0
        for name, of_test in tests.items():
            sources = [row["source"] for row in of_test]
            started = perf_counter()
            restored = restore(of_test if way in look_ups else sources)
            seconds += perf_counter() - started
            length += sum(map(len, sources))
            scored[name][way] = task.score(of_test, restored)
        if way in models:  # a look-up counts the training texts each time
            speeds[way] = {"characters_per_second": length / seconds}
    for name, compared in {**scored, "speed": speeds}.items():
        print(f"{name}\n{table(compared)}\n", flush=True)
    about = describe_run(Settings(), "python -m benchmarks.accent_models")
    write_json(options.output_file, {**scored, "speed": speeds, "about": about})


if __name__ == "__main__":
    main()
