import pytest
from datasets import Dataset

from atenta.recipes.reading.labelled import FEATURES, check, label_names


def test_a_labelled_text():
    assert check({"text": " bom ", "label": "positivo"}) == {"text": " bom ", "text_pair": None, "label": "positivo"}


def test_a_labelled_pair_of_texts():
    row = check({"text": "a", "text_pair": "b", "label": "same", "id": 7})
    assert row == {"text": "a", "text_pair": "b", "label": "same"}


def test_a_number_is_a_label():
    assert check({"text": "a", "label": 0})["label"] == "0"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"label": "x"}, "found no text; expected"),
        ({"text": " ", "label": "x"}, "found an empty text; expected"),
        ({"text": "a", "text_pair": "", "label": "x"}, "found an empty text_pair; expected"),
        ({"text": "a", "text_pair": 2, "label": "x"}, r"found 2 \(int\) as the text_pair; expected"),
        ({"text": "a"}, "found no label; expected"),
        ({"text": "a", "label": "  "}, "found an empty label; expected"),
        ({"text": "a", "label": 0.5}, r"found 0.5 \(float\) as the label; expected"),
    ],
)
def test_a_malformed_row_is_named(fields, message):
    with pytest.raises(ValueError, match=message):
        check(fields)


def test_rows_have_the_features():
    rows = [check({"text": "a", "label": 1}), check({"text": "a", "text_pair": "b", "label": "x"})]
    assert Dataset.from_list(rows, features=FEATURES).to_list() == rows


def test_label_names_are_sorted_and_distinct():
    rows = [{"label": "pt"}, {"label": "it"}, {"label": "pt"}]
    assert label_names(rows) == label_names(reversed(rows)) == ["it", "pt"]
