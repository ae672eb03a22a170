from collections import Counter

from atenta.recipes.samples.nouns import NOUNS, Noun


def test_a_noun_is_told_by_its_one_form_or_by_both():
    assert str(Noun("artista", "artista", "one form")) == "artista"
    assert str(Noun("médico", "médica", "two forms")) == "médico / médica"


def test_each_noun_is_there_once_and_has_as_many_forms_as_its_group_says():
    assert max(Counter(form for noun in NOUNS for form in set(noun[:2])).values()) == 1
    assert all((noun.masculine != noun.feminine) is (noun.group == "two forms") for noun in NOUNS)


def test_the_controls_are_as_many_of_either_gender():
    groups = Counter(noun.group for noun in NOUNS)
    assert groups["masculine"] == groups["feminine"] > 0
