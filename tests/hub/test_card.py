"""Every saved model has a card that states what is known, in English or Portuguese, and whose example runs."""

import ast
import json
import re
from dataclasses import replace
from itertools import product

import huggingface_hub
import pytest
import transformers
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results
from torch import nn
from transformers import BertConfig, BertModel

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderModel,
    AtentaPairVotesForCausalLM,
)
from atenta.engines.onnx_export import export_onnx
from atenta.hub.card import make_card, write_model_card
from atenta.hub.card_facts import CardFacts, ModelFacts
from atenta.modeling.modeling_decoder import AtentaDecoderPreTrainedModel
from atenta.registration import AUTO_CLASSES
from support.card_facts import FACTS, NASTY
from support.card_rules import card_errors
from support.models import named, tiny_model
from support.recipes import ROOT
from support.saved import save, save_pairs, save_with_tokenizer
from support.small_models import SMALL_MODELS
from support.taggers import make_restorer

HEADS = named(dict.fromkeys(model_class for models in AUTO_CLASSES.values() for model_class in models.values()))


LEARNED_POSITIONS = 64  # tiny_config's max_position_embeddings


def usage(card: ModelCard) -> str:
    return re.search(r"```python\n(.*?)```", card.text, re.DOTALL).group(1)


def run_usage(card: ModelCard, capsys) -> str:
    """Run the example as it is printed, and return its output."""
    capsys.readouterr()
    exec(usage(card), {"__name__": "__main__"})
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize("model_class", [*HEADS, "restorer"])
def test_the_card_of_each_kind(model_class, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "outputs" / "tiny-model"
    if model_class == "restorer":
        restorer = make_restorer(type_vocab_size=2)
        save(restorer.model, restorer.tokenizer, folder)
    else:
        save_with_tokenizer(model_class, folder)
    saved = ModelCard.load(folder / "README.md")
    assert '"outputs/tiny-model"' in usage(saved)
    assert run_usage(saved, capsys)
    for language, facts in product(("en", "pt"), (CardFacts(), FACTS)):
        card = make_card(folder, replace(facts, card_language=language), repository="".join(NASTY))
        assert card_errors(card.content) == []
        assert card.data.library_name == "transformers"
        kind = "pair-votes" if model_class is AtentaPairVotesForCausalLM else "character-level"
        assert {"atenta", kind} <= set(card.data.tags)
        if card.data.pipeline_tag not in (None, "question-answering"):  # which this package registers itself
            transformers.pipelines.check_task(card.data.pipeline_tag)
        strings = [node.value for node in ast.walk(ast.parse(usage(card))) if isinstance(node, ast.Constant)]
        assert "".join(NASTY) in strings


def test_usage_of_onnx_files_runs_as_printed(tmp_path, capsys, monkeypatch):
    SMALL_MODELS["decoder"].save(tmp_path)
    export_onnx(tmp_path, quantization="int8")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name: {"ana/x-onnx": tmp_path}[name])
    card = make_card(tmp_path, CardFacts(example="ceo"), repository="ana/x-onnx", base_model="ana/x")
    assert card_errors(card.content) == []
    assert run_usage(card, capsys)


def test_tags_of_an_example_are_arguments_of_an_engine(tmp_path):
    card = make_card(save_pairs(tmp_path), CardFacts(example="ser\tPL"), repository="ana/x-onnx", base_model="ana/x")
    assert 'engine.generate(["ser"], tags=[["PL"]])' in usage(card)


def test_usage_of_the_onnx_files_of_a_classifier(tmp_path):
    tiny_model(AtentaEncoderForSequenceClassification).save_pretrained(tmp_path)
    assert 'engine.predict(["Gostei' in usage(make_card(tmp_path, base_model="ana/x"))


def test_usage_of_the_onnx_files_of_the_box_runs_as_printed(capsys, monkeypatch):
    box = ROOT / "restoration" / "portuguese_accents"
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name: {"ana/x-onnx": box}[name])
    card = make_card(box, CardFacts(), repository="ana/x-onnx", base_model="ana/x")
    assert run_usage(card, capsys) == "A ação começou amanhã, não é?"


def test_scores_in_the_metadata_survive_a_round_trip(folder):
    path = write_model_card(folder, FACTS, repository="ana/tiny")
    metadata = yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])
    name, results = model_index_to_eval_results(metadata["model-index"])
    assert name == "ana/tiny"
    assert {(each.dataset_config, each.metric_type): each.metric_value for each in results} == {
        (None, "word_accuracy"): 0.9612,
        (None, "f1"): 0.75,
        ("sentences", "word_accuracy"): 0.91,
        ("verses", "word_accuracy"): 0.99,
    }
    assert eval_results_to_model_index(name, results) == metadata["model-index"]
    assert ModelCard.load(path).data.eval_results == results


