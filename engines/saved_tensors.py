"""The weights of a saved model as their files have them, read without the library safetensors."""

import json
import math
import mmap
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ..generation_options import is_whole
from .feedback import loading_errors


class SavedTensor(NamedTuple):
    """A tensor of a file in safetensors.

    Attributes:
        dtype: its type by the name that the format has for it, such as `F32`.
        shape: its sizes.
        data: its numbers.
    """

    dtype: str
    shape: list[int]
    data: memoryview


def read_tensors(path: Path) -> dict[str, SavedTensor]:
    """Return the tensors of a file in safetensors by their names. The library may not be installed.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is damaged.
    """
    with loading_errors(path.parent, path.name):
        with path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))  # most callers read the header
        start = 8 + int.from_bytes(content[:8], "little")
        if start > len(content):
            raise ValueError(f"the header has {start - 8} bytes, and the file {len(content)}")
        header = json.loads(bytes(content[8:start]))
        places = {name: each for name, each in header.items() if name != "__metadata__"}
        for name, each in places.items():
            if not isinstance(each["dtype"], str) or not all(map(is_id, [*each["shape"], *each["data_offsets"]])):
                raise ValueError(f"{name} is {each!r:.80}; expected its type, sizes and place")
            bits = int("".join(re.findall(r"\d+", each["dtype"])[:1]) or 8)  # 16 of BF16, 8 of F8_E4M3 and BOOL
            first, end = each["data_offsets"]
            if math.prod(each["shape"]) * bits != 8 * (end - first):
                raise ValueError(f"{name} has {end - first} bytes; expected those of {each['shape']} {each['dtype']}")
        last = max((each["data_offsets"][1] for each in places.values()), default=0)
        if last != len(content) - start:
            raise ValueError(f"there are {len(content) - start} bytes of tensors; expected {last}")
        return {
            name: SavedTensor(each["dtype"], each["shape"], content[start:][slice(*each["data_offsets"])])
            for name, each in places.items()
        }


def is_id(value: Any) -> bool:
    """Return whether a value is a whole number that may be the id of a token, or a size."""
    return is_whole(value, 0, sys.maxsize)


def let_others_read(path: Path) -> None:
    """Give a file the mode of any new file: the library safetensors writes one that nobody but its owner reads."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def count_weights(path: Path) -> int:
    """Return the number of weights in a file in safetensors. The errors are those of `read_tensors`."""
    return sum(math.prod(tensor.shape) for tensor in read_tensors(path).values())
