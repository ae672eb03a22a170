"""The n best outputs of an encoder-decoder for each source, with scores, from one process or several."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from tqdm.auto import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import ModelOutput


@dataclass(frozen=True)
class Hypothesis:
    """One output of a model.

    Attributes:
        text: without special tokens.
        score: Σ log p(token | source, tokens before it) / length ** `length_penalty`, in nats. The length is the
            number of tokens, `<eos>` among them; the penalty is that of the model's generation configuration, 1 unless
            it says otherwise: the mean log probability of a token. Beam search and greedy search score alike.
        finished: it ends with `<eos>`; if not, it was cut at the longest length that the model may generate.
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
    accelerator: Accelerator | None = None,
) -> list[list[Hypothesis]]:
    """Decode every source by beam search, or greedily with one beam. The model is put into evaluation mode.

    Args:
        model: an encoder-decoder, or an ensemble of them; wrapped or not by the accelerator.
        batches: `input_ids` and `attention_mask`, (batch, source_length) each; what else they hold is not read. In
            several processes a DataLoader that the accelerator prepared, so that its last batch is told apart.
        tokenizer: the model's.
        num_beams: width of the search.
        num_return_sequences: number of outputs for each source, at most `num_beams`.
        accelerator: of a run in several processes. Each of them returns the outputs of all.

    Returns:
        The outputs of each source, best first; the sources come in the order of the data set.

    Raises:
        ValueError: more outputs are asked for than there are beams.
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
    for batch in tqdm(
        batches, desc="decoding", unit="batch", disable=accelerator is not None and not accelerator.is_main_process
    ):
        output = model.generate(
            input_ids=batch["input_ids"].to(model.device),
            attention_mask=batch["attention_mask"].to(model.device),
            num_beams=num_beams,
            num_return_sequences=num_return_sequences,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
        )
        rows = (len(batch["input_ids"]), num_return_sequences)
        ids = output.sequences.unflatten(0, rows)  # (batch, outputs, length)
        scores = sequence_scores(model, output, tokenizer.eos_token_id).unflatten(0, rows)
        if accelerator is not None:
            ids = accelerator.pad_across_processes(ids, dim=2, pad_index=tokenizer.pad_token_id)
            ids, scores = accelerator.gather_for_metrics((ids, scores))
        finished = (ids[..., 1:] == tokenizer.eos_token_id).any(-1)  # the token that starts it may be <eos> too
        for source in zip(ids, scores.tolist(), finished.tolist()):
            texts = tokenizer.batch_decode(source[0], skip_special_tokens=True)
            decoded.append([Hypothesis(*hypothesis) for hypothesis in zip(texts, *source[1:])])
    return decoded


def sequence_scores(model: PreTrainedModel, output: ModelOutput, eos_token_id: int) -> torch.Tensor:
    """Return the score of each output, as [`Hypothesis`] defines it.

    Args:
        model: that generated.
        output: of `generate` with `return_dict_in_generate=True` and `output_scores=True`, by beams or greedy.
        eos_token_id: the token that ends an output.

    Returns:
        (outputs,), in nats.
    """
    if "sequences_scores" in output:  # of beam search only
        return output.sequences_scores
    log_probabilities = model.compute_transition_scores(output.sequences, output.scores, normalize_logits=True)
    ends = output.sequences[:, -log_probabilities.shape[1] :] == eos_token_id
    padding = ends.cumsum(-1) - ends.long() > 0  # behind the first <eos>
    length = (~padding).sum(-1)
    length_penalty = model.generation_config.length_penalty
    return log_probabilities.masked_fill(padding, 0).sum(-1) / length ** (
        1 if length_penalty is None else length_penalty
    )
