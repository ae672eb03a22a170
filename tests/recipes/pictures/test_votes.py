"""Tests of the picture of votes."""

import numpy as np
import pytest
import torch

from atenta import AtentaPairVotesConfig, AtentaPairVotesForCausalLM, AtentaTokenizer
from atenta.recipes.pictures.votes import MAX_CANDIDATES, draw_votes
from support.documents import word_tokenizer

SENTENCES = ["o log do programa foi executado por mim", "a bateria do carro foi trocada por mim", "o log foi lido"]
TEXT = "a bateria do programa foi"


def words():
    return word_tokenizer(SENTENCES)


def fit(tokenizer, sentences=SENTENCES, **options):
    config = AtentaPairVotesConfig(vocab_size=len(tokenizer), **options)
    return AtentaPairVotesForCausalLM(config).fit([tokenizer(sentence).input_ids for sentence in sentences])


def panels(figure):
    """Return the labels of rows, the labels of columns and the numbers of both panels, votes and sum."""
    return [
        (
            [label.get_text() for label in axes.get_yticklabels()],
            [label.get_text() for label in axes.get_xticklabels()],
            np.asarray(axes.get_images()[0].get_array()),
        )
        for axes in figure.axes
    ]


def test_votes_and_their_sum_are_drawn_with_the_best_candidate_first():
    figure = draw_votes(fit(words()), words(), TEXT)
    (rows, _, votes), (sum_row, candidates, total) = panels(figure)
    assert rows == ["a", "bateria", "do", "programa"]
    assert sum_row == ["sum"]
    assert candidates == ["trocada", "executado"]
    np.testing.assert_allclose(votes, [[1, 0], [1, 0], [0.5, 0.5], [0, 1]])
    np.testing.assert_allclose(total, [[2.5, 1.5]])
    assert figure.get_suptitle() == "votes for the token after “foi”"
    assert figure.axes[1].get_xlabel() == "2 of 2 candidates"
    assert [text.get_text() for text in figure.axes[1].texts] == ["2.50", "1.50"]


def test_the_mask_weights_votes_as_in_the_model():
    tokenizer, mask = words(), [0.5, 0, 0.25, 1, 1]
    model = fit(tokenizer)
    (rows, _, votes), (_, candidates, total) = panels(draw_votes(model, tokenizer, TEXT, mask))
    ids = torch.tensor([tokenizer(TEXT).input_ids])
    expected = model(ids, feature_mask=torch.tensor([mask], dtype=torch.float32)).votes[0, -1]
    shown = tokenizer.convert_tokens_to_ids(candidates)
    np.testing.assert_allclose(total[0], expected[shown])
    np.testing.assert_allclose(votes.sum(0), total[0])
    assert expected.sum() == pytest.approx(total.sum())
    assert rows == [f"{weight:g} × {word}" for weight, word in zip(mask, TEXT.split()[:-1])]


def test_only_the_best_of_many_candidates_are_drawn():
    sentences = [f"a{letter}" for letter in "bcdefghijklmnop"]
    tokenizer = AtentaTokenizer.from_texts(sentences, family="decoder")
    figure = draw_votes(fit(tokenizer, [*sentences, "ap"]), tokenizer, "a")
    (rows, _, _), (_, candidates, total) = panels(figure)
    assert rows == ["⟨bos⟩"]
    assert candidates[0] == "p"
    assert len(candidates) == MAX_CANDIDATES
    np.testing.assert_allclose(total[0], [2 / 16] + [1 / 16] * (MAX_CANDIDATES - 1), rtol=1e-6)
    assert figure.axes[1].get_xlabel() == "10 of 15 candidates"


def test_tokens_beyond_the_largest_distance_have_no_row():
    model = fit(words(), max_distance=2)
    figure = draw_votes(model, words(), TEXT, [1, 1, 0.5, 1, 1])
    (rows, _, votes), _ = panels(figure)
    assert rows == ["0.5 × do", "1 × programa"]
    np.testing.assert_allclose(votes.sum(1), [0.5, 1])
    assert figure.axes[1].get_xlabel() == "2 of 2 candidates\nno votes from more than 2 tokens back"
    assert panels(draw_votes(model, words(), "do programa foi"))[0][0] == ["do", "programa"]


@pytest.mark.parametrize(
    ("text", "mask", "message"),
    [
        ("foi", None, r"1 token\(s\); expected at least two"),
        ("o log", [1.0], r"1 number\(s\); expected one for each of 2 tokens"),
        ("o log", [5.0, 1.0], "numbers from 0 to 1"),
        ("o log", [float("nan"), 1.0], "numbers from 0 to 1"),
        ("do foi", [0, 1], "There are no votes"),
    ],
)
def test_unsuitable_texts_and_masks_are_refused(text, mask, message):
    with pytest.raises(ValueError, match=message):
        draw_votes(fit(words()), words(), text, mask)
