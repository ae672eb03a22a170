"""Labels, tags, answers and speeches: scores counted by hand from the predictions, which the saved models repeat."""

import csv
import json
import math
import shlex

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from atenta import load_engine
from atenta.recipes.reading.records import printable
from atenta.recipes.training.models import report_misspelt
from support.command import run as run_command
from support.recipe_cases import (
    CASES,
    CONTEXTS,
    QUESTIONS,
    TEST_LABELS,
    TEST_PROMPTS,
    conll,
    refused_files,
    squad,
    write_files,
)
from support.recipes import (
    arguments,
    assert_picture,
    load,
    read_metrics,
    read_predictions,
    refusal,
    run_here,
    tiny,
    write_jsonl,
    write_lines,
)

WINDOWS = {"max_length": 64, "stride": 16, "max_answer_length": 12}
UNIVERSAL = (
    "1\tVive\tviver\tVERB\t_\t_\t_\t_\t_\t_",
    "2-3\tno\t_\t_\t_\t_\t_\t_\t_\t_",
    "2\tem\tem\tADP\t_\t_\t_\t_\t_\t_",
    "3\to\to\tDET\t_\t_\t_\t_\t_\t_",
    "4\tRio\tRio\tPROPN\t_\t_\t_\t_\t_\t_",
    "",
)


def test_labels(trained):
    run = trained("finetune_classification")
    assert [row["text"] for row in read_predictions(run.folder)] == [text for text, _ in TEST_LABELS]
    scores = read_metrics(run.folder)["test"]
    assert 0.5 < scores["model"]["accuracy"] < 1
    assert scores["most frequent label"]["accuracy"] == pytest.approx(4 / 7)
    assert_picture(run.folder / "confusion.png")
    assert "text_pair" not in run.done.stdout
    assert run.done.stdout.endswith(f"$ atenta predict {run.folder} rua\n")  # the shortest


def test_labels_of_pairs_of_texts(tmp_path):
    """Only the second text determines the label, and one row has none. The command finds the scores of the run."""
    rows = [
        {"text": text, "label": label, "text_pair": pair}
        for text in ("casa", "rua")
        for label, pair in (("sim", "a"), ("nao", "bb"))
    ]
    pairs = write_jsonl(tmp_path / "pairs.jsonl", [*rows, {"text": "lua", "label": "sim"}] * 4)
    options = CASES["finetune_classification"].options | {"train_file": pairs, "validation_file": pairs}
    run_here(
        "finetune_classification",
        tmp_path,
        *tiny("finetune_classification", **options, output_dir=tmp_path / "model"),
    )
    scores, output = read_metrics(tmp_path / "model")["test"], tmp_path / "scores.json"
    assert scores["model"]["accuracy"] == 1
    assert [row["text_pair"] for row in read_predictions(tmp_path / "model")[:5]] == ["a", "bb", "a", "bb", ""]
    run_command("evaluate", tmp_path / "model", "--test_file", pairs, "--output", output)
    for name, found in json.loads(output.read_text(encoding="utf-8"))["test"].items():
        assert found == pytest.approx(scores[name])


@pytest.mark.parametrize(
    ("name", "file", "content", "unknown"),
    [
        ("finetune_classification", "new.tsv", "casa\tnome\nazul\tadjetivo\nfalar\tverbo\n", "'adjetivo'"),
        ("finetune_tagging", "new.conll", conll([[("Rio", "B-LOC"), ("hoje", "B-TIME")]]), "B-TIME"),
    ],
)
def test_a_label_unknown_to_a_saved_model_is_named(trained, name, file, content, unknown, tmp_path):
    (tmp_path / file).write_text(content, encoding="utf-8")
    words = refused_files(name, tmp_path, tmp_path / file, model_name_or_path=trained(name).folder)
    assert unknown in refusal(name, tmp_path, *words)


def test_a_single_label_is_refused(tmp_path):
    file = write_lines(tmp_path / "one.tsv", "text\tlabel", "casa\tnome", "rua\tnome")
    words = refused_files("finetune_classification", tmp_path, file)
    assert "'nome'" in refusal("finetune_classification", tmp_path, *words)


def test_labels_that_may_be_misspelt_are_named(capsys):
    report_misspelt("label", {"train": ["ita", "por"], "validation": ["por"], "test": ["ita", "itaa"]})
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("test: ")
    assert "itaa" in line
    rare = ["ita", "rare"]
    report_misspelt("label", {"train": ["ita"], "validation": rare, "test": [*rare]})  # the same rows
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("validation: the label rare ")
    assert "--validation_file" in line
    report_misspelt("label", {"train": ["mac\u0327a\u0303", "ma\xe7\xe3", "a", "a ", "\xa0a", "b"], "test": ["b"]})
    found = capsys.readouterr().out.splitlines()
    assert [[name in line for name in (r"'ma\xe7\xe3'", r"'mac\u0327a\u0303'", r"'\xa0a'")] for line in found] == [
        [False, False, True],
        [True, True, False],
    ]


