"""What holds for every metric: how it is loaded, and how examples add up."""

import importlib.util
import json
import math
import random
import unicodedata
from pathlib import Path

import pytest

from atenta.recipes import metrics
from atenta.recipes.metrics import scores
from support.clean_process import run_function

TEXTS = (
    ["não é", "la vai", "", "a b c d e", "ação"],
    ["não é", "lá vai ele", "vi", "a b x d e f", "acção"],
)
LABELS = (["é", "é", "b", "c", "b"], ["é", "b", "b", "é", "b"])
TAGS = (
    [["B-LEI", "O"], ["O"], ["B-LEI", "I-LEI", "O"], [], ["B-É", "I-É"]],
    [["B-LEI", "O"], ["B-LEI"], ["B-LEI", "O", "O"], [], ["B-É", "I-É"]],
)
EXAMPLES = {
    "exact_match": TEXTS,
    "character_error_rate": TEXTS,
    "word_error_rate": TEXTS,
    "phone_error_rate": TEXTS,
    "word_accuracy": TEXTS,
    "chrf": TEXTS,
    "bleu": TEXTS,
    "bits_per_character": ([1.0, 2.5, 0.5, 10.0, 3.0], TEXTS[1]),
    "accuracy": LABELS,
    "macro_f1": LABELS,
    "tag_accuracy": TAGS,
    "entity_f1": TAGS,
    "squad": (TEXTS[0], [[text, "o " + text] for text in TEXTS[1]]),
}
FOLDER = Path(metrics.__file__).parent
every_metric = pytest.mark.parametrize("name", EXAMPLES)


def score(name, examples):
    predictions, references = (list(side) for side in zip(*examples))
    return scores([name], predictions=predictions, references=references)


def test_every_metric_is_here():
    files = {file.stem for file in FOLDER.glob("*.py")} - {"__init__", "inputs"}
    assert files == EXAMPLES.keys()


@pytest.mark.parametrize("name", [*EXAMPLES, "inputs"])
def test_no_file_shadows_a_library_when_its_folder_is_on_the_path(name):
    assert importlib.util.find_spec(name) is None


def load_and_score(folder):
    import json
    from pathlib import Path

    import evaluate

    for line in Path(folder, "examples.jsonl").read_text().splitlines():
        path, predictions, references, expected = json.loads(line)
        assert evaluate.load(path).compute(predictions=predictions, references=references) == expected


def test_loaded_by_path_without_the_package_or_a_network(tmp_path):
    lines = [
        json.dumps([str(FOLDER / f"{name}.py"), *examples, score(name, zip(*examples))])
        for name, examples in EXAMPLES.items()
    ]
    (tmp_path / "examples.jsonl").write_text("\n".join(lines))
    # A proxy that is not there: whatever asked the network, also for what may be missing, would not get far.
    run_function(load_and_score, tmp_path, home=tmp_path, environment={"HTTPS_PROXY": "http://127.0.0.1:9"})


@every_metric
def test_order_does_not_matter(name):
    examples = list(zip(*EXAMPLES[name]))
    shuffled = random.Random(0).sample(examples, len(examples))
    assert shuffled != examples
    assert score(name, shuffled) == pytest.approx(score(name, examples))


# What a figure is a share of: with it as weight, the figures of parts make up that of the whole.
WEIGHTS = {
    "exact_match": lambda text: 1,
    "character_error_rate": len,
    "word_error_rate": lambda text: len(text.split()),
    "word_accuracy": lambda text: len(text.split()),
    "bits_per_character": len,
    "accuracy": lambda label: 1,
    "tag_accuracy": len,
    "squad": lambda answers: 1,
}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_parts_add_up(name, cut):
    examples = list(zip(*EXAMPLES[name]))
    parts = [examples[:cut], examples[cut:]]
    weights = [sum(WEIGHTS[name](reference) for _, reference in part) for part in parts]
    figures = [score(name, part) for part in parts]
    for figure, whole in score(name, examples).items():
        if not figure.endswith("perplexity"):
            shares = [weight * part[figure] for weight, part in zip(weights, figures)]
            assert sum(shares) / sum(weights) == pytest.approx(whole)


def decomposed(value):
    if isinstance(value, str):
        return unicodedata.normalize("NFD", value)
    return [decomposed(part) for part in value] if isinstance(value, list) else value


@every_metric
def test_compared_in_nfc(name):
    predictions, references = EXAMPLES[name]
    expected = scores([name], predictions=predictions, references=references)
    assert decomposed(references) != references
    assert scores([name], predictions=decomposed(predictions), references=references) == expected
    assert scores([name], predictions=predictions, references=decomposed(references)) == expected


@every_metric
def test_figures_are_plain_numbers(name):
    for value in score(name, zip(*EXAMPLES[name])).values():
        assert type(value) in {int, float}
        assert math.isfinite(value)


@every_metric
def test_no_examples(name):
    with pytest.raises(ValueError, match=r"found no .*expected at least one"):
        scores([name], predictions=[], references=[])


@every_metric
def test_as_many_predictions_as_references(name):
    predictions, references = EXAMPLES[name]
    with pytest.raises(ValueError, match=r"Mismatch in the number of predictions \(4\) and references \(5\)"):
        scores([name], predictions=predictions[1:], references=references)


def test_several_at_once():
    predictions, references = TEXTS
    expected = score("exact_match", zip(*TEXTS)) | score("word_accuracy", zip(*TEXTS))
    assert scores(["exact_match", "word_accuracy"], predictions=predictions, references=references) == expected


def test_an_error_leaves_nothing_behind():
    with pytest.raises(ValueError, match="expected at least one word"):
        scores(["word_accuracy"], predictions=["a"], references=[" "])
    assert scores(["word_accuracy"], predictions=["a"], references=["a"]) == {"word_accuracy": 1}


def test_a_metric_that_is_not_there():
    with pytest.raises(FileNotFoundError, match=r"word_acuracy\.py"):
        scores(["word_acuracy"], predictions=["a"], references=["a"])
