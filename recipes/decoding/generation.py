"""Generated texts: the n best outputs of an encoder-decoder, and continuations by a decoder."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from accelerate import Accelerator
from tqdm.auto import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed

from atenta.engines.saved_model import learned_positions
from atenta.pipelines.text_to_text import generate_batch
from atenta.tokenization.text_windows import GeneratedText


def decode_n_best(
    model: PreTrainedModel,
    batches: Iterable[Mapping[str, torch.Tensor]],
    tokenizer: PreTrainedTokenizerBase,
    *,
    num_beams: int = 1,
    num_return_sequences: int = 1,
    keep_letters: bool = False,
    accelerator: Accelerator | None = None,
) -> list[list[GeneratedText]]:
    """Decode every source by beam search, or greedily with one beam. The model is put into evaluation mode.

    Args:
        model: An encoder-decoder or an ensemble, which may be wrapped by the accelerator.
        batches: `input_ids` and `attention_mask`, (batch, source_length) each; other entries are ignored. In several
            processes, a DataLoader prepared by the accelerator, which then drops the copies that pad its last batch.
        tokenizer: The model's tokenizer.
        num_beams: Width of the search.
        num_return_sequences: Number of outputs for each source, at most `num_beams`.
        keep_letters: Whether an output must have the letters of its source; only their accents may change.
        accelerator: Accelerator of a run in several processes. Each process returns the outputs of all.

    Returns:
        The outputs of each source, best first, in the order of the data set.
    """
    if accelerator is not None:
        model = accelerator.unwrap_model(model)
    model.eval()
    decoded: list[list[GeneratedText]] = []
    options = {"num_beams": num_beams, "num_return_sequences": num_return_sequences, "do_sample": False}
    shows = accelerator is None or accelerator.is_main_process
    for batch in tqdm(batches, desc="decoding", unit="batch", disable=None if shows else True):
        inputs = {name: batch[name].to(model.device) for name in ("input_ids", "attention_mask")}
        found = generate_batch(model, tokenizer, inputs, keep_letters=keep_letters, output_scores=True, **options)
        decoded += found if accelerator is None else accelerator.gather_for_metrics(found, use_gather_object=True)
    return decoded


def n_best_columns(outputs: Sequence[Sequence[GeneratedText]]) -> dict[str, list[Any]]:
    """Return the columns `output 1`, `score 1`, `output 2`, … of the outputs for each source, best first."""
    columns = {}
    for number, ranked in enumerate(zip(*outputs), start=1):
        columns[f"output {number}"] = [output.text for output in ranked]
        columns[f"score {number}"] = [f"{output.score:.4f}" for output in ranked]
    return columns


def continue_text(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: str, max_new_tokens: int, *, seed: int | None
) -> str:
    """Return the prompt followed by text up to the end of a document, sampled at temperature 0.8 or the most probable.

    Args:
        model: A decoder.
        tokenizer: Its tokenizer, which puts `<bos>` before the prompt.
        prompt: May be empty.
        max_new_tokens: Maximum number of further tokens.
        seed: Seed of the sampling; None for the most probable token each time, as in `atenta predict`.
    """
    search: dict[str, Any] = {"do_sample": False}
    if seed is not None:
        set_seed(seed)
        search = {"do_sample": True, "temperature": 0.8, "top_k": 0}
    inputs = tokenizer(prompt, return_tensors="pt", split_special_tokens=True).to(model.device)
    max_length = inputs.input_ids.shape[1] + max_new_tokens
    max_length = min(max_length, learned_positions(model.config.to_dict()) or max_length)
    with torch.inference_mode():
        ids = model.eval().generate(**inputs, **search, max_length=max_length)
    return tokenizer.batch_decode(ids, skip_special_tokens=True)[0]
