"""Kill a run with SIGKILL at random moments until it has ended: `python tests/fuzz/kills.py [--kills 50] [--seed N]`.

A recipe with a tiny model saves a checkpoint at each step. It is started, killed after a random time, and started
again, until it ends; then the next run begins, until enough kills are counted. Each run must end with the weights and
figures of one that was never killed. Processes are forked, so that a start costs no imports.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import runpy
import shutil
import sys
import tempfile
import time
from pathlib import Path

from atenta.recipes import finetune_classification

WORDS = ("amor", "mer", "ler", "dois", "deux", "um", "une", "avoir", "haver", "noite", "nuit", "lua")
OPTIONS = (
    "--hidden_size 16 --num_attention_heads 2 --num_hidden_layers 1 --intermediate_size 24 --dropout 0.2 --use_cpu "
    "true --disable_tqdm true --num_train_epochs 10 --per_device_train_batch_size 4 --logging_steps 1 --eval_strategy "
    "steps --eval_steps 1 --save_strategy steps --save_steps 1 --save_total_limit 2 --load_best_model_at_end true "
    "--train_file words.tsv --validation_file words.tsv"
)


def train(output: str) -> None:
    """Run the recipe, as `python recipes/finetune_classification.py` does, with its output in a file."""
    log = os.open(f"{output}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    script = finetune_classification.__file__
    sys.argv = [script, *OPTIONS.split(), "--output_dir", output]
    runpy.run_path(script, run_name="__main__")


def run(output: str, seconds: float | None = None) -> bool:
    """Return whether a run ended within the time; otherwise it was killed.

    Raises:
        RuntimeError: If it failed.
    """
    process = multiprocessing.get_context("fork").Process(target=train, args=(output,))
    process.start()
    process.join(seconds)
    killed = process.exitcode is None
    process.kill()
    process.join()
    if not killed and process.exitcode != 0:
        raise RuntimeError(f"{output} failed:\n{Path(f'{output}.log').read_text(encoding='utf-8')[-4000:]}")
    return not killed


def result(output: str) -> tuple[str, object]:
    """Return the SHA-256 of the weights, and all figures."""
    metrics = json.loads(Path(output, "metrics.json").read_text(encoding="utf-8"))
    weights = Path(output, "model.safetensors").read_bytes()
    return hashlib.sha256(weights).hexdigest(), (metrics["test"], metrics["training"])


def main() -> None:
    """Count kills until there are enough, and compare each run that has ended.

    Raises:
        SystemExit: If a run ended with other weights or figures.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="number of kills")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="of the random moments")
    options = parser.parse_args()
    moments = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="kills-")
    os.chdir(folder)
    rows = [f"{word}\t{'fra' if number % 2 else 'por'}\n" for number, word in enumerate(WORDS)]
    Path("words.tsv").write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")

    run("warm")  # caches the rows, which later runs only read
    start = time.monotonic()
    run("never")
    whole = time.monotonic() - start
    expected = result("never")
    kills = incomplete = runs = 0
    while kills < options.kills:
        output = f"run-{runs}"
        while not run(output, moments.uniform(0, whole)):
            kills += 1
            incomplete += any(not (each / "whole").is_file() for each in Path(output).glob("checkpoint-*"))
        if result(output) != expected:
            sys.exit(f"{output} in {folder} ended with other weights or figures than a run never killed.")
        runs += 1
        print(f"{output}: as one never killed. {kills} kills, {incomplete} of them within a save", flush=True)
    shutil.rmtree(folder)
    print(f"{kills} kills at random moments, {incomplete} within a save: {runs} runs ended as one never killed.")


if __name__ == "__main__":
    main()
