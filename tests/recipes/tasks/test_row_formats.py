"""What the rows of all tasks have in common: their columns, and texts that are there, not blank and complete."""

import importlib
import pkgutil

import pytest
from datasets import Dataset

from atenta.recipes import tasks
from atenta.recipes.reading.splits import RowFormat
from atenta.recipes.tasks.characters import CHARACTER_PAIRS
from atenta.recipes.tasks.classification import LABELLED_TEXTS
from atenta.recipes.tasks.documents import DOCUMENTS
from atenta.recipes.tasks.letters import LETTER_PAIRS
from atenta.recipes.tasks.prompts import PROMPTS
from atenta.recipes.tasks.questions import QUESTIONS
from atenta.recipes.tasks.tagging import TAGGED_SENTENCES
from atenta.recipes.tasks.task import distinct_names
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS
from atenta.recipes.tasks.transduction import PAIRS

ANSWERS = {"text": ["a"], "answer_start": [0]}
FORMATS = {  # each with a row as a file may have it
    "characters": (CHARACTER_PAIRS, {"source": "a", "target": "á"}),
    "classification": (LABELLED_TEXTS, {"text": " bom ", "text_pair": "b", "label": "x"}),
    "letters": (LETTER_PAIRS, {"source": "a", "target": "b", "tags": "pt"}),
    "documents": (DOCUMENTS, {"text": " a\n"}),
    "pairs": (PAIRS, {"source": "a", "target": "b", "tags": "V;3"}),
    "prompts": (PROMPTS, {"prompt": "BENTO: Aonde vais?\n", "answer": " À missa."}),
    "questions": (QUESTIONS, {"id": "q1", "context": "abc", "question": "Quem?", "answers": ANSWERS}),
    "tagging": (TAGGED_SENTENCES, {"words": ["a", "b"], "tags": ["O", "B-X"]}),
    "text pairs": (TEXT_PAIRS, {"anchor": "a", "positive": "b"}),
}
TEXTS = [
    (name, column)
    for name, (_, fields) in FORMATS.items()
    for column, value in fields.items()
    if isinstance(value, str) and column != "tags"
]


def test_every_format_is_here_and_every_task_has_a_kind_of_its_own():
    names = [f"{tasks.__name__}.{each.name}" for each in pkgutil.iter_modules(tasks.__path__)]
    members = [each for name in names for each in vars(importlib.import_module(name)).values()]
    assert {id(each) for each in members if isinstance(each, RowFormat)} == {id(each) for each, _ in FORMATS.values()}
    kinds = [each.kind for each in {each for each in members if isinstance(each, type)} if "kind" in vars(each)]
    assert len(kinds) == len({*kinds}) > 5


@pytest.mark.parametrize(("row_format", "fields"), FORMATS.values(), ids=FORMATS)
def test_rows_have_the_columns_of_their_format(row_format, fields):
    assert set(row_format.columns) <= set(fields) <= {*row_format.columns, *row_format.optional}
    row = row_format.check({**fields, "other": 4})
    assert Dataset.from_list([row], features=row_format.features).to_list() == [row]


@pytest.mark.parametrize("order", [iter, reversed])
def test_distinct_names(order):
    labels = [{"label": "pt"}, {"label": "it"}, {"label": "pt"}]
    assert distinct_names(order(labels), "label") == ["it", "pt"]
    tags = [{"tags": ["<V>", "<3>", "<PL>"]}, {"tags": []}, {"tags": ["<V>", "<2>"]}]
    assert distinct_names(order(tags), "tags") == ["<2>", "<3>", "<PL>", "<V>"]
    assert distinct_names([{"tags": []}], "tags") == []


@pytest.mark.parametrize(("name", "column"), TEXTS)
@pytest.mark.parametrize("value", [None, "", " \n", 0.5, ["a"], "\ud800"])
def test_texts_that_are_missing_blank_or_malformed(name, column, value):
    row_format, fields = FORMATS[name]
    if value is None and column in row_format.optional:
        assert row_format.check({**fields, column: None})[column] is None
        return
    with pytest.raises(ValueError, match=rf"^found .*\b{column}\b.*; expected"):
        row_format.check({**fields, column: value})
