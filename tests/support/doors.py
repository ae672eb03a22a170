"""Everything that loads the folder of a model: the commands, scripts and functions, as a user calls them.

Each door takes the folder and a [`Box`], whose `output` it may write to.
"""

import runpy
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

# The modules that doors use are imported here, once for all calls.
import gradio  # noqa: F401
import onnxruntime  # noqa: F401
import torch
import transformers
from transformers import pipeline, pipelines  # noqa: F401

import atenta
import atenta.command.evaluate
import atenta.command.info
import atenta.command.predict
import atenta.command.served_models
import atenta.hub.publishing
import atenta.recipes.export
import atenta.recipes.measure_gender
import atenta.recipes.search
import atenta.recipes.seq2seq
import atenta.recipes.show
import atenta.recipes.train_embeddings
from atenta.command.main import main
from support.command import write_text
from support.watched import Box

Door = Callable[[Path, Box], None]

torch.set_num_threads(1)
_TEXTS = ["Nao ha", "Ola, ha sol."]
_STEPS = (
    "--max_steps 1 --warmup_steps 0 --per_device_train_batch_size 2 --eval_strategy no --save_strategy no --report_to "
    "none --disable_tqdm true --use_cpu true --overwrite_output_dir true --load_best_model_at_end false"
)


def _command(*given: str) -> Door:
    """Return the door of a command. FOLDER and OUTPUT stand for the paths; `name=…` for a file with these lines."""

    def run(folder: Path, box: Box) -> None:
        sys.argv = ["atenta", *_fill(given, folder, box)]
        main()

    return run


def _fill(given: tuple[str, ...], folder: Path, box: Box) -> list[str]:
    found = []
    for each in given:
        name, equals, lines = each.partition("=")
        named = {
            "FOLDER": str(folder),
            "OUTPUT": str(box.output),
            "HONEST": box.folder("honest/texts"),
            "PASSAGES": box.folder("passages"),
        }
        text = lines.replace("|", "\n") + "\n"
        found.append(str(write_text(box.output / name, text)) if equals else named.get(each, each))
    return found


def _until(owner: Any, name: str, door: Door) -> Door:
    """Return a door that ends where a function is called: the folder was read, and long work would begin."""

    def end(*_: Any, **__: Any) -> None:
        raise SystemExit(0)

    def run(folder: Path, box: Box) -> None:
        setattr(owner, name, end)  # in this process, which has one call
        door(folder, box)

    return run


def _script(name: str, *given: str) -> Door:
    def run(folder: Path, box: Box) -> None:
        sys.argv = [f"{name}.py", *_fill(given, folder, box)]
        import_module(f"atenta.recipes.{name}").main()

    return run


def _engine(name: str) -> Door:
    def run(folder: Path, box: Box) -> None:
        engine = atenta.load_engine(folder, name)
        if engine.can_generate:
            engine.generate(_TEXTS, max_new_tokens=4)
        else:
            engine.predict(_TEXTS)

    return run


def _restorer(name: str) -> Door:
    def run(folder: Path, box: Box) -> None:
        restorer = atenta.CharacterRestorer.from_pretrained(folder, engine=name)
        print(restorer.restore(_TEXTS))
        restorer.save_pretrained(box.output / "restorer")

    return run


def _page(folder: Path, box: Box) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "demo/app.py"))["make_page"](folder)


def _auto(name: str) -> Door:
    def run(folder: Path, box: Box) -> None:
        getattr(transformers, name).from_pretrained(str(folder))

    return run


def _pipeline(task: str) -> Door:
    def run(folder: Path, box: Box) -> None:
        made = pipeline(task, str(folder), device="cpu")
        if task == "question-answering":
            made(question="Ha?", context="Ola, ha sol.")
        elif task == "text-generation":
            made([{"role": "user", "content": "Ola"}] if made.tokenizer.chat_template else "Ola", max_new_tokens=4)
        elif task == "fill-mask":
            made("a<mask>a")
        else:
            made("Ola, ha sol.")

    return run


_PAIRS = "pairs.tsv=source\ttarget|a\tá|e\té|ca\tçã|ao\tão"
_QUESTIONS = (
    'questions.jsonl={"id": "1", "question": "a", "context": "a b c", "answers": {"text": ["b"], "answer_start": [2]}}'
)
_NAMES = "anchor\tpositive|ab\tabc|cb\tcab|ce\tcea|oe\toeb"
_PREDICT = ("predict", "FOLDER")
_MODEL = ("--model", "FOLDER", "--output_dir", "OUTPUT")

_SEARCH = "--model_name_or_path FOLDER --query ao --text_folder PASSAGES --output_dir OUTPUT"
_SEQ2SEQ = _command(
    *("train", "seq2seq", "--model_name_or_path", "FOLDER", "--train_file", _PAIRS, "--validation_file", f"v{_PAIRS}"),
    *("--output_dir", "OUTPUT", *_STEPS.split()),
)
_EMBEDDINGS = _script(
    *("train_embeddings", "--model_name_or_path", "FOLDER", "--output_dir", "OUTPUT", *_STEPS.split(), "--train_file"),
    *(f"train.tsv={_NAMES}", "--validation_file", f"v.tsv={_NAMES}b", "--test_file", f"test.tsv={_NAMES}c"),
)

