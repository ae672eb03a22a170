"""An index of passages on disk: their texts, their vectors, and of what it was made.

The vectors are searched by FAISS, exhaustively, through `datasets`. Nothing is pickled.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import faiss
import numpy as np
from datasets import Dataset, load_from_disk

NAME = "vectors"  # of the index among those that a data set may have
_TEXTS, _VECTORS, _MADE_OF = "passages", "index.faiss", "index.json"


class Made(NamedTuple):
    """What an index is made of, or with: how a person calls it, and a fingerprint that changes when it does."""

    name: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.name} ({self.fingerprint[:8]})"


def save_index(folder: Path, passages: Dataset, vectors: np.ndarray, made_of: Mapping[str, Made]) -> None:
    """Write an index, in place of one that is there. Other files in the folder stay as they are.

    Args:
        folder: made if missing.
        passages: texts and where they stand.
        vectors: (passages, hidden_size) in float32, of length 1: the scores are then cosines.
        made_of: `model` and `texts`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MADE_OF).unlink(missing_ok=True)  # an index half written is none
    passages.save_to_disk(folder / _TEXTS)
    indexed = passages.select(range(len(passages)))  # what has an index cannot be saved: the caller's has none
    indexed.add_faiss_index_from_external_arrays(vectors, NAME, metric_type=faiss.METRIC_INNER_PRODUCT)
    indexed.save_faiss_index(NAME, folder / _VECTORS)
    (folder / _MADE_OF).write_text(json.dumps(made_of, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_index(folder: Path) -> Dataset:
    """Return the passages of an index, to be searched by `search_batch(NAME, vectors, k)`.

    Raises:
        OSError: there is no index.
    """
    passages = load_from_disk(folder / _TEXTS)
    passages.load_faiss_index(NAME, folder / _VECTORS)
    return passages


def is_made_of(folder: Path, made_of: Mapping[str, Made]) -> bool:
    """Tell whether an index is in a folder, made of these.

    Raises:
        ValueError: there is one that was made with another model or other texts; the message names all of them.
    """
    file = folder / _MADE_OF
    if not file.is_file():
        return False
    before = {part: Made(*made) for part, made in json.loads(file.read_text(encoding="utf-8")).items()}
    if any(before[part].fingerprint != made_of[part].fingerprint for part in made_of):
        raise ValueError(
            f"{folder} holds an index of {before['texts']}, made with {before['model']}; expected one of "
            f"{made_of['texts']}, made with {made_of['model']}: give another --output_dir, or "
            "--overwrite_output_dir to make it anew"
        )
    return True
