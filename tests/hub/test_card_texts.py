"""Cards of any facts: read again from a run, damaged, and with markup in every text."""

import json
import re
from dataclasses import replace

import pytest
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt

from atenta import AtentaDecoderForCausalLM
from atenta.hub.card import is_unedited, make_card, write_model_card
from atenta.hub.card_facts import CardFacts
from atenta.hub.card_words import format_share
from support.card_facts import FACTS, NASTY
from support.models import tiny_model

OF_RUNS = ("by_length", "by_domain", "confidence", "wrong_words", "run")  # beside the card's facts in `metrics.json`


KEPT = {
    **{name: getattr(FACTS, name) for name in OF_RUNS},
    **{"test": FACTS.tests["test"], "sentences": FACTS.tests["sentences"]},
    "card": {name: value for name, value in vars(FACTS).items() if name not in ("tests", *OF_RUNS)},
}


def test_a_card_is_written_again_from_the_metrics(folder):
    (folder / "metrics.json").write_text(json.dumps({**KEPT, "verses": FACTS.tests["verses"], "temperature": 1.5}))
    assert CardFacts.read(folder) == FACTS
    assert write_model_card(folder).read_text(encoding="utf-8") == make_card(folder, FACTS).content


def places(value, place=()):
    """Yield the place of each value within a JSON object, of the containers too."""
    if place:
        yield place
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*place, name))


def replaced(value, place, new):
    """Return a copy of a JSON object with another value in a place."""
    name, *rest = place
    return {**value, name: replaced(value[name], rest, new) if rest else new}


WRONG = [None, True, "x", 1.5, float("nan"), 10**400, [[]], {}, {"colour": "red"}]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: str(wrong)[:12])
def test_metrics_with_a_wrong_value_are_one_line_that_names_it(wrong, folder):
    refused = 0
    for place in places(KEPT):
        content = json.dumps(replaced(KEPT, place, wrong))
        (folder / "metrics.json").write_text(content, encoding="utf-8")
        try:
            card = make_card(folder)
        except ValueError as error:
            refused += 1
            message = str(error)
            assert "\n" not in message, place
            assert "metrics.json" in message, place
            named = [part for part in place if part in message]
            assert named or "digits" in message, (place, message)
        else:
            assert "## Licence" in card.text, place
            assert isinstance(card.data.to_dict(), dict)
    assert refused > 10


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "metrics.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b'{"a": ' * 100_000])
def test_damaged_files_are_one_line_that_names_them(name, content, folder):
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"^[^\n]*{re.escape(name)}[^\n]*$"):
        write_model_card(folder)


MARKUP = "a <script>x</script>\n```\n<b onload=x>\n~~~\n<!-- atenta 0123456789abcdef -->\n\n- ```\n1. ~~~\n"


def test_limits_end_where_they_end(folder):
    card = ModelCard.load(write_model_card(folder, replace(FACTS, limits=MARKUP)))
    tokens = MarkdownIt("commonmark").enable("table").parse(card.text)
    html = [each for token in tokens for each in [token, *(token.children or ())] if each.type.startswith("html")]
    assert [each.content.startswith("<!-- atenta filled this card in") for each in html] == [True]
    assert is_unedited(card.text)


def test_edited_cards_are_known(folder):
    path = write_model_card(folder, FACTS)
    card = ModelCard.load(path)
    assert is_unedited(card.text)
    assert is_unedited(card.text.replace("\n", "\r\n"))
    assert not is_unedited(card.text.replace("tales", "novels"))
    assert not is_unedited("Mine.")


def described(folder, name):
    """Return a card that has a name in every field that is a plain text."""
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(folder)
    facts = {"title": name, "task": name, "data": name, "language": name, "licence": name, "tags": [name]}
    facts |= {"rows": {name: 3}, "options": {"option": name}, "tests": {"test": {"model": {name: 0.5}}}}
    facts |= {"by_domain": {name: {"texts": 30, "model": {name: 0.1}}}, "wrong_words": {name: 3}, "base_model": name}
    facts["cost"] = {"processor": name, "tracker": name, "kilowatt_hours": 1.0, "country": name, "co2_grams": 2.0}
    facts["run"] = {"date": name, "python": name, "versions": {name: name}}
    return ModelCard.load(write_model_card(folder, CardFacts(**facts)))


def blocks(card):
    """Return the kind and the text of each block of Markdown in a card, except code and the last comment."""
    tokens = MarkdownIt("commonmark").enable("table").parse(card.text)
    return [
        (opening.type, "".join(part.content or " " for part in token.children or ()))
        for opening, token in zip([tokens[0], *tokens], tokens)
        if token.type in ("inline", "fence")
    ]


@pytest.mark.parametrize("name", NASTY)
def test_names_with_markup_are_shown_as_they_are(name, tmp_path):
    plain, card = described(tmp_path / "plain", "NAME"), described(tmp_path / "plain", name)
    spaced = " ".join(name.split())
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in spaced)
    for (kind, text), (plain_kind, plain_text) in zip(blocks(card), blocks(plain), strict=True):
        assert kind == plain_kind
        of_recipes = " ".join(shown.replace("_", " ").split())  # names of measures, splits and domains
        expected = (plain_text.replace("NAME", shown), plain_text.replace("NAME", of_recipes))
        assert text.replace(" , ", ", ") in expected  # a name in a list may end with a space
    data = card.data
    assert (data.license, data.language, data.tags[-1]) == (name, name, name)
    (result,) = data.eval_results
    assert (result.dataset_name, result.metric_type) == (name, name)


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0.00 %"), (1e-9, "< 0.01 %"), (0.5, "50.00 %"), (0.999999, "> 99.99 %"), (1, "100.00 %")]
)
def test_a_share_is_all_or_nothing_only_if_it_is(share, text):
    assert format_share(share, "en") == text


@pytest.mark.parametrize(
    ("name", "title"), [("ana/portuguese_accents", "Portuguese accents"), ("G2P-it", "G2P it"), ("---", "---")]
)
def test_the_title_is_a_name(name, title, folder):
    heading = next(text for kind, text in blocks(make_card(folder, repository=name)) if kind == "heading_open")
    assert heading == title
