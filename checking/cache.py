"""A cache of findings by the content of files: one that has not changed is not read by the model again."""

import hashlib
import json
import sqlite3
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ..restoration.portuguese import MODEL_FOLDER
from .findings import Finding

FOLDER = ".atenta_cache"
_MOST_KEPT = 20_000  # files as they are and as they were
_MODEL_FILES = ("config.json", "spellings.txt", "onnx/*.onnx")
# The words that lack marks, None if nothing is Portuguese, and the words that have marks, without these.
FileFindings = tuple[list[Finding] | None, list[str]]


class Cache:
    """A cache in `.atenta_cache` of the folder of a project; without one, or where it cannot be written, in memory."""

    def __init__(self, root: Path | None) -> None:
        self._kept: dict[str, FileFindings] = {}
        self._database: sqlite3.Connection | None = None
        if root is None:
            return
        folder = root / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            if any(each.is_symlink() for each in (folder, *folder.iterdir())):
                return  # which a repository may have, to let files elsewhere be written
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
            self._database = sqlite3.connect(folder / "findings.sqlite", isolation_level=None)
            self._database.execute("PRAGMA synchronous = OFF")  # faster; what is lost is only found again
            self._database.execute("CREATE TABLE IF NOT EXISTS files (key TEXT PRIMARY KEY, model TEXT, found TEXT)")
            self._database.execute("DELETE FROM files WHERE model != ?", (model_digest(),))
            oldest = "(SELECT max(rowid) FROM files) - ?"
            self._database.execute(f"DELETE FROM files WHERE rowid <= {oldest}", (_MOST_KEPT,))
        except (OSError, sqlite3.Error):
            self._database = None

    def load(self, key: str) -> FileFindings | None:
        """Return what was found in a file, or `None`."""
        if key in self._kept:
            return self._kept[key]
        rows = self._execute("SELECT found FROM files WHERE key = ?", key)
        if not rows:
            return None
        try:
            findings, marked = json.loads(rows[0][0])
            return None if findings is None else [Finding(*fields) for fields in findings], marked
        except (TypeError, ValueError):  # not what this program has written
            return None

    def save(self, key: str, found: FileFindings) -> None:
        """Keep what was found in a file."""
        self._kept[key] = found
        self._execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", key, model_digest(), json.dumps(found))

    def _execute(self, command: str, *values: str) -> list:
        try:
            return [] if self._database is None else self._database.execute(command, values).fetchall()
        except sqlite3.Error:  # damaged, or a full disk
            self._database = None
            return []


def cache_key(content: bytes, ending: str, variant: str | None = None) -> str:
    """Return the key of a file: its content, what it is read as, in which variant, the model, and this code."""
    return hashlib.sha256(f"{ending}\0{variant}\0{model_digest()}\0".encode() + content).hexdigest()


@cache
def model_digest() -> str:
    """Return a digest of the model that comes with the package, and of the code that reads files with it."""
    digest = hashlib.sha256("".join(map(version, ("markdown-it-py", "Pygments"))).encode())
    code = (Path(__file__).resolve().parent, MODEL_FOLDER.parent)
    paths = [path for pattern in _MODEL_FILES for path in MODEL_FOLDER.glob(pattern)]
    for path in sorted(paths) + sorted(path for folder in code for path in folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
