"""Folders of transformers' own classes: their files, what opens them, their answers, their cards, and refusals."""

import json
import re
from unittest.mock import Mock

import pytest
import torch
import transformers
from huggingface_hub import ModelCard
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoProcessor, AutoTokenizer, PreTrainedTokenizerFast

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    AtentaPairVotesForCausalLM,
    AtentaTokenizer,
)
from atenta.engines.torch_models import load_model
from atenta.engines.transformers_homes import to_home
from atenta.hub import transformers_export
from atenta.hub.card import make_card
from atenta.hub.card_facts import CardFacts
from atenta.hub.push_files import select_files
from atenta.hub.transformers_export import export_transformers
from support.card_rules import card_errors
from support.models import ALL_LAYOUTS, tiny_model
from support.saved import save, save_with_tokenizer

SINUSOIDAL_POST, SINUSOIDAL, LEARNED_POST, LEARNED, ROTARY_POST, ROTARY = ALL_LAYOUTS
PAIRS = AtentaEncoderDecoderForConditionalGeneration
GENERATORS = [
    (AtentaDecoderForCausalLM, ROTARY, "GPTNeoXForCausalLM"),
    (AtentaDecoderForCausalLM, LEARNED_POST, "OPTForCausalLM"),
    (PAIRS, SINUSOIDAL_POST, "MarianMTModel"),
    (PAIRS, LEARNED, "PegasusForConditionalGeneration"),
]
HEADS = [
    (AtentaDecoderForSequenceClassification, ROTARY, "GPTNeoXForSequenceClassification"),
    (AtentaEncoderForMaskedLM, ROTARY, "EuroBertForMaskedLM"),
    (AtentaEncoderForTokenClassification, ROTARY, "EuroBertForTokenClassification"),
    (AtentaEncoderModel, ROTARY, "EsmModel"),
    (AtentaEncoderForSequenceClassification, ROTARY, "EsmForSequenceClassification"),
    (AtentaEncoderForPreTraining, LEARNED, "MegatronBertForPreTraining"),
    (AtentaEncoderForQuestionAnswering, SINUSOIDAL, "MegatronBertForQuestionAnswering"),
]
TEXTS = ["Era uma vez", "a", "Não é fácil: ß"]
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{{ eos_token }}{% endfor %}"


def rows(given):
    return pytest.mark.parametrize(("model_class", "layout", "home"), [pytest.param(*row, id=row[2]) for row in given])


every_generator, every_home = rows(GENERATORS), rows([*GENERATORS, *HEADS])


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A function that returns the folders of a model and of its copy, and what was returned, by the copy's class."""
    found = {}

    def export(model_class, layout, home):
        if home not in found:
            folder = tmp_path_factory.mktemp(home)
            save_with_tokenizer(model_class, folder / "model", max_position_embeddings=128, **layout)
            found[home] = folder / "model", folder / "copy", export_transformers(folder / "model", folder / "copy")
        return found[home]

    return export


@every_home
def test_a_folder_has_no_code_and_opens_everywhere(exported, model_class, layout, home):
    model, copy, returned = exported(model_class, layout, home)
    assert returned.class_name == home
    assert returned.differences
    assert max(returned.differences.values()) < 1e-4
    names = {path.name for path in copy.iterdir()}
    expected = {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert names - {"generation_config.json"} == expected
    configs = [json.loads((copy / name).read_text(encoding="utf-8")) for name in names if name.endswith(".json")]
    assert not any("auto_map" in config or "custom_pipelines" in config for config in configs)
    assert set(select_files(copy).sent) == names
    modes = {path.stat().st_mode for path in copy.iterdir()}
    assert len(modes) == 1, "the weights too can be read by a server that is another user"

    # As `transformers serve` opens a folder: it knows no other classes.
    config = AutoConfig.from_pretrained(copy)
    assert getattr(transformers, config.architectures[0]).__name__ == home
    tokenizer = AutoProcessor.from_pretrained(copy)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    original = AutoTokenizer.from_pretrained(model)
    assert tokenizer(TEXTS)["input_ids"] == original(TEXTS)["input_ids"]
    assert tokenizer.split_special_tokens == original.split_special_tokens
    assert tokenizer.padding_side == original.padding_side
    assert ("token_type_ids" in tokenizer.model_input_names) == home.startswith("Megatron")


@every_generator
@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "num_return_sequences": 2}], ids=["greedy", "beams"])
def test_a_copy_writes_the_same_texts(exported, model_class, layout, home, options):
    model, copy, _ = exported(model_class, layout, home)
    tokenizer = AutoTokenizer.from_pretrained(copy)
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    options = options | {"max_new_tokens": 12}
    expected = load_model(model).generate(**batch, **options)
    opened = getattr(transformers, home).from_pretrained(copy).generate(**batch, **options)
    assert tokenizer.batch_decode(opened) == tokenizer.batch_decode(expected)
    assert len(set(tokenizer.batch_decode(opened))) > 1


