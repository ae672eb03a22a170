"""The proof that a saved encoder-decoder decodes elsewhere as it does here."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from atenta.recipes import decode


def decode_afresh(folder: str, rows: Sequence[Mapping[str, Any]], outputs: Sequence[str], num_beams: int) -> None:
    """Load the saved model in a process that knows nothing of this one, and decode these rows again.

    Args:
        folder: where the model was saved.
        rows: pairs, with `source` and `tags`.
        outputs: what the model made of them before it was saved.
        num_beams: width of the search that made them.

    Raises:
        RuntimeError: it decodes otherwise than the model that was trained.
    """
    sources = [
        row["source"] + "\t" * bool(row["tags"]) + ";".join(tag.strip("<>") for tag in row["tags"]) for row in rows
    ]
    # A source may start with a hyphen.
    command = [sys.executable, decode.__file__, "--num_beams", str(num_beams), "--", folder, *sources]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    reloaded = done.stdout.removesuffix("\n").split("\n")
    if reloaded != list(outputs):
        raise RuntimeError(f"{folder} was saved, but a fresh process decodes otherwise: {reloaded}")
    print(f"Saved in {folder}. A fresh process loads it and decodes these {len(rows)} alike:\n")
    source, output = next((pair for pair in zip(sources, reloaded) if pair[0] != pair[1]), (sources[0], reloaded[0]))
    print(f'$ python recipes/decode.py {folder} "{source}"\n{output}')
