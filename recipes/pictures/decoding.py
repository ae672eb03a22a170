"""A picture of decoding: what might have come next at each step, and which way the search went."""

from collections.abc import Sequence
from math import ceil
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure  # no pyplot: no display is needed
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from transformers import PreTrainedTokenizerBase

from atenta.recipes.decoding.hypotheses import Candidate, DecodingStep
from atenta.recipes.pictures.labels import end_of, readable_text, readable_tokens, start_of

STEPS_A_ROW = 7
STEP_WIDTH, LINE_HEIGHT = 1.3, 0.2  # inches
TEXT_LENGTH, TOKEN_LENGTH = 13, 9  # characters that there is room for
WHOLE_BAR = 0.76  # of the width of a step, for a probability of 1
FONT_SIZE = 7.5  # points
RESULT, CHOSEN, KEPT, DROPPED = "#f4a259", "#7fb2e5", "#dbe9f6", "#eeeeee"
LABELS = {RESULT: "chosen, in the result", CHOSEN: "chosen", KEPT: "not chosen", DROPPED: "dropped before choosing"}


def draw_decoding(steps: Sequence[DecodingStep], tokenizer: PreTrainedTokenizerBase) -> Figure:
    """Draw each step as a column with its hypotheses below each other, best first.

    Above each hypothesis stands its text so far, in it its candidates, with bars as long as their probabilities; a
    black line has the length of the probability after temperature, top-k, top-p. Lines lead from what was chosen to
    the hypothesis that it became. Long searches go on in the next row.

    Args:
        steps: `list(decoding_steps(...))`.
        tokenizer: the model's.

    Raises:
        ValueError: there are no steps.
    """
    if not steps:
        raise ValueError("There are no steps, expected at least one: list(decoding_steps(...)) has them.")
    hypotheses = [hypothesis for step in steps for hypothesis in step.hypotheses]
    lanes = max(len(step.hypotheses) for step in steps)
    lane_height = max(len(hypothesis.candidates) for hypothesis in hypotheses) + 2  # in lines
    rows = ceil(len(steps) / STEPS_A_ROW)
    columns = ceil(len(steps) / rows)
    size = (columns * STEP_WIDTH + 0.2, rows * (lanes * lane_height + 1) * LINE_HEIGHT + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    prompt = steps[0].hypotheses[0].token_ids
    result = steps[-1].finished[0].token_ids if steps[-1].finished else ()
    for row, axes in enumerate(figure.subplots(rows, squeeze=False).flat):
        axes.set(xlim=(row * columns, (row + 1) * columns), ylim=(lanes * lane_height - 0.5, -1.7))
        axes.axis("off")
        # Lines from the step before and to the step behind are cut at the edges.
        first, end = max(0, row * columns - 1), (row + 1) * columns + 1
        for step, following in zip(steps[first:end], [*steps[first + 1 : end], None]):
            _draw_step(axes, step, following, tokenizer, lane_height, len(prompt), result)
    title = readable_text(tokenizer, result) if result else f"{readable_text(tokenizer, prompt)} …"
    figure.suptitle(fill(title, TEXT_LENGTH * columns), fontsize=FONT_SIZE + 2, parse_math=False)
    figure.legend(handles=_legend(figure), loc="outside lower center", ncols=3, fontsize=FONT_SIZE, frameon=False)
    return figure


def _draw_step(
    axes: Axes,
    step: DecodingStep,
    following: DecodingStep | None,
    tokenizer: PreTrainedTokenizerBase,
    lane_height: int,
    prompt_length: int,
    result: tuple[int, ...],
) -> None:
    left = step.number - 0.92  # a step is one unit wide
    right = left + WHOLE_BAR
    text = {"fontsize": FONT_SIZE, "va": "center", "parse_math": False, "clip_on": True}
    lane_of = {one.token_ids: lane for lane, one in enumerate(following.hypotheses)} if following else {}
    axes.text(left, -1.1, f"step {step.number}", color="dimgray", weight="bold", **text)
    for lane, hypothesis in enumerate(step.hypotheses):
        top = lane * lane_height
        so_far = readable_text(tokenizer, hypothesis.token_ids[prompt_length:])
        axes.text(left, top, end_of(so_far, TEXT_LENGTH), color="dimgray", style="italic", **text)
        tokens = readable_tokens(tokenizer, [candidate.token_id for candidate in hypothesis.candidates])
        for line, (candidate, token) in enumerate(zip(hypothesis.candidates, tokens), start=top + 1):
            continued = (*hypothesis.token_ids, candidate.token_id)
            colour = _colour(candidate, continued == result[: len(continued)])
            axes.add_patch(Rectangle((left, line - 0.42), WHOLE_BAR * candidate.probability, 0.84, color=colour))
            if candidate.changed:
                after = [left, left + WHOLE_BAR * candidate.kept_probability]
                axes.plot(after, [line + 0.42] * 2, color="black", linewidth=1.5, solid_capstyle="butt")
            ink = "black" if candidate.kept else "darkgray"
            weight = "bold" if candidate.chosen else "normal"
            axes.text(left + 0.02, line, start_of(token, TOKEN_LENGTH), color=ink, weight=weight, **text)
            axes.text(right, line, f"{candidate.probability:.2f}", color=ink, ha="right", **text)
            if candidate.chosen and continued in lane_of:
                target = lane_of[continued] * lane_height
                axes.plot([right + 0.02, step.number + 0.06], [line, target], color=colour, linewidth=1.5)


def _colour(candidate: Candidate, in_result: bool) -> str:
    if candidate.chosen:
        return RESULT if in_result else CHOSEN
    return KEPT if candidate.kept else DROPPED


def _legend(figure: Figure) -> list[Patch | Line2D]:
    """Name the colours that occur."""
    drawn = {to_hex(bar.get_facecolor()) for axes in figure.axes for bar in axes.patches}
    handles = [Patch(color=colour, label=label) for colour, label in LABELS.items() if colour in drawn]
    if any(line.get_color() == "black" for axes in figure.axes for line in axes.lines):
        handles.append(Line2D([], [], color="black", label="after temperature, top-k, top-p, …"))
    return handles
