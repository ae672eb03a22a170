"""Models that recipes create or load, and LoRA around either."""

import json
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoTokenizer

from atenta import (
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForTokenClassification,
    AtentaTokenizer,
)
from atenta.engines.saved_model import load_tokenizer
from atenta.recipes.training import models as models_module
from atenta.recipes.training.models import label_options, load_or_create
from atenta.recipes.training.options import StackArguments, TwoStackArguments
from support.models import assert_close, tiny_model
from support.saved import save

SIZES = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24, "num_hidden_layers": 1}
TEXTS = ["abc"]
LABELS = label_options(["fra", "ita", "por"])


def tokenizer():
    return AtentaTokenizer.from_texts(TEXTS, family="encoder")


def save_encoder(model_class, folder, **options):
    return save(tiny_model(model_class, vocab_size=len(tokenizer()), **options), tokenizer(), folder)


def create(kind="text-classification", family="encoder", head=LABELS, **options):
    return load_or_create(StackArguments(**(SIZES | options)), kind, family, TEXTS, **head)


def test_a_new_model_has_the_given_sizes():
    made, model = create(norm_first=True, position_embedding_type="rotary", max_length=77, dropout=0.25)
    config = model.config
    assert {name: getattr(config, name) for name in SIZES} == SIZES
    assert config.norm_first
    assert (config.position_embedding_type, config.dropout) == ("rotary", 0.25)
    assert (config.max_position_embeddings, config.vocab_size, config.num_labels) == (77, len(made), 3)
    assert config.id2label == LABELS["id2label"] == {0: "fra", 1: "ita", 2: "por"}
    assert config.label2id == {"fra": 0, "ita": 1, "por": 2}


def test_only_models_that_fill_in_masks_read_them_in_texts(tmp_path):
    """Whatever the model was trained for before."""
    previous = None
    for kind, reads in (("fill-mask", True), ("text-classification", False)) * 2:
        made, model = create(kind, head={}, model_name_or_path=previous)
        previous = tmp_path / kind
        save(model, made, previous)
        loaded = AutoTokenizer.from_pretrained(previous)
        assert (made.mask_token_id in loaded("a<mask>c").input_ids) is reads


def test_positions_of_tags_and_of_cross_attention():
    def config_of(**options):
        sizes = {name: SIZES[name] for name in list(SIZES)[:3]} | {"encoder_layers": 1, "decoder_layers": 1}
        arguments = TwoStackArguments(**sizes, position_embedding_type="rotary", **options)
        return load_or_create(arguments, "text2text-generation", "encoder-decoder", TEXTS, tags=["<V>"])[1].config

    config = config_of()
    assert config.rotary_cross_attention
    assert len(config.tag_token_ids) == 1
    config = config_of(rotary_cross_attention=False, tags_with_positions=True)
    assert not config.rotary_cross_attention
    assert config.tag_token_ids is None
    assert config_of(transducer=True).transducer
    assert not config.transducer


def test_a_saved_encoder_decoder_gets_tags_after_its_tokens_and_keeps_its_weights(tmp_path):
    sizes = {name: SIZES[name] for name in list(SIZES)[:3]} | {"encoder_layers": 1, "decoder_layers": 1}
    family = "text2text-generation", "encoder-decoder", TEXTS
    made, model = load_or_create(TwoStackArguments(**sizes), *family)
    save(model, made, tmp_path)
    saved = TwoStackArguments(model_name_or_path=str(tmp_path), dropout=0.0)
    found, extended = load_or_create(saved, *family, tags=["<V>", "<PL>"])
    before = len(made)
    assert found.convert_tokens_to_ids(["<V>", "<PL>"]) == [before, before + 1] == extended.config.tag_token_ids
    assert extended.config.vocab_size == len(found) == before + 2
    assert found("abc").input_ids == made("abc").input_ids
    for one, other in zip(model.state_dict().values(), extended.state_dict().values()):
        assert torch.equal(one, other[: len(one)])
    save(extended, found, tmp_path)
    assert load_or_create(saved, *family, tags=["<V>"])[0].get_vocab() == found.get_vocab()
    saved.lora_rank = 2
    load_or_create(saved, *family, tags=["<V>"])
    with pytest.raises(SystemExit, match="--lora_rank"):
        load_or_create(saved, *family, tags=["<DU>"])


