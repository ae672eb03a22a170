"""The picture of confusions."""

from atenta.recipes.pictures.confusion import draw_confusion


def test_it_counts_gold_labels_in_rows():
    gold, output = ["fra", "fra", "fra", "ita", "por"], ["fra", "ita", "ita", "ita", "fra"]
    (axes,) = draw_confusion(gold, output, ["fra", "ita", "por"]).axes
    assert [text.get_text() for text in axes.texts] == ["1", "2", "0", "0", "1", "0", "1", "0", "0"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fra", "ita", "por"]
