"""The table of decoding: what stands in it, and that it fits the screen."""

import pytest
import torch

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.decoding.hypotheses import Candidate, DecodingStep, Finished, Hypothesis
from atenta.recipes.decoding.steps import decoding_steps
from atenta.recipes.reporting.decoding_table import decoding_table
from support.models import tiny_model

TOKENIZER = AtentaTokenizer.from_texts(["abc \n"], family="decoder")
EOS = TOKENIZER.eos_token_id


def ids(text):
    return tuple(TOKENIZER(text).input_ids)


def candidate(token, probability, kept_probability=None, chosen=False):
    kept_probability = probability if kept_probability is None else kept_probability
    return Candidate(TOKENIZER.convert_tokens_to_ids(token), probability, kept_probability, -1.0, chosen)


def hypothesis(text, score, *candidates):
    return Hypothesis(ids(text), score, candidates)


def test_sampling_has_a_second_line_and_signs_for_what_was_kept_and_chosen():
    steps = [
        DecodingStep(
            1,
            (
                hypothesis(
                    "a b",
                    0.0,
                    candidate(" ", 0.5, 0.8),
                    candidate("\n", 0.3, 0.2, chosen=True),
                    candidate("a", 0.2, 0),
                ),
            ),
            (),
        ),
        DecodingStep(
            2,
            (hypothesis("a b\n", -1.609, candidate("<eos>", 1.0, chosen=True)),),
            (Finished((*ids("a b\n"), EOS), -1.609),),
        ),
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


def test_beams_stand_below_each_other_and_what_ended_below_its_step():
    ended = Finished((*ids("aa"), EOS), -0.25)
    steps = [
        DecodingStep(
            1, (hypothesis("a", 0.0, candidate("a", 0.7, chosen=True), candidate("b", 0.3, chosen=True)),), ()
        ),
        DecodingStep(
            2,
            (
                hypothesis("aa", -0.357, candidate("<eos>", 0.9, chosen=True), candidate("a", 0.1)),
                hypothesis("ab", -1.204, candidate("c", 0.6, chosen=True), candidate("a", 0.4)),
            ),
            (ended,),
        ),
        DecodingStep(3, (hypothesis("abc", -1.715, candidate("c", 0.6), candidate("a", 0.4)),), (ended,)),
    ]
    assert decoding_table(steps, TOKENIZER).splitlines() == [
        "starts with  ⟨bos⟩a",
        "→ chosen",
        "ended: with log p / number of tokens ** length_penalty",
        "",
        "step    log p  text so far         candidates",
        "   1    0.000                      → a     0.700  → b     0.300",
        "",
        "   2   -0.357  a                   → ⟨eos⟩ 0.900    a     0.100",
        "       -1.204  b                   → c     0.600    a     0.400",
        "       -0.250  a⟨eos⟩  ended",
        "",
        "   3   -1.715  bc                    c     0.600    a     0.400",
        "",
        "result  ⟨bos⟩aa⟨eos⟩  with score -0.250",
    ]


def test_what_was_all_but_impossible_when_it_was_dropped_is_not_marked_as_allowed():
    candidates = candidate("a", 0.9999, chosen=True), candidate("b", 0.0001, 0), candidate("c", 1e-5)
    table = decoding_table([DecodingStep(1, (hypothesis("a", 0.0, *candidates),), ())], TOKENIZER)
    assert "→ a 1.000    b 0.000  ✓ c 0.000" in table


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_beams": 3},
        {"do_sample": True, "top_k": 3},
        {"num_beams": 3, "suppress_tokens": list(range(len(TOKENIZER) // 2))},
    ],
    ids=["greedy", "beams", "draws", "beams without half of the tokens"],
)
def test_many_candidates_and_long_texts_fit_the_screen(options):
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(TOKENIZER))
    prompt = torch.tensor([ids("abc")])
    steps = list(decoding_steps(model, prompt, num_candidates=12, max_new_tokens=30, eos_token_id=None, **options))
    lines = decoding_table(steps, TOKENIZER).splitlines()
    rows = lines[lines.index("") : -1]
    shown = "\n".join(line for line in rows if "ended" not in line)
    assert max(map(len, shown.splitlines())) <= 109
    assert "…" in shown
    candidates = [one for step in steps for beam in step.hypotheses for one in beam.candidates]
    filtered = not all(one.kept for one in candidates)
    assert filtered is bool(options.keys() & {"top_k", "suppress_tokens"})
    assert shown.count("✓") == filtered * sum(one.kept and not one.chosen for one in candidates)
    assert shown.count("→") == sum(one.chosen for one in candidates)


def test_an_unfinished_search_has_no_result():
    steps = [DecodingStep(1, (hypothesis("a", 0.0, candidate("a", 1.0, chosen=True)),), ())]
    assert "result" not in decoding_table(steps, TOKENIZER)


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="There are no steps"):
        decoding_table([], TOKENIZER)
