"""A sample of what a decoder writes."""

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed


def continue_text(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: str, max_new_tokens: int, *, seed: int
) -> str:
    """Return the prompt and what the model draws behind it, up to the end of a document, at temperature 0.8.

    Args:
        model: a decoder.
        tokenizer: its tokenizer, which puts `<bos>` in front.
        prompt: may be empty.
        max_new_tokens: number of tokens drawn at most.
        seed: of the draw.
    """
    set_seed(seed)
    inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
    longest = inputs.input_ids.shape[1] + max_new_tokens
    with torch.inference_mode():
        ids = model.eval().generate(**inputs, do_sample=True, temperature=0.8, top_k=0, max_length=longest)
    return tokenizer.decode(ids[0], skip_special_tokens=True)
