"""Engines on a CPU: onnxruntime in float32 and int8 against our own `generate` and the peers', in ids."""

import string
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import torch

from atenta import AtentaTokenizer, CharacterRestorer
from atenta.engines.choice import ONNX_FOLDER, Quantization
from atenta.engines.onnx_export import export_onnx
from atenta.engines.onnx_models import OnnxHead
from atenta.restoration.portuguese import MODEL_FOLDER
from atenta.tokenization.base_letters import strip_accents
from benchmarks.contestants import DECODING_CONTESTANTS, TAGGERS, Contestant, draw_ids, ready_to_generate
from benchmarks.decoding_speed import BEAMS, NEW_TOKENS, PROMPT_LENGTH, bind_decoder, decoding_work, describe_decoding
from benchmarks.measuring import (
    INT8,
    ONNX,
    OURS,
    SMALL,
    TINY,
    Settings,
    Size,
    Work,
    measure,
    milliseconds,
    run_python,
    timed,
)
from benchmarks.token_worker import bind_search, open_generator
from benchmarks.tokenizer_speed import novel_sentences

SIZES = (TINY, SMALL)
QUANTIZATIONS: Mapping[str, Quantization | None] = {ONNX: None, INT8: "int8"}
DECODING_ROUNDS = 5
DECODING_WORKS = ((1, 1), (32, 1), (8, BEAMS))  # sequences, beams

LABELS = 8
TAGGING_ROUNDS = 7
TAGGING_SHAPES = ((1, 128), (32, 128))  # texts, characters

PROCESS_ROUNDS = 3
PROCESS_BATCHES = 8  # of 32 sequences

FIRST_ANSWER_ROUNDS = 5
FIRST_ANSWERS = {
    "restore_accents": "from atenta import restore_accents; print(restore_accents('A acao comecou amanha'))",
    "load_engine": (
        "from atenta.engines.engine import load_engine; "
        f"print(load_engine({{folder!r}}).generate('A acao comecou', max_new_tokens={NEW_TOKENS}))"
    ),
}

ACCENTS_ROUNDS = 2
ACCENTS_CHARACTERS = 200_000