# By name: the kind of model that it takes, and the door.
OF_KIND: dict[str, tuple[str, Door]] = {
    "predict texts": ("texts", _command(*_PREDICT, "--max_new_tokens", "4")),
    "predict texts torch": ("texts", _command(*_PREDICT, "--engine", "torch", "--max_new_tokens", "4")),
    "predict texts onnx": ("texts", _command(*_PREDICT, "--engine", "onnx", "--max_new_tokens", "4")),
    "predict ensemble": ("texts", _command("predict", "HONEST", "--engine", "torch", "--ensemble", "FOLDER")),
    "predict decoder": ("decoder", _command(*_PREDICT, "--max_new_tokens", "4")),
    "predict tags torch": ("tagger", _command(*_PREDICT, "--engine", "torch")),
    "predict tags onnx": ("tagger", _command(*_PREDICT, "--engine", "onnx")),
    "predict answers": ("questions", _command(*_PREDICT, "--files", _QUESTIONS)),
    "predict masks": ("masked", _command(*_PREDICT)),
    "predict characters": ("restorer", _command(*_PREDICT)),
    "predict characters torch": ("restorer", _command(*_PREDICT, "--engine", "torch")),
    "restore": ("restorer", _command("restore", "--model", "FOLDER")),
    "evaluate pairs": ("texts", _command("evaluate", "FOLDER", "--test_file", _PAIRS)),
    "evaluate decoder": ("decoder", _command("evaluate", "FOLDER", "--test_file", "t.txt=ao ceo|acabo")),
    "evaluate tags": ("tagger", _command("evaluate", "FOLDER", "--test_file", "t.conll=a LABEL_0|b LABEL_1|")),
    "evaluate answers": ("questions", _command("evaluate", "FOLDER", "--test_file", _QUESTIONS)),
    "evaluate characters": ("restorer", _command("evaluate", "FOLDER", "--test_file", _PAIRS)),
    "info": ("texts", _command("info", "FOLDER")),
    "info restorer": ("restorer", _command("info", "FOLDER", "--json")),
    "export": ("tagger", _until(torch.onnx, "export", _command("export", "FOLDER"))),
    "show attention": ("decoder", _command("show", "attention", *_MODEL, "--text", "aoe")),
    "show decoding": ("texts", _command("show", "decoding", *_MODEL, "--text", "aoe")),
    "show positions": ("masked", _command("show", "positions", *_MODEL)),
    "push": ("texts", _command("push", "FOLDER", "tester/texts", "--replace")),
    "push restorer": ("restorer", _command("push", "FOLDER", "tester/restorer", "--replace")),
    "train seq2seq": ("texts", _until(transformers.Trainer, "train", _SEQ2SEQ)),
    "load_engine torch": ("decoder", _engine("torch")),
    "load_engine onnx": ("decoder", _engine("onnx")),
    "CharacterRestorer torch": ("restorer", _restorer("torch")),
    "CharacterRestorer onnx": ("restorer", _restorer("onnx")),
    "page restorer": ("restorer", _page),
    "page tagger": ("tagger", _page),
    "page decoder": ("decoder", _page),
    "search.py": ("masked", _script("search", *_SEARCH.split())),
    "measure_gender.py": ("decoder", _script("measure_gender", "--model", "FOLDER")),
    "train_embeddings.py": ("masked", _until(transformers.Trainer, "train", _EMBEDDINGS)),
    "AutoConfig": ("texts", _auto("AutoConfig")),
    "AutoTokenizer": ("texts", _auto("AutoTokenizer")),
    "AutoModelForSeq2SeqLM": ("texts", _auto("AutoModelForSeq2SeqLM")),
    "AutoModelForCausalLM": ("decoder", _auto("AutoModelForCausalLM")),
    "AutoModelForTokenClassification": ("tagger", _auto("AutoModelForTokenClassification")),
    "AutoModelForQuestionAnswering": ("questions", _auto("AutoModelForQuestionAnswering")),
    "AutoModelForMaskedLM": ("masked", _auto("AutoModelForMaskedLM")),
    "AutoModel": ("masked", _auto("AutoModel")),
    "pipeline text2text-generation": ("texts", _pipeline("text2text-generation")),
    "pipeline question-answering": ("questions", _pipeline("question-answering")),
    "pipeline character-restoration": ("restorer", _pipeline("character-restoration")),
    "pipeline text-generation": ("decoder", _pipeline("text-generation")),
    "pipeline token-classification": ("tagger", _pipeline("token-classification")),
    "pipeline fill-mask": ("masked", _pipeline("fill-mask")),
}
TRUSTING = "predict --trust_remote_code"  # which runs code, as it is asked to
TO_THE_END = {
    "train seq2seq to the end": ("texts", _SEQ2SEQ),
    "train_embeddings.py to the end": ("masked", _EMBEDDINGS),
}
DOORS = {name: door for name, (_, door) in (OF_KIND | TO_THE_END).items()}
DOORS[TRUSTING] = _command(*_PREDICT, "--trust_remote_code")
OF_TRANSFORMERS = [name for name in DOORS if name.startswith(("Auto", "pipeline"))]
OUR_PIPELINES = [
    f"pipeline {task}" for task in ("text2text-generation", "question-answering", "character-restoration")
]
OF_PYTHON = (
    "load_engine",
    "CharacterRestorer",
    "page",
)  # where an error is one of Python's own, not the end of a command
