"""Turns of the contestants; what they would take is made up, no clock is read."""

import pytest

from benchmarks.measure import interleave


@pytest.fixture
def contest():
    """Contestants whose figures are how many turns, of all, went before; and who had them."""
    turns = []

    def contestant(name):
        def turn():
            turns.append(name)
            return float(len(turns))

        return turn

    return {name: contestant(name) for name in "ab"}, turns


def test_contestants_take_turns_and_every_other_round_goes_backwards(contest):
    contestants, turns = contest
    figures = interleave(contestants, 3, "work")
    assert "".join(turns) == "ab" + "ab" + "ba" + "ab"
    assert figures == {"a": [3.0, 6.0, 7.0], "b": [4.0, 5.0, 8.0]}


def test_without_a_warm_up_the_first_turn_counts(contest):
    contestants, _ = contest
    assert interleave(contestants, 1, "work", warm_up=False) == {"a": [1.0], "b": [2.0]}


def test_every_round_is_told(contest, capsys):
    interleave(contest[0], 2, "greedy")
    told = capsys.readouterr().out
    assert "greedy: a, b" in told
    assert "greedy: round 2 of 2, 0 s left" in told


def test_no_round_is_an_error(contest):
    with pytest.raises(ValueError, match="rounds is 0; expected 1 or more"):
        interleave(contest[0], 0, "work")
