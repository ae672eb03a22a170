"""`atenta evaluate`: the scores of a recipe's run, found again from the saved model alone; and what is refused."""

import json

import pytest
from transformers import pipeline

from atenta import (
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
)
from atenta.tokenization.base_letters import strip_accents
from support.command import refusal, run
from support.recipes import read_metrics, run_here, tiny, write_jsonl, write_lines
from support.saved import edit_json, save_pairs, save_with_tokenizer

VERSES = ["Ora direis ouvir estrelas", "Certo perdeste o senso", "E abro as janelas", "pálido de espanto"]
CONTEXTS = ["Machado nasceu em 1839 no Rio, e Alencar em 1829 no Ceará.", "Eça nasceu na Póvoa, e Pessoa em Lisboa."]


def evaluate(folder, file, *arguments, code=0):
    """Return the scores of a model, or why there are none."""
    output = file.with_suffix(".scores")
    output.unlink(missing_ok=True)
    result = run("evaluate", folder, "--test_file", file, "--output", output, *arguments, code=code)
    return str(result.exception) if code else json.loads(output.read_text(encoding="utf-8"))["test"]


def relations(folder):
    """Of which `upos` and `deprel` have other names."""
    words = [("Vive", "VERB", 0, "root"), ("em", "ADP", 4, "case"), ("o", "DET", 4, "det"), ("Rio", "PROPN", 1, "obl")]
    lines = [
        f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
        for number, (word, tag, head, relation) in enumerate(words, start=1)
    ]
    return write_lines(folder / "rows.conllu", *lines, "", *lines[:1], "")


def questions(folder):
    asked = [(0, "Quando?", "1839"), (0, "Onde?", "no Ceará"), (1, "Quem?", "Pessoa"), (1, "Onde?", "na Póvoa")]
    rows = [
        {
            "id": str(number),
            "question": question,
            "context": CONTEXTS[of],
            "answers": {"text": [answer], "answer_start": [CONTEXTS[of].index(answer)]},
        }
        for number, (of, question, answer) in enumerate(asked)
    ]
    return write_jsonl(folder / "rows.jsonl", rows)


def pronunciations(folder):
    rows = ["casa\tk a z ɐ", "chá\tʃ a", "tia\tt͡ʃ i ɐ", "tia\tt i ɐ", "sol\ts ɔ w", "mar\tm a ʁ"]
    return write_lines(folder / "rows.tsv", *rows)


def sentences(folder):
    """Without accents and with them; one is longer than nearly all of training."""
    return write_lines(folder / "rows.tsv", *(f"{strip_accents(row)}\t{row}" for row in [*VERSES, " ".join(VERSES)]))


def texts(folder):
    return write_lines(folder / "rows.txt", *VERSES, "", *VERSES[::-1])


def prompts(folder):
    return write_jsonl(folder / "rows.jsonl", [{"prompt": each, "answer": each[::-1]} for each in VERSES])


def test_no_file_is_overwritten_and_one_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path):
    test_file = one_column(tmp_path)
    model = saved(tmp_path, AtentaEncoderDecoderForConditionalGeneration)
    for output, reason in ((test_file, "is a file to read"), (model / "model.safetensors", "exists")):
        before = output.read_bytes()
        assert reason in refusal("evaluate", model, "--test_file", test_file, "--output", output)
        assert output.read_bytes() == before
    for name in ("", "nowhere/scores.json"):
        assert f"--output {tmp_path / name}" in evaluate(model, test_file, "--output", tmp_path / name, code=1)


WINDOWS = {"max_length": 40, "stride": 12, "max_answer_length": 20, "align_to_words": False}
BEAMS = {"metrics": ["character_error_rate", "chrf"], "metric_for_best_model": "character_error_rate", "num_beams": 3}
PHONES = {"metrics": ["phone_error_rate"], "metric_for_best_model": "phone_error_rate", "num_beams": 3}
SEVERAL = {"several_targets": True, "target_separator": " "}
RELATIONS = {"tag_column": "deprel", "metric_for_best_model": "tag_accuracy"}
STRIPPED = {"strip": ["case"], "sample_by": "line"}
STRIPPED |= {"min_variant_count": 1, "min_character_count": 1, "min_spelling_count": 1}
TASKS = {"finetune_classification": "text-classification", "finetune_tagging": "token-classification"}
VOTES = {"max_distance": [2], "sample_by": "sentence", "compare_with": "nowhere"}


