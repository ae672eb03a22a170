"""transformers' own collators, with the tokenizer and the model of a decoder: positions, padding, packed texts."""

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import (
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    DataCollatorWithFlattening,
    Trainer,
    TrainingArguments,
)

from atenta import AtentaDecoderForCausalLM
from support.saved import save_with_tokenizer

TEXTS = ["Olá", "um gato<eos>", "a"]


@pytest.fixture(params=["sinusoidal", "rotary"])
def loaded(request, tmp_path):
    """Return a tiny decoder, its tokenizer and texts that end with `<eos>`, added by id."""
    model = save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path, position_embedding_type=request.param)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    return model, tokenizer, [{"input_ids": [*tokenizer(text).input_ids, tokenizer.eos_token_id]} for text in TEXTS]


@torch.no_grad()
def logits_alone(model, rows):
    return [model(torch.tensor([row["input_ids"]])).logits[0] for row in rows]


def nats(logits, rows):
    """Return the loss of each token but the first ones, all texts in one row."""
    pairs = [(each[:-1], torch.tensor(row["input_ids"][1:])) for each, row in zip(logits, rows)]
    return torch.cat([cross_entropy(scores, targets, reduction="none") for scores, targets in pairs])


@pytest.mark.parametrize("side", ["left", "right"])
def test_language_modeling_pads_and_learns_the_end(loaded, side):
    model, tokenizer, rows = loaded
    tokenizer.padding_side = side
    batch = DataCollatorForLanguageModeling(tokenizer, mlm=False)(rows)
    assert batch.keys() == {"input_ids", "attention_mask", "labels"}  # the model counts positions from the mask
    real = batch["attention_mask"].bool()
    assert batch["labels"][real].tolist() == batch["input_ids"][real].tolist()
    assert batch["labels"][~real].unique().tolist() == [-100]
    assert (batch["labels"] == tokenizer.eos_token_id).sum() == len(rows)
    with torch.no_grad():
        together = model(**batch).logits
    torch.testing.assert_close(together[real], torch.cat(logits_alone(model, rows)))


def test_flattened_texts_do_not_see_each_other(loaded):
    model, _, rows = loaded
    batch = DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True)(rows)
    assert batch["position_ids"][0].tolist() == [place for row in rows for place in range(len(row["input_ids"]))]
    together = model(**batch, use_cache=False)
    alone = logits_alone(model, rows)
    torch.testing.assert_close(together.logits[0].detach(), torch.cat(alone))
    torch.testing.assert_close(together.loss.detach(), nats(alone, rows).mean())


def test_the_trainer_keeps_flattened_texts_apart(loaded, tmp_path):
    """It turns off the cache, in which a row is one text, for training and evaluation."""
    model, _, rows = loaded
    arguments = TrainingArguments(str(tmp_path / "run"), use_cpu=True, report_to="none", disable_tqdm=True)
    trainer = Trainer(model, arguments, data_collator=DataCollatorWithFlattening(), eval_dataset=rows)
    expected = nats(logits_alone(model, rows), rows).mean().item()
    assert trainer.evaluate()["eval_loss"] == pytest.approx(expected, abs=1e-5)