def test_a_configuration_says_the_same_to_versions_4_and_5(exported):
    """Version 4 of GPT-NeoX reads the first two names and, without them, turns a quarter of each head."""
    _, copy, _ = exported(*GENERATORS[0])
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    assert (config["rotary_pct"], config["rotary_emb_base"]) == (1.0, 10000.0)
    assert config["rope_parameters"] == {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}
    tokenizer = json.loads((copy / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert tokenizer["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert {"backend", "extra_special_tokens"} & tokenizer.keys() == set()


def test_options_of_generation_a_chat_template_and_special_tokens_are_kept(tmp_path):
    tokenizer = AtentaTokenizer.from_alphabet(family="decoder", tags=["<user>"])
    tokenizer.chat_template = TEMPLATE
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer), **ROTARY)
    model.generation_config.update(max_new_tokens=7, do_sample=True, top_k=5)
    save(model, tokenizer, tmp_path / "model")
    export_transformers(tmp_path / "model", tmp_path / "copy")
    opened = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "copy")
    assert [getattr(opened.generation_config, name) for name in ("max_new_tokens", "do_sample", "top_k")] == [
        7,
        True,
        5,
    ]
    reader = AutoTokenizer.from_pretrained(tmp_path / "copy")
    messages = [{"role": "user", "content": "Olá"}]
    content = tokenizer("Olá", add_special_tokens=False)["input_ids"]
    # The template's special tokens are one each, as in training, although a text's own are characters to the original.
    assert reader.apply_chat_template(messages, return_dict=False) == [*content, reader.eos_token_id]
    assert len(reader("<user>a")["input_ids"]) == 3
    assert "split_special_tokens" not in ModelCard.load(tmp_path / "copy" / "README.md").text
    assert len(AutoTokenizer.from_pretrained(tmp_path / "model")("<user>a")["input_ids"]) == 1 + len("<user>a")


@every_home
def test_a_card_names_the_class_and_its_example_runs(exported, model_class, layout, home, monkeypatch, capsys):
    model, copy, _ = exported(model_class, layout, home)
    monkeypatch.chdir(copy.parent)
    card = ModelCard.load(copy / "README.md")
    assert f"`{home}`" in card.text
    assert ("reads at most 128 characters" in card.text) == (layout["position_embedding_type"] != "rotary")
    assert ("It needs transformers 5." in card.text) == home.startswith(("EuroBert", "Pegasus"))
    (code,) = re.findall(r"```python\n(.*?)```", card.text, re.DOTALL)
    assert "trust_remote_code" not in code
    capsys.readouterr()
    exec(code.replace(f'"{copy.name}"', repr(str(copy))), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()
    for language in ("en", "pt"):
        facts = CardFacts(card_language=language, task="Continua um texto.")
        made = make_card(model, facts, repository="ana/copy", built_in=home)
        assert card_errors(made.content) == []
        assert "fills in" not in made.text  # a push leaves it as it is: it is not made of what is in the folder


def test_what_has_no_home_is_refused_and_nothing_is_written(tmp_path):
    save_with_tokenizer(PAIRS, tmp_path / "model", **ROTARY)
    with pytest.raises(ValueError, match=r"position_embedding_type='rotary'.*'learned'"):
        export_transformers(tmp_path / "model", tmp_path / "parent" / "copy")
    save_with_tokenizer(AtentaPairVotesForCausalLM, tmp_path / "votes")
    with pytest.raises(ValueError, match="AtentaPairVotesForCausalLM; expected an encoder"):
        export_transformers(tmp_path / "votes", tmp_path / "parent" / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "votes"]


def test_a_copy_that_differs_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    def to_other(model):
        made = to_home(model)
        with torch.no_grad():
            made.lm_head.weight[5] += 1
        return made

    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model", **ROTARY)
    monkeypatch.setattr(transformers_export, "to_home", to_other)
    with pytest.raises(ValueError, match=r"logits of GPTNeoXForCausalLM differ by \d.*Nothing was written"):
        export_transformers(tmp_path / "model", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_interrupted_export_leaves_nothing(tmp_path, monkeypatch):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model", **ROTARY)
    with monkeypatch.context() as patch:
        patch.setattr(transformers_export, "let_others_read", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            export_transformers(tmp_path / "model", tmp_path / "parent" / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    export_transformers(tmp_path / "model", tmp_path / "parent" / "copy")
    assert [path.name for path in (tmp_path / "parent").iterdir()] == ["copy"]


def test_a_destination_is_a_new_or_an_empty_folder(tmp_path, monkeypatch):
    save_with_tokenizer(PAIRS, tmp_path / "model", **SINUSOIDAL_POST)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="model: found a folder with files; expected a new folder"):
        export_transformers(tmp_path / "model", tmp_path / "model")
    with pytest.raises(FileExistsError, match="file: found a file; expected a new folder"):
        export_transformers(tmp_path / "model", tmp_path / "file")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    export_transformers("../model", ".")
    assert type(AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "empty")).__name__ == "MarianMTModel"
    with pytest.raises(FileNotFoundError, match=r"nowhere/at/all: found no config\.json"):
        export_transformers(tmp_path / "nowhere/at/all", tmp_path / "copy")
