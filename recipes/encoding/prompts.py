"""Prompts with their answers, for a decoder that learns to answer."""

from collections.abc import Mapping

from transformers import PreTrainedTokenizerBase

SEPARATOR = "\n"  # between prompt and answer; at decoding it ends the prompt


def encode_prompts(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> dict[str, list[list[int]]]:
    """Encode prompts and answers so that only the answers are learned. `DataCollatorForSeq2Seq` pads the rows.

    Args:
        batch: columns `prompt` and `answer`.
        tokenizer: a decoder's.
        max_length: most tokens of a row.

    Returns:
        `input_ids`, `<bos> prompt newline answer <eos>`; `labels`, with -100 up to the answer.

    Raises:
        ValueError: a row has more tokens than `max_length`.
    """
    prompts = tokenizer([prompt + SEPARATOR for prompt in batch["prompt"]]).input_ids
    answers = tokenizer(batch["answer"], add_special_tokens=False).input_ids
    rows = [(prompt, [*answer, tokenizer.eos_token_id]) for prompt, answer in zip(prompts, answers)]
    for (prompt, answer), text in zip(rows, batch["prompt"]):
        if (length := len(prompt) + len(answer)) > max_length:
            raise ValueError(
                f"found {length} tokens in the prompt {text!r:.80} and its answer; expected --max_length {max_length} "
                "at most: raise it, or leave the row out."
            )
    return {
        "input_ids": [prompt + answer for prompt, answer in rows],
        "labels": [[-100] * len(prompt) + answer for prompt, answer in rows],
    }