def test_a_decoder_of_prompts_of_an_earlier_version_is_scored_alike(tmp_path):
    file, folder = prompts(tmp_path), tmp_path / "model"
    options = {"train_file": file, "validation_file": file, "output_dir": folder, "max_length": 80, "max_steps": 2}
    run_here("finetune_generation", tmp_path, *tiny("finetune_generation", **options))
    expected = evaluate(folder, file)
    earlier = {"text-generation": {"prompts": True, "max_length": 80}}
    edit_json(folder / "config.json", task_specific_params=earlier)
    assert evaluate(folder, file) == expected
    assert "--ensemble" in evaluate(folder, file, "--ensemble", "nope", code=1)  # it is scored alone


@pytest.mark.parametrize(
    ("recipe", "write", "options"),
    [
        pytest.param("finetune_tagging", relations, RELATIONS, id="another column"),
        pytest.param("finetune_qa", questions, WINDOWS, id="parts of words"),
        pytest.param("finetune_characters", texts, STRIPPED, id="stripped texts"),
        pytest.param("seq2seq", pronunciations, PHONES | SEVERAL, id="several targets"),
        pytest.param("seq2seq", sentences, BEAMS, id="windows, letters kept"),
        pytest.param("pretrain_causal", texts, {"sample_by": "line", "max_length": 16}, id="texts of several rows"),
        pytest.param("fit_pair_votes", texts, VOTES, id="votes"),
        pytest.param("fit_pair_votes", texts, VOTES | {"level": "words"}, id="votes of words"),
    ],
)
def test_the_scores_are_those_of_the_recipe(tmp_path, recipe, write, options):
    """Also with options that test_every_recipe.py does not have."""
    file = write(tmp_path)
    options = {"train_file": file, "validation_file": file, "output_dir": tmp_path / "model", **options}
    if recipe == "fit_pair_votes":
        values = [[each, *map(str, value if isinstance(value, list) else [value])] for each, value in options.items()]
        run_here(recipe, tmp_path, *(word for name, *rest in values for word in (f"--{name}", *rest)))
    else:
        run_here(recipe, tmp_path, *tiny(recipe, **{"max_steps": 10, "eval_steps": 10, "save_steps": 10, **options}))
    expected = read_metrics(tmp_path / "model")["test"]
    found = evaluate(tmp_path / "model", file)
    assert ("left as it is" in found) is ("left as it is" in expected)
    for name in found:
        assert found[name] == pytest.approx(expected[name], rel=1e-5, abs=1e-6)
    assert ("model, letters kept" in expected) is (write is sentences)
    if write is sentences:
        kept = evaluate(tmp_path / "model", file, "--keep_letters")["model"]
        assert kept == pytest.approx(expected["model, letters kept"], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("recipe", TASKS)
def test_special_tokens_in_texts_are_characters(tmp_path, recipe):
    """To a recipe, to the command and to the pipelines of transformers; `a<eos>b` is no pair."""
    texts = {"a<mask>b": "X", "a<eos>b": "Y", "<bos>": "Z", "<pad>": "X", "ab": "Z", "mask": "Y"}
    rows = {"finetune_classification": [{"text": text, "label": label} for text, label in texts.items()]}
    rows["finetune_tagging"] = [{"words": [text], "tags": [tag]} for text, tag in texts.items()]
    file, model = write_jsonl(tmp_path / "rows.jsonl", rows[recipe]), tmp_path / "model"
    options = {"train_file": file, "validation_file": file, "output_dir": model, "hidden_size": 32, "max_steps": 80}
    options |= {"eval_steps": 80, "save_steps": 80, "metric_for_best_model": "loss"}
    run_here(recipe, tmp_path, *tiny(recipe, **options))
    expected = read_metrics(model)["test"]["model"]
    assert next(iter(expected.values())) == 1
    assert evaluate(model, file)["model"] == pytest.approx(expected)
    found = pipeline(TASKS[recipe], str(model), device="cpu")(list(texts))
    firsts = [each[0] if isinstance(each, list) else each for each in found]  # of the tokens of a text
    assert [each.get("label", each.get("entity")) for each in firsts] == list(texts.values())


def saved(folder, model_class, **options):
    save_with_tokenizer(model_class, folder / "model", **options)
    return folder / "model"


LABELS = {"id2label": {0: "por", 1: "ita"}, "label2id": {"por": 0, "ita": 1}}
TAGS = {"id2label": {0: "O", 1: "B-LOC"}, "label2id": {"O": 0, "B-LOC": 1}}


@pytest.mark.parametrize(
    ("model_class", "options", "name", "lines", "named"),
    [
        (AtentaEncoderForSequenceClassification, LABELS, "rows.tsv", ["a\tpor", "b\tfra"], ["2", "'fra'", "por, ita"]),
        (
            *(AtentaEncoderForTokenClassification, TAGS, "rows.conll"),
            *(["em O", "", "Rio B-PER"], ["3", "'B-PER'", "O, B-LOC"]),
        ),
        (AtentaEncoderDecoderForConditionalGeneration, {}, "rows.tsv", ["a\tb", "c"], ["2", "1 column(s)"]),
        (AtentaEncoderDecoderForConditionalGeneration, {}, "rows.tsv", ["a\tb", "c\t "], ["2", "an empty target"]),
        (AtentaEncoderDecoderForConditionalGeneration, {}, "rows.tsv", ["a\tb\tV", "c\td\tV"], ["1", "tag", "'V'"]),
    ],
)
def test_a_row_that_the_model_cannot_be_scored_on_is_named(tmp_path, model_class, options, name, lines, named):
    file = write_lines(tmp_path / name, *lines)
    reason = evaluate(saved(tmp_path, model_class, **options), file, code=1)
    line, *others = named
    assert reason.startswith(f"{file}, line {line}: ")
    assert all(each in reason for each in others)
    assert "\n" not in reason


def test_a_file_without_tags_for_a_model_with_tags_is_pointed_out(tmp_path):
    model = save_pairs(tmp_path / "model")  # whose tags have positions of their own
    printed = run("evaluate", model, "--test_file", write_lines(tmp_path / "rows.tsv", "a\tb"))
    assert "found no tags in the test file" in printed.stderr
    assert "rows.tsv: the first row does not name source, target; it is read as data" in printed.stderr


def one_column(folder):
    """Return a file that no reader of pairs accepts."""
    path = folder / "rows.tsv"
    path.write_text("one column\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["nonsense", "tag_accuracy"])
def test_metrics_are_checked_before_anything_is_read(tmp_path, name):
    model = saved(tmp_path, AtentaEncoderDecoderForConditionalGeneration)
    reason = evaluate(model, one_column(tmp_path), "--metrics", "chrf", "--metrics", name, code=1)
    named, _, expected = reason.partition(": expected some of ")
    assert named == f"--metrics {name}"
    assert "exact_match, " in expected
    assert "tag_accuracy" not in expected


@pytest.mark.parametrize(
    ("saved_for_tasks", "message"),
    [
        ({"text2text-generation": {"denoising": True}}, "restores masked texts"),
        ({"text2text-generation": {"metrics": ["nonsense"]}}, "unknown here: --metrics nonsense: "),
        ({"text2text-generation": 3}, "task_specific_params is {'text2text-generation': 3}"),
    ],
)
def test_what_was_saved_for_other_rows_is_refused(tmp_path, saved_for_tasks, message):
    model = saved(tmp_path, AtentaEncoderDecoderForConditionalGeneration)
    edit_json(model / "config.json", task_specific_params=saved_for_tasks)
    assert message in evaluate(model, write_lines(tmp_path / "rows.tsv", "a\tb"), code=1)
