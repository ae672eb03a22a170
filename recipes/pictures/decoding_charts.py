"""Decoding steps as a picture and as a table."""

from collections.abc import Iterator, Sequence
from math import ceil
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from transformers import PreTrainedTokenizerBase

from atenta.recipes.decoding.steps import Candidate, DecodingStep
from atenta.recipes.pictures.drawing import end_of, readable_text, readable_tokens, start_of
from atenta.recipes.pictures.words import say, say_number

# The picture. Its lengths are in characters unless noted otherwise.
STEPS_PER_ROW = 7
FULL_BAR = 0.76  # length of a bar for a probability of 1, as a share of the width of a step
RESULT, CHOSEN, KEPT, DROPPED = "#f4a259", "#7fb2e5", "#dbe9f6", "#eeeeee"  # colours of bars
_BAR_LABELS = {
    RESULT: "chosen, in the result",
    CHOSEN: "chosen",
    KEPT: "not chosen",
    DROPPED: "dropped before choosing",
}
_STEP_WIDTH, _LINE_HEIGHT = 1.3, 0.2  # inches
_TEXT_LENGTH, _TOKEN_LENGTH = 13, 9
_FONT_SIZE = 7.5  # points

# The table, in columns of the screen.
_TABLE_WIDTH = 109
_TEXT_WIDTH, _TOKEN_WIDTH = 18, 11


def draw_decoding(steps: Sequence[DecodingStep], tokenizer: PreTrainedTokenizerBase) -> Figure:
    """Draw each step as a column of hypotheses, best first.

    Each hypothesis shows its text so far, followed by its candidates with bars as long as their probabilities. A black
    line under a bar shows the probability after temperature, top-k and top-p. Lines connect each chosen candidate to
    the hypothesis that it becomes in the next step. Long searches continue in the next row.

    Args:
        steps: The steps, `list(decoding_steps(...))`.
        tokenizer: The model's tokenizer.

    Raises:
        ValueError: If there are no steps.
    """
    prompt = _prompt(steps)
    hypotheses = [hypothesis for step in steps for hypothesis in step.hypotheses]
    lanes = max(len(step.hypotheses) for step in steps)
    lane_height = max(len(hypothesis.candidates) for hypothesis in hypotheses) + 2  # in lines
    rows = ceil(len(steps) / STEPS_PER_ROW)
    columns = ceil(len(steps) / rows)
    size = (columns * _STEP_WIDTH + 0.2, rows * (lanes * lane_height + 1) * _LINE_HEIGHT + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    result = steps[-1].finished[0].token_ids if steps[-1].finished else ()
    for row, axes in enumerate(figure.subplots(rows, squeeze=False).flat):
        axes.set(xlim=(row * columns, (row + 1) * columns), ylim=(lanes * lane_height - 0.5, -1.7))
        axes.axis("off")
        # Lines from the previous step and to the next one are clipped at the edges.
        first, end = max(0, row * columns - 1), (row + 1) * columns + 1
        for step, following in zip(steps[first:end], [*steps[first + 1 : end], None]):
            _draw_step(axes, step, following, tokenizer, lane_height, len(prompt), result)
    title = readable_text(tokenizer, result) if result else f"{readable_text(tokenizer, prompt)} …"
    figure.suptitle(fill(title, _TEXT_LENGTH * columns), fontsize=_FONT_SIZE + 2, parse_math=False)
    drawn = {to_hex(bar.get_facecolor()) for axes in figure.axes for bar in axes.patches}
    handles: list[Patch | Line2D] = [
        Patch(color=colour, label=say(label)) for colour, label in _BAR_LABELS.items() if colour in drawn
    ]
    if any(line.get_color() == "black" for axes in figure.axes for line in axes.lines):
        handles.append(Line2D([], [], color="black", label=say("after temperature, top-k, top-p, …")))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=_FONT_SIZE, frameon=False)
    return figure