def test_tags(trained):
    scores = read_metrics(trained("finetune_tagging").folder)["test"]
    assert 0.5 < scores["model"]["f1"] < 1
    assert scores["most frequent tag of each word"]["tag_accuracy"] == pytest.approx(15 / 17)


@pytest.mark.parametrize(("column", "tags"), [("upos", "VERB ADP+DET PROPN"), ("lemma", "viver em+o Rio")])
def test_other_tags_are_scored_without_entities(tmp_path, column, tags):
    """Tags of CoNLL-U; `no` is one word with the tags of its parts."""
    file = write_lines(tmp_path / "train.conllu", *UNIVERSAL * 2)
    options = {"train_file": file, "validation_file": file, "tag_column": column, "max_steps": 2}
    options |= {"metric_for_best_model": "tag_accuracy", "output_dir": tmp_path / "model"}
    run_here("finetune_tagging", tmp_path, *tiny("finetune_tagging", **options))
    assert [row["gold"] for row in read_predictions(tmp_path / "model")] == [tags] * 2
    assert list(read_metrics(tmp_path / "model")["test"]["model"]) == ["tag_accuracy"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        # Of the default configuration, for entities.
        ({}, "--metric_for_best_model f1: expected one of loss, tag_accuracy"),
        ({"tag_column": "postag"}, "--tag_column postag: expected one of"),
    ],
)
def test_options_that_other_tags_lack_are_refused(options, message, tmp_path):
    file = write_lines(tmp_path / "train.conllu", *UNIVERSAL)
    words = refused_files("finetune_tagging", tmp_path, file, **options)
    assert message in refusal("finetune_tagging", tmp_path, *words)


def test_answers_are_short_parts_of_their_contexts(trained):
    run = trained("finetune_qa")
    assert all(CONTEXTS[context].startswith(text, at) for _, context, of in QUESTIONS for text, at in of.items())
    assert read_metrics(run.folder)["test"]["model"]["f1"] > 0
    for row, (_, context, _) in zip(read_predictions(run.folder), QUESTIONS):
        assert row["output"] in CONTEXTS[context]
        assert 0 < len(row["output"]) <= WINDOWS["max_answer_length"]


def test_wrong_offsets_of_answers_are_corrected_or_left_out(tmp_path, capsys):
    """1839 occurs once in the context, `nasceu` twice."""
    wrong = tmp_path / "wrong.json"
    wrong.write_text(squad([(QUESTIONS[0][0], 0, {"1839": 3}), QUESTIONS[1], ("Que fez?", 0, {"nasceu": 3})]))
    files = write_files(CASES["finetune_qa"], tmp_path / "data") | {"train_file": wrong}
    options = {**files, **WINDOWS, "output_dir": tmp_path / "model", "max_steps": 1}
    run_here("finetune_qa", tmp_path, *tiny("finetune_qa", **options), "--skip_bad_rows")
    printed = capsys.readouterr().out
    assert "1 malformed rows are left out" in printed
    assert "train: corrected the positions of 1 answers" in printed
    assert "validation: corrected the positions of 0 answers" in printed
    assert "train: answers that no window holds, read as no answer: 0 (--stride 16); that are too long" in printed
    with (tmp_path / "model" / "bad_rows.tsv").open(encoding="utf-8", newline="") as file:
        assert [row["where"] for row in csv.DictReader(file, delimiter="\t")] == [f"{wrong}, question question 2"]


@pytest.mark.parametrize(
    ("name", "max_length", "message"),
    [
        ("seq2seq", 7, "train, row 3, which begins with 'V<V>': found 8 tokens"),  # tags, text and <eos>
        ("finetune_classification", 7, "found 8 tokens in an input; expected at most 7"),
        ("finetune_qa", 30, "raise --max_length or lower --stride"),  # no room for the context
        ("finetune_generation", 26, "found 27 tokens in the prompt 'Bom dia!'"),
    ],
)
def test_rows_that_are_too_long_are_refused_before_training(name, max_length, message, tmp_path):
    assert message in refusal(name, tmp_path, *refused_files(name, tmp_path, max_length=max_length))