def measure_engines(settings: Settings) -> Iterator[Work]:
    """Measure decoding, tagging, processes, memory, the first answer, and accents."""
    settings = replace(settings, device="cpu")  # no engine runs on a GPU
    with TemporaryDirectory() as name:
        folder = Path(name)
        for family, contestants in DECODING_CONTESTANTS.items():
            for size in SIZES:
                yield from measure_decoding_engines(family, contestants[:2], size, folder / family, settings)
        ours, peer = (folder / "encoder-decoder" / who / str(SMALL) for who in (OURS, "BART"))
        yield measure_processes(ours, settings)
        yield measure_resident_memory(ours, peer, settings)
        yield from measure_first_answers(ours, settings)
        yield from measure_tagging(SMALL, folder / "encoder", settings)
        yield measure_accents(novel_sentences(ACCENTS_CHARACTERS // 20), folder / "accents", settings)


def measure_decoding_engines(
    family: str, contestants: Sequence[Contestant], size: Size, folder: Path, settings: Settings
) -> Iterator[Work]:
    """Measure decoding as in its own section, of ours and a peer, which are saved in `folder / name / size`."""
    models = {one.name: ready_to_generate(one, size, settings) for one in contestants}
    for who, model in models.items():
        model.save_pretrained(folder / who / str(size))
    exported = folder / OURS / str(size)
    for quantization in QUANTIZATIONS.values():
        export_onnx(exported, quantization)
    generators = {who: open_generator(exported, quantization) for who, quantization in QUANTIZATIONS.items()}
    for sequences, beams in DECODING_WORKS:
        ids = draw_ids(settings, sequences, PROMPT_LENGTH)
        ours, peer = (bind_decoder(model, ids, beams) for model in models.values())
        decoders: dict[str, Callable[[], int]] = {OURS: ours}
        for who, generator in generators.items():
            decoders[who] = partial(bind_search(generator, NEW_TOKENS, beams, settings.threads), ids.numpy())
        decoders[contestants[1].name] = peer
        name = describe_decoding(family, size, sequences, beams)
        yield decoding_work(name, decoders, settings, DECODING_ROUNDS)


def measure_tagging(size: Size, folder: Path, settings: Settings) -> Iterator[Work]:
    """Measure milliseconds for a label at each character of texts of one length."""
    models = {one.name: one.build(size, num_labels=LABELS).eval() for one in TAGGERS}
    models[OURS].save_pretrained(folder)
    heads = {}
    calibration = [_arrays(_inputs_of(draw_ids(settings, *TAGGING_SHAPES[0])))]
    for who, quantization in QUANTIZATIONS.items():
        export_onnx(folder, quantization, calibration if quantization else ())
        heads[who] = OnnxHead(folder / ONNX_FOLDER, quantization)
    for texts, length in TAGGING_SHAPES:
        inputs = _inputs_of(draw_ids(settings, texts, length))
        ours, peer = (partial(torch.inference_mode()(model), **inputs) for model in models.values())
        runs: dict[str, Callable[[], object]] = {OURS: ours}
        runs |= {who: partial(_run_parts, head, _arrays(inputs), settings.threads) for who, head in heads.items()}
        runs["BERT"] = peer
        times = {who: partial(milliseconds, run, settings) for who, run in runs.items()}
        name = f"encoder {size} with a label for each character, {texts} × {length} characters"
        yield measure(name, "ms", times, settings, TAGGING_ROUNDS)


def _run_parts(head: OnnxHead, inputs: Mapping[str, np.ndarray], threads: int) -> None:
    """Run small batches side by side, as `Engine.predict` does."""
    texts, length = inputs["input_ids"].shape
    parts = np.array_split(np.arange(texts), -(-texts * length // 1024))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda rows: head.run({name: array[rows] for name, array in inputs.items()}), parts))


def _inputs_of(ids: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}


def _arrays(inputs: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in inputs.items()}


class Worker:
    """A process of `token_worker`, which is ready to decode."""

    def __init__(self, engine: str, folder: Path, threads: int) -> None:
        numbers = (threads, 32, PROMPT_LENGTH, NEW_TOKENS)
        command = [sys.executable, "-m", "benchmarks.token_worker", engine, str(folder), *map(str, numbers)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Worker":
        if self.process.stdout.readline() != "ready\n":
            self.__exit__()
            raise RuntimeError(f"A worker ended with {self.process.returncode} before it was ready: see above.")
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()  # closes its input, which ends it

    def send(self, batches: int) -> None:
        """Let it decode batches of 32 sequences."""
        self.process.stdin.write(f"{batches}\n")
        self.process.stdin.flush()

    def receive(self) -> int:
        """Wait until it has decoded them, and return the peak of its memory in bytes."""
        return int(self.process.stdout.readline())


def measure_processes(folder: Path, settings: Settings) -> Work:
    """Measure the same number of texts in one process of two threads and in two processes of one."""
    ways = {f"{INT8}, 1 process of 2 threads": (1, 2), f"{INT8}, 2 processes of 1 thread": (2, 1)}
    rates = {who: partial(_texts_per_second, folder, *way) for who, way in ways.items()}
    name = f"processes, encoder-decoder {SMALL}, greedy, batches of 32 sequences"
    return measure(name, "texts/s", rates, settings, PROCESS_ROUNDS, warm_up=False, more_is_better=True)


def _texts_per_second(folder: Path, processes: int, threads: int) -> float:
    with ExitStack() as stack:
        workers = [Worker("int8", folder, threads) for _ in range(processes)]  # all load at once
        for worker in workers:
            stack.enter_context(worker)
        started = perf_counter()
        for worker in workers:
            worker.send(PROCESS_BATCHES // processes)
        for worker in workers:
            worker.receive()
        return PROCESS_BATCHES * 32 / (perf_counter() - started)


def measure_resident_memory(folder: Path, peer: Path, settings: Settings) -> Work:
    """Measure the peak memory of a whole process that loads a model and decodes 32 sequences."""
    processes = {OURS: ("torch", folder), ONNX: ("float32", folder), INT8: ("int8", folder), "BART": ("torch", peer)}
    megabytes = {who: partial(_peak_megabytes, *what, settings.threads) for who, what in processes.items()}
    name = f"peak memory of a process, encoder-decoder {SMALL}, greedy, 32 sequences"
    return measure(name, "MB", megabytes, settings, 1, warm_up=False)


def _peak_megabytes(engine: str, folder: Path, threads: int) -> float:
    with Worker(engine, folder, threads) as worker:
        worker.send(1)
        return worker.receive() / 1e6


def measure_first_answers(folder: Path, settings: Settings) -> Iterator[Work]:
    """Measure the seconds of a process with one answer, of an encoder-decoder that gets a tokenizer here."""
    AtentaTokenizer.from_alphabet(string.ascii_letters + " ", family="encoder-decoder").save_pretrained(folder)
    for what, statements in FIRST_ANSWERS.items():
        programs = {OURS: statements.format(folder=str(folder)), "python -c pass": "pass"}
        runs = {who: partial(run_python, "-W", "ignore", "-c", program) for who, program in programs.items()}
        seconds = {who: partial(timed, run, settings) for who, run in runs.items()}
        name = f"first answer of a process, {what}"
        yield measure(name, "s", seconds, settings, FIRST_ANSWER_ROUNDS)


def measure_accents(sentences: Sequence[str], folder: Path, settings: Settings) -> Work:
    """Measure the characters per second of `restore_accents`, over sentences that make up `ACCENTS_CHARACTERS`.

    The model's files are written into a new folder.
    """
    copytree(MODEL_FOLDER, folder)  # with its file in int8
    export_onnx(folder)
    texts = [strip_accents(sentence) for sentence in sentences]
    ends = np.cumsum([len(text) for text in texts])
    texts = texts[: int(np.searchsorted(ends, ACCENTS_CHARACTERS)) + 1]
    restorers = {OURS: CharacterRestorer.from_pretrained(folder, engine="torch")}
    for who, quantization in QUANTIZATIONS.items():
        restorers[who] = CharacterRestorer.from_pretrained(folder, engine="onnx", quantization=quantization)
        restorers[who].threads = settings.threads
    rates = {who: partial(_restored_rate, restorer, texts) for who, restorer in restorers.items()}
    name = f"accents of {len(texts):,} sentences"
    # Without a warm-up: a round takes long enough.
    return measure(name, "char/s", rates, settings, ACCENTS_ROUNDS, warm_up=False, more_is_better=True)


def _restored_rate(restorer: CharacterRestorer, texts: Sequence[str]) -> float:
    return sum(map(len, texts)) / timed(partial(restorer.restore, texts), Settings())
