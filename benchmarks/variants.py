"""Options that could be faster than the defaults: compilation, smaller weight types, drafts and packing."""

import os
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from shutil import which
from tempfile import TemporaryDirectory
from typing import TypeVar

import torch
from torch import nn
from transformers import set_seed

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM, AtentaTokenizer, CharacterTable
from atenta.recipes.samples import novels
from benchmarks.contestants import DECODERS, bind_generate, draw_ids, ready_to_generate
from benchmarks.decoding_speed import PROMPT_LENGTH, count_new, decoding_work, describe_decoding
from benchmarks.measuring import COMPARED, OURS, TINY, Settings, Size, Work, interleave, measure, milliseconds, timed
from benchmarks.padding import measure_padding
from benchmarks.tokenizer_speed import novel_texts
from benchmarks.training_speed import make_trainer

Result = TypeVar("Result")

VARIANT_ROUNDS = 3
VARIANT_SEQUENCES = (1, 32)

WRITER_STEPS, WRITER_ROWS, WRITER_LENGTH = 300, 8, 256  # training of the model that continues the passages
PASSAGES, PASSAGE_LENGTH, CONTINUATION_LENGTH = 4, 128, 128
STRATEGIES = {
    "greedy": {"do_sample": False},  # such a small model falls into loops, which are easy to predict
    "sampled": {"do_sample": True, "temperature": 0.8, "top_k": 0},
}
DRAFTS = {
    OURS: {},
    "drafts by 2-grams": {"prompt_lookup_num_tokens": 10, "max_matching_ngram_size": 2},  # the default of generate
    "drafts by 6-grams": {"prompt_lookup_num_tokens": 10, "max_matching_ngram_size": 6},
    "drafts by the first block": {"assistant_early_exit": 1},
}


def measure_variants(settings: Settings) -> Iterator[Work]:
    """Measure decoding of random ids and continuation of real texts, and compute what packing could gain."""
    for sequences in VARIANT_SEQUENCES:
        yield from _decoding_variants(COMPARED[settings.device][0], sequences, settings)
    yield from _draft_variants(settings)
    for work in measure_padding(settings):
        gains = {
            f"over {'buckets' if who == OURS else who}": [packing_speedup(*share)]
            for who, share in work.figures.items()
        }
        yield Work(work.name.replace("padding", "packing"), "× as fast at most", gains, more_is_better=True)


def packing_speedup(padding_percent: float) -> float:
    """Return the largest possible speed-up of training without padding, if the time is proportional to the tokens."""
    return 1 / (1 - padding_percent / 100)


def _decoding_variants(size: Size, sequences: int, settings: Settings) -> Iterator[Work]:
    name = f"variants of {describe_decoding('decoder', size, sequences)}"
    ids = draw_ids(settings, sequences, PROMPT_LENGTH)
    torch.compiler.reset()
    generators = _generators(size, settings)
    decoders = {who: partial(count_new, generate, ids, "decoder") for who, generate in generators.items()}
    calls = {who: partial(timed, decode, settings) for who, decode in decoders.items()}
    # With caches, the first call would find what an earlier run compiled.
    with torch.compiler.config.patch(force_disable_caches=True):
        yield Work(f"{name}, first call", "s", interleave(calls, 1, f"{name}, first call", warm_up=False))
        yield decoding_work(name, decoders, settings, VARIANT_ROUNDS)


def _generators(size: Size, settings: Settings) -> dict[str, Callable[..., torch.Tensor]]:
    model = ready_to_generate(DECODERS[0], size, settings)
    generators = {
        OURS: bind_generate(model),
        "static cache": bind_generate(model, cache_implementation="static", disable_compile=True),
    }
    # On a GPU, `generate` compiles by itself, the weights are bfloat16 already, and torch lacks this int8 type.
    if settings.on_gpu:
        return generators | {"compiled static cache": bind_generate(model, cache_implementation="static")}
    compiler = os.environ.get("CXX", "g++")
    if which(compiler):
        compiled = deepcopy(model)
        compiled.forward = torch.compile(compiled.forward)
        generators["compiled static cache"] = bind_generate(compiled, cache_implementation="static")
    else:
        print(f"  compilation is skipped: torch.compile needs a C++ compiler, and {compiler} was not found")
    int8_model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    return generators | {
        "bfloat16 weights": bind_generate(deepcopy(model).bfloat16()),
        "int8 weights": bind_generate(int8_model),
    }


def _draft_variants(settings: Settings) -> Iterator[Work]:
    tokenizer, model = _train_writer(settings)
    passages = cut_passages(novels()["test"][0]["text"], PASSAGES, PASSAGE_LENGTH)
    prompts = [tokenizer(passage, return_tensors="pt").to(settings.device) for passage in passages]
    characters = PASSAGES * CONTINUATION_LENGTH
    for strategy, sampling in STRATEGIES.items():
        name = f"decoder {TINY} writes on from {PASSAGES} passages, {strategy}"
        writers = {who: partial(_continue, model, prompts, **sampling, **drafts) for who, drafts in DRAFTS.items()}
        outputs = {who: count_calls(model, write) for who, write in writers.items()}  # also warms up
        times = {who: partial(milliseconds, write, settings, characters) for who, write in writers.items()}
        yield measure(name, "ms a character", times, settings, VARIANT_ROUNDS, warm_up=False)
        calls = {who: [count / characters] for who, (_, count) in outputs.items()}
        yield Work(f"{name}, calls of forward", "a character", calls)
        if not sampling["do_sample"]:  # with sampling, drafts preserve the distribution but not the sampled text
            plain, _ = outputs[OURS]
            same = {who: [100 * sum(map(torch.equal, texts, plain)) / PASSAGES] for who, (texts, _) in outputs.items()}
            yield Work(f"{name}, as without drafts", "% of texts", same, more_is_better=True)


def cut_passages(text: str, count: int, length: int) -> list[str]:
    """Divide a text into `count` equal parts and return `length` characters from the middle of each."""
    part = len(text) // count
    return [text[start : start + length] for start in range(part // 2, part * count, part)]


def count_calls(model: nn.Module, function: Callable[[], Result]) -> tuple[Result, int]:
    """Return a function's result and the number of calls of the model's `forward`, early-exit drafts included."""
    calls = []
    hook = model.register_forward_pre_hook(lambda *given: calls.append(None))
    try:
        return function(), len(calls)
    finally:
        hook.remove()


def _continue(model: nn.Module, prompts: Sequence[dict[str, torch.Tensor]], **options: object) -> list[torch.Tensor]:
    set_seed(0)
    return [model.generate(**prompt, max_new_tokens=CONTINUATION_LENGTH, **options) for prompt in prompts]


def _train_writer(settings: Settings) -> tuple[AtentaTokenizer, AtentaDecoderForCausalLM]:
    """Train a decoder on novels with the recipe's options: an untrained model would not accept drafts."""
    print(f"  training a decoder {TINY}: {WRITER_STEPS} steps", flush=True)
    set_seed(0)
    texts = novel_texts()
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
    rows = torch.from_numpy(CharacterTable(tokenizer).encode("".join(texts)).astype("int64")).split(WRITER_LENGTH)[:-1]
    examples = [{"input_ids": row, "labels": row} for row in rows]
    schedule = {"max_steps": WRITER_STEPS, "learning_rate": 4e-3, "lr_scheduler_type": "cosine"}
    with TemporaryDirectory() as folder:
        make_trainer(model, examples, folder, settings, per_device_train_batch_size=WRITER_ROWS, **schedule).train()
    model.generation_config.eos_token_id = None  # all texts get the full length
    return tokenizer, model.to(settings.dtype).eval()
