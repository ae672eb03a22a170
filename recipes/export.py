"""Write a saved model as ONNX files and compare them with torch: `atenta export outputs/accents`.

The files are in the model's folder `onnx`, from where `load_engine` takes them, also on a machine without torch. Then
onnxruntime and torch read the same texts, and a table shows how their answers and times differ.

With `--to transformers DEST`, the model is written into a new folder instead, as one of transformers' own classes,
which opens without `trust_remote_code`, and its outputs are compared.
"""

import argparse
import csv
import random
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from atenta.engines.choice import ONNX_FOLDER
from atenta.engines.engine import Engine, load_engine
from atenta.engines.feedback import as_line
from atenta.engines.kinds import kind_of, prompt_separator, saved_options
from atenta.engines.saved_model import find_model, learned_positions, read_generation_config
from atenta.engines.search_options import SearchOptions
from atenta.restoration.restorer import CharacterRestorer

_NUM_TEXTS = 100  # that are compared
_NUM_EXAMPLES = 600  # texts that calibrate
_LONGEST_RANDOM_TEXT = 40  # characters
_COLUMNS = ("source", "text", "words", "question", "query")  # of predictions.tsv: what a model has read
_NEW_TOKENS = 40  # of a prompt, and of a source more than its own


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files that the command line asks for, and print the comparison.

    Raises:
        SystemExit: If the options, the model or the texts are invalid, or the command is interrupted. The message is
            one line.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of a saved model with its tokenizer")
    parser.add_argument(
        "--quantization",
        choices=["int8"],
        help="round the weights of the blocks to int8: smaller, and not exact (default: float32)",
    )
    parser.add_argument(
        "--texts",
        type=Path,
        metavar="FILE",
        help=f"text file whose first {_NUM_TEXTS} lines are compared (default: those of "
        "predictions.tsv in the folder, or else random characters). With int8 and a "
        f"model that does not generate, give training texts: {_NUM_EXAMPLES} lines from all over the file are "
        "used to measure the ranges of the numbers that the weights multiply, so that these are rounded too, which is "
        "faster",
    )
    parser.add_argument(
        "--to",
        nargs=2,
        metavar=("transformers", "DEST"),
        help="write a folder for transformers, without code of this package, instead of ONNX files",
    )
    options = parser.parse_args(arguments)
    if options.to and options.to[0] != "transformers":
        parser.error(f"argument --to: found {options.to[0]!r}; expected transformers and a folder")
    if options.to and (options.quantization or options.texts):
        parser.error("--quantization and --texts are for ONNX files; expected --to without them")
    try:
        if options.to:
            _export_to_transformers(options.folder, Path(options.to[1]))
            return
        _export(options.folder, options.quantization, options.texts)
    except KeyboardInterrupt:
        print("\nStopped. Run the command again.", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:  # `| head`: the command ends without a word
        raise
    except (ImportError, ValueError, OSError) as error:
        raise SystemExit(as_line(str(error))) from None


def _export(folder: Path, quantization: Literal["int8"] | None, texts_file: Path | None) -> None:
    missing = [name for name in ("onnx", "onnxruntime", "onnxscript") if find_spec(name) is None]
    if missing:
        raise ImportError(f'Exporting needs {", ".join(missing)}: pip install "atenta[export]"')
    if find_model(folder) != folder:  # before the libraries are imported, which takes seconds
        raise ValueError(f"{folder} is on the Hub; expected a folder: `hf download {folder} --local-dir FOLDER`")
    given = [] if texts_file is None else _read_lines(texts_file)
    _hide_progress_bars()
    torch_engine = load_engine(folder, "torch")
    own = [] if given else own_texts(folder)
    texts = given[:_NUM_TEXTS] or own or random_texts(torch_engine)
    examples = given[:: -(-len(given) // _NUM_EXAMPLES)] if quantization and given else []
    search = choose_search(torch_engine, read_generation_config(folder), [*texts, *examples])
    # Refuses what cannot be read before the long work.
    _answer(torch_engine, [max([*texts, *examples], key=len)], search)

    from atenta.engines.onnx_export import export_onnx  # needs the packages above

    calibration = calibration_inputs(folder, torch_engine, examples)
    print(f"Exporting {folder}" + f", calibrated with {len(examples)} texts" * bool(calibration), flush=True)
    before = set(folder.glob(f"{ONNX_FOLDER}/*.onnx"))
    written = export_onnx(folder, quantization, calibration)
    for path in sorted(before - set(folder.glob(f"{ONNX_FOLDER}/*.onnx"))):
        print(f"Deleted {path.name}, which was made of other weights: export it again")
    settings = "".join(f", {name} {value}" for name, value in search.items())
    where = " of predictions.tsv" * bool(own)
    print(f"Comparing onnxruntime with torch on {len(texts)} texts{where}{settings}", flush=True)
    engines = {"onnxruntime": load_engine(folder, "onnx", quantization=quantization), "torch": torch_engine}
    rows = {path.name: f"{path.stat().st_size / 1e6:8.2f} MB" for path in written} | compare(engines, texts, search)
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")


def _hide_progress_bars() -> None:
    from transformers import logging

    logging.disable_progress_bar()  # of loading and saving, which are short


def _export_to_transformers(folder: Path, destination: Path) -> None:
    from atenta.hub.transformers_export import export_transformers

    _hide_progress_bars()
    print(f"Exporting {folder}", flush=True)
    exported = export_transformers(folder, destination)
    print(f"{destination}: {exported.class_name}, which opens without trust_remote_code")
    for name, difference in exported.differences.items():
        print(f"largest difference of {name}  {difference:8.1e}")


def calibration_inputs(folder: Path, engine: Engine, texts: Sequence[str]) -> list[dict[str, np.ndarray]]:
    """Return what a saved model reads of texts, each by itself, as `export_onnx` takes it.

    It is nothing for a model that generates, and for a model of pairs of texts, which single texts do not show.
    """
    if engine.config.get("character_variants"):  # its hints and windows are those of restoration
        return _tagger_inputs(folder, texts)
    task = kind_of(engine.config).task
    of_pairs = ("question-answering", "next-sentence-prediction", "pretraining")
    if engine.can_generate or task in of_pairs or saved_options(engine.config, task).get("text_pairs"):
        return []
    return [engine.tokenizer.inputs([text]) for text in texts]


def _tagger_inputs(folder: Path, texts: Sequence[str]) -> list[dict[str, np.ndarray]]:
    restorer = CharacterRestorer.from_pretrained(folder, engine="torch")
    found = []

    def record(model: Any, arguments: Any, inputs: Mapping[str, Any]) -> None:
        found.append({name: given.numpy() for name, given in inputs.items() if name != "return_dict"})

    with restorer.model.register_forward_pre_hook(record, with_kwargs=True):
        for text in texts:
            restorer.restore([text])
    return found


def choose_search(engine: Engine, saved: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Return the options of generation with which an engine answers texts: those that its model is saved with.

    Instead of its length, which prompts that are only continued would reach, these have a limit of their own, and so
    have texts for which the model has fewer positions, or no limit. `saved` is what `generation_config.json` holds.
    """
    if not engine.can_generate:
        return {}
    is_prompt, separator = not engine.config.get("is_encoder_decoder"), prompt_separator(engine.config)
    longest = max(map(len, engine.tokenizer.encode([text + separator for text in texts])))
    read = longest if is_prompt else 1
    search = {name: saved[name] for name in ("num_beams", "do_sample") if saved.get(name)}
    if "do_sample" in search:
        search["seed"] = 0  # or each engine would draw other characters
    lengths = {name: saved[name] for name in ("max_length", "max_new_tokens") if saved.get(name)}
    most = _NEW_TOKENS if is_prompt else longest + _NEW_TOKENS
    if lengths and (separator or not is_prompt):
        most = int(SearchOptions.from_saved(saved).new_token_limits([read])[0])
        search |= lengths
    else:
        search["max_new_tokens"] = most
    positions = learned_positions(engine.config)
    if positions is not None and read + most > positions:
        search = {**search, "max_length": None, "max_new_tokens": max(1, positions - read)}
    return {name: value for name, value in search.items() if value is not None}


def compare(
    engines: Mapping[str, Engine], texts: Sequence[str], search: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, str]:
    """Let two engines answer the same texts, and return what the table says, by the names of its lines.

    It says for how many texts the answer is the same, namely what a model generates, or the most probable of the
    classes that another has; the largest difference of each output of a model that does not generate; and the time per
    text of each engine. `search` has options of generation, beside those that the model is saved with.
    """
    generates = all(engine.can_generate for engine in engines.values())
    answers, times, same, largest = [], {}, {}, {}
    for name, engine in engines.items():
        _answer(engine, texts[:1], search)  # the first answer of an engine takes longer
        start = time.perf_counter()
        answers.append(_answer(engine, texts, search))
        times[f"{name}, per text"] = f"{(time.perf_counter() - start) * 1000 / len(texts):8.2f} ms"
    decided = answers if generates else [[_most_probable(outputs) for outputs in found] for found in answers]
    if generates or decided[0][0]:
        count = sum(ours == theirs for ours, theirs in zip(*decided))
        same = {"same answer": f"{count:8} of {len(texts)}"}
    for name in [] if generates else answers[0][0]:
        difference = max(float(np.abs(ours[name] - theirs[name]).max()) for ours, theirs in zip(*answers))
        largest[f"largest difference of {name}"] = f"{difference:8.1e}"
    return same | largest | times


def _most_probable(outputs: Mapping[str, np.ndarray]) -> dict[str, list[int]]:
    """Return the numbers of the most probable classes; nothing for vectors, and for one class or a number."""
    return {
        name: np.atleast_1d(scores.argmax(-1)).tolist()
        for name, scores in outputs.items()
        if name.endswith("logits") and scores.shape[-1] > 1
    }


def _answer(
    engine: Engine, texts: Sequence[str], search: Mapping[str, Any]
) -> list[str] | list[dict[str, np.ndarray]]:
    """Return the generated texts, which may be cut off, or the outputs of a model that does not generate.

    As in `atenta predict`, the feature tags of a text follow it after a tab, and what separates prompts from answers
    follows a prompt.
    """
    if not engine.can_generate:
        return engine.predict(texts)
    tags = None
    if engine.tokenizer.tags:
        parted = [text.rsplit("\t", 1) if "\t" in text else (text, "") for text in texts]
        texts, tags = [source for source, _ in parted], [named.split(";") if named else [] for _, named in parted]
    prompts = [text + prompt_separator(engine.config) for text in texts]
    return [outputs[0].text for outputs in engine.n_best(prompts, tags=tags, **search)]


def own_texts(folder: Path) -> list[str]:
    """Return the first texts that a recipe has tested a model on, with their tags; none without `predictions.tsv`."""
    path = folder / "predictions.tsv"
    if not path.is_file():
        return []
    csv.field_size_limit(2**31 - 1)  # a source may be a whole document
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(islice(csv.DictReader(file, delimiter="\t"), _NUM_TEXTS))
    column = next((name for name in _COLUMNS if rows and name in rows[0]), None)
    tags = ["\t" + row["tags"].replace("> <", ";").strip("<>") if row.get("tags") else "" for row in rows]
    return [row[column] + of_row for row, of_row in zip(rows, tags)] if column else []


def random_texts(engine: Engine) -> list[str]:
    """Return texts of the characters that a model knows, the same at every call."""
    characters = [token for token in engine.tokenizer.tokens if len(token) == 1]
    longest = _LONGEST_RANDOM_TEXT
    if engine.config.get("position_embedding_type") == "learned":
        longest = max(1, min(longest, engine.config["max_position_embeddings"] // 2))
    generator = random.Random(0)
    return ["".join(generator.choices(characters, k=generator.randint(1, longest))) for _ in range(_NUM_TEXTS)]


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a text file in UTF-8, at least one."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            lines = [line.removesuffix("\n").removesuffix("\r") for line in file]
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text in UTF-8; expected one text in each line.") from None
    if not lines:
        raise ValueError(f"{path} is empty; expected one text in each line.")
    return lines


if __name__ == "__main__":
    main()
