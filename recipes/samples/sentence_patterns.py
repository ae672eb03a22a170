"""Training sentences made by rules: everyday contexts whose accents depend on agreement or syntax."""

import random
import re
from pathlib import Path
from typing import Any

import yaml

from atenta.recipes.samples.files import DATA

PATTERNS = DATA / "portugues_regras" / "patterns.yaml"
_TOGETHER = re.compile(r"<([^<>]*)>")  # <o|a>: the same place in each of a template
_CHOICE = re.compile(r"\[([^\[\]]*)\]")  # [hoje|]: any, each for itself
_SLOT = re.compile(r"\{(\w+)\}")
_TRIES = 20  # for each sentence, before a group has no more
_LOWER, _NO_MARK, _EXCLAMATION = 0.2, 0.25, 0.08  # shares of sentences


def read_patterns(path: str | Path = PATTERNS) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Read a file of patterns and check it.

    Returns:
        The members of each word class, and the templates of each group; members and templates are written alike.

    Raises:
        FileNotFoundError: If there is no such file, as in an installed package that runs outside a clone.
        ValueError: If a class or group is empty, or a member or template has an unknown slot, a bracket without its
            other half or choices that do not go together.
    """
    content: Any = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(content, dict) or set(content) != {"classes", "groups"}:
        raise ValueError(f"{path}: expected the keys 'classes' and 'groups', and no others")
    classes: dict[str, list[str]] = {}
    for name, text in (content["classes"] or {}).items():
        members = [each.strip() for each in str(text or "").split(",") if each.strip()]
        _check(f"{path}: class '{name}'", members, classes)  # of those above it, so that none can contain itself
        classes[name] = members
    groups: dict[str, list[str]] = {}
    for name, text in (content["groups"] or {}).items():
        lines = [line.strip() for line in str(text or "").splitlines()]
        groups[name] = [line for line in lines if line and not line.startswith("#")]
        _check(f"{path}: group '{name}'", groups[name], classes)
    return classes, groups


def draw_sentences(count: int, seed: int, path: str | Path = PATTERNS) -> dict[str, list[str]]:
    """Draw different sentences of each group of patterns, equally many of each template while it has new ones.

    Most begin with a capital and end with a mark; some are in lower case or without the mark, like messages. A group
    has at most `count` of them, in random order.
    """
    classes, groups = read_patterns(path)
    generator = random.Random(seed)
    drawn = {}
    for group, templates in groups.items():
        found: dict[str, str] = {}
        for attempt in range(_TRIES * count):
            sentence = _fill(templates[attempt % len(templates)], classes, generator)
            sentence = re.sub(r" +(?=[,.;:?!])", "", " ".join(sentence.split()))
            found.setdefault(sentence, _dress(sentence, generator))
            if len(found) == count:
                break
        drawn[group] = list(found.values())
        generator.shuffle(drawn[group])
    return drawn


def _check(where: str, texts: list[str], classes: dict[str, list[str]]) -> None:
    if not texts:
        raise ValueError(f"{where} is empty")
    for text in texts:
        together = [found.count("|") for found in _TOGETHER.findall(text)]
        if len(set(together)) > 1 or any("[" in found for found in _TOGETHER.findall(text)):
            raise ValueError(f"{where}: choices in <> that do not go together in '{text}'")
        for place in range(max(together, default=0) + 1):
            chosen = _choose_together(text, place)
            for slot in _SLOT.findall(chosen):
                if slot not in classes:
                    raise ValueError(f"{where}: unknown class '{slot}' in '{text}'; expected one of those above it")
            plain = _SLOT.sub("", chosen)
            while plain != (plain := _CHOICE.sub("", plain)):
                pass
            if re.search(r"[][<>{}|]", plain):
                raise ValueError(f"{where}: a bracket without its other half, or | outside, in '{text}'")


def _choose_together(text: str, place: int) -> str:
    return _TOGETHER.sub(lambda found: found[1].split("|")[place], text)


def _fill(text: str, classes: dict[str, list[str]], generator: random.Random) -> str:
    """Return a text with one choice of each of its brackets, and a member of the class of each of its slots."""
    if together := _TOGETHER.search(text):
        text = _choose_together(text, generator.randrange(together[1].count("|") + 1))
    while text != (text := _CHOICE.sub(lambda found: generator.choice(found[1].split("|")), text)):
        pass
    return _SLOT.sub(lambda found: _fill(generator.choice(classes[found[1]]), classes, generator), text)


def _dress(sentence: str, generator: random.Random) -> str:
    """Return a sentence with a capital and a mark, or, sometimes, without them."""
    mark = "" if sentence[-1] in ".?!…" else "!" if generator.random() < _EXCLAMATION else "."
    sentence = sentence + mark
    if generator.random() < _NO_MARK:
        sentence = sentence.rstrip(".?!…")
    return sentence.lower() if generator.random() < _LOWER else sentence[0].upper() + sentence[1:]
