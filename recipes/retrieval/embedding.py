"""A vector for each text: the mean over its tokens of what an encoder makes of them."""

import hashlib
from collections.abc import Sequence

import numpy as np
import safetensors.torch
import torch
from torch.nn.functional import normalize
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase


def embed(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], batch_size: int
) -> np.ndarray:
    """Return the mean vector of each text, of length 1: the product of two is their cosine.

    A text longer than the model has learned, `max_position_embeddings` tokens, is read in windows that follow one
    another, and the mean is taken over the tokens of all of them: none is dropped. `<bos>` and `<eos>` are tokens like
    the others, padding is not. Windows of like length are read together.

    Args:
        model: an encoder, whose `last_hidden_state` is (batch, length, hidden_size).
        tokenizer: its tokenizer.
        texts: none of them blank.
        batch_size: windows read together.

    Returns:
        (texts, hidden_size) in float32.
    """
    windows = tokenizer(
        list(texts),
        split_special_tokens=True,
        truncation=True,
        max_length=model.config.max_position_embeddings,
        return_overflowing_tokens=True,
    )
    texts_of_windows = torch.tensor(windows.pop("overflow_to_sample_mapping"))
    order = sorted(range(len(texts_of_windows)), key=lambda window: len(windows["input_ids"][window]))
    sums = torch.zeros(len(texts), model.config.hidden_size)
    for start in tqdm(range(0, len(order), batch_size), desc="embedding", unit="batch", leave=False):
        chosen = order[start : start + batch_size]
        batch = tokenizer.pad(
            {name: [values[window] for window in chosen] for name, values in windows.items()}, return_tensors="pt"
        ).to(model.device)
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state.float()
        sums.index_add_(0, texts_of_windows[chosen], (hidden * batch["attention_mask"][..., None]).sum(1).cpu())
    return normalize(sums).numpy()  # a sum has its mean's direction


def fingerprint(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a SHA-256 of what the vectors depend on: weights, vocabulary and length of a window.

    A pooler is no part of it: they do not depend on it, and one that was not saved is drawn at each loading.
    """
    weights = {name: weight for name, weight in model.state_dict().items() if not name.startswith("pooler.")}
    digest = hashlib.sha256(safetensors.torch.save(weights))
    digest.update(tokenizer.backend_tokenizer.to_str().encode())
    digest.update(str(model.config.max_position_embeddings).encode())
    return digest.hexdigest()
