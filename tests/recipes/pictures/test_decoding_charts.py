"""Tests of the decoding steps as a picture and as a table."""

import re

import pytest
import torch

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.decoding.steps import Candidate, DecodingStep, Finished, Hypothesis, decoding_steps
from atenta.recipes.pictures.decoding_charts import decoding_table, draw_decoding
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


def lines(axes, black):
    """Lines under bars, which are black, or those from a candidate to a hypothesis."""
    return [line for line in axes.lines if (line.get_color() == "black") is black]


def test_each_candidate_has_a_bar_and_a_number_and_those_that_are_dropped_another_colour():
    steps = steps_of(do_sample=True, temperature=2.0, top_k=2)
    (axes,) = draw_decoding(steps, TOKENIZER).axes
    candidates = all_candidates(steps)
    numbers = [text.get_text() for text in axes.texts if re.fullmatch(r"\d\.\d\d", text.get_text())]
    assert numbers == [f"{one.probability:.2f}" for one in candidates]
    length_of_1 = axes.patches[0].get_width() / candidates[0].probability
    lengths = [bar.get_width() / length_of_1 for bar in axes.patches]
    assert lengths == pytest.approx([one.probability for one in candidates])
    lengths = [(line.get_xdata()[1] - line.get_xdata()[0]) / length_of_1 for line in lines(axes, black=True)]
    assert lengths == pytest.approx([one.kept_probability for one in candidates])
    assert sum(not one.kept for one in candidates) == 4
    kept, dropped = (
        {bar.get_facecolor() for bar, one in zip(axes.patches, candidates, strict=True) if one.kept is is_kept}
        for is_kept in (True, False)
    )
    assert not kept & dropped


def test_lines_connect_chosen_candidates_with_the_hypotheses_they_become():
    steps = steps_of(num_beams=3, min_new_tokens=4)
    (axes,) = draw_decoding(steps, TOKENIZER).axes
    bars, names = iter(axes.patches), iter(text for text in axes.texts if text.get_style() == "italic")
    starts, ends, colours = {}, {}, {}
    for step in steps:
        for hypothesis in step.hypotheses:
            ends[step.number, hypothesis.token_ids] = next(names).get_position()[1]
            for one in hypothesis.candidates:
                bar, continued = next(bars), (*hypothesis.token_ids, one.token_id)
                starts[step.number + 1, continued] = round(bar.get_center()[1])
                in_result = continued == steps[-1].finished[0].token_ids[: len(continued)]
                colours.setdefault((one.chosen, in_result), set()).add(bar.get_facecolor())
    drawn = sorted(tuple(line.get_ydata()) for line in lines(axes, black=False))
    assert drawn == sorted((starts[each], end) for each, end in ends.items() if each in starts)
    assert [len(each) for each in colours.values()] == [1, 1, 1]  # in the result, chosen too, and not chosen
    assert len(set.union(*colours.values())) == 3


def test_long_searches_continue_in_the_next_row():
    figure = draw_decoding(steps_of(min_new_tokens=8, max_new_tokens=8), TOKENIZER)
    first, second = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    for number in range(1, 9):
        assert f"step {number}" in (first if number <= 4 else second)


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
