"""Answers without a model to texts that are rewritten, and the scores of the task beside the sources."""

import tracemalloc

import pytest

from atenta.recipes.tasks.rewriting import first_characters, most_similar_target, without_asides
from atenta.recipes.tasks.transduction import PairTask


def pair(source, target="x"):
    return {"source": source, "target": target, "tags": []}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Foi em 98 (17.383 km2).", "Foi em 98."),
        ("Ela — disse ele — veio.", "Ela veio."),
        ("A lei – a nova –, sim [1].", "A lei, sim."),
        ("De 1990 – 1995", "De 1990 – 1995"),
        ("(tudo)", "(tudo)"),
    ],
)
def test_asides_are_taken_out(source, expected):
    assert without_asides([pair(source)]) == [expected]


def test_first_characters_are_whole_words_of_the_median_length_of_targets():
    train = [pair("a", "123"), pair("a", "1234567"), pair("a", "1" * 90)]
    rows = [pair(source) for source in ("um dois três", "um doisX", "umX", "indivisível")]
    assert first_characters(train, rows) == ["um dois", "um", "umX", "indivis"]


def test_the_most_similar_source_of_training_gives_its_target():
    train = [pair("a casa azul", "casa"), pair("o carro verde", "carro")]
    assert most_similar_target(train, [pair("dois carros verdes"), pair("as casas")]) == ["carro", "casa"]
    assert most_similar_target(train, []) == []


def test_metrics_beside_sources_are_scored_in_their_order_and_bring_their_baselines():
    task, rows = PairTask(metrics=["copied", "exact_match", "length_ratio"]), [pair("ab", "a"), pair("b", "b")]
    found = task.score(rows, ["a", "b"])
    assert list(found.items()) == [("copied", 0.5), ("exact_match", 1.0), ("length_ratio", 2 / 3)]
    added = {"without asides", "first characters", "most similar in training"}
    assert added <= task.baselines(rows).keys()
    assert not added & PairTask(metrics=["chrf"]).baselines(rows).keys()


def test_similarities_of_many_rows_are_never_in_memory_together():
    train = [pair(f"{number * 7919 % 100_003:05}", str(number)) for number in range(3_000)]
    tracemalloc.start()
    try:
        found = most_similar_target(train, train)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [row["target"] for row in train]
    assert peak < len(train) ** 2 * 8  # bytes of all of them
