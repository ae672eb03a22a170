"""Samples for dialogue: the next speech of a character in a play of Machado de Assis."""

import re
from typing import NamedTuple

from atenta.recipes.samples.files import SPLITS, read_samples

_CONTEXT = 2  # speeches in a prompt
_LONGEST_CONTEXT = 120  # characters of each of them
_LONGEST_ANSWER = 200  # characters

_SCENE = re.compile(r"^(?:CENA|Cena) .+$", re.MULTILINE)
_END = re.compile(r"^(?:FIM|NOTA|ATO .+|.+ PARTE)$", re.MULTILINE)  # of the play or of an act
# In brackets, with the full stop after them if the sentence before has its own: `casa. (Sai). Adeus`.
_DIRECTION = re.compile(r"(?<=[.!?])\s*\([^()]*\)\.?|[^\S\n]*\([^()]*\)")
_NAME = r"(?:[A-ZÀ-Ý]{1,3}\.? ?)?[A-ZÀ-Ý]{3,}(?: (?:e )?[A-ZÀ-Ý]+\b)*"
# `BENTO`, `BENTO — Pronto`, `D. ANTÔNIO, enfadando-se. — Um gracejo`, `D. HELENA Nem o sobrinho?`, but not the list
# of the characters in a scene: `MARGARIDA, SEABRA, TITO`.
_OPENING = re.compile(
    rf"^(?P<speaker>{_NAME})\.?(?:, [a-zà-ý][^—\n]*)?(?:\s*(?:[—–-]\s*)+|$|(?= [A-ZÀ-Ý][^A-ZÀ-Ý]))", re.MULTILINE
)


class Speech(NamedTuple):
    """A speech of one character."""

    speaker: str
    text: str


def parse_scenes(play: str) -> list[list[Speech]]:
    """Return the scenes of a play, each as the list of its speeches.

    A speech starts on a line with the speaker's name in capitals, alone or before a dash, and ends before the next
    speech. Stage directions, in brackets or between a name and its dash, are removed. White space of any length, line
    breaks included, becomes one space. Text outside scenes (title, cast, dedication, prologue), text before the first
    speech of a scene and names without a speech are ignored.
    """
    found = []
    for scene in _SCENE.split(play)[1:]:
        spoken = _DIRECTION.sub("", _END.split(scene)[0])
        openings = list(_OPENING.finditer(spoken))
        ends = [opening.start() for opening in openings[1:]] + [len(spoken)]
        texts = [" ".join(spoken[opening.end() : end].split()) for opening, end in zip(openings, ends)]
        found.append([Speech(opening["speaker"], text) for opening, text in zip(openings, texts) if text])
    return found


def read_scenes(split: str) -> list[list[Speech]]:
    """Return the scenes of all plays of a split."""
    return [scene for play in read_samples(f"machado_plays/{split}") for scene in parse_scenes(play)]


def scene_prompts(scene: list[Speech]) -> list[dict[str, str]]:
    """Return a row for each speech of a scene but the first that has at most 200 characters.

    The prompt has the form of a script: the two preceding speeches (one for the second speech of the scene), each with
    the speaker's name on a line and the text on the next, and then the name of the current speaker. A preceding speech
    of more than 120 characters is shortened to `…` and its last words.
    """
    rows = []
    for position, (speaker, answer) in enumerate(scene):
        if position > 0 and len(answer) <= _LONGEST_ANSWER:
            context = scene[max(0, position - _CONTEXT) : position]
            lines = [line for before in context for line in (before.speaker, _last_words(before.text))]
            rows.append({"prompt": "\n".join([*lines, speaker]), "answer": answer})
    return rows


def dialogue_prompts() -> dict[str, list[dict[str, str]]]:
    """Return the rows of the splits `train`, `validation` and `test`, in the order of the plays.

    Returns:
        The rows of each split: `prompt` ends with the name of the next speaker, `answer` is their speech.
    """
    return {split: [row for scene in read_scenes(split) for row in scene_prompts(scene)] for split in SPLITS}


def _last_words(text: str) -> str:
    if len(text) <= _LONGEST_CONTEXT:
        return text
    return "…" + text[1 - _LONGEST_CONTEXT :].partition(" ")[2]
