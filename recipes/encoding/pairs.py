"""Pairs of texts as ids: what the encoder-decoder reads, and what it is to write."""

from collections.abc import Mapping

from transformers import PreTrainedTokenizerBase


def encode_pairs(batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase) -> dict[str, list[list[int]]]:
    """Encode sources, with their tags in front, and targets.

    Tags become ids by name: a V in a word is never read as the tag `<V>`.

    Args:
        batch: columns `source`, `target` and `tags` (the tokens of each source's tags, such as `<V>`).
        tokenizer: an encoder-decoder's.

    Returns:
        `input_ids`, tags and source `<eos>`; `labels`, target `<eos>`.

    Raises:
        ValueError: a tag that the tokenizer does not have, as when a model made without it is trained further.
    """
    if unknown := {tag for tags in batch["tags"] for tag in tags} - tokenizer.get_vocab().keys():
        raise ValueError(
            f"The tokenizer has no tag {', '.join(sorted(unknown))}; expected a token for each tag of the pairs: "
            "train a new model on them, or leave these tags out."
        )
    sources = tokenizer(batch["source"]).input_ids
    return {
        "input_ids": [tokenizer.convert_tokens_to_ids(tags) + ids for tags, ids in zip(batch["tags"], sources)],
        "labels": tokenizer(text_target=batch["target"]).input_ids,
    }