@pytest.mark.parametrize("tied", [True, False])
def test_a_saved_encoder_decoder_learns_another_language(tmp_path, tied):
    """Its tags, units and letters; what the model read and wrote before, it reads and writes as before."""
    texts, phones = ["casa k a z ə"], ["k a z ə", "tʃ aː k"]
    before = AtentaTokenizer.from_texts(
        texts, family="encoder-decoder", tags=["<pt>"], targets=phones, target_separator=" "
    )
    tag = before.convert_tokens_to_ids("<pt>")
    sizes = {"vocab_size": len(before), "tie_word_embeddings": tied, "dropout": 0.0, "tag_token_ids": [tag]}
    model = save(tiny_model(AtentaEncoderDecoderForConditionalGeneration, **sizes), before, tmp_path)
    data = {"tags": ["<el>", "<pt>"], "targets": ["k ɔ ʎː", "aː"], "target_separator": " "}
    options = TwoStackArguments(model_name_or_path=str(tmp_path), dropout=0.0)
    family = "text2text-generation", "encoder-decoder", ["καλό k ɔ ʎː"]
    after, extended = load_or_create(options, *family, **data)
    vocabulary = after.get_vocab()
    assert vocabulary.keys() == before.get_vocab().keys() | {*"καλόɔʎː", " ɔ", " ʎː", "aː", "<el>"}
    assert extended.config.vocab_size == len(vocabulary)
    assert extended.config.tag_token_ids == [vocabulary["<pt>"], vocabulary["<el>"]]
    assert after.tokenize("k ɔ ʎː aː") == ["k", " ɔ", " ʎː", " aː"]
    kept = [vocabulary[token] for token in before.convert_ids_to_tokens(range(len(before)))]
    inputs, labels = (
        [of("casa").input_ids[:-1] for of in (before, after)],
        [of(text_target=phones[0]).input_ids for of in (before, after)],
    )
    logits = [
        made.eval()(input_ids=torch.tensor([[place, *source]]), labels=torch.tensor([target])).logits
        for made, place, source, target in zip((model, extended), (tag, vocabulary["<pt>"]), inputs, labels)
    ]
    assert_close(logits[1][..., kept], logits[0])
    with pytest.raises(SystemExit, match="--target_separator"):
        load_or_create(options, *family, **data | {"target_separator": "-", "targets": ["k-ɔ"]})


def test_a_saved_model_keeps_its_sizes_and_gets_dropout_and_a_head(tmp_path):
    saved = save_encoder(AtentaEncoderForMaskedLM, tmp_path, dropout=0.3)
    found, model = create(model_name_or_path=str(tmp_path), hidden_size=99, dropout=0.05)
    assert found.get_vocab() == tokenizer().get_vocab()
    assert model.config.hidden_size == saved.config.hidden_size
    assert model.config.dropout == 0.05
    assert model.config.id2label == LABELS["id2label"]
    weights = model.model.state_dict()
    assert all(torch.equal(weights[name], weight) for name, weight in saved.model.state_dict().items())
    with pytest.raises(SystemExit, match=r"--model_name_or_path .*nothing"):
        create(model_name_or_path=str(tmp_path / "nothing"))


