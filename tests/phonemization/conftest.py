"""A model of phones whose answers are known, and num2words with the numbers of the tests."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from support.phones import SpellingTagger

NUMBERS = {1: "um", 2: "dois", 3: "três", 5: "cinco", 8: "oito", 10: "dez", 30: "trinta", 50: "cinquenta", 0: "zero"}
NUMBERS |= {12: "doze", 14: "catorze", 25: "vinte e cinco", 1234: "mil, duzentos e trinta e quatro", 9: "nove"}
NUMBERS |= {2024: "dois mil e vinte e quatro", 1000000: "um milhão", 16: "dezasseis", 20: "vinte", 19: "dezanove"}


@pytest.fixture
def tagger():
    return SpellingTagger()


@pytest.fixture
def num2words(monkeypatch):
    """num2words that knows the numbers of the tests, whether it is installed or not."""
    module = ModuleType("num2words")
    module.__spec__ = ModuleSpec("num2words", None)
    ordinals = {1: "primeiro", 2: "segundo", 6: "sexto", 12: "décimo segundo"}
    module.num2words = lambda number, lang, to="cardinal": (ordinals if to == "ordinal" else NUMBERS)[number]
    monkeypatch.setitem(sys.modules, "num2words", module)
    return module


@pytest.fixture
def without_num2words(monkeypatch):
    monkeypatch.setattr("atenta.phonemization.spelled_out.find_spec", lambda name: None)
