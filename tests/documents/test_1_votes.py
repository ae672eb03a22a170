"""Document 1, pairwise feature aggregation: the votes of (earlier word, current word) for the next word."""

import pytest
import torch

from atenta import AtentaPairVotesConfig, AtentaPairVotesForCausalLM
from support.documents import word_tokenizer, worked_example

EXECUTED, PROGRAM = "verifique se o programa foi executado", "verifique se ele executou o programa"


class Voters:
    """A model fitted to an example's documents, with words as inputs and outputs."""

    def __init__(self, example):
        documents = example.inputs["documents"]
        self.tokenizer = word_tokenizer(documents)
        self.model = AtentaPairVotesForCausalLM(AtentaPairVotesConfig(vocab_size=len(self.tokenizer)))
        ids = self.tokenizer(documents).input_ids
        self.model.fit(ids, weights=[example.inputs["weight"]] * len(ids))

    def votes(self, text, voters=None):
        """Return the votes for the word after a text, from all its words or only from those in `voters`."""
        ids = self.tokenizer(text, return_tensors="pt").input_ids
        feature_mask = None
        if voters is not None:
            feature_mask = torch.tensor([[float(word in voters) for word in text.split()]])
        return self._by_word(self.model(ids, feature_mask=feature_mask).votes[0, -1])

    def votes_by_feature(self, text):
        """Return, for each word before the last, the votes that it gives."""
        votes = self.model.votes_by_feature(self.tokenizer(text, return_tensors="pt").input_ids)
        return {word: self._by_word(row) for word, row in zip(text.split(), votes)}

    def _by_word(self, votes):
        found = votes.nonzero()[:, 0].tolist()
        return dict(zip(self.tokenizer.convert_ids_to_tokens(found), votes[found].tolist()))


@pytest.fixture(scope="module")
def five():
    return Voters(worked_example("1/votes-five"))


def test_votes_of_two_documents():
    example = worked_example("1/votes-two")
    voters = Voters(example)
    for text, votes in example.exact.items():
        assert voters.votes(text) == pytest.approx(votes)


@pytest.mark.parametrize("text", [EXECUTED, PROGRAM])
def test_votes_of_five_documents(five, text):
    """Printed: por 1.0, com 1.0; and por 1.0. More pairs vote than those."""
    example = worked_example("1/votes-five")
    votes = five.votes(text)
    assert votes == pytest.approx(example.exact[text])
    assert votes != pytest.approx(example.printed[text])


def test_every_earlier_word_votes(five):
    """Printed: por 1.0, com 1.0, the votes of `programa` and `foi` alone. `verifique`, `se` and `o` vote too."""
    printed = worked_example("1/votes-five").printed[EXECUTED]
    assert five.votes(EXECUTED, voters=["programa", "foi"]) == pytest.approx(printed)
    assert five.votes_by_feature(EXECUTED) == {
        "verifique": {"por": 1},
        "se": {"por": 1},
        "o": pytest.approx({"por": 0.5, "com": 0.5}),
        "programa": pytest.approx({"por": 0.5, "com": 0.5}),
        "foi": pytest.approx({"por": 0.5, "com": 0.5}),
    }


def test_votes_are_for_what_follows_the_current_word(five):
    """Printed: por 1.0, from (ele, executado). The current word is `programa`, which is in every pair."""
    assert five.votes(PROGRAM, voters=["ele"]) == worked_example("1/votes-five").printed[PROGRAM]
    assert five.votes_by_feature(PROGRAM) == {
        "verifique": {"e": 1},
        "se": {},
        "ele": {"por": 1},
        "executou": {"por": 1},
        "o": pytest.approx({"e": 1 / 3, "por": 1 / 3, "foi": 1 / 3}),
    }


def test_masking_changes_the_votes(five):
    """Printed: a second program that shows masking. It has no mask and gives the votes of the first program."""
    example = worked_example("1/votes-five")
    without_mask = five.votes(EXECUTED, voters=EXECUTED.split())
    assert without_mask == five.votes(EXECUTED) == pytest.approx(example.exact[EXECUTED])
    masked = five.votes(EXECUTED, voters=["programa"])
    assert masked == pytest.approx(example.exact_masked_to_programa[EXECUTED])
    assert masked != pytest.approx(without_mask)
