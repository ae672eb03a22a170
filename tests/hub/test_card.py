"""Every saved model has a card that states what is known and unknown, and whose usage example runs."""

import ast
import re

import pytest
import transformers
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt
from torch import nn
from transformers import BertConfig, BertModel

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderModel,
    AtentaPairVotesForCausalLM,
)
from atenta.card import write_model_card
from atenta.modeling.modeling_decoder import AtentaDecoderPreTrainedModel
from atenta.registration import AUTO_CLASSES
from support.models import named, tiny_model
from support.saved import save_with_tokenizer

HEADS = named(dict.fromkeys(model_class for models in AUTO_CLASSES.values() for model_class in models.values()))
LEARNED_POSITIONS = 64  # tiny_config's max_position_embeddings


def usage(card: ModelCard) -> str:
    return re.search(r"```python\n(.*?)```", card.text, re.DOTALL).group(1)


@pytest.mark.parametrize("model_class", HEADS)
def test_usage_runs_as_printed(model_class, tmp_path, capsys):
    folder = tmp_path / "someone" / "tiny-model"
    save_with_tokenizer(model_class, folder)
    code = usage(ModelCard.load(folder / "README.md"))
    assert code.count('"tiny-model"') >= 1
    exec(code.replace('"tiny-model"', repr(str(folder))), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("model_class", HEADS)
def test_metadata(model_class, tmp_path):
    model = tiny_model(model_class)
    model.save_pretrained(tmp_path)
    metadata = ModelCard.load(tmp_path / "README.md").data
    assert metadata.library_name == "transformers"
    assert metadata.license == "unknown"
    kind = "pair-votes" if model_class is AtentaPairVotesForCausalLM else "character-level"
    assert {"atenta", kind} <= set(metadata.tags)
    assert metadata.eval_results is None
    if metadata.pipeline_tag not in (None, "question-answering"):  # the pipeline of that name is gone
        transformers.pipelines.check_task(metadata.pipeline_tag)


def test_card_states_sizes_and_unknown_fields(tmp_path):
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    model.save_pretrained(tmp_path)
    text = ModelCard.load(tmp_path / "README.md").text
    for stated in ("Trained on: unknown", "Language: unknown", "Weights: unknown", "Unknown (not stated). Measure"):
        assert stated in text
    assert f"| parameters | {sum(weights.numel() for weights in model.parameters()):,} |" in text
    assert "| layers | 3 in the encoder, 2 in the decoder |" in text
    assert "| heads | 4 of 8 |" in text
    assert "| vocabulary | 40 tokens |" in text
    assert f"transformers {transformers.__version__}" in text


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
    ("positions", "stated"),
    [("learned", f"at most {LEARNED_POSITIONS} characters"), ("rotary", "any length"), ("sinusoidal", "any length")],
)
def test_length_limit(positions, stated, tmp_path):
    tiny_model(AtentaEncoderModel, position_embedding_type=positions).save_pretrained(tmp_path)
    assert stated in ModelCard.load(tmp_path / "README.md").text


def test_the_length_of_training_texts_is_stated(tmp_path):
    tiny_model(AtentaEncoderDecoderForConditionalGeneration, window_length=181).save_pretrained(tmp_path)
    assert "texts of up to about 181 characters" in ModelCard.load(tmp_path / "README.md").text


def test_card_with_scores_replaces_the_automatic_one(tmp_path):
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    model.save_pretrained(tmp_path)
    path = write_model_card(
        tmp_path,
        model,
        model_name="someone/accents",
        data="phrases of Machado de Assis",
        language="pt",
        licence="apache-2.0",
        scores={"word_accuracy": 0.9612, "exact_match": 0.8},
        limits="- It knows the spelling of 1880.",
        tags=["accents"],
    )
    assert path == tmp_path / "README.md"
    card = ModelCard.load(path)
    assert "unknown" not in card.text.lower()
    for stated in (
        "| word accuracy | 0.9612 |",
        "phrases of Machado de Assis",
        "spelling of 1880",
        "Weights: apache-2.0",
    ):
        assert stated in card.text
    assert card.data.license == "apache-2.0"
    assert card.data.language == "pt"
    assert "accents" in card.data.tags
    assert card.data.model_name == "someone/accents"
    assert {each.metric_type: each.metric_value for each in card.data.eval_results} == {
        "word_accuracy": 0.9612,
        "exact_match": 0.8,
    }
    model.save_pretrained(tmp_path)  # as a Trainer does when it continues: the card is kept
    assert ModelCard.load(path).content == card.content


