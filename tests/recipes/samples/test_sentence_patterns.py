"""Tests of the sentences made by rules: that they are reproducible, complete and agree, and that errors are clear."""

import re
import unicodedata

import pytest

from atenta.recipes.samples.sentence_patterns import PATTERNS, draw_sentences, read_patterns


@pytest.fixture(scope="module")
def drawn():
    return draw_sentences(400, 0)


def lower(drawn, group):
    return [sentence.lower() for sentence in drawn[group]]


def test_draws_are_reproducible_and_different(drawn, tmp_path):
    assert draw_sentences(400, 0) == drawn
    assert draw_sentences(400, 1) != drawn
    assert {len(set(sentences)) for sentences in drawn.values()} == {400}
    path = tmp_path / "patterns.yaml"  # which has few
    path.write_text("classes: {noun: 'casa, rua'}\ngroups: {one: 'a {noun} é [boa|má]'}", encoding="utf-8")
    assert len(draw_sentences(100, 0, path)["one"]) == 4


def test_every_sentence_is_complete_with_contracted_prepositions(drawn):
    wrong = re.compile(r"\b(?:por [oa]s?|de (?:[oa]s?|el[ea]s?|(?:ess|aquel)[ea]s?)|em (?:[oa]s?|uma?)|a [oa]s?)\b")
    for sentence in (each for sentences in drawn.values() for each in sentences):
        assert unicodedata.is_normalized("NFC", sentence)
        assert not re.search(r"[][<>{}|_]|  | [,.?!]|^\W|[^\w.?!\"]$", sentence), sentence
        assert not wrong.search(sentence), sentence


@pytest.mark.parametrize(
    ("group", "wrong"),
    [
        ("grandparents", r"\b(?:[oO]|meu|seu|um|do|ao) (?:bis|tatar)?avó\b"),
        ("grandparents", r"\b(?:[aA]|minha|sua|uma|da) (?:bis|tatar)?avô\b"),
        ("crase", r"\bà (?:uma? \w+o|el[ea]|você|quem|minha|sua|\w+[aei]r|pé)\b"),
        ("nos_we", r"\bnós (?:foi|viu|deu|chamou|fundos)\b"),
        ("tem_have", r"\b(?:ele|ela|você|a gente|ninguém) (?:têm|vêm|mantêm)\b"),
        ("tem_have", r"\b(?:eles|elas|vocês|os dois) (?:tem|vem|mantém)\b"),
        ("pode_could", r"\bamanhã \w+ pôde\b|\b(?:ontem|anteontem)\b.* não pode (?!.*hoje)"),
    ],
)
def test_words_agree(drawn, group, wrong):
    assert not [each for each in lower(drawn, group) if re.search(wrong, each)]


def test_both_readings_are_common(drawn):
    words_of = {"grandparents": "avô avó", "crase": "a à as às", "e_and_is": "e é", "nos_we": "nós nos"}
    for group, words in words_of.items():
        text = " ".join(lower(drawn, group))
        counts = [len(re.findall(rf"\b{word}\b", text)) for word in words.split()]
        assert min(counts) > 40, (group, counts)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("classes: {noun: casa}\ngroups: {one: 'a {other}'}", "unknown class 'other'"),
        ("classes: {noun: ''}\ngroups: {one: a}", "class 'noun' is empty"),
        ("classes: {noun: casa}\ngroups: {one: ''}", "group 'one' is empty"),
        ("classes: {noun: 'uma {noun}'}\ngroups: {one: a}", "unknown class 'noun'"),
        ("classes: {noun: casa}\ngroups: {one: '<o|a> <um>'}", "do not go together"),
        ("classes: {noun: casa}\ngroups: {one: '[o|a casa'}", "other half"),
        ("classes: {noun: casa}", "expected the keys"),
    ],
)
def test_errors_say_what_and_where(tmp_path, content, error):
    path = tmp_path / "patterns.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=error):
        read_patterns(path)


def test_each_group_has_many_templates_and_no_class_is_unused():
    classes, groups = read_patterns()
    assert all(len(templates) >= 25 for templates in groups.values())
    text = PATTERNS.read_text(encoding="utf-8")
    together = {
        f"{found[1]}{form}" for found in re.finditer(r"\{(\w+)<([\w|]+)>", text) for form in found[2].split("|")
    }
    assert set(classes) <= together | set(re.findall(r"\{(\w+)\}", text))