def test_what_is_not_known_is_left_out_with_pictures_that_are_not_there_and_where_the_folder_is(folder):
    card = ModelCard.load(folder / "README.md")
    assert 'model="tiny_model"' in card.text
    assert str(folder.parent) not in card.content
    assert "learning_curve.png" not in make_card(folder, FACTS).text
    for name in ("learning_curve.png", "confusion.png"):
        (folder / name).touch()
        assert f"]({name})" in make_card(folder, FACTS).text
    text = ModelCard.load(folder / "README.md").text
    assert "unknown" not in text.lower()
    for section in ("Scores", "Data", "Training"):
        assert f"## {section}" not in text
    assert "Weights:" not in text
    assert "license" not in ModelCard.load(folder / "README.md").data.to_dict()


def test_sizes(folder):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    text = make_card(folder).text
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    characters = sum(len(token) == 1 for token in tokenizer.get_vocab())
    for stated in (
        f"| parameters | {sum(weights.numel() for weights in model.parameters()):,} |",
        "| layers | 3 in the encoder, 2 in the decoder |",
        "| heads | 4 of 8 |",
        f"| {len(tokenizer)} tokens, of which {characters} are the characters of its alphabet |",
        f"| files of weights | {(folder / 'model.safetensors').stat().st_size / 1e6:.3f} MB |",
        f"transformers {transformers.__version__}",
    ):
        assert stated in text


