"""The sample of simpler sentences: which rows of the corpus it has."""

import pytest

from atenta.recipes.samples import simplification
from atenta.recipes.samples.simplification import simpler_sentences, simplifications

ROWS = [
    *(("ORI>NAT", "S", "N", "Complexa.", "Simples."), ("ORI>NAT", "N", "N", "Igual.", "Igual.")),
    *(("ORI>NAT", "S", "S", "Longa e una.", "Longa. Una."), ("ORI>STR", "S", "S", "Longa e una.", "Longa.")),
    ("NAT>STR", "S", "N", "Simples.", "Fácil."),
]


@pytest.fixture
def corpus(monkeypatch):
    header = ("level", "changed", "split", "source", "target")
    monkeypatch.setattr(simplification, "read_cells", lambda file: [header, *ROWS])


def test_pairs_are_of_single_sentences_that_differ(corpus):
    simpler = {"first": "text", "second": "text_pair"}
    for rows in simpler_sentences().values():
        assert [row[simpler[row["label"]]] for row in rows] == ["Simples.", "Longa.", "Fácil."]


def test_rewritings_differ_from_their_source_and_have_their_level(corpus):
    rows = [(row["source"], row["target"], *row["tags"]) for row in simplifications()["test"]]
    assert rows == [
        ("Complexa.", "Simples.", "<ORI-NAT>"),
        ("Longa e una.", "Longa. Una.", "<ORI-NAT>"),
        ("Simples.", "Fácil.", "<NAT-STR>"),
    ]
