import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from atenta.recipes.metrics import scores


def figures(nats, texts):
    return scores(["bits_per_character"], predictions=nats, references=texts)


def test_hand_worked():
    # Each of 4 characters and 2 words has one chance in 8: 3 bits a character, 6 a word.
    assert figures([2 * math.log(8), 2 * math.log(8)], ["éa", "a\n"]) == pytest.approx(
        {"bits_per_character": 3, "character_perplexity": 8, "word_perplexity": 64}
    )


def test_characters_are_those_of_the_nfc():
    assert figures([math.log(2) * 4], ["ac\u0327a\u0303o"]) == figures([math.log(2) * 4], ["ação"])


def test_over_all_characters_and_not_a_mean_of_means():
    assert figures([0, math.log(2) * 6], ["abcd", "ab"])["bits_per_character"] == pytest.approx(1)


def test_certain_and_hopeless():
    assert figures([0.0], ["a b"]) == {"bits_per_character": 0, "character_perplexity": 1, "word_perplexity": 1}
    assert figures([5000.0], ["a" * 1000])["word_perplexity"] == math.inf


texts = st.text("abc \n", min_size=1, max_size=9)


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4).filter(lambda texts: any(map(str.strip, texts))))
def test_equals_a_models_mean_loss(texts):
    ids = [torch.tensor(["abc \n".index(character) for character in text]) for text in texts]
    logits = [torch.randn(len(text), 5, dtype=torch.float64) for text in texts]
    nats = [cross_entropy(*text, reduction="sum").item() for text in zip(logits, ids)]
    loss = cross_entropy(torch.cat(logits), torch.cat(ids))
    words = sum(len(text.split()) for text in texts)
    assert figures(nats, texts) == pytest.approx(
        {
            "bits_per_character": (loss / math.log(2)).item(),
            "character_perplexity": loss.exp().item(),
            "word_perplexity": (loss * len(torch.cat(ids)) / words).exp().item(),
        }
    )


def test_log_probabilities_are_not_nats():
    with pytest.raises(ValueError, match=r"found -0\.5 nats for text 1; expected minus its log-probability"):
        figures([0.5, -0.5], ["a", "b"])


def test_no_words():
    with pytest.raises(ValueError, match="found no word in 2 references"):
        figures([1.0, 1.0], ["", " \n"])
