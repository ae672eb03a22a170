"""The steps of decoding as a table on the screen."""

from collections.abc import Iterator, Sequence

from transformers import PreTrainedTokenizerBase

from atenta.recipes.decoding.hypotheses import Candidate, DecodingStep
from atenta.recipes.pictures.labels import end_of, readable_text, readable_tokens, start_of

WIDTH = 109  # columns of the screen
TEXT_WIDTH, TOKEN_WIDTH = 18, 11


def decoding_table(steps: Sequence[DecodingStep], tokenizer: PreTrainedTokenizerBase) -> str:
    """Lay out the steps of decoding as text, a line or two a hypothesis.

    Each line has the step, Σ log p of the text generated so far (in nats), that text, and the candidates for its next
    token with the model's probabilities: → chosen. Where temperature, top-k, top-p or other options change
    probabilities, a second line has those after them, and ✓ is at what they allow. Below a step stands what it ended.

    Args:
        steps: `list(decoding_steps(...))`.
        tokenizer: the model's.

    Raises:
        ValueError: there are no steps.
    """
    if not steps:
        raise ValueError("There are no steps, expected at least one: list(decoding_steps(...)) has them.")
    prompt = steps[0].hypotheses[0].token_ids
    hypotheses = [hypothesis for step in steps for hypothesis in step.hypotheses]
    candidates = [candidate for hypothesis in hypotheses for candidate in hypothesis.candidates]
    tokens = readable_tokens(tokenizer, [candidate.token_id for candidate in candidates])
    shown = {candidate.token_id: start_of(token, TOKEN_WIDTH) for candidate, token in zip(candidates, tokens)}
    processed = any(candidate.changed for candidate in candidates)
    beams = any(len(step.hypotheses) > 1 for step in steps)

    lines = [
        f"starts with  {readable_text(tokenizer, prompt)}",
        "→ chosen  ✓ allowed, not chosen" if processed else "→ chosen",
        *["second line: after temperature, top-k, top-p and other options"] * processed,
        *["ended: with log p / number of tokens ** length_penalty"] * beams,
        "",
        f"step    log p  {'text so far':<{TEXT_WIDTH}}  candidates",
    ]
    known = ()
    for step in steps:
        for rank, hypothesis in enumerate(step.hypotheses):
            text = end_of(readable_text(tokenizer, hypothesis.token_ids[len(prompt) :]), TEXT_WIDTH)
            head = f"{step.number if rank == 0 else '':>4}  {hypothesis.score:>7.3f}  {text:<{TEXT_WIDTH}}  "
            for cells in _rows_of_cells(hypothesis.candidates, shown, processed, WIDTH - len(head)):
                lines.append((head + cells).rstrip())
                head = " " * len(head)
        for finished in step.finished:
            if finished not in known:
                text = readable_text(tokenizer, finished.token_ids[len(prompt) :])
                lines.append(f"      {finished.score:>7.3f}  {text}  ended")
        known = step.finished
        lines += [""] * beams
    if steps[-1].finished:
        best = steps[-1].finished[0]
        lines.append(f"result  {readable_text(tokenizer, best.token_ids)}  with score {best.score:.3f}")
    return "\n".join(lines)


def _rows_of_cells(
    candidates: Sequence[Candidate], shown: dict[int, str], processed: bool, width: int
) -> Iterator[str]:
    """Yield lines of candidates, as many on each as there is room for."""
    token_width = max(map(len, shown.values()))
    cells_a_line = max(1, (width + 2) // (token_width + 10))
    for start in range(0, len(candidates), cells_a_line):
        row = candidates[start : start + cells_a_line]
        marks = ["→" if candidate.chosen else "✓" if processed and candidate.kept else " " for candidate in row]
        yield "  ".join(
            f"{mark} {shown[candidate.token_id]:<{token_width}} {candidate.probability:.3f}"
            for mark, candidate in zip(marks, row)
        )
        if processed:
            figures = [f"{candidate.kept_probability:.3f}" if candidate.kept else "-" for candidate in row]
            yield "  ".join(f"{figure:>{token_width + 8}}" for figure in figures)
