"""Which class loads a saved model, with all its weights."""

import pytest
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderModel,
    AtentaTokenizer,
)
from atenta.recipes.decoding.loading import load_model
from support.models import assert_close, tiny_model

TOKENIZER = AtentaTokenizer.from_texts(["abc"], family="decoder")
SMALL = {"vocab_size": 8, "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8}
OTHERS = {
    GPT2LMHeadModel: GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=1),
    T5ForConditionalGeneration: T5Config(vocab_size=8, d_model=8, d_ff=8, d_kv=8, num_layers=1, num_heads=1),
    BertForMaskedLM: BertConfig(**SMALL),
}


@pytest.mark.parametrize(
    ("saved", "loaded"),
    [
        (AtentaDecoderForCausalLM, "AtentaDecoderForCausalLM"),
        (AtentaDecoderForSequenceClassification, "AtentaDecoderModel"),
        (AtentaDecoderModel, "AtentaDecoderModel"),
        (AtentaEncoderDecoderForConditionalGeneration, "AtentaEncoderDecoderForConditionalGeneration"),
        (AtentaEncoderForMaskedLM, "AtentaEncoderModel"),
        (AtentaEncoderModel, "AtentaEncoderModel"),
        (GPT2LMHeadModel, "GPT2LMHeadModel"),
        (T5ForConditionalGeneration, "T5ForConditionalGeneration"),
        (BertForMaskedLM, "BertModel"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_model_that_generates_keeps_its_head_and_no_other_does(tmp_path, saved, loaded):
    model = saved(OTHERS[saved]) if saved in OTHERS else tiny_model(saved)
    model.save_pretrained(tmp_path)
    TOKENIZER.save_pretrained(tmp_path)
    tokenizer, found = load_model(str(tmp_path))
    assert type(found).__name__ == loaded
    assert not found.training
    assert tokenizer.get_vocab() == TOKENIZER.get_vocab()
    weights = model.state_dict()
    prefix = "" if type(found) is saved else f"{model.base_model_prefix}."
    for name, weight in found.state_dict().items():
        if not name.startswith("pooler."):  # BertForMaskedLM has none
            assert_close(weight, weights.get(prefix + name, weights.get(name)))


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"no folder with a model: there is no config\.json in it"):
        load_model(str(tmp_path))


def test_what_is_nowhere_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="is no folder with a model, and was not found on the Hub"):
        load_model("nobody/nothing")


def test_a_misspelt_folder_beside_models_is_refused_at_once(tmp_path):
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(tmp_path / "accents")
    with pytest.raises(SystemExit, match=r"there is no .*acents; models beside it: accents"):
        load_model(str(tmp_path / "acents"))
