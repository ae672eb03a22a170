"""A model gives one answer, whichever way a text comes in: 200 texts, hostile ones among them, by every door.

The doors are the engines, transformers' pipelines with the package and with the saved code alone, the command, and
what the recipes score.
"""

import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    pipeline,
)

from atenta import CharacterRestorer, load_engine
from atenta.engines.choice import ChosenEngine
from atenta.engines.onnx_export import export_onnx
from atenta.recipes.decoding.generation import decode_n_best
from atenta.recipes.samples.files import novels
from atenta.recipes.tasks.classification import encode_labelled
from atenta.recipes.tasks.questions import answers_from_logits, encode_questions
from atenta.recipes.tasks.tagging import encode_tagged, tags_of_words
from support.clean_process import run_function
from support.command import run
from support.small_models import SMALL_MODELS, save_small_model

NEW_TOKENS = 6
OPTIONS = {  # of the pipelines of kinds of models
    "labels": {},
    "labels_of_decoder": {},
    "tags": {"ignore_labels": []},
    "questions": {},
    "characters": {},
    "pairs": {"max_new_tokens": NEW_TOKENS, "num_beams": 3},
    "decoder": {"max_new_tokens": NEW_TOKENS, "return_full_text": False, "do_sample": False},
}
HOSTILE = [
    *("", " ", "\t", "a\tb", "a\nb", "a\r\nb", "\u3000a", "a\u00a0", "\x00", "\x1b[2Ja", "a\u2028b", "\ufeffa"),
    *("e\u0301", "\u0301", "a\u0303\u0301b", "ﬁ", "İ", "ß", "日本", "😀", "👩‍👩‍👧", "\u202eabc", "עברית", "ﷺ"),
    *("<mask>", "<eos>", "a<eos>b", "<bos>", "<pad>", "<unk>", "<0xC3>", "[MASK]", "<PL>", "</s>"),
    *(
        "a" * 300,
        "ab " * 150,
        "ção " * 80,
        "é" * 129,
        "... !?",
        "--output",
        "{}",
        '{"text": 1}',
        "NaN",
        "null",
        "1e999",
    ),
]


def texts() -> list[str]:
    """Return 200 texts: hostile ones, sentences, and random characters."""
    sentences = novels()["test"][0]["text"].split(". ")
    rng = random.Random(0)
    drawn = ["".join(rng.choices("aábcçeêo ão,.\u0303é日", k=rng.randint(1, 30))) for _ in range(60)]
    found = HOSTILE + drawn + [each.strip()[:120] for each in sentences if each.strip()]
    return found[:200]


def command(folder: Path, fields: Sequence[dict[str, str]], *options: str) -> list[dict[str, Any]]:
    """Return what `atenta predict` writes for lines of JSON."""
    path = folder.parent / "lines.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in fields), encoding="utf-8")
    result = run("predict", folder, "--json_lines", "--format", "jsonl", "--files", path, *options)
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


def given_to(kind: str) -> list[Any]:
    """Return what a kind of model is asked."""
    if kind == "tags":
        return [" ".join(words) for text in texts() if (words := text.split())]
    if kind == "questions":
        found = [text for text in texts() if text.strip()]
        return [{"question": question[:40], "context": context} for question, context in pairwise(found)]
    return [text.replace("\t", " ") if kind == "pairs" else text for text in texts()]  # tags follow a tab