NASTY = [
    "pairs.tsv\n# Heading\n",
    "---",
    "a\n---\nlicense: mit\n---\n",
    "{{ card_data }}{% raw %}",
    "a|b | c\r| d",
    "<script>alert(1)</script> &lt; <!-- -->",
    "`a` ``` ~~~ *b* _c_ [d](e) ![f](g) $h$ \\",
    'quote" quote\' \\" \\',
    "\x1b[31m\x85\u2028\u202e\0",
    "\U0001f600 ção 日",
    ": x #y",
]


def described(folder, model, name):
    """Return a card that has a name in every field that is a plain text."""
    folder.mkdir()
    named = {"model_name": name, "data": name, "language": name, "licence": name, "tags": [name]}
    return ModelCard.load(write_model_card(folder, model, **named, scores={name: 0.5}))


def blocks(card):
    """Return the kind and the text of each block of Markdown in a card, except code."""
    tokens = MarkdownIt("commonmark").enable("table").parse(card.text)
    return [
        (opening.type, "".join(part.content or " " for part in token.children or ()))
        for opening, token in zip([tokens[0], *tokens], tokens)
        if token.type in ("inline", "fence", "html_block")
    ]


@pytest.mark.parametrize("name", NASTY)
def test_names_with_markup_are_shown_as_they_are(name, tmp_path):
    model = tiny_model(AtentaDecoderForCausalLM)
    plain, card = described(tmp_path / "plain", model, "NAME"), described(tmp_path / "card", model, name)
    spaced = " ".join(name.split())
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in spaced)
    in_table = " ".join(shown.replace("_", " ").split())  # the name of a measure
    assert blocks(card) == [
        (kind, text.replace("NAME", in_table if kind == "td_open" else shown)) for kind, text in blocks(plain)
    ]
    data = card.data
    assert (data.license, data.language, data.model_name, data.tags[-1]) == (name, name, name, name)
    (result,) = data.eval_results
    assert (result.dataset_name, result.metric_type) == (name, name)


@pytest.mark.parametrize("model_class", HEADS)
def test_the_usage_example_has_any_name(model_class, tmp_path):
    name = "".join(NASTY)
    path = write_model_card(tmp_path, tiny_model(model_class), model_name=name)
    strings = [
        node.value for node in ast.walk(ast.parse(usage(ModelCard.load(path)))) if isinstance(node, ast.Constant)
    ]
    assert name in strings


def test_saving_keeps_a_card_that_a_person_wrote(tmp_path):
    (tmp_path / "README.md").write_text("Mine.", encoding="utf-8")
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "Mine."


def test_only_the_main_process_writes_a_card(tmp_path):
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(tmp_path, is_main_process=False)
    assert not (tmp_path / "README.md").exists()


def test_unregistered_model_is_saved_without_a_card(tmp_path):
    class MyModel(AtentaDecoderPreTrainedModel):
        def __init__(self, config):
            super().__init__(config)
            self.layer = nn.Linear(2, 2)
            self.post_init()

    MyModel(tiny_model(AtentaDecoderForCausalLM).config).save_pretrained(tmp_path)
    assert not (tmp_path / "README.md").exists()


def test_model_of_another_package_has_no_card(tmp_path):
    config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=8)
    with pytest.raises(ValueError, match="BertModel is not a model of this package"):
        write_model_card(tmp_path, BertModel(config))
    assert not list(tmp_path.iterdir())
