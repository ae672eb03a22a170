"""A thousand answers of a model that was trained, which are seldom near-ties as those of random weights may be."""

import pytest
import torch
from torch.nn.utils import clip_grad_norm_

from atenta import AtentaEncoderDecoderConfig, AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.engines.engine import load_engine
from atenta.engines.onnx_export import export_onnx
from atenta.recipes.samples.accents import accent_pairs
from atenta.tokenization.base_letters import strip_accents

STEPS = 250


def train(pairs, folder):
    """Train a small model to restore accents, which it then does in part, and save it."""
    tokenizer = AtentaTokenizer.from_texts([pair["target"] for pair in pairs], family="encoder-decoder")
    config = AtentaEncoderDecoderConfig(
        vocab_size=len(tokenizer),
        **{"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128, "dropout": 0.0},
        **{"encoder_layers": 1, "decoder_layers": 1, "position_embedding_type": "rotary", "norm_first": True},
    )
    model = AtentaEncoderDecoderForConditionalGeneration(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS)
    for step in range(STEPS):
        batch = [pairs[(step * 64 + row) % len(pairs)] for row in range(64)]
        inputs = tokenizer([pair["source"] for pair in batch], padding=True, return_tensors="pt")
        labels = tokenizer([pair["target"] for pair in batch], padding=True, return_tensors="pt").input_ids
        loss = model(
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            labels=labels.masked_fill(labels == tokenizer.pad_token_id, -100),
        ).loss
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*reached the largest length")
def test_a_thousand_texts(tmp_path):
    pairs = accent_pairs()
    short = [pair for pair in pairs["train"] if len(pair["target"]) <= 32][: 64 * STEPS]
    model, tokenizer = train(short, tmp_path)
    export_onnx(tmp_path)
    export_onnx(tmp_path, "int8")
    texts = [pair["source"] for pair in pairs["test"] if len(pair["source"]) <= 60][:1000]
    assert len(texts) == 1000

    options = {"max_new_tokens": 80}
    expected = []
    model.generation_config.max_length = None
    for start in range(0, 1000, 50):
        inputs = tokenizer(texts[start : start + 50], padding=True, return_tensors="pt")
        output = model.generate(inputs.input_ids, attention_mask=inputs.attention_mask, **options)
        expected += tokenizer.batch_decode(output, skip_special_tokens=True)
    kept = sum(strip_accents(answer) == text for answer, text in zip(expected, texts))
    restored = sum(answer != strip_accents(answer) for answer in expected)
    assert kept > 500, "the model should have learned to copy letters"
    assert restored > 100, "the model should have learned some accents"

    assert load_engine(tmp_path, "onnx").generate(texts, **options) == expected
    rounded = load_engine(tmp_path, "onnx", quantization="int8").generate(texts, **options)
    changed = sum(answer != other for answer, other in zip(rounded, expected))
    print(f"int8 changes {changed} of 1,000 answers; {kept} keep their letters, {restored} have accents")
    assert changed < 50
