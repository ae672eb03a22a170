"""What a run's figures were measured on, and with."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import torch

from benchmarks.settings import Settings


def machine(settings: Settings) -> str:
    """Return processor, cores and memory, or the GPU and its memory."""
    if settings.on_gpu:
        properties = torch.cuda.get_device_properties(0)
        return f"one {properties.name}, {properties.total_memory / 2**30:.0f} GiB, bfloat16"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{_processor()}, {settings.threads} of {os.cpu_count()} cores, {memory:.0f} GiB, float32"


def versions() -> str:
    """Return the versions of Python and of the packages that count."""
    names = ("atenta", "torch", "transformers", "tokenizers", "accelerate")
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)])


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
