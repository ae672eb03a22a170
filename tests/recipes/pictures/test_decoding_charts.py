"""Tests of the decoding steps as a picture and as a table."""

from itertools import pairwise

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.decoding.steps import Candidate, DecodingStep, Finished, Hypothesis, decoding_steps
from atenta.recipes.pictures.decoding_charts import (
    CHOSEN,
    DROPPED,
    FULL_BAR,
    KEPT,
    RESULT,
    STEPS_PER_ROW,
    decoding_table,
    draw_decoding,
)
from support.models import tiny_model

TOKENIZER = AtentaTokenizer.from_texts(["abc \n"], family="decoder")
EOS = TOKENIZER.eos_token_id


def ids(text):
    return tuple(TOKENIZER(text).input_ids)


def steps_of(**options):
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(TOKENIZER))
    options = {"max_new_tokens": 4, "num_candidates": 3, **options}
    return list(decoding_steps(model, torch.tensor([ids("a b")]), **options))


def all_candidates(steps):
    return [one for step in steps for hypothesis in step.hypotheses for one in hypothesis.candidates]


def bars(axes):
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def colours(axes):
    return [to_hex(bar.get_facecolor()) for bar in bars(axes)]


def test_bars_are_as_long_as_probabilities():
    steps = steps_of()
    (axes,) = draw_decoding(steps, TOKENIZER).axes
    candidates = all_candidates(steps)
    assert [bar.get_width() for bar in bars(axes)] == pytest.approx([FULL_BAR * one.probability for one in candidates])
    assert colours(axes) == [RESULT if one.chosen else KEPT for one in candidates]
    shown = [text.get_text() for text in axes.texts]
    for step in steps:
        assert f"step {step.number}" in shown
    assert [text for text in shown if text.startswith("0.") or text == "1.00"] == [
        f"{one.probability:.2f}" for one in candidates
    ]


def test_sampling_shows_dropped_candidates_and_changed_probabilities():
    steps = steps_of(do_sample=True, temperature=2.0, top_k=2)
    (axes,) = draw_decoding(steps, TOKENIZER).axes
    candidates = all_candidates(steps)
    assert sum(not one.kept for one in candidates) == 4
    assert [colour == DROPPED for colour in colours(axes)] == [not one.kept for one in candidates]
    lengths = [line.get_xdata()[1] - line.get_xdata()[0] for line in axes.lines if line.get_color() == "black"]
    assert lengths == pytest.approx([FULL_BAR * one.kept_probability for one in candidates])


def test_lines_connect_chosen_candidates_with_the_hypotheses_they_become():
    steps = steps_of(num_beams=3, min_new_tokens=4)
    (axes,) = draw_decoding(steps, TOKENIZER).axes
    lane_height = 3 + 2
    for step, following in pairwise(steps):
        ends = {
            round(line.get_ydata()[1] / lane_height): line.get_ydata()[0]
            for line in axes.lines
            if line.get_xdata()[1] == step.number + 0.06
        }
        assert ends.keys() == set(range(len(following.hypotheses)))
        for lane, start in ends.items():
            parent, place = divmod(start - 1, lane_height)
            hypothesis = step.hypotheses[parent]
            continued = (*hypothesis.token_ids, hypothesis.candidates[place].token_id)
            assert continued == following.hypotheses[lane].token_ids
    assert set(colours(axes)) == {RESULT, CHOSEN, KEPT}
    assert colours(axes).count(RESULT) == len(steps)


def test_long_searches_continue_in_the_next_row():
    length = STEPS_PER_ROW + 1
    figure = draw_decoding(steps_of(min_new_tokens=length, max_new_tokens=length), TOKENIZER)
    first, second = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    for number in range(1, length + 1):
        assert f"step {number}" in (first if number <= length // 2 else second)


@pytest.mark.parametrize("show", [draw_decoding, decoding_table])
def test_no_steps_are_refused(show):
    with pytest.raises(ValueError, match="There are no steps"):
        show([], TOKENIZER)


def candidate(token, probability, kept_probability=None, chosen=False):
    kept_probability = probability if kept_probability is None else kept_probability
    return Candidate(TOKENIZER.convert_tokens_to_ids(token), probability, kept_probability, -1.0, chosen)


def hypothesis(text, score, *candidates):
    return Hypothesis(ids(text), score, candidates)


def test_the_table_of_sampling_has_a_second_line_and_marks():
    sampled = candidate(" ", 0.5, 0.8), candidate("\n", 0.3, 0.2, chosen=True), candidate("a", 0.2, 0)
    ended = Finished((*ids("a b\n"), EOS), -1.609)
    steps = [
        DecodingStep(1, (hypothesis("a b", 0.0, *sampled),), ()),
        DecodingStep(2, (hypothesis("a b\n", -1.609, candidate("<eos>", 1.0, chosen=True)),), (ended,)),
    ]
    assert decoding_table(steps, TOKENIZER).splitlines() == [
        "starts with  ⟨bos⟩a␣b",
        "→ chosen  ✓ allowed, not chosen",
        "second line: after temperature, top-k, top-p and other options",
        "",
        "step    log p  text so far         candidates",
        "   1    0.000                      ✓ ␣     0.500  → ↵     0.300    a     0.200",
        "                                           0.800          0.200              -",
        "   2   -1.609  ↵                   → ⟨eos⟩ 1.000",
        "                                           1.000",
        "       -1.609  ↵⟨eos⟩  ended",
        "result  ⟨bos⟩a␣b↵⟨eos⟩  with score -1.609",
    ]


def test_a_dropped_candidate_is_not_marked_as_allowed():
    candidates = candidate("a", 0.9999, chosen=True), candidate("b", 0.0001, 0), candidate("c", 1e-5)
    table = decoding_table([DecodingStep(1, (hypothesis("a", 0.0, *candidates),), ())], TOKENIZER)
    assert "→ a 1.000    b 0.000  ✓ c 0.000" in table
    assert "result" not in table  # the search has not ended


@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "suppress_tokens": list(range(len(TOKENIZER) // 2))}])
def test_many_candidates_and_long_texts_fit_the_screen(options):
    steps = steps_of(num_candidates=12, max_new_tokens=25, eos_token_id=None, **options)
    lines = decoding_table(steps, TOKENIZER).splitlines()
    rows = lines[lines.index("") : -1]
    shown = "\n".join(line for line in rows if "ended" not in line)
    assert max(map(len, shown.splitlines())) <= 109
    assert "…" in shown
    candidates = all_candidates(steps)
    filtered = not all(one.kept for one in candidates)
    assert filtered is ("suppress_tokens" in options)
    assert shown.count("✓") == filtered * sum(one.kept and not one.chosen for one in candidates)
    assert shown.count("→") == sum(one.chosen for one in candidates)
