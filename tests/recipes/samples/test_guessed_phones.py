"""Words whose phones several models agree on, for one more to learn from."""

import math

import pytest

from atenta.phonemization.letter_tagger import WrittenWord
from atenta.recipes.samples import guessed_phones
from atenta.recipes.samples.files import first_cells, read_samples
from atenta.recipes.samples.guessed_phones import guess, save_guessed_rows
from atenta.recipes.samples.portuguese_phones import LISTS, portuguese_phones, read_list
from support.phones import SpellingTagger, make_letter_tagger


class Teacher:
    """A tagger that writes each word in given ways, `{phones: probability}`."""

    def __init__(self, ways):
        self.ways = ways

    def write(self, words, tags=(), n_best=1):
        ranked = sorted(self.ways.items(), key=lambda way: -way[1])[:n_best]
        return [[WrittenWord(tuple(phones), math.log(share)) for phones, share in ranked] for _ in words]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"a": 0.9}, {"a": 0.3}, "a"),
        ({"a": 0.6, "b": 0.4}, {"a": 0.3}, None),  # unsure
        ({"a": 0.55, "b": 0.45}, {"b": 0.8, "a": 0.2}, "b"),  # the surer one decides
        ({"a": 0.9}, {"b": 0.9}, None),
    ],
)
def test_guesses_are_what_models_give_half_of_the_probability(one, other, found):
    expected = [] if found is None else [("x", (found,)), ("y", (found,))]
    assert [*guess([Teacher(one), Teacher(other)], ["x", "y"], "br")] == expected
    assert [*guess([Teacher(one)], ["x"], "br")] == [("x", tuple(max(one, key=one.get)))]


def test_words_that_cannot_be_written_are_none():
    assert not [*guess([Teacher({})], ["x"], "pt")]


def test_rows_are_those_of_training_and_words_of_no_list(monkeypatch, tmp_path):
    monkeypatch.setattr(guessed_phones, "_WORDS", {"br": 40, "pt": 30})
    short = read_samples("portugues", "cotidiano.txt")
    monkeypatch.setattr(guessed_phones, "read_samples", lambda folder: short)
    monkeypatch.setattr(guessed_phones, "first_cells", lambda file: first_cells(file)[::500])
    monkeypatch.setattr(guessed_phones, "LetterTagger", lambda restorer: SpellingTagger())
    make_letter_tagger().save_pretrained(tmp_path / "model")
    save_guessed_rows(tmp_path / "rows.tsv", [tmp_path / "model"])
    rows = [line.split("\t") for line in (tmp_path / "rows.tsv").read_text(encoding="utf-8").splitlines()]
    train = [[row["source"], row["target"], row["tags"][0][1:-1]] for row in portuguese_phones()["train"]]
    assert rows[: len(train)] == train
    guessed = rows[len(train) :]
    assert [tag for _, _, tag in guessed] == 40 * ["br"] + 30 * ["pt"]
    assert all(target == " ".join(("ˈ", *word)) for word, target, _ in guessed)
    held_out = {word for name in LISTS.values() for split in ("validation", "test") for word in read_list(name, split)}
    assert not held_out & {word for word, _, _ in guessed}
    assert not {(word, tag) for word, _, tag in guessed} & {(word, tag) for word, _, tag in train}
