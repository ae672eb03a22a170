"""The picture of decoding: bars as long as probabilities, and lines along which the search went."""

from itertools import pairwise

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.decoding.steps import decoding_steps
from atenta.recipes.pictures.decoding import CHOSEN, DROPPED, KEPT, RESULT, STEPS_A_ROW, WHOLE_BAR, draw_decoding
from support.models import tiny_model
from support.recipes import assert_picture

TOKENIZER = AtentaTokenizer.from_texts(["ab \n"], family="decoder")


def steps_of(**options):
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(TOKENIZER))
    prompt = torch.tensor([TOKENIZER("a b").input_ids])
    return list(decoding_steps(model, prompt, **{"max_new_tokens": 4, "num_candidates": 3, **options}))


def all_candidates(steps):
    return [one for step in steps for hypothesis in step.hypotheses for one in hypothesis.candidates]


def bars(axes):
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_each_candidate_is_a_bar_as_long_as_its_probability():
    steps = steps_of()
    (axes,) = draw_decoding(steps, TOKENIZER).axes
    candidates = all_candidates(steps)
    assert [bar.get_width() for bar in bars(axes)] == pytest.approx(
        [WHOLE_BAR * one.probability for one in candidates]
    )
    assert [to_hex(bar.get_facecolor()) for bar in bars(axes)] == [
        RESULT if one.chosen else KEPT for one in candidates
    ]
    shown = [text.get_text() for text in axes.texts]
    for step in steps:
        assert f"step {step.number}" in shown
    assert [text for text in shown if text.startswith("0.") or text == "1.00"] == [
        f"{one.probability:.2f}" for one in candidates
    ]


def test_what_sampling_dropped_is_grey_and_black_lines_are_what_it_made_of_probabilities():
    steps = steps_of(do_sample=True, temperature=2.0, top_k=2)
    (axes,) = draw_decoding(steps, TOKENIZER).axes
    candidates = all_candidates(steps)
    assert sum(not one.kept for one in candidates) == 4
    for bar, one in zip(bars(axes), candidates):
        assert (to_hex(bar.get_facecolor()) == DROPPED) is not one.kept
    lengths = [line.get_xdata()[1] - line.get_xdata()[0] for line in axes.lines if line.get_color() == "black"]
    assert lengths == pytest.approx([WHOLE_BAR * one.kept_probability for one in candidates])


def test_lines_lead_from_each_chosen_candidate_to_the_beam_that_it_became():
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
            assert (*hypothesis.token_ids, hypothesis.candidates[place].token_id) == following.hypotheses[
                lane
            ].token_ids
    colours = {to_hex(bar.get_facecolor()) for bar in bars(axes)}
    assert colours == {RESULT, CHOSEN, KEPT}
    assert sum(to_hex(bar.get_facecolor()) == RESULT for bar in bars(axes)) == len(steps)


@pytest.mark.parametrize("length", [STEPS_A_ROW, STEPS_A_ROW + 1, 2 * STEPS_A_ROW + 1])
def test_long_searches_go_on_in_the_next_row(length, tmp_path):
    figure = draw_decoding(steps_of(min_new_tokens=length, max_new_tokens=length), TOKENIZER)
    rows = [axes.get_xlim() for axes in figure.axes]
    assert len(rows) == -(-length // STEPS_A_ROW)
    for number in range(1, length + 1):
        (axes,) = (axes for axes, (start, end) in zip(figure.axes, rows) if start <= number - 0.92 < end)
        assert f"step {number}" in [text.get_text() for text in axes.texts]
    figure.savefig(tmp_path / "decoding.png")
    assert_picture(tmp_path / "decoding.png", colours=10)


def test_the_legend_names_what_occurs():
    def named(steps):
        return [text.get_text() for text in draw_decoding(steps, TOKENIZER).legends[0].get_texts()]

    result, chosen, rest = "chosen, in the result", "chosen", "not chosen"
    assert named(steps_of()) == [result, rest]
    assert named(steps_of()[:2]) == [chosen, rest]
    assert named(steps_of(num_beams=3)) == [result, chosen, rest]
    drawn = named(steps_of(do_sample=True, temperature=2.0, top_k=2))
    assert drawn == [result, rest, "dropped before choosing", "after temperature, top-k, top-p, …"]


def test_the_title_is_what_generate_returns_and_before_its_end_the_prompt():
    steps = steps_of()
    result = TOKENIZER.decode(steps[-1].finished[0].token_ids).replace(" ", "␣").replace("\n", "↵")
    result = result.replace("<bos>", "⟨bos⟩").replace("<eos>", "⟨eos⟩")
    assert draw_decoding(steps, TOKENIZER).get_suptitle().replace("\n", "") == result
    assert draw_decoding(steps[:2], TOKENIZER).get_suptitle() == "⟨bos⟩a␣b …"


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="There are no steps"):
        draw_decoding([], TOKENIZER)
