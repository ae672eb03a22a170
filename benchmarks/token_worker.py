"""A process that loads a saved model and decodes when it is told to, in onnxruntime (without torch) or in torch.

`python -m benchmarks.token_worker ENGINE FOLDER THREADS SEQUENCES PROMPT_LENGTH NEW_TOKENS` writes a line as soon as
it is ready. Then it reads lines, each a number of batches to decode, and answers each with the peak of its memory in
bytes. ENGINE is `float32` or `int8`, the ONNX files to take, or `torch`, for an encoder-decoder.
"""

import json
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from atenta.engines.choice import ONNX_FOLDER, Quantization
from atenta.engines.onnx_models import OnnxGenerator
from atenta.engines.search_options import SearchOptions
from atenta.engines.token_search import SearchInputs, search_tokens

FIRST_CHARACTER, LAST_CHARACTER = 3, 127  # as in measuring.py, which imports torch


def open_generator(folder: Path, quantization: Quantization | None) -> OnnxGenerator:
    """Open the ONNX files of a saved model that generates."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return OnnxGenerator(folder / ONNX_FOLDER, config, quantization)


def bind_search(
    generator: OnnxGenerator, max_new_tokens: int, num_beams: int = 1, threads: int = 1
) -> Callable[[np.ndarray], int]:
    """Return a search over ids without padding, which returns the number of new tokens of each text.

    Each thread searches for some of the texts, as in `Engine.generate`.
    """
    options = SearchOptions(max_new_tokens=max_new_tokens, num_beams=num_beams)

    def search_some(ids: np.ndarray) -> int:
        limits = np.full(len(ids), max_new_tokens)
        found = search_tokens(generator.begin(), SearchInputs(ids, np.ones_like(ids), options, limits))
        return min(len(outputs[0].token_ids) for outputs in found)

    def search(ids: np.ndarray) -> int:
        if threads == 1 or len(ids) == 1:
            return search_some(ids)
        with ThreadPoolExecutor(threads) as pool:
            return min(pool.map(search_some, np.array_split(ids, min(threads, len(ids)))))

    return search


def peak_bytes() -> int:
    """Return the largest memory that this process has held, from the kernel (Linux).

    `ru_maxrss` is not suitable: it starts with the memory of the parent process.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def main(engine: str, folder: str, *numbers: str) -> None:
    """Load the model, and decode until the input ends."""
    threads, sequences, prompt_length, new_tokens = map(int, numbers)
    if engine == "torch":
        decode = _bind_generate(folder, threads, new_tokens)
    else:
        generator = open_generator(Path(folder), "int8" if engine == "int8" else None)
        decode = bind_search(generator, new_tokens, threads=threads)
    shape = (sequences, prompt_length)
    ids = np.random.default_rng(0).integers(FIRST_CHARACTER, LAST_CHARACTER, shape, endpoint=True)
    decode(ids[:1])
    print("ready", flush=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            decode(ids)
        print(peak_bytes(), flush=True)


def _bind_generate(folder: str, threads: int, new_tokens: int) -> Callable[[np.ndarray], object]:
    import torch
    from transformers import AutoModelForSeq2SeqLM

    torch.set_num_threads(threads)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)

    def generate(ids: np.ndarray) -> object:
        given = torch.from_numpy(ids)
        options = {"max_new_tokens": new_tokens, "do_sample": False}
        return model.generate(input_ids=given, attention_mask=torch.ones_like(given), **options)

    return generate


if __name__ == "__main__":
    main(*sys.argv[1:])
