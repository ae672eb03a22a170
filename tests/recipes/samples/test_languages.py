from collections import Counter

import pytest

from atenta.recipes.samples.files import FILES, SPLITS, first_cells, read_samples
from atenta.recipes.samples.languages import lowercase_words


def test_lowercase_words():
    text = "— Não!... disse-me Capitu; “não sei”, d'água (talvez), 1a º vez\nVEZ vez."
    assert lowercase_words(text) == ["não", "sei", "talvez", "vez"]


@pytest.mark.parametrize("number", range(3))
def test_words_are_equally_many_and_from_the_lists_of_one_language_and_their_split(rows_of, number):
    rows = rows_of("languages")[SPLITS[number]]
    labels = [row["label"] for row in rows]
    assert Counter(labels) == dict.fromkeys(("ita", "fra", "por"), len(rows) // 3)
    assert labels != sorted(labels)
    lists = {
        "ita": {word for file in FILES["italian_g2p"] for word in first_cells(file)},
        "fra": {word for file in FILES["french_g2p"] for word in first_cells(file)},
        "por": set(lowercase_words("\n".join(read_samples("machado", "*/*.txt")))),
    }
    of_split = {
        "ita": set(first_cells(FILES["italian_g2p"][number])),
        "fra": set(first_cells(FILES["french_g2p"][number])),
        "por": set(lowercase_words("\n".join(read_samples(f"machado/{SPLITS[number]}")))),
    }
    for row in rows:
        assert {language for language, words in lists.items() if row["text"] in words} == {row["label"]}
        assert row["text"] in of_split[row["label"]]
    assert len({row["text"] for row in rows}) == len(rows)
