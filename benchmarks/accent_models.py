"""Four ways to restore the accents of Portuguese, on the same sentences: two look-ups, an encoder-decoder, a tagger.

`python -m benchmarks.accent_models` prints the scores and the characters a second of each, and writes them. It needs
`outputs/accents`, which `make run` trains; the tagger comes with the package.
"""

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import torch
from transformers import pipeline

from atenta import restore_accents
from atenta.recipes.samples.portuguese_texts import portuguese_texts
from atenta.recipes.tasks.characters import most_frequent_spelling, score_restored
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
    variants = json.loads((MODEL_FOLDER / "config.json").read_text(encoding="utf-8"))["character_variants"]
    tests = {name: random.Random(0).sample(rows[name], min(_SENTENCES, len(rows[name]))) for name in _TESTS}
    decode = pipeline("text2text-generation", options.model, device="cpu")
    look_ups = {
        "most frequent spelling": partial(_look_up, rows["train"], after_word=False),
        "most frequent after the word before": partial(_look_up, rows["train"], after_word=True),
    }
    models: dict[str, Callable[[list[str]], list[str]]] = {
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
            restored = restore(sources)
            seconds += perf_counter() - started
            length += sum(map(len, sources))
            scored[name][way] = score_restored(of_test, restored, variants)
        if way in models:  # a look-up counts the training texts each time
            speeds[way] = {"characters_per_second": length / seconds}
    for name, compared in {**scored, "speed": speeds}.items():
        print(f"{name}\n{table(compared)}\n", flush=True)
    about = describe_run(Settings(), "python -m benchmarks.accent_models")
    write_json(options.output_file, {**scored, "speed": speeds, "about": about})


def _look_up(train: Sequence[Mapping[str, str]], texts: Sequence[str], after_word: bool) -> list[str]:
    return most_frequent_spelling(train, [{"source": text} for text in texts], fold_case=True, after_word=after_word)


if __name__ == "__main__":
    main()
