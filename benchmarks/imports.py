"""How long `import atenta` takes, over what its users import anyway."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from benchmarks.measure import interleave
from benchmarks.results import OURS, Target, Work
from benchmarks.settings import Settings

SECONDS = 50
ROUNDS = 4
STATEMENTS = {OURS: "import atenta", "transformers": "from transformers import AutoModel, PreTrainedModel"}
TIMED = "from time import perf_counter; start = perf_counter(); {}; print(perf_counter() - start)"


def run(settings: Settings) -> Iterator[Work]:
    """Measure seconds, in a fresh process each."""
    seconds = {name: partial(_seconds, statement) for name, statement in STATEMENTS.items()}
    figures = interleave(seconds, settings.rounds or ROUNDS, "import")
    yield Work("import", "s", figures, [Target(0.3, "transformers", kind="difference")])


def _seconds(statement: str) -> float:
    command = [sys.executable, "-c", TIMED.format(statement)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
