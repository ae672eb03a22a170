"""What could be faster than the defaults, each against them: compiling, narrow weights, drafts, packing."""

import os
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from shutil import which
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeVar

import torch
from torch import nn
from transformers import (
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM, AtentaTokenizer, CharacterTable
from atenta.recipes.samples import novels
from benchmarks import padding
from benchmarks.contestants import DECODERS
from benchmarks.decoding import NEW, PROMPT, draw_ids, generator, make
from benchmarks.measure import interleave, timed
from benchmarks.results import OURS, Work
from benchmarks.settings import Settings
from benchmarks.sizes import COMPARED, TINY, Size
from benchmarks.texts import works

Result = TypeVar("Result")

SECONDS = 90
ROUNDS = 3
SEQUENCES = (1, 32)

STEPS, ROWS, LENGTH = 300, 8, 256  # the writer's training
MOST_SECONDS = 40  # of it: two idle cores need fewer, and all writers are then the same
PASSAGES, READ, WRITTEN = 4, 128, 128
MANNERS = {
    "greedy": {"do_sample": False},  # so small a model falls into loops, which are easy to guess
    "sampled": {"do_sample": True, "temperature": 0.8, "top_k": 0},
}
DRAFTS = {
    OURS: {},
    "drafts by 2-grams": {"prompt_lookup_num_tokens": 10, "max_matching_ngram_size": 2},  # 2 is generate's default
    "drafts by 6-grams": {"prompt_lookup_num_tokens": 10, "max_matching_ngram_size": 6},
    "drafts by the first block": {"assistant_early_exit": 1},
}


class StopAfter(TrainerCallback):
    """Ends training at the first step that is done when the seconds are over."""

    def __init__(self, seconds: float):
        self.seconds = seconds

    def on_train_begin(self, *given: Any, **more: Any) -> None:
        """Start the clock."""
        self.started = perf_counter()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        """Look at it."""
        if perf_counter() - self.started >= self.seconds:
            control.should_training_stop = True


def run(settings: Settings) -> Iterator[Work]:
    """Measure decoding on random ids, then writing on from real text, and say what packing could gain."""
    for sequences in SEQUENCES:
        yield from _decoding(COMPARED[settings.device][0], sequences, settings)
    yield from _drafts(settings)
    for work in padding.run(settings):
        gains = {
            f"over {'buckets' if who == OURS else who}": [most_gained(*share)] for who, share in work.figures.items()
        }
        yield Work(work.name.replace("padding", "packing"), "× as fast at most", gains, more_is_better=True)


def most_gained(padding_percent: float) -> float:
    """Return how many times as fast training would be without padding, if its time is its tokens'."""
    return 1 / (1 - padding_percent / 100)


def passages(text: str, count: int, length: int) -> list[str]:
    """Return passages of a text, `length` characters each, from the middle of each of its `count` parts on."""
    part = len(text) // count
    return [text[start : start + length] for start in range(part // 2, part * count, part)]


def count_calls(model: nn.Module, function: Callable[[], Result]) -> tuple[Result, int]:
    """Return what a function returns, and how often it calls a model's `forward`; drafts of its first blocks count."""
    calls = []
    hook = model.register_forward_pre_hook(lambda *given: calls.append(None))
    try:
        return function(), len(calls)
    finally:
        hook.remove()


def _decoding(size: Size, sequences: int, settings: Settings) -> Iterator[Work]:
    name = f"variants of decoder {size}, greedy, {sequences} sequence{'s' if sequences > 1 else ''}"
    ids = draw_ids(settings, sequences, PROMPT)
    torch.compiler.reset()
    steps = {
        who: partial(timed, partial(generate, ids, NEW), settings.wait)
        for who, generate in _generators(size, settings).items()
    }
    # What an earlier run compiled would be found.
    with torch.compiler.config.patch(force_disable_caches=True):
        first = interleave(steps, 1, f"{name}, first call", warm_up=False)
        yield Work(f"{name}, first call", "s", first)
        seconds = interleave(steps, settings.rounds or ROUNDS, name)
    yield Work(name, "ms a step", {who: [1000 * value / NEW for value in values] for who, values in seconds.items()})


def _generators(size: Size, settings: Settings) -> dict[str, Callable[..., torch.Tensor]]:
    model = make(DECODERS[0], size, settings)  # ours
    generators = {
        OURS: generator(model),
        "static cache": generator(model, cache_implementation="static", disable_compile=True),
    }
    if settings.on_gpu:  # there `generate` compiles by itself, weights are bfloat16 anyway, and torch has no such int8
        return generators | {"compiled static cache": generator(model, cache_implementation="static")}
    if which(os.environ.get("CXX", "g++")):
        compiled = deepcopy(model)
        compiled.forward = torch.compile(compiled.forward)
        generators["compiled static cache"] = generator(compiled, cache_implementation="static")
    else:
        print("  nothing is compiled: torch.compile needs a C++ compiler, g++ or what CXX names, and found none")
    narrow = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    return generators | {
        "bfloat16 weights": generator(deepcopy(model).bfloat16()),
        "int8 weights": generator(narrow),
    }


def _drafts(settings: Settings) -> Iterator[Work]:
    tokenizer, model = _train_writer(settings)
    read = passages(novels()["test"][0]["text"], PASSAGES, READ)
    prompts = [tokenizer(passage, return_tensors="pt").to(settings.device) for passage in read]
    characters = PASSAGES * WRITTEN
    for manner, sampling in MANNERS.items():
        name = f"decoder {TINY} writes on from {PASSAGES} passages, {manner}"
        writers = {who: partial(_write, model, prompts, **sampling, **drafts) for who, drafts in DRAFTS.items()}
        written = {who: count_calls(model, write) for who, write in writers.items()}  # warms up, too
        steps = {who: partial(timed, write, settings.wait) for who, write in writers.items()}
        seconds = interleave(steps, settings.rounds or ROUNDS, name, warm_up=False)
        times = {who: [1000 * value / characters for value in values] for who, values in seconds.items()}
        yield Work(name, "ms a character", times)
        calls = {who: [count / characters] for who, (_, count) in written.items()}
        yield Work(f"{name}, calls of forward", "a character", calls)
        if not sampling["do_sample"]:  # drafts keep the distribution that is drawn from, not what is drawn
            plain, _ = written[OURS]
            same = {who: [100 * sum(map(torch.equal, texts, plain)) / PASSAGES] for who, (texts, _) in written.items()}
            yield Work(f"{name}, as without drafts", "% of texts", same, more_is_better=True)


def _write(model: nn.Module, prompts: Sequence[dict[str, torch.Tensor]], **options: object) -> list[torch.Tensor]:
    set_seed(0)
    return [model.generate(**prompt, max_new_tokens=WRITTEN, **options) for prompt in prompts]


def _train_writer(settings: Settings) -> tuple[AtentaTokenizer, AtentaDecoderForCausalLM]:
    """Train a decoder on novels, with the options of the recipe: drafts are only taken where something was learned."""
    print(f"  training a writer of {TINY}: {STEPS} steps, at most {MOST_SECONDS} s", flush=True)
    set_seed(0)
    texts = works()
    tokenizer = AtentaTokenizer.from_texts(texts, family="decoder")
    config = AtentaDecoderConfig(
        vocab_size=len(tokenizer),
        hidden_size=TINY.width,
        num_hidden_layers=TINY.layers,
        num_attention_heads=TINY.heads,
        intermediate_size=TINY.inner,
        position_embedding_type="rotary",
        norm_first=True,
        dropout=0.0,
        initializer_range=0.05,
    )
    model = AtentaDecoderForCausalLM(config)
    rows = torch.from_numpy(CharacterTable(tokenizer).encode("".join(texts)).astype("int64")).split(LENGTH)[:-1]
    with TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=ROWS,
            max_steps=STEPS,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            use_cpu=not settings.on_gpu,
            bf16=settings.on_gpu,
            dataloader_pin_memory=settings.on_gpu,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        examples = [{"input_ids": row, "labels": row} for row in rows]
        trainer = Trainer(model, arguments, train_dataset=examples, callbacks=[StopAfter(MOST_SECONDS)])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    print(f"  trained for {trainer.state.global_step} of {STEPS} steps", flush=True)
    model.generation_config.eos_token_id = None  # each text gets its full length
    return tokenizer, model.to(settings.dtype).eval()
