"""The engines that may run a saved model, the names of their files, and which of them a model gets.

The command reads the names for `--help`: this module needs neither NumPy nor torch.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

ChosenEngine = Literal["onnx", "torch"]
EngineName = Literal["auto", ChosenEngine]
Quantization = Literal["int8"]
ONNX_FOLDER = "onnx"  # in the folder of a saved model
IN_TORCH: tuple[EngineName, ...] = ("auto", "torch")  # what may be asked for where torch alone answers
_INSTALL: dict[ChosenEngine, str] = {"onnx": 'pip install "atenta[onnx]"', "torch": "pip install atenta"}


def file_name(stem: str, quantization: Quantization | None) -> str:
    """Return the name of an ONNX file: `model.onnx`, or `model_int8.onnx`."""
    return f"{stem}_{quantization}.onnx" if quantization else f"{stem}.onnx"


def first_files(folder: Path, quantization: Quantization | None) -> list[Path]:
    """Return where the first ONNX file of a saved model may be: one has a head, the other generates."""
    return [folder / ONNX_FOLDER / file_name(stem, quantization) for stem in ("model", "decoder_model")]


def _has_files(folder: Path, quantization: Quantization | None) -> bool:
    return any(path.is_file() for path in first_files(folder, quantization))


def export_command(path: Path) -> str:
    """Return the command that writes an ONNX file of a saved model."""
    return f"atenta export {path.parent.parent}" + (" --quantization int8" if path.stem.endswith("_int8") else "")


def choose_engine(
    folder: Path, engine: EngineName, quantization: Quantization | None
) -> tuple[ChosenEngine, Quantization | None]:
    """Return the engine to use for the model of a folder, and which of its ONNX files: int8 if there are no others.

    Arguments and errors are those of `load_engine`.
    """
    if engine not in get_args(EngineName):
        raise ValueError(f"engine={engine!r}; expected one of {', '.join(map(repr, get_args(EngineName)))}.")
    if quantization not in (None, *get_args(Quantization)):
        raise ValueError(f"quantization={quantization!r}; expected 'int8', or None for float32.")
    if engine == "torch" and quantization:
        raise ValueError(f"quantization={quantization!r} is for ONNX files; leave it out with engine='torch'.")
    has_onnx, has_torch = (find_spec(package) is not None for package in ("onnxruntime", "torch"))
    may_run = engine == "onnx" or (engine == "auto" and has_onnx)
    if quantization is None and may_run and not _has_files(folder, None) and _has_files(folder, "int8"):
        quantization = "int8"
    files, has_files = first_files(folder, quantization), _has_files(folder, quantization)
    only_files = any((folder / ONNX_FOLDER).glob("*.onnx")) and not any(folder.glob("*.safetensors"))
    if engine in ("auto", "onnx") and has_files and has_onnx:
        return "onnx", quantization
    if engine == "torch" or (engine == "auto" and quantization is None and has_torch and not only_files):
        if not has_torch:
            raise ImportError(f"engine='torch' needs torch and transformers: {_INSTALL['torch']}")
        return "torch", None
    if has_files or (only_files and not has_onnx):
        raise ImportError(f"The ONNX files of {folder} need onnxruntime: {_INSTALL['onnx']}")
    raise FileNotFoundError(
        f"{folder / ONNX_FOLDER} has no {' and no '.join(path.name for path in files)}: write them with torch "
        f"installed, {export_command(files[0])}"
    )
