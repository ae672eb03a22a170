"""The pipeline text2text-generation: equal to `generate`, in transformers 4's shapes, for our models and others'."""

import json
import warnings

import pytest
import torch
from datasets import Dataset
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    ByT5Tokenizer,
    GenerationConfig,
    T5Config,
    T5ForConditionalGeneration,
    pipeline,
)

from atenta import AtentaDecoderForCausalLM, load_engine
from atenta.recipes.decoding.ensemble import Ensemble
from support.clean_process import run_function
from support.saved import save_pairs, save_with_tokenizer

SOURCES = ["ser\tPL", "ver", 'um "dia"', "a"]
TEXTS = ["ser ver ser ver ser\n\n ver", "", "  ", "ser"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_pairs(tmp_path_factory.mktemp("models") / "first")


@pytest.fixture(autouse=True)
def _no_warnings_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def load(folder, **options):
    return pipeline("text2text-generation", str(folder), device="cpu", **options)


def test_texts_and_scores_are_those_of_generate(folder):
    pipe = load(folder)
    tokenizer, model = pipe.tokenizer, pipe.model
    for source in ["ver", 'um "dia"']:
        batch = tokenizer([source], return_tensors="pt")
        options = {"num_beams": 4, "num_return_sequences": 3}
        expected = model.generate(**batch, **options, return_dict_in_generate=True, output_scores=True)
        texts = tokenizer.batch_decode(expected.sequences, skip_special_tokens=True)
        found = pipe(source, return_scores=True, **options)
        assert [each["generated_text"] for each in found] == texts
        assert [each["score"] for each in found] == pytest.approx(expected.sequences_scores.tolist())
        given = GenerationConfig(
            **options, length_penalty=2.0, max_length=40, decoder_start_token_id=1, eos_token_id=2
        )
        penalised = pipe(source, return_scores=True, **options, length_penalty=2.0, max_length=40)
        assert pipe(source, return_scores=True, generation_config=given) == penalised != found
        (greedy,) = pipe(source, return_scores=True)
        ids = model.generate(**batch)
        labels = ids[:, 1:]
        with torch.no_grad():
            log_probabilities = model(**batch, labels=labels).logits.log_softmax(-1)
        each = log_probabilities.gather(-1, labels[..., None])[0, :, 0]
        assert greedy["score"] == pytest.approx(each.mean().item())


def test_the_shapes_are_those_of_transformers_4(folder):
    pipe = load(folder)
    one, several = {"num_beams": 2}, {"num_beams": 2, "num_return_sequences": 2}
    (single,) = pipe("ver", **one)
    assert single.keys() == {"generated_text"}
    assert pipe(["ver", "a"], **one) == [single, *pipe("a", **one)] == pipe(("ver", "a"), **one)
    assert pipe(["ver", "a"], **several) == [pipe("ver", **several), pipe("a", **several)]
    assert len(pipe("ver", **several)) == 2
    assert [each[0] for each in pipe((text for text in ["ver", "a"]), **one)] == pipe(["ver", "a"], **one)
    assert load(folder, num_beams=2)("ver") == pipe("ver", **one)
    assert load(folder, **several)(["ver"]) == pipe(["ver"], **several)
    assert pipe([]) == []


@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_the_batch_size_changes_nothing(folder, batch_size):
    pipe = load(folder)
    options = {"num_beams": 3, "num_return_sequences": 2}
    expected = [pipe(source, **options) for source in SOURCES]
    assert pipe(SOURCES, batch_size=batch_size, **options) == expected
    column = Dataset.from_dict({"source": SOURCES})["source"]
    assert pipe(column, batch_size=batch_size, **options) == pipe(tuple(SOURCES), **options) == expected
    for other in (b"", set(SOURCES)):  # of no text, and of no order
        with pytest.raises(TypeError, match="expected a text"):
            pipe(other)


def test_tags_follow_a_tab(folder):
    pipe = load(folder)
    assert pipe.tags.keys() == {"PL"}
    assert pipe("ser\t") == pipe("ser")
    found = pipe("ser\tPL", num_beams=4, num_return_sequences=4, return_scores=True)
    assert found != pipe("ser", num_beams=4, num_return_sequences=4, return_scores=True)
    with pytest.raises(ValueError, match=r"Found tag 'SG' in 'ser\\tPL;SG'; expected PL"):
        pipe("ser\tPL;SG")


def test_long_texts_are_cut_joined_and_equal_to_the_engine(tmp_path):
    folder = save_pairs(tmp_path / "model", window_length=9, length_ratios=[1.0, 1.0])
    pipe = load(folder)
    locked = [each["generated_text"] for each in pipe(TEXTS, keep_letters=True)]
    assert locked == TEXTS
    assert pipe(TEXTS, keep_letters=True, max_new_tokens=2) == pipe(TEXTS, keep_letters=True)
    found = [each["generated_text"] for each in pipe(TEXTS, num_beams=3)]
    assert found == load_engine(folder, "torch").generate(TEXTS, num_beams=3)
    assert found[1:3] == ["", "  "]
    assert "\n\n " in found[0]


def test_only_letters_that_are_allowed_give_outputs(folder):
    pipe = load(folder)
    several = pipe("ser", keep_letters=True, num_beams=3, num_return_sequences=3)
    assert several == [{"generated_text": "ser"}]
    assert pipe(["ser", ""], keep_letters=True, num_beams=3, num_return_sequences=3) == [several, pipe("")]


def test_an_ensemble_is_a_model(folder, tmp_path):
    first, second = load(folder), load(save_pairs(tmp_path / "second", seed=2, hidden_size=24))
    ensemble = Ensemble([first.model, second.model]).eval()
    together = pipeline("text2text-generation", ensemble, tokenizer=first.tokenizer, device="cpu")
    texts = together(SOURCES, num_beams=3, batch_size=4)
    assert [texts] != [first(SOURCES, num_beams=3, batch_size=4)]
    assert together(["ser"], keep_letters=True) == [{"generated_text": "ser"}]
    twice = pipeline(
        "text2text-generation", Ensemble([first.model] * 2).eval(), tokenizer=first.tokenizer, device="cpu"
    )
    assert twice(SOURCES, num_beams=3) == first(SOURCES, num_beams=3)


def test_what_is_suspicious_is_warned_of(tmp_path):
    pipe = load(save_pairs(tmp_path / "model", window_length=9, length_ratios=[1.0, 1.0]))
    with pytest.warns(UserWarning, match="'z日ser': training did not have 'z', '日', which the model may get wrong"):
        pipe("z日ser")
    with pytest.warns(UserWarning, match=r"'ver ver.*': in the part '.*', the output is cut off at 3 tokens"):
        pipe("ver ver ver ver", max_length=4, min_length=4)


def test_what_does_not_fit_is_refused(folder, tmp_path):
    pipe = load(folder)
    for wrong, place in ((["a", 3], r"`inputs\[1\]` is 3 \(int\)"), ([["a"]], r"Found \['a'\] \(list\)")):
        with pytest.raises(TypeError, match=f"{place}.* expected a "):
            pipe(wrong)
    with pytest.raises(ValueError, match=r"`inputs\[1\]` has the lone surrogate '\\ud800' at position 2"):
        pipe(["a", "ab\ud800"])
    with pytest.raises(ValueError, match="keep_letters='no'"):
        pipe("a", keep_letters="no")
    with pytest.raises(ValueError, match="return_tensors=True"):
        pipe("a", return_tensors=True)
    model = save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path)
    with pytest.raises(ValueError, match="AtentaDecoderForCausalLM is not an encoder-decoder"):
        pipeline("text2text-generation", model, tokenizer=str(tmp_path))
    others = pipeline("text2text-generation", byt5(), tokenizer=ByT5Tokenizer(), device="cpu")
    with pytest.raises(ValueError, match="keep_letters=True needs a model of atenta"):
        others("a", keep_letters=True)


SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
HEADS = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "vocab_size": 384}
IDS = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": 1}


def byt5():
    torch.manual_seed(0)
    config = T5Config(vocab_size=384, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0)
    return T5ForConditionalGeneration(config).eval()


def bart():
    torch.manual_seed(0)
    return BartForConditionalGeneration(BartConfig(**SIZES, **HEADS, **IDS, max_position_embeddings=64)).eval()


@pytest.mark.parametrize("make", [byt5, bart])
def test_models_of_others(make):
    """Tiny random models, with the tokenizer of ByT5, which needs no files."""
    model, tokenizer = make(), ByT5Tokenizer()
    pipe = pipeline("text2text-generation", model, tokenizer=tokenizer, device="cpu")
    options = {"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 10}
    found = pipe(["Olá", "mundo inteiro"], batch_size=2, **options)
    batch = tokenizer(["Olá", "mundo inteiro"], padding=True, return_tensors="pt")
    ids = model.generate(**batch, **options)
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    assert [each["generated_text"] for ranked in found for each in ranked] == texts


def test_a_text_longer_than_a_model_of_others_reads_is_refused_or_cut():
    pipe = pipeline("text2text-generation", bart(), tokenizer=ByT5Tokenizer(), device="cpu", max_new_tokens=4)
    with pytest.raises(ValueError, match=r"'a{39}…' has 101 tokens, and BartForConditionalGeneration reads 64"):
        pipe("a" * 100)
    assert pipe("a" * 100, truncation=True) == pipe("a" * 63)


def test_a_model_of_others_writes_256_tokens_at_most():
    model = byt5()
    with torch.no_grad():
        model.lm_head.weight[1] = -1e3  # <eos>
    asked = []
    generate = model.generate
    model.generate = lambda **options: asked.append(options["max_new_tokens"]) or generate(**options)
    pipeline("text2text-generation", model, tokenizer=ByT5Tokenizer(), device="cpu")("a")
    assert asked == [256]


def run_saved_pipeline(folder: str, copy: str) -> None:
    import json

    from transformers import pipeline

    pipe = pipeline("text2text-generation", folder, trust_remote_code=True, device="cpu")
    found = pipe(["ser\tPL", "ver"], num_beams=3, return_scores=True)
    pipe.save_pretrained(copy)
    again = pipeline(model=copy, trust_remote_code=True, device="cpu")
    assert again(["ser\tPL", "ver"], num_beams=3, return_scores=True) == found
    print(json.dumps([each["generated_text"] for each in found]))


def test_the_folder_brings_the_pipeline(folder, tmp_path):
    printed = run_function(run_saved_pipeline, folder, tmp_path / "copy", home=tmp_path)
    expected = load(folder)(["ser\tPL", "ver"], num_beams=3)
    assert json.loads(printed.splitlines()[-1]) == [each["generated_text"] for each in expected]
    assert load(tmp_path / "copy")("ver", num_beams=3) == load(folder)("ver", num_beams=3)
    pipe = load(folder)
    pipe.model.save_pretrained(tmp_path / "model")
    assert not hasattr(pipe.model.config, "custom_pipelines")
    again = pipeline("text2text-generation", pipe.model, tokenizer=pipe.tokenizer, device="cpu")
    assert again("ver") == pipe("ver")
