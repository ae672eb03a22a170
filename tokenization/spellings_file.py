"""The file of spellings that a tagger of characters reads, beside its weights. Finding it needs no library."""

from pathlib import Path
from typing import Any

HUB_OPTIONS = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token")
"""The options of transformers' `from_pretrained` that say where on the Hub a file is."""


def find_spellings(config: Any, **hub_options: Any) -> Path | None:
    """Return the file of spellings of a saved model; `None` if it was trained without.

    Args:
        config: of the saved model.
        hub_options: some of `HUB_OPTIONS`.

    Raises:
        OSError: If the configuration names a file that is not there.
        ValueError: If what it names is not a file in the folder of the model.
    """
    name = getattr(config, "spellings_file", None)
    if name is None:
        return None
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise ValueError(f"spellings_file={name!r:.200} in {config.name_or_path}; expected the name of a file there.")
    folder = Path(config.name_or_path, hub_options.get("subfolder") or "")
    path = folder / name
    if not Path(config.name_or_path).is_dir():
        from transformers.utils import cached_file

        hub_options.setdefault("revision", getattr(config, "_commit_hash", None))
        found: Any = cached_file(config.name_or_path, name, **hub_options)  # or raises
        return Path(found)
    if not path.exists():
        raise FileNotFoundError(f"{path}, which config.json names as spellings_file, is not there.")
    if not path.is_file() or path.resolve().parent != (folder / "config.json").resolve().parent:
        # Where files are links, as in the cache of the Hub, all of a model lead to one folder.
        raise ValueError(f"{path}, which config.json names as spellings_file, is not a file in that folder.")
    return path