def by_the_code_of_the_folders(root: str) -> None:
    import json
    import sys
    from pathlib import Path

    from transformers import pipeline

    found = {}
    for kind, (task, given, options) in json.loads(Path(root, "asked.json").read_text(encoding="utf-8")).items():
        found[kind] = pipeline(task, f"{root}/{kind}", trust_remote_code=True, device="cpu")(given, **options)
    assert sys.modules["atenta"] is None
    Path(root, "found.json").write_text(json.dumps(found, default=float), encoding="utf-8")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A folder with a model of each kind, and with what their pipelines find without the package."""
    root = tmp_path_factory.mktemp("models")
    for kind in OPTIONS:
        folder = root / kind
        folder.mkdir()
        save_small_model(kind, folder)
        AutoTokenizer.from_pretrained(folder, split_special_tokens=True).save_pretrained(folder)  # as recipes do
        if not SMALL_MODELS[kind].onnx and kind != "questions":
            export_onnx(folder)
    asked = {kind: (SMALL_MODELS[kind].task, given_to(kind), options) for kind, options in OPTIONS.items()}
    (root / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    run_function(by_the_code_of_the_folders, root, home=root)
    return root


def pipelines(folder: Path) -> list[Any]:
    """Return what a pipeline finds with the package, after a check that it finds the same without."""
    kind = folder.name
    found = pipeline(SMALL_MODELS[kind].task, str(folder), device="cpu")(given_to(kind), **OPTIONS[kind])
    without = json.loads((folder.parent / "found.json").read_text(encoding="utf-8"))[kind]
    assert without == json.loads(json.dumps(found, default=float))
    return found


def check_equal(answers: dict[str, Sequence[Any]], least_different: int = 3) -> None:
    """Check that all doors gave the same answers, and not one answer to everything."""
    (first, expected), *others = answers.items()
    for door, found in others:
        different = [number for number, pair in enumerate(zip(expected, found)) if pair[0] != pair[1]]
        assert len(found) == len(expected)
        assert not different, (first, door, [(expected[n], found[n]) for n in different[:3]], len(different))
    assert len({json.dumps(each) for each in expected}) >= least_different


ENGINES = get_args(ChosenEngine)


def by_command(folder: Path, fields: Sequence[dict[str, Any]], name: str, *options: str) -> dict[str, list[Any]]:
    """Return the field of that name of what the command writes, for both engines."""
    doors = {engine: command(folder, fields, "--engine", engine, *options) for engine in ENGINES}
    return {f"command {engine}": [row[name] for row in rows] for engine, rows in doors.items()}


@pytest.mark.parametrize("kind", ["labels", "labels_of_decoder"])
def test_labels(root, kind):
    folder, given = root / kind, given_to(kind)
    engines = {name: load_engine(folder, name) for name in ENGINES}
    names = engines["torch"].config["id2label"]
    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForSequenceClassification.from_pretrained(folder),
    )
    encoded = encode_labelled(
        {"text": given, "text_pair": [None] * len(given), "label": ["LABEL_0"] * len(given)},
        tokenizer,
        model.config.label2id,
    )
    with torch.inference_mode():
        best = [int(model(input_ids=torch.tensor([ids])).logits.argmax()) for ids in encoded["input_ids"]]
    check_equal(
        {
            "recipe": [names[str(index)] for index in best],
            **{
                name: [names[str(each["logits"].argmax())] for each in engine.predict(given)]
                for name, engine in engines.items()
            },
            "pipeline": [each["label"] for each in pipelines(folder)],
            **by_command(folder, [{"text": text} for text in given], "label"),
        },
        least_different=2,
    )


def test_tags(root):
    folder, rows = root / "tags", [text.split(" ") for text in given_to("tags")]
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForTokenClassification.from_pretrained(folder)
    encoded = encode_tagged(
        {"words": rows, "tags": [["LABEL_0"] * len(words) for words in rows]}, tokenizer, model.config.label2id
    )
    recipe = []
    with torch.inference_mode():
        for ids, labels in zip(encoded["input_ids"], encoded["labels"]):
            best = model(input_ids=torch.tensor([ids])).logits.argmax(-1).numpy()
            recipe += tags_of_words(best, np.array([labels]), model.config.id2label)
    by_pipeline = []
    for words, tokens in zip(rows, pipelines(folder)):
        tag_at = {each["start"]: each["entity"] for each in reversed(tokens)}
        starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
        by_pipeline.append([tag_at[start] for start in starts])
    check_equal(
        {
            "recipe": recipe,
            "pipeline": by_pipeline,
            **by_command(folder, [{"text": "", "words": words} for words in rows], "tags"),
        }
    )


def test_questions(root):
    folder, rows = root / "questions", given_to("questions")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForQuestionAnswering.from_pretrained(folder)
    columns = {name: [row[name] for row in rows] for name in ("question", "context")}
    columns |= {"id": list(map(str, range(len(rows)))), "answers": [{"text": [], "answer_start": []}] * len(rows)}
    windows = encode_questions(columns, tokenizer, 384, 128)
    listed = [dict(zip(windows, values)) for values in zip(*windows.values())]
    with torch.inference_mode():
        outputs = [
            model(**{name: torch.tensor([each[name]]) for name in ("input_ids", "token_type_ids")}) for each in listed
        ]
    logits = ([each[name][0].numpy() for each in outputs] for name in ("start_logits", "end_logits"))
    with_ids = [{**row, "id": str(number)} for number, row in enumerate(rows)]
    check_equal(
        {
            "recipe": answers_from_logits(*logits, listed, with_ids, 60, True),
            "pipeline": [each["answer"] for each in pipelines(folder)],
            "command": [row["answer"] for row in command(folder, rows)],
        }
    )


def test_characters(root):
    folder, given = root / "characters", given_to("characters")
    restorers = {name: CharacterRestorer.from_pretrained(folder, engine=name) for name in ENGINES}
    check_equal(
        {
            **{name: [each.text for each in restorer.restore(given)] for name, restorer in restorers.items()},
            "pipeline": [each["restored_text"] for each in pipelines(folder)],
            **by_command(folder, [{"text": text} for text in given], "restored"),
        }
    )


@pytest.mark.filterwarnings("ignore:.*(cut off|reached the largest length|length of|characters)")
def test_pairs(root):
    folder, given, options = root / "pairs", given_to("pairs"), OPTIONS["pairs"]
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    model.generation_config.max_length = 1 + NEW_TOKENS
    batches = [tokenizer([text], return_tensors="pt", split_special_tokens=True) for text in given if text.strip()]
    decoded = iter(decode_n_best(model, batches, tokenizer, num_beams=3))
    flags = [f"--{name}={value}" for name, value in options.items()]
    by_line = by_command(folder, [{"text": text} for text in given], "outputs", *flags)
    check_equal(
        {
            "recipe": [next(decoded)[0].text if text.strip() else text for text in given],
            **{name: load_engine(folder, name).generate(given, **options) for name in ENGINES},
            "pipeline": [each["generated_text"] for each in pipelines(folder)],
            **{door: [outputs[0]["text"] for outputs in found] for door, found in by_line.items()},
        }
    )


def test_decoders(root):
    folder, given = root / "decoder", given_to("decoder")
    by_line = by_command(folder, [{"text": text} for text in given], "outputs", f"--max_new_tokens={NEW_TOKENS}")
    check_equal(
        {
            "pipeline": [each[0]["generated_text"] for each in pipelines(folder)],
            **{name: load_engine(folder, name).generate(given, max_new_tokens=NEW_TOKENS) for name in ENGINES},
            **{
                door: [outputs[0]["text"].removeprefix(text) for text, outputs in zip(given, rows)]
                for door, rows in by_line.items()
            },
        }
    )
