"""The dialogue task: what does the next character say in a play of Machado de Assis?"""

import re
from pathlib import Path
from typing import NamedTuple

from atenta.recipes.samples.files import DATA, SPLITS, read_samples

CONTEXT = 2  # speeches that a prompt holds
LONGEST_CONTEXT = 120  # characters of each
LONGEST_ANSWER = 200  # characters

_SCENE = re.compile(r"^(?:CENA|Cena) .+$", re.MULTILINE)
_END = re.compile(r"^(?:FIM|NOTA|ATO .+|.+ PARTE)$", re.MULTILINE)  # of the play, or of an act
# Between brackets; with the full stop behind them where the sentence before has its own: `casa. (Sai). Adeus`.
_DIRECTION = re.compile(r"(?<=[.!?])\s*\([^()]*\)\.?|[^\S\n]*\([^()]*\)")
_NAME = r"(?:[A-ZÀ-Ý]{1,3}\.? ?)?[A-ZÀ-Ý]{3,}(?: (?:e )?[A-ZÀ-Ý]+\b)*"
# `BENTO`, `BENTO — Pronto`, `D. ANTÔNIO, enfadando-se. — Um gracejo`, `D. HELENA Nem o sobrinho?`, but not the list
# of who is in a scene: `MARGARIDA, SEABRA, TITO`.
_OPENING = re.compile(
    rf"^(?P<speaker>{_NAME})\.?(?:, [a-zà-ý][^—\n]*)?(?:\s*(?:[—–-]\s*)+|$|(?= [A-ZÀ-Ý][^A-ZÀ-Ý]))", re.MULTILINE
)


class Speech(NamedTuple):
    """What one character says in one go."""

    speaker: str
    text: str


def scenes(play: str) -> list[list[Speech]]:
    """Return the scenes of a play, each the list of its speeches, in order.

    A speech opens on a line that holds its speaker's name in capitals, alone or before a dash, and ends before the
    next one. Stage directions go: what stands in brackets, or between a name and its dash. White space of any
    length, line breaks included, becomes one space. What stands outside scenes (title, cast, dedication, prologue)
    or before a scene's first speech, and names with nothing said, make no speech.
    """
    found = []
    for scene in _SCENE.split(play)[1:]:
        spoken = _DIRECTION.sub("", _END.split(scene)[0])
        openings = list(_OPENING.finditer(spoken))
        ends = [opening.start() for opening in openings[1:]] + [len(spoken)]
        texts = [" ".join(spoken[opening.end() : end].split()) for opening, end in zip(openings, ends)]
        found.append([Speech(opening["speaker"], text) for opening, text in zip(openings, texts) if text])
    return found


def prompts(scene: list[Speech]) -> list[dict[str, str]]:
    """Return a row for every speech of a scene that others come before and that has at most 200 characters.

    The prompt is written like the script of a play: the two speeches before (one, at the second speech), each its
    speaker's name on a line and the text on the next, and last the name of who speaks now. A context speech of more
    than 120 characters stands there with `…` and its last words.
    """
    rows = []
    for position, (speaker, answer) in enumerate(scene):
        if position > 0 and len(answer) <= LONGEST_ANSWER:
            context = scene[max(0, position - CONTEXT) : position]
            lines = [line for before in context for line in (before.speaker, _last_words(before.text))]
            rows.append({"prompt": "\n".join([*lines, speaker]), "answer": answer})
    return rows


def dialogue_prompts(folder: Path = DATA / "machado_plays") -> dict[str, list[dict[str, str]]]:
    """Return the rows of the splits `train`, `validation` and `test`, in the order of the plays.

    `folder` holds a sub-folder a split with the split's plays, one UTF-8 text file each.

    Returns:
        for each split its rows: `prompt` ends with the name of who speaks next, `answer` is what they say.

    Raises:
        FileNotFoundError: if a split has no play, as in an installed package, which ships none.
    """
    return {
        split: [row for play in read_samples(folder / split) for scene in scenes(play) for row in prompts(scene)]
        for split in SPLITS
    }


def _last_words(text: str) -> str:
    if len(text) <= LONGEST_CONTEXT:
        return text
    return "…" + text[1 - LONGEST_CONTEXT :].partition(" ")[2]
