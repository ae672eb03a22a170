from itertools import pairwise

from atenta.recipes.pictures.gender import draw_gender
from atenta.recipes.samples.nouns import NOUNS, Noun

BITS = {
    Noun("artista", "artista", "one form"): 1.5,
    Noun("juiz", "juíza", "two forms"): -2.0,
    Noun("casa", "casa", "feminine"): -3.0,
}


def test_a_bar_a_noun_from_the_top_and_to_the_side_of_its_gender():
    (axes,) = draw_gender(BITS).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["artista", "juiz / juíza", "casa"]
    assert [bar.get_width() for bar in axes.patches] == [1.5, -2.0, -3.0]
    assert axes.yaxis_inverted()


def test_the_legend_names_the_groups_that_are_there():
    figure = draw_gender(BITS)
    told = {text.get_text(): patch.get_facecolor() for text, patch in legend_of(figure)}
    assert list(told) == ["professions of one form", "professions of two forms", "feminine things (control)"]
    assert list(told.values()) == [bar.get_facecolor() for bar in figure.axes[0].patches]


def legend_of(figure):
    (legend,) = figure.legends
    return zip(legend.get_texts(), legend.get_patches())


def test_no_name_covers_another():
    figure = draw_gender(dict.fromkeys(NOUNS, 1.0))
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert not any(upper.overlaps(lower) for upper, lower in pairwise(boxes))
