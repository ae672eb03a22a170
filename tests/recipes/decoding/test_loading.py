"""Loading of saved models by the class that fits them."""

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
def test_only_models_that_generate_keep_their_head(tmp_path, saved, loaded):
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
    with pytest.raises(SystemExit, match=r"is not a model: there is no config\.json in this folder"):
        load_model(str(tmp_path))


def test_a_model_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="is neither a folder with a model nor a model on the Hub"):
        load_model("nobody/nothing")


def test_a_misspelt_folder_is_refused_with_the_names_next_to_it(tmp_path):
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(tmp_path / "accents")
    with pytest.raises(SystemExit, match=r"there is no .*acents; .* has accents"):
        load_model(str(tmp_path / "acents"))
