"""Decoding that keeps the letters of the source: only their accents may change."""

import torch
from torch import nn
from transformers import LogitsProcessor, PreTrainedTokenizerBase

from ..tokenization.base_letters import number_base_letters


class KeepLettersLogitsProcessor(LogitsProcessor):
    """Allows at each place only the tokens with the base letter of the source's token there, and `<eos>` at its end.

    So the letters of every output equal the source's, whatever the model prefers, in greedy and beam search and in
    sampling. A base letter is the character without its diacritics; upper and lower case, other characters and bytes
    only match themselves.

    Args:
        tokenizer: an encoder-decoder's tokenizer.
        input_ids: (sources, source_length), the ids that the encoder reads; tags and padding are skipped.

    Raises:
        ValueError: When called with a number of rows that is not a multiple of the number of sources.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, input_ids: torch.Tensor) -> None:
        special = set(tokenizer.all_special_ids)
        tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        self.base_of_token = torch.tensor(number_base_letters(tokens), device=input_ids.device)
        letters = [[token for token in row if token not in special] for row in input_ids.tolist()]
        end = tokenizer.eos_token_id
        longest = max(map(len, letters))
        padded = [row + [end] * (longest + 1 - len(row)) for row in letters]
        self.bases = self.base_of_token[torch.tensor(padded, device=input_ids.device)]  # (sources, longest + 1)

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Exclude tokens.

        Args:
            input_ids: (rows, length), the target so far, after its start token; each source has as many consecutive
                rows as beams or outputs.
            scores: (rows, vocab_size).

        Returns:
            (rows, vocab_size), with minus infinity for the tokens that are not allowed.
        """
        sources, places = self.bases.shape
        if len(input_ids) % sources:
            raise ValueError(
                f"Found {len(input_ids)} rows; expected a multiple of the {sources} sources of this lock."
            )
        place = min(input_ids.shape[1] - 1, places - 1)
        allowed = self.base_of_token == self.bases[:, place, None]  # (sources, vocab_size)
        # An output layer may be wider than the vocabulary: its size is often padded.
        allowed = nn.functional.pad(allowed, (0, scores.shape[-1] - allowed.shape[-1]))
        allowed = allowed.repeat_interleave(len(input_ids) // sources, dim=0)
        return scores.masked_fill(~allowed, -torch.inf)  # type: ignore[return-value]  # torch declares any Tensor