@pytest.mark.parametrize("labels", [["fra", "ita", "por"], ["fra", "ita"]])
def test_the_output_layer_of_another_task_is_no_start(labels, tmp_path):
    """Also if it has the same number of labels; that of the same task is kept."""
    saved = save_encoder(AtentaEncoderForTokenClassification, tmp_path, **label_options(["B", "I", "O"]))
    with pytest.raises(SystemExit, match=rf"--model_name_or_path .*B, I, O.*pretrain_masked.*{', '.join(labels)}"):
        create(model_name_or_path=str(tmp_path), head=label_options(labels))
    _, kept = create("token-classification", model_name_or_path=str(tmp_path), head=label_options(["B", "O"]))
    assert kept.config.id2label == saved.config.id2label
    assert torch.equal(kept.classifier.weight, saved.classifier.weight)
    assert create("question-answering", model_name_or_path=str(tmp_path), head={})[1].qa_outputs.out_features == 2


def test_a_model_of_another_kind_with_the_same_head_is_no_start(tmp_path):
    labels = label_options(["a", "á"])
    restoring = {"character_variants": {"a": ["a", "á"]}, "window_length": 8}
    saved = save_encoder(AtentaEncoderForTokenClassification, tmp_path, **labels, **restoring)
    options = {"model_name_or_path": str(tmp_path), "head": labels}
    assert torch.equal(create("character-restoration", **options)[1].classifier.weight, saved.classifier.weight)
    for kind in ("token-classification", "letters-to-units"):
        with pytest.raises(SystemExit, match=f"found a model of the kind character-restoration; expected .* {kind}"):
            create(kind, **options)


def test_a_loaded_tokenizer_is_saved_so_that_version_4_reads_it(tmp_path):
    save_encoder(AtentaEncoderForMaskedLM, tmp_path / "first")
    found = load_tokenizer(tmp_path / "first")
    assert type(found) is AtentaTokenizer
    found.save_pretrained(tmp_path / "second")
    names = [json.loads((tmp_path / folder / "tokenizer_config.json").read_bytes()) for folder in ("first", "second")]
    assert [each["tokenizer_class"] for each in names] == ["PreTrainedTokenizerFast"] * 2


def test_rows_are_no_longer_than_what_a_saved_model_has_learned(tmp_path, capsys, monkeypatch):
    made, model = create("fill-mask", head={}, position_embedding_type="learned", max_length=20)
    save(model, made, tmp_path)
    for given, longest in ((16, 16), (64, 20)):
        options = StackArguments(**SIZES, model_name_or_path=str(tmp_path), max_length=given)
        load_or_create(options, "fill-mask", "encoder", TEXTS)
        assert options.max_length == longest
        assert ("--max_length 20" in capsys.readouterr().out) is (given != longest)
    head = {**label_options(["a", "á"]), "character_variants": {"a": "aá"}, "window_length": 62}
    options = StackArguments(**SIZES, model_name_or_path=str(tmp_path), max_length=64)
    assert load_or_create(options, "character-restoration", "encoder", TEXTS, **head)[1].config.window_length == 18
    assert "--max_length 20" in capsys.readouterr().out
    monkeypatch.setattr(models_module, "PartialState", lambda: SimpleNamespace(is_main_process=False))
    options = StackArguments(**SIZES, model_name_or_path=str(tmp_path), max_length=64)
    load_or_create(options, "fill-mask", "encoder", TEXTS)
    assert (options.max_length, capsys.readouterr().out) == (20, "")


@pytest.mark.parametrize(
    ("kind", "family", "head"),
    [("text-classification", "encoder", LABELS), ("text-generation", "decoder", {}), ("fill-mask", "encoder", {})],
)
def test_lora_trains_low_ranks_and_a_head_only(kind, family, head, tmp_path):
    """An output layer over the vocabulary is frozen."""
    for saved in create(kind, family, head):
        saved.save_pretrained(tmp_path)
    with pytest.raises(SystemExit, match="--model_name_or_path"):
        create(kind, family, head, lora_rank=3)
    _, model = create(kind, family, head, lora_rank=3, model_name_or_path=str(tmp_path))
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    assert {min(weight.shape) for name, weight in trained.items() if "lora_" in name} == {3}
    heads = {name for name in trained if "lora_" not in name}
    assert bool(heads) is bool(head)
    assert all("modules_to_save" in name and ".model.model." not in name for name in heads)
    assert not any("lm_head" in name for name in trained)
