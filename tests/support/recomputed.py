"""A model for the searches of the engines that reads every branch again at each step."""

import numpy as np
import torch


class RecomputedModel:
    """Implements `TokenModel` over a torch model without a cache. Breaches of the protocol fail.

    Args:
        model: a decoder or an encoder-decoder that generates.

    Attributes:
        rows: Numbers of sources in each step.
    """

    def __init__(self, model):
        self.model = model

    def start(self, input_ids, attention_mask):
        assert input_ids.dtype == attention_mask.dtype == np.int64
        self.input_ids, self.attention_mask = torch.tensor(input_ids), torch.tensor(attention_mask)
        self.branches = [[[]] for _ in input_ids]  # the new tokens of each branch of each source
        self.rows = [len(input_ids)]
        return self.logits()

    def step(self, token_ids, parents):
        assert token_ids.dtype == parents.dtype == np.int64
        assert token_ids.shape == parents.shape
        assert len(token_ids) == len(self.branches)
        self.branches = [
            [branches[parent] + [token] for token, parent in zip(*row)]
            for branches, *row in zip(self.branches, token_ids.tolist(), parents.tolist())
        ]
        self.rows.append(len(token_ids))
        return self.logits()

    def keep(self, rows):
        assert 0 < len(rows) < len(self.branches)
        self.input_ids, self.attention_mask = self.input_ids[rows], self.attention_mask[rows]
        self.branches = [self.branches[row] for row in rows.tolist()]

    @torch.no_grad()
    def logits(self):
        number = len(self.branches[0])
        written = torch.tensor(self.branches, dtype=torch.long).flatten(0, 1)  # (sources × branches, new tokens)
        ids, mask = (each.repeat_interleave(number, dim=0) for each in (self.input_ids, self.attention_mask))
        if self.model.config.is_encoder_decoder:
            start = torch.full((len(written), 1), self.model.generation_config.decoder_start_token_id)
            target = torch.cat([start, written], dim=1)
            logits = self.model(input_ids=ids, attention_mask=mask, decoder_input_ids=target).logits
        else:
            mask = torch.cat([mask, torch.ones_like(written)], dim=1)
            positions = (mask.cumsum(-1) - 1).clamp(min=0)
            ids = torch.cat([ids, written], dim=1)
            logits = self.model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
        return logits[:, -1].float().numpy().reshape(-1, number, logits.shape[-1])
