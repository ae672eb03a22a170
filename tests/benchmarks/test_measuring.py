"""Tests of turns, medians, ratios and targets, on made-up figures."""

import pytest

from benchmarks.measuring import INT8, LIMIT, ONNX, OURS, Spread, Target, Work, interleave


@pytest.fixture
def contest():
    """Contestants whose figure is the number of turns so far, and the list of who had them."""
    turns = []

    def contestant(name):
        def turn():
            turns.append(name)
            return float(len(turns))

        return turn

    return {name: contestant(name) for name in "ab"}, turns


def test_contestants_take_turns_and_every_second_round_is_reversed(contest):
    contestants, turns = contest
    figures = interleave(contestants, 3, "work")
    assert "".join(turns) == "ab" + "ab" + "ba" + "ab"
    assert figures == {"a": [3.0, 6.0, 7.0], "b": [4.0, 5.0, 8.0]}


def test_without_a_warm_up_the_first_turn_counts(contest):
    contestants, _ = contest
    assert interleave(contestants, 1, "work", warm_up=False) == {"a": [1.0], "b": [2.0]}


def test_zero_rounds_are_an_error(contest):
    with pytest.raises(ValueError, match="rounds is 0; expected 1 or more"):
        interleave(contest[0], 0, "work")


def work(**more):
    return Work("decode", "ms", {OURS: [2.0, 3.0, 4.0], "GPT-2": [4.0, 8.0, 10.0], "Llama": [9.0, 9.0, 9.0]}, **more)


def test_spread_holds_median_minimum_and_maximum():
    assert Spread.of([5.0, 1.0, 2.0]) == Spread(2.0, 1.0, 5.0)


def test_ratio_is_of_the_medians_and_its_range_is_within_rounds():
    assert Spread.of_ratio([2.0, 3.0, 4.0], [4.0, 8.0, 10.0]) == Spread(3 / 8, 3 / 8, 1 / 2)
    # A machine that is slow in one round is slow for both.
    assert Spread.of_ratio([1.0, 100.0], [2.0, 200.0]) == Spread(0.5, 0.5, 0.5)


def test_difference_has_its_range_within_rounds():
    assert Spread.of_difference([5.0, 7.0, 6.0], [4.0, 4.0, 4.0]) == Spread(2.0, 1.0, 3.0)


def test_different_numbers_of_rounds_are_an_error():
    with pytest.raises(ValueError, match="shorter"):
        Spread.of_ratio([1.0, 2.0], [1.0])


def test_best_peer_is_neither_ours_nor_the_limit():
    figures = {OURS: [1.0], ONNX: [0.8], INT8: [0.7], LIMIT: [0.5], "slow": [9.0], "fast": [3.0]}
    assert Work("decode", "ms", figures).best_peer == "fast"
    assert Work("encode", "Mchar/s", figures, more_is_better=True).best_peer == "slow"
    assert Work("decode", "ms", {OURS: [1.0], LIMIT: [0.5]}).best_peer is None


def test_rows_compare_each_contestant_with_the_best_peer_and_the_limit():
    measured = Work("decode", "ms", {OURS: [3.0], "GPT-2": [6.0], LIMIT: [1.5]})
    rows = {row["contestant"]: row for row in measured.rows()}
    assert {who: row["to_best_peer"]["middle"] for who, row in rows.items()} == {OURS: 0.5, "GPT-2": 1.0, LIMIT: 0.25}
    assert {who: row["to_limit"]["middle"] for who, row in rows.items()} == {OURS: 2.0, "GPT-2": 4.0, LIMIT: 1.0}


def test_work_without_peer_or_limit_has_no_ratios():
    (row,) = Work("decode", "ms", {OURS: [3.0]}).rows()
    assert row["to_best_peer"] is None
    assert row["to_limit"] is None


@pytest.mark.parametrize(
    ("target", "more_is_better", "met"),
    [
        (Target(0.375, "GPT-2"), False, True),
        (Target(0.374, "GPT-2"), False, False),
        (Target(0.374, "GPT-2"), True, True),
        (Target(0.376, "GPT-2"), True, False),
        (Target(-5.0, "GPT-2", kind="difference"), False, True),
        (Target(-5.1, "GPT-2", kind="difference"), False, False),
        (Target(3.0, kind="figure"), False, True),
        (Target(3.1, kind="figure"), True, False),
    ],
)
def test_target_is_met_at_its_bound_and_on_the_right_side_of_it(target, more_is_better, met):
    (goal,) = work(targets=[target], more_is_better=more_is_better).goals()
    assert goal["work"] == "decode"
    assert goal["met"] is met
    assert goal["at"] == ("least" if more_is_better else "most")


@pytest.mark.parametrize(
    ("target", "reached"),
    [
        (Target(0.2, "BART", contestant=INT8), Spread(0.25, 0.25, 0.25)),
        (Target(-5, "BART", "difference", INT8), Spread(-6.0, -6.0, -6.0)),
        (Target(1, kind="figure", contestant=INT8), Spread(2.0, 2.0, 2.0)),
    ],
)
def test_target_may_be_for_another_contestant_of_ours(target, reached):
    (goal,) = Work("decode", "ms", {OURS: [4.0], INT8: [2.0], "BART": [8.0]}, [target]).goals()
    assert goal["work"] == "decode: atenta, ONNX int8"
    assert goal["reached"] == vars(reached)
