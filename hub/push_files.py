"""The files of a model's folder that are pushed: real files of known names, all that a loader needs, no secrets."""

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..engines.onnx_models import check_export
from ..engines.saved_model import CONFIG, INDEX, SHARDS, WEIGHTS, name_models, read_config, weight_files
from ..phonemization.readings import READINGS_FILE
from .card import CARD
from .card_command import has_token
from .card_words import name_some

_NEEDED = ("tokenizer.json", "tokenizer_config.json")
READ_BESIDE_ONNX = (CONFIG, *_NEEDED, "generation_config.json", "special_tokens_map.json", READINGS_FILE)
"""The files that an engine reads beside ONNX files."""
_CODE = ("chat_template.jinja", "*.py")
_ABOUT = (CARD, "LICENSE*", "metrics.json", "*.png")
_ONNX = ("onnx/*.onnx", "onnx/*.onnx_data", "onnx/*.json")
_SENT = (*READ_BESIDE_ONNX, WEIGHTS, INDEX, SHARDS, *_CODE, *_ABOUT, *_ONNX)
_OF_MODEL = (WEIGHTS, INDEX, SHARDS, *_CODE, *_ONNX)
_NOT_TEXT = (".safetensors", ".onnx", ".onnx_data", ".png")


@dataclass(frozen=True)
class PushFiles:
    """The files of a folder, by their names in the repository.

    Attributes:
        sent: All that may be sent.
        left_out: Names of what is not sent. Folders end in `/`, and links are said to be links.
    """

    sent: dict[str, Path]
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        return f"{name_some(self.sent)}." + (f" Left out: {name_some(self.left_out)}." if self.left_out else "")

    @property
    def onnx(self) -> dict[str, Path]:
        """Those of the folder `onnx`."""
        return {name: path for name, path in self.sent.items() if name.startswith("onnx/")}


def select_files(folder: Path) -> PushFiles:
    """Return what may be sent of a folder. Links are not followed, and hidden files stay.

    Raises:
        ValueError: If the folder holds no complete model with its tokenizer, something that would be sent is neither
            file nor folder, an ONNX file was made of other weights, or a text has what looks like a token. The message
            names the file.
    """
    inside = [each for each in (folder / "onnx",) if each.is_dir() and not each.is_symlink()]
    paths = sorted(each for place in (folder, *inside) if place.is_dir() for each in place.iterdir())
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    config = read_config(folder) if _is_file(folder / CONFIG) else {}
    spellings = [config["spellings_file"]] if config.get("spellings_file") else []
    wanted = [name for name in names if _fits(name, _SENT) or name in spellings]
    for name in wanted:
        if stat.S_IFMT(names[name].lstat().st_mode) not in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR):
            raise ValueError(f"{names[name]} is neither a file nor a folder, but a pipe, socket or device: remove it.")
    sent = {name: names[name] for name in wanted if _is_file(names[name])}
    expected = "the folder of a saved model, with config.json and model.safetensors"
    _check_present(folder, sent, [CONFIG], f"{expected}{name_models(folder)}.")
    weights = [path.name for path in weight_files(folder)] or [WEIGHTS]
    weights += [INDEX] if WEIGHTS not in weights else []
    _check_present(folder, sent, weights, f"{expected}.")
    _check_present(folder, sent, _NEEDED, "the model's tokenizer beside it, which `tokenizer.save_pretrained` writes.")
    _check_present(folder, sent, spellings, f"the spellings that spellings_file of {CONFIG} names.")
    sent = {name: path for name, path in sent.items() if name in weights or not _fits(name, (WEIGHTS, INDEX, SHARDS))}
    for path in sent.values():
        if path.suffix == ".onnx":
            check_export(path)
        if path.suffix not in _NOT_TEXT and has_token(path.read_text(encoding="utf-8", errors="replace")):
            raise ValueError(f"{path} has what looks like a token of the Hub: take it out, and revoke the token.")
    links = [f"{name} (a link)" for name in names if names[name].is_symlink()]
    others = [
        f"{name}/" if path.is_dir() else name
        for name, path in names.items()
        if name not in sent and not path.is_symlink() and path not in inside
    ]
    return PushFiles(sent, (*links, *others))


def is_model_file(name: str) -> bool:
    """Return whether a file of a repository has weights, code or a graph, which a loader would read."""
    return _fits(name, _OF_MODEL)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name fits a pattern, in which `*` stands neither for `/` nor for the start of a hidden name."""
    place, _, own = name.rpartition("/")
    return not own.startswith(".") and any(
        place == at and fnmatchcase(own, pattern) for at, _, pattern in (each.rpartition("/") for each in patterns)
    )


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _check_present(folder: Path, sent: Iterable[str], names: Iterable[str], expected: str) -> None:
    for name in names:
        if (folder / name).is_symlink():
            raise ValueError(
                f"{folder / name} is a link, and only files of the folder itself are sent: `cp -rL` copies the files "
                "that links lead to."
            )
        if name not in sent:
            raise ValueError(f"{folder}: found no {name}; expected {expected}")
