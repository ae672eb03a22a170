import pytest
from datasets import Dataset

from atenta.recipes.reading.prompts import FEATURES, check


def test_a_prompt_and_its_answer_stand_as_they_are():
    row = {"prompt": "BENTO: Aonde vais?\n", "answer": " À missa."}
    assert check({**row, "play": "x"}) == row
    assert Dataset.from_list([row], features=FEATURES).to_list() == [row]


@pytest.mark.parametrize("name", ["prompt", "answer"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "found no {}; expected"),
        ("\n ", "found an empty {}; expected"),
        (1, r"found 1 \(int\) as the {}; expected"),
    ],
)
def test_a_malformed_row_is_named(name, value, message):
    with pytest.raises(ValueError, match=message.format(name)):
        check({"prompt": "a", "answer": "b", name: value})
