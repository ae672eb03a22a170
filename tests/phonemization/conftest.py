"""A model of phones whose answers are known, and no num2words."""

import pytest

from support.phones import SpellingTagger


@pytest.fixture
def tagger():
    return SpellingTagger()


@pytest.fixture
def without_num2words(monkeypatch):
    monkeypatch.setattr("atenta.phonemization.numbers_in_words.find_spec", lambda name: None)
