"""Some doors to the folder of a model on some hostile folders; `make fuzz` tries all of them."""

import pytest

from support.doors import OF_KIND, TO_THE_END, TRUSTING
from support.hostile_folders import make_hostile, save_honest
from support.judge import problems_of
from support.watched import watched

# By door: hostile folders that got through it, or would if a check were left out.
CASES = {
    "predict texts torch": ["code", "auto_map of an unknown tokenizer", "pickle for weights", "shards outside"],
    "predict ensemble": ["auto_map of everything"],
    "predict answers": ["auto_map of an unknown tokenizer"],
    "predict characters torch": ["auto_map of an unknown tokenizer", "adapter", "fast_tokenizer_files"],
    "restore": [
        "auto_map as a list",
        "spellings_file at an absolute path",
        "link for spellings",
        "escapes in the type",
    ],
    "evaluate answers": ["auto_map as a list"],
    "info restorer": ["link for metrics"],
    "show attention": ["auto_map of the tokenizer", "auto_map of an unknown type"],
    "push restorer": ["spellings_file of all files", "link for a card"],
    "train seq2seq": ["auto_map of an unknown tokenizer", "attn_implementation of a known owner"],
    "CharacterRestorer torch": ["auto_map without a tokenizer class", "pickle named safetensors"],
    "CharacterRestorer onnx": ["external data outside", "foreign operators"],
    "train_embeddings.py": ["auto_map of bert"],
    "AutoTokenizer": ["auto_map of an unknown tokenizer"],
    "AutoModelForSeq2SeqLM": ["auto_map of everything", "pickle beside the weights"],
    "pipeline question-answering": ["auto_map of everything", "processors"],
}


@pytest.fixture(scope="module")
def watcher(tmp_path_factory):
    with watched(tmp_path_factory.mktemp("hostile") / "box") as made:
        save_honest(made.box, *{OF_KIND[door][0] for door in CASES})
        yield made


@pytest.mark.parametrize(("door", "hostile"), [(door, each) for door, several in CASES.items() for each in several])
def test_nothing_of_a_hostile_folder_runs(watcher, door, hostile):
    call = watcher.call(door, make_hostile(watcher.box, OF_KIND[door][0], hostile))
    assert list(problems_of(door, hostile, call)) == [], call.output[-2000:]


def test_code_is_run_if_it_is_trusted(watcher):
    call = watcher.call(TRUSTING, make_hostile(watcher.box, "texts", "auto_map of an unknown type"))
    assert any("marker" in each for each in call.ran), (call, "nothing ran, so the other tests may see nothing")
    assert not call.asked


@pytest.mark.parametrize("door", TO_THE_END)
def test_a_model_trained_from_a_hostile_one_names_no_code_of_others(watcher, door):
    hostile = "auto_map of a repository for the tokenizer"
    call = watcher.call(door, make_hostile(watcher.box, TO_THE_END[door][0], hostile))
    assert list(problems_of(door, hostile, call)) == [], call.output[-2000:]
