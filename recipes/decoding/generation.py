"""Generated texts: the n best outputs of an encoder-decoder, and continuations by a decoder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from tqdm.auto import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed
from transformers.utils import ModelOutput


@dataclass(frozen=True)
class DecodedText:
    """One output of a model.

    Attributes:
        text: The output without special tokens.
        score: Σ log p(token | source, previous tokens) / length ** `length_penalty`, in nats. The length is the number
            of tokens, including `<eos>`. The penalty is set in the model's generation configuration. Its default is 1,
            which makes the score the mean log-probability of a token. Beam and greedy search use the same score,
            except with `keep_letters`: there, greedy search shares the probability among the letters that are allowed.
        finished: Whether the output ends with `<eos>`; otherwise it was cut off at the maximum length.
    """

    text: str
    score: float
    finished: bool


def decode_n_best(
    model: PreTrainedModel,
    batches: Iterable[Mapping[str, torch.Tensor]],
    tokenizer: PreTrainedTokenizerBase,
    *,
    num_beams: int = 1,
    num_return_sequences: int = 1,
    keep_letters: bool = False,
    accelerator: Accelerator | None = None,
) -> list[list[DecodedText]]:
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

    Raises:
        ValueError: If `num_return_sequences` is greater than `num_beams`.
    """
    if num_return_sequences > num_beams:
        raise ValueError(
            f"num_return_sequences={num_return_sequences} asks for more outputs than num_beams={num_beams} can find: "
            "raise num_beams."
        )
    if accelerator is not None:
        model = accelerator.unwrap_model(model)
    model.eval()
    decoded = []
    shows = accelerator is None or accelerator.is_main_process
    for batch in tqdm(batches, desc="decoding", unit="batch", disable=None if shows else True):
        input_ids = batch["input_ids"].to(model.device)
        lock = {}
        if keep_letters:
            longest = max(model.generation_config.max_length or 0, input_ids.shape[1] + 1)
            lock = {"logits_processor": model.letter_lock(tokenizer, input_ids), "max_length": longest}
        output = model.generate(
            input_ids=input_ids,
            attention_mask=batch["attention_mask"].to(model.device),
            num_beams=num_beams,
            num_return_sequences=num_return_sequences,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
            **lock,
        )
        rows = (len(batch["input_ids"]), num_return_sequences)
        ids = output.sequences.unflatten(0, rows)  # (batch, outputs, length)
        scores = _sequence_scores(model, output, tokenizer.eos_token_id).unflatten(0, rows)
        if accelerator is not None:
            ids = accelerator.pad_across_processes(ids, dim=2, pad_index=tokenizer.pad_token_id)
            ids, scores = accelerator.gather_for_metrics((ids, scores))
        finished = (ids[..., 1:] == tokenizer.eos_token_id).any(-1)  # some models start with <eos>
        for ids_of_source, *rest in zip(ids, scores.tolist(), finished.tolist()):
            texts = tokenizer.batch_decode(ids_of_source, skip_special_tokens=True)
            decoded.append([DecodedText(*each) for each in zip(texts, *rest)])
    return decoded


def n_best_columns(outputs: Sequence[Sequence[DecodedText]]) -> dict[str, list[Any]]:
    """Return the columns `output 1`, `score 1`, `output 2`, … of the outputs for each source, best first."""
    columns = {}
    for number, ranked in enumerate(zip(*outputs), start=1):
        columns[f"output {number}"] = [output.text for output in ranked]
        columns[f"score {number}"] = [f"{output.score:.4f}" for output in ranked]
    return columns


def continue_text(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: str, max_new_tokens: int, *, seed: int
) -> str:
    """Return the prompt followed by text sampled at temperature 0.8, up to the end of a document.

    Args:
        model: A decoder.
        tokenizer: Its tokenizer, which puts `<bos>` before the prompt.
        prompt: May be empty.
        max_new_tokens: Maximum number of sampled tokens.
        seed: Seed of the sampling.
    """
    set_seed(seed)
    inputs = tokenizer(prompt, return_tensors="pt", split_special_tokens=True).to(model.device)
    max_length = inputs.input_ids.shape[1] + max_new_tokens
    with torch.inference_mode():
        ids = model.eval().generate(**inputs, do_sample=True, temperature=0.8, top_k=0, max_length=max_length)
    return tokenizer.batch_decode(ids, skip_special_tokens=True)[0]


def _sequence_scores(model: PreTrainedModel, output: ModelOutput, eos_token_id: int) -> torch.Tensor:
    """Return the score of each output, as defined by [`DecodedText`].

    Args:
        model: The model that generated the output.
        output: Output of `generate` with `return_dict_in_generate=True` and `output_scores=True`, by beam search or
            greedy search.
        eos_token_id: Token that ends an output.

    Returns:
        (outputs,), in nats.
    """
    if "sequences_scores" in output:  # only beam search returns them
        return output.sequences_scores
    log_probabilities = model.compute_transition_scores(output.sequences, output.scores, normalize_logits=True)
    ends = output.sequences[:, -log_probabilities.shape[1] :] == eos_token_id
    padding = ends.cumsum(-1) - ends.long() > 0  # after the first <eos>
    length = (~padding).sum(-1)
    length_penalty = model.generation_config.length_penalty
    return log_probabilities.masked_fill(padding, 0).sum(-1) / length ** (
        1 if length_penalty is None else length_penalty
    )
