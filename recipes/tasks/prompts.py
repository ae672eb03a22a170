"""Prompts and answers for a decoder: rows, their encoding, and scores."""

from collections.abc import Mapping

from transformers import PreTrainedTokenizerBase

from atenta.recipes.reading.splits import format_of_texts
from atenta.recipes.tasks.documents import LikelihoodTask

SEPARATOR = "\n"  # between prompt and answer, in new models; it is saved with them
# A chat as a prompt and its answer are in training. Earlier messages are lines of the prompt.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message.content }}"
    "{% if loop.last and message.role == 'assistant' %}{{ eos_token }}{% else %}{{ "
    f"{SEPARATOR!r}"
    " }}{% endif %}{% endfor %}"
)


PROMPTS = format_of_texts("prompt", "answer")


def encode_prompts(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int, separator: str = SEPARATOR
) -> dict[str, list[list[int]]]:
    """Encode prompts and answers so that only the answers are predicted. `DataCollatorForSeq2Seq` pads the rows.

    Args:
        batch: Columns `prompt` and `answer`.
        tokenizer: A decoder's tokenizer.
        max_length: The maximum tokens of a row.
        separator: What separates prompts from answers.

    Returns:
        `input_ids`, `<bos> prompt separator answer <eos>`; `labels`, with -100 before the answer.

    Raises:
        ValueError: If a row has more than `max_length` tokens.
    """
    prompts = tokenizer([prompt + separator for prompt in batch["prompt"]], split_special_tokens=True).input_ids
    answers = tokenizer(batch["answer"], add_special_tokens=False, split_special_tokens=True).input_ids
    rows = [(prompt, [*answer, tokenizer.eos_token_id]) for prompt, answer in zip(prompts, answers)]
    for (prompt, answer), text in zip(rows, batch["prompt"]):
        if (length := len(prompt) + len(answer)) > max_length:
            raise ValueError(
                f"found {length} tokens in the prompt {text!r:.80} and its answer; expected at most --max_length "
                f"{max_length}: raise it, or leave the row out."
            )
    return {
        "input_ids": [prompt + answer for prompt, answer in rows],
        "labels": [[-100] * len(prompt) + answer for prompt, answer in rows],
    }


class PromptTask(LikelihoodTask):
    """Answers to prompts.

    Its options are `separator`, which parts prompts from answers, and `max_length`, the maximum tokens of a row.
    """

    kind = "prompt-answering"
    row_format = PROMPTS
    predicted = "answer"
