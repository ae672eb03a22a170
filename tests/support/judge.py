"""Faults of a call of a door on a hostile folder."""

from collections.abc import Iterator

from support.doors import OF_PYTHON, OF_TRANSFORMERS, OUR_PIPELINES
from support.watched import Call

# What trainings start, to note their cost and to try the saved model, and what asks where the machine is.
_OF_TRAINING = ("rocm-smi", "nvidia-smi", "uname", "lscpu", "file", "python", "powermetrics")
# What transformers' own functions do, as SECURITY.md says: they ask whether to run the code of types that they do not
# have for the task, and follow the names of files and of an adapter's model.
_OF_TRANSFORMERS_ITSELF = (
    *("auto_map of an unknown type", "auto_map of a type named like ours", "auto_map without a type"),
    *("auto_map of a path", "auto_map of bert", "auto_map of gpt2", "auto_map of t5", "auto_map of llama"),
    *("auto_map of rag", "trust_remote_code of lightglue", "escapes in the type", "shards ", "fast_tokenizer_files"),
    "adapter alone",
)
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


def problems_of(door: str, hostile: str, call: Call) -> Iterator[str]:
    """Yield what a call did that it must not; nothing if it ended well or with a clear error."""
    if call.shown:
        yield f"showed the secret: {call.shown}"
    if door in OF_TRANSFORMERS and hostile.startswith(_OF_TRANSFORMERS_ITSELF):
        return
    if door in OF_TRANSFORMERS and hostile == "processors" and door not in OUR_PIPELINES:
        return  # transformers' pipelines of texts load what belongs to videos
    trains, pushes = door.startswith("train"), door.startswith("push")
    starts = tuple(f"subprocess.Popen {name}" for name in _OF_TRAINING) if trains else ()
    if ran := [each for each in call.ran if not each.startswith(starts or "\0")]:
        yield f"ran {ran}"
    # transformers follows links: those in the cache of the Hub are.
    opened = [] if hostile.startswith("link") and door in OF_TRANSFORMERS else call.opened
    if door in OF_TRANSFORMERS:  # which read pickles without running them, if there are no other weights
        opened = [each for each in opened if not each.endswith(_PICKLES) or "/outside/" in each]
    if opened:
        yield f"opened {opened}"
    if call.written:
        yield f"wrote {call.written}"
    if call.sent and not pushes:
        yield f"sent {call.sent}"
    if call.asked:
        yield "asked a question"
    if pickles := [each for each in call.pushed if each.endswith(_PICKLES)]:
        yield f"pushed {pickles}"
    if "\x1b" in (call.error or "") and door not in OF_TRANSFORMERS:
        yield f"escapes for a terminal in {call.error[:200]!r}"
    if call.kind == "Killed":
        yield str(call.error)
    elif call.error is not None and door not in OF_TRANSFORMERS:
        is_clear = call.kind == "SystemExit" or (door.startswith(OF_PYTHON) and call.kind in _CLEAR)
        if not is_clear or "\n" in call.error.strip():
            yield f"unclear error {call.kind}: {call.error[:200]!r}"


_CLEAR = ("ValueError", "OSError", "FileNotFoundError", "ImportError")