def test_speeches(trained):
    run = trained("finetune_generation")
    tokenizer, model = load(run.folder, AutoModelForCausalLM)
    nats = 0.0
    for prompt, answer in TEST_PROMPTS:
        ids = torch.tensor([[*tokenizer(f"{prompt}\n{answer}").input_ids, tokenizer.eos_token_id]])
        first = len(tokenizer(f"{prompt}\n").input_ids)
        with torch.no_grad():
            nats += cross_entropy(model(ids).logits[0, first - 1 : -1], ids[0, first:], reduction="sum").item()
        assert f"\n{prompt}\n" in run.done.stdout
        assert f"\n  (in the data: {answer})\n" in run.done.stdout
    assert tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False) == "<bos>a\n"
    assert model.config.task_specific_params["text-generation"]["separator"] == "\n"
    first = TEST_PROMPTS[0][0]
    _, _, answer = run.done.stdout.partition(f"$ atenta predict {run.folder} {shlex.quote(first)}\n")
    generated = load_engine(run.folder, "torch").generate(f"{first}\n")  # the command adds the separator
    assert answer == printable(generated) + "\n"
    assert rf'generate("{first}\n", ' in (run.folder / "README.md").read_text(encoding="utf-8")
    characters = sum(len(answer) for _, answer in TEST_PROMPTS)
    found = read_metrics(run.folder)["test"]["model"]
    assert found["bits_per_character"] == pytest.approx(nats / characters / math.log(2), rel=1e-4)
    assert found["character_perplexity"] == pytest.approx(math.exp(nats / characters), rel=1e-3)


def test_a_pre_trained_decoder_learns_to_answer(trained, tmp_path):
    """From the rows of a data set in a folder. A tiny learning rate leaves its weights as they are."""
    data = tmp_path / "data"
    data.mkdir()
    texts = [{"prompt": "Ora ", "answer": "direis"}] * 2
    for split in ("train", "validation", "test"):
        write_jsonl(data / f"{split}.jsonl", texts)
    start = trained("pretrain_causal").folder
    options = {"dataset_name": data, "max_length": 64, "model_name_or_path": start, "optim": "adamw_torch_fused"}
    before, bits = load(start, AutoModelForCausalLM)[1].state_dict(), []
    for rate in (1e-12, 0.05):
        folder = tmp_path / str(rate)
        words = tiny("finetune_generation", **options, output_dir=folder, learning_rate=rate)
        run_here("finetune_generation", tmp_path, *words)
        after = load(folder, AutoModelForCausalLM)[1].state_dict()
        assert before.keys() == after.keys()
        assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before) is (rate < 1e-6)
        bits.append(read_metrics(folder)["test"]["model"]["bits_per_character"])
    assert bits[1] < bits[0]


def test_the_decoder_of_the_sample_is_missed_before_the_data_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = ("--model_name_or_path", "outputs/pretrain_causal", "--train_file", tmp_path / "nothing.tsv")
    reason = refusal("finetune_generation", tmp_path, *start)
    assert reason.startswith("--model_name_or_path outputs/pretrain_causal: found no config.json")
    assert "`python recipes/pretrain_causal.py` saves one there" in reason


def test_pairs_that_a_saved_tagger_of_letters_cannot_write_are_left_out(trained, tmp_path, capsys):
    saved, file = trained("finetune_letters").folder, CASES["finetune_letters"].files["train.tsv"]
    unknown = "\t".join(["aa", "ʘ ʘ", *file.splitlines()[0].split("\t")[2:]]) + "\n"
    for name, content in (("more.tsv", file + unknown), ("other.tsv", unknown)):
        (tmp_path / name).write_text(content, encoding="utf-8")
        files = {"train_file": tmp_path / name, "validation_file": tmp_path / "more.tsv", "min_piece_count": 1}
        options = CASES["finetune_letters"].options | {"model_name_or_path": saved, "max_steps": 1}
        words = arguments(**files, **options, output_dir=tmp_path / name.partition(".")[0])
        if name == "other.tsv":
            assert "train: found no pair" in refusal("finetune_letters", tmp_path, *words)
        else:
            run_here("finetune_letters", tmp_path, *words)
            printed = capsys.readouterr().out
            assert printed.index("Aligning 33 words") < printed.index("train: 1 pairs need what the saved tagger")


def test_letters_learn_from_further_pairs_and_baselines_do_not(trained, tmp_path):
    run, more = trained("finetune_letters"), tmp_path / "more"
    further = [*9 * ["aa\tʘ ʘ\tbr"], *99 * ["casa\tʘ ʘ ʘ ʘ\tbr"], *9 * ["1a\tʘ ʘ\tgl"]]
    write_lines(tmp_path / "further.tsv", *further)
    options = {**run.files, **run.case.options, "further_file": tmp_path / "further.tsv", "output_dir": more}
    run_here("finetune_letters", tmp_path, *tiny("finetune_letters", **options | {"max_steps": 1}))
    saved = [json.loads((folder / "config.json").read_text()) for folder in (run.folder, more)]
    assert ["ʘ " in config["character_variants"]["a"] for config in saved] == [False, True]
    assert "gl" in saved[1]["task_specific_params"]["character-restoration"]["tag_characters"]
    baselines = [{**read_metrics(folder)["test"], "model": None} for folder in (run.folder, more)]
    assert baselines[0] == baselines[1]