def test_weights_in_several_files_are_all_counted(tmp_path):
    model = tiny_model(AtentaDecoderForCausalLM)
    model.save_pretrained(tmp_path, max_shard_size="10KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert ModelFacts.read(tmp_path).parameters == model.num_parameters()


@pytest.mark.parametrize(("max_distance", "stated"), [(None, "any"), (8, "8 tokens")])
def test_card_of_pair_votes(max_distance, stated, tmp_path):
    model = tiny_model(AtentaPairVotesForCausalLM, max_distance=max_distance)
    model.save_pretrained(tmp_path)
    text = ModelCard.load(tmp_path / "README.md").text
    assert f"| triples | {len(model.table.votes):,} |" in text
    assert f"| pairs | {len(model.table.pair_keys):,} |" in text
    assert f"| largest distance | {stated} |" in text
    assert "| smoothing | 0.1 votes |" in text
    for of_transformers in ("Transformer:", "layers", "heads", "attention", "Each character is a token"):
        assert of_transformers not in text


@pytest.mark.parametrize(
    ("model_class", "options", "stated"),
    [
        (AtentaEncoderModel, {"position_embedding_type": "learned"}, f"at most {LEARNED_POSITIONS} characters"),
        (AtentaEncoderModel, {"position_embedding_type": "rotary"}, "any length"),
        (AtentaEncoderModel, {"position_embedding_type": "sinusoidal"}, "any length"),
        (AtentaEncoderDecoderForConditionalGeneration, {"window_length": 181}, "texts of up to about 181 characters"),
        (
            AtentaEncoderForSequenceClassification,
            {"id2label": {0: "por", 1: "ita"}, "label2id": {"por": 0, "ita": 1}},
            "| labels | por, ita |",
        ),
        (AtentaEncoderForSequenceClassification, {"problem_type": "regression", "num_labels": 1}, "a text a number"),
        (
            AtentaEncoderForSequenceClassification,
            {"problem_type": "multi_label_classification", "num_labels": 3},
            "all of 3 labels that fit it",
        ),
    ],
)
def test_what_the_configuration_says_is_stated(model_class, options, stated, tmp_path):
    tiny_model(model_class, **options).save_pretrained(tmp_path)
    assert stated in ModelCard.load(tmp_path / "README.md").text


ENGLISH = (  # what the whole card that `test_the_card_of_the_model_in_the_box_is_up_to_date` compares does not have
    *('transform("A acao")', "- It knows the spelling of 1880.", ": 1.21 g", "Brazil"),
    "[ana/pretrained](https://huggingface.co/ana/pretrained)",
)
PORTUGUESE = (
    *("Escreve acentos.", "| texto sem mudança | 0,8500 | 0,5000 |", "“frases”:", ": contos."),
    *("| 21–40 | 1.200 | 0,9000 | 0,9700 |", "11–20 caracteres: acurácia por palavra de 0,9300, contra 0,9612"),
    *("domínio é em “leis”", "98,00 %", "3 desconhecidas no treino", "| treino | 12.345 | 100,00 % | 100,00 % |"),
    *("Some CPU, x86\\_64, 2 núcleos, sem GPU", ": 4,75 minutos", ": 12,3 Wh, pelo codecarbon 3.3.2."),
    "Pesos: apache-2.0. Código: Apache-2.0.",
)


@pytest.mark.parametrize(("language", "stated"), [("en", ENGLISH), ("pt", PORTUGUESE)])
def test_what_is_known_is_stated(language, stated, folder):
    text = ModelCard.load(write_model_card(folder, replace(FACTS, card_language=language))).text
    for each in stated:
        assert each in text
    assert "{{" not in text.replace("{{The atenta contributors}}", "")


def test_emissions_in_the_metadata(folder):
    data = make_card(folder, FACTS).data
    assert data.co2_eq_emissions == {
        **{"emissions": 1.21, "source": "codecarbon 3.3.2", "training_type": "fine-tuning"},
        **{"geographical_location": "Brazil", "hardware_used": "Some CPU"},
    }
    without = {name: value for name, value in FACTS.cost.items() if name not in ("co2_grams", "country")}
    card = make_card(folder, replace(FACTS, cost=without))
    assert "co2_eq_emissions" not in card.data.to_dict()
    assert "CO₂" not in card.text
    assert "12.3 Wh" in card.text
    assert "read from its counters" not in card.text
    counted = make_card(folder, replace(FACTS, cost={**without, "counted": True}))
    assert "read from its counters" in counted.text


@pytest.mark.parametrize(("figure", "is_limit"), [(0.01, True), (0.02, True), (0.03, False)])
def test_a_baseline_that_is_as_good_is_a_limit(figure, is_limit, folder):
    tests = {"test": {"look-up": {"character_error_rate": figure}, "model": {"character_error_rate": 0.02}}}
    text = make_card(folder, CardFacts(tests=tests)).text
    assert (f"than the baseline “look-up”: character error rate 0.0200 against {figure:.4f}." in text) == is_limit


def test_citation_is_that_of_the_repository(folder):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    text = make_card(folder, FACTS).text
    (author,) = cited["authors"]
    assert f"title = {{{cited['title']}}}" in text
    assert f"author = {{{{{author['name']}}}}}" in text


def test_the_card_of_the_model_in_the_box_is_up_to_date(monkeypatch):
    monkeypatch.chdir(ROOT / "restoration")
    card = make_card("portuguese_accents")
    assert card_errors(card.content) == []
    assert ModelCard.load("portuguese_accents/README.md").content == card.content, (
        "in restoration/: python -c 'from atenta.hub.card import write_model_card as w; w(\"portuguese_accents\")'"
    )


@pytest.mark.parametrize("write", [lambda path: path.write_text("Mine."), lambda path: write_model_card(path.parent)])
def test_saving_keeps_a_card_that_is_there_and_only_the_main_process_writes_one(write, tmp_path):
    model = tiny_model(AtentaDecoderForCausalLM)
    model.save_pretrained(tmp_path, is_main_process=False)
    assert not (tmp_path / "README.md").exists()
    model.save_pretrained(tmp_path)
    write(tmp_path / "README.md")
    before = (tmp_path / "README.md").read_bytes()
    model.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_bytes() == before


def test_a_card_that_saving_wrote_is_of_the_last_model(tmp_path):
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(tmp_path)
    model = tiny_model(AtentaEncoderModel)
    model.save_pretrained(tmp_path)
    path = tmp_path / "README.md"
    assert "`AtentaEncoderModel`" in path.read_text(encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8").replace("## ", "## My "), encoding="utf-8")
    before = path.read_bytes()
    model.save_pretrained(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("example", ["TREINAMENTO, EXAMPLE", "NAME"])
def test_an_example_may_have_any_words(example, folder):
    code = usage(make_card(folder, CardFacts(example=example), repository="ana/EXAMPLE"))
    strings = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert {example, "ana/EXAMPLE"} <= set(strings)


def test_infinite_figures_are_left_out(folder):
    metrics = {
        "test": {"model": {"word_perplexity": None, "bits_per_byte": 2.0}, "uniform": {"word_perplexity": None}}
    }
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    assert CardFacts.read(folder).tests == {"test": {"model": {"bits_per_byte": 2.0}, "uniform": {}}}
    assert "bits" in make_card(folder).text


def test_scores_of_the_validation_data_are_not_called_those_of_a_test(folder):
    facts = replace(FACTS, rows={"train": 12345, "validation": 20})
    assert facts.test_split == "validation"
    for language, of_test in (("en", "the test data"), ("pt", "dados de teste")):
        text = make_card(folder, replace(facts, card_language=language)).text
        assert of_test not in text
        assert of_test in make_card(folder, replace(FACTS, card_language=language)).text


def test_a_users_subclass_has_a_card(tmp_path):
    class MyDecoder(AtentaDecoderForCausalLM):
        pass

    MyDecoder(tiny_model(AtentaDecoderForCausalLM).config).save_pretrained(tmp_path)
    text = ModelCard.load(tmp_path / "README.md").text
    assert "`MyDecoder`" in text
    assert 'pipeline("text-generation"' in text


def test_the_card_of_a_decoder_says_how_trl_is_to_load_its_tokenizer(tmp_path):
    for model_class, says in ((AtentaDecoderForCausalLM, True), (AtentaEncoderModel, False)):
        tiny_model(model_class).save_pretrained(tmp_path / model_class.__name__)
        for language in ("en", "pt"):
            text = make_card(tmp_path / model_class.__name__, CardFacts(card_language=language)).text
            assert ("split_special_tokens=False" in text) is says


def test_a_model_that_is_none_of_ours_has_no_card(tmp_path):
    class MyModel(AtentaDecoderPreTrainedModel):
        def __init__(self, config):
            super().__init__(config)
            self.layer = nn.Linear(2, 2)
            self.post_init()

    MyModel(tiny_model(AtentaDecoderForCausalLM).config).save_pretrained(tmp_path)
    assert not (tmp_path / "README.md").exists()
    config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=8)
    BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="BertModel"):
        write_model_card(tmp_path)