def decoding_table(steps: Sequence[DecodingStep], tokenizer: PreTrainedTokenizerBase) -> str:
    """Return the steps as a text table with one or two lines per hypothesis.

    Each line shows the step, Σ log p of the text generated so far (in nats), that text, and the candidates for its
    next token with the model's probabilities. → marks the chosen candidates. If temperature, top-k, top-p or other
    options change probabilities, a second line shows the changed ones, and ✓ marks the other candidates that are still
    allowed. Hypotheses that ended are listed below their last step. Arguments and errors are those of
    [`draw_decoding`].
    """
    prompt = _prompt(steps)
    hypotheses = [hypothesis for step in steps for hypothesis in step.hypotheses]
    candidates = [candidate for hypothesis in hypotheses for candidate in hypothesis.candidates]
    tokens = readable_tokens(tokenizer, [candidate.token_id for candidate in candidates])
    shown = {candidate.token_id: start_of(token, _TOKEN_WIDTH) for candidate, token in zip(candidates, tokens)}
    processed = any(candidate.changed for candidate in candidates)
    beams = any(len(step.hypotheses) > 1 for step in steps)

    lines = [
        f"{say('starts with')}  {readable_text(tokenizer, prompt)}",
        say("→ chosen  ✓ allowed, not chosen") if processed else say("→ chosen"),
        *[say("second line: after temperature, top-k, top-p and other options")] * processed,
        *[say("ended: with log p / number of tokens ** length_penalty")] * beams,
        "",
        f"{say('step'):<5}{'log p':>8}  {say('text so far'):<{_TEXT_WIDTH}}  {say('candidates')}",
    ]
    known = ()
    for step in steps:
        for rank, hypothesis in enumerate(step.hypotheses):
            text = end_of(readable_text(tokenizer, hypothesis.token_ids[len(prompt) :]), _TEXT_WIDTH)
            number, score = step.number if rank == 0 else "", say_number(hypothesis.score, "7.3f")
            head = f"{number:>4}  {score}  {text:<{_TEXT_WIDTH}}  "
            for cells in _rows_of_cells(hypothesis.candidates, shown, processed, _TABLE_WIDTH - len(head)):
                lines.append((head + cells).rstrip())
                head = " " * len(head)
        for finished in step.finished:
            if finished not in known:
                text = readable_text(tokenizer, finished.token_ids[len(prompt) :])
                lines.append(f"      {say_number(finished.score, '7.3f')}  {text}  {say('ended')}")
        known = step.finished
        lines += [""] * beams
    if steps[-1].finished:
        best = steps[-1].finished[0]
        text, score = readable_text(tokenizer, best.token_ids), say_number(best.score, ".3f")
        lines.append(say("result  {text}  with score {score}").format(text=text, score=score))
    return "\n".join(lines)


def _prompt(steps: Sequence[DecodingStep]) -> tuple[int, ...]:
    if not steps:
        raise ValueError("There are no steps; expected at least one, as in list(decoding_steps(...))")
    return steps[0].hypotheses[0].token_ids


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
    right = left + FULL_BAR
    text = {"fontsize": _FONT_SIZE, "va": "center", "parse_math": False, "clip_on": True}
    lane_of = {one.token_ids: lane for lane, one in enumerate(following.hypotheses)} if following else {}
    axes.text(left, -1.1, say("step {number}").format(number=step.number), color="dimgray", weight="bold", **text)
    for lane, hypothesis in enumerate(step.hypotheses):
        top = lane * lane_height
        so_far = readable_text(tokenizer, hypothesis.token_ids[prompt_length:])
        axes.text(left, top, end_of(so_far, _TEXT_LENGTH), color="dimgray", style="italic", **text)
        tokens = readable_tokens(tokenizer, [candidate.token_id for candidate in hypothesis.candidates])
        for line, (candidate, token) in enumerate(zip(hypothesis.candidates, tokens), start=top + 1):
            continued = (*hypothesis.token_ids, candidate.token_id)
            chosen = RESULT if continued == result[: len(continued)] else CHOSEN
            colour = chosen if candidate.chosen else KEPT if candidate.kept else DROPPED
            axes.add_patch(Rectangle((left, line - 0.42), FULL_BAR * candidate.probability, 0.84, color=colour))
            if candidate.changed:
                after = [left, left + FULL_BAR * candidate.kept_probability]
                axes.plot(after, [line + 0.42] * 2, color="black", linewidth=1.5, solid_capstyle="butt")
            ink = "black" if candidate.kept else "darkgray"
            weight = "bold" if candidate.chosen else "normal"
            axes.text(left + 0.02, line, start_of(token, _TOKEN_LENGTH), color=ink, weight=weight, **text)
            axes.text(right, line, say_number(candidate.probability, ".2f"), color=ink, ha="right", **text)
            if candidate.chosen and continued in lane_of:
                target = lane_of[continued] * lane_height
                axes.plot([right + 0.02, step.number + 0.06], [line, target], color=colour, linewidth=1.5)


def _rows_of_cells(
    candidates: Sequence[Candidate], shown: dict[int, str], processed: bool, width: int
) -> Iterator[str]:
    """Yield lines of candidates that fit in `width` columns."""
    token_width = max(map(len, shown.values()))
    cells_per_line = max(1, (width + 2) // (token_width + 10))
    for start in range(0, len(candidates), cells_per_line):
        row = candidates[start : start + cells_per_line]
        marks = ["→" if candidate.chosen else "✓" if processed and candidate.kept else " " for candidate in row]
        yield "  ".join(
            f"{mark} {shown[candidate.token_id]:<{token_width}} {say_number(candidate.probability, '.3f')}"
            for mark, candidate in zip(marks, row)
        )
        if processed:
            figures = [say_number(candidate.kept_probability, ".3f") if candidate.kept else "-" for candidate in row]
            yield "  ".join(f"{figure:>{token_width + 8}}" for figure in figures)
