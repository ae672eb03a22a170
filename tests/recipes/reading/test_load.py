"""Loading, reporting and encoding of rows, for files and for the sample data."""

from functools import partial
from string import ascii_lowercase

import datasets
import pytest
from transformers import TrainingArguments

from atenta import AtentaTokenizer
from atenta.recipes.reading import load as load_module
from atenta.recipes.reading.load import describe_data, encode_rows, load_rows, report_rows
from atenta.recipes.reading.records import BadRow
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.samples import files as files_module
from atenta.recipes.samples.registry import SAMPLES, Sample
from atenta.recipes.tasks.documents import DOCUMENTS, DocumentArguments, load_documents
from atenta.recipes.tasks.questions import QUESTIONS
from atenta.recipes.tasks.tagging import TaggingTask
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS
from atenta.recipes.tasks.transduction import PAIRS, encode_pairs
from support.recipes import write_jsonl, write_lines

COLUMNS = ["source", "target"]
calls = []


@pytest.fixture(autouse=True)
def _separate_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    calls.clear()


@pytest.fixture
def training(tmp_path):
    return TrainingArguments(tmp_path / "output", use_cpu=True, report_to="none")


@pytest.fixture
def load_pairs(training):
    return partial(load_rows, training=training, row_format=PAIRS)


@pytest.fixture
def files(tmp_path):
    train = write_lines(tmp_path / "train.tsv", "ser\tsou", "ver\tvês")
    return {"train_file": [str(train)], "validation_file": [str(write_lines(tmp_path / "dev.tsv", "ir\tvou"))]}


@pytest.fixture
def tokenizer():
    return AtentaTokenizer.from_texts(["abcdefghijklmnoprstuvê"], family="encoder-decoder")


def encode_counted(batch, tokenizer):
    calls.append(len(batch["source"]))
    return encode_pairs(batch, tokenizer)


def as_lists(splits):
    return {name: rows.to_list() for name, rows in splits.items()}


# Loading


def test_data_are_described_without_their_folder(files, tmp_path):
    assert describe_data(DataArguments(**files)) == {"data": "train.tsv, dev.tsv"}
    of_hub = {"data": "someone/pairs", "datasets": ["someone/pairs"]}
    assert describe_data(DataArguments(dataset_name="someone/pairs")) == of_hub
    assert describe_data(DataArguments(dataset_name=str(tmp_path))) == {"data": tmp_path.name}


def test_the_description_has_the_rows_and_how_much_of_them_the_alphabet_has(load_pairs, files, training):
    tokenizer = AtentaTokenizer.from_texts(["serouv"], family="encoder-decoder")  # without ê and i
    report = report_rows(load_pairs(DataArguments(**files)), training, COLUMNS, tokenizer)
    about = describe_data(DataArguments(**files), report)
    assert about["rows"] == {"train": 2, "validation": 1}
    assert about["rows_inside"] == {"train": 0.5, "validation": 0}
    assert about["characters_inside"] == pytest.approx({"train": 11 / 12, "validation": 4 / 5})


@pytest.mark.parametrize("streaming", [False, True])
def test_documents_of_txt_and_of_tables(training, tmp_path, capsys, streaming):
    text = [str(write_lines(tmp_path / "text.txt", "Um. Dois.", "", "Três"))]
    table = [str(write_jsonl(tmp_path / "text.jsonl", [{"text": "Um. Dois.\n\nTrês"}]))]
    data = DocumentArguments(train_file=table, validation_file=text, sample_by="sentence", streaming=streaming)
    splits = load_documents(data, training)
    assert splits.keys() == {"train", "validation", "test"}
    for rows in splits.values():
        assert [row["text"] for row in rows] == ["Um.", "Dois.", "Três"]
    assert splits["train"].features == DOCUMENTS.features
    assert "first row" not in capsys.readouterr().out  # texts need no header


def test_sample_made_of_rows(load_pairs, monkeypatch):
    made = {name: [{"source": name, "target": name, "tags": []}] for name in ("train", "validation", "test")}
    sample = Sample(("mine", "meu"), licence="mit", columns=list(PAIRS.features), rows=lambda: made)
    monkeypatch.setitem(SAMPLES, "mine", sample)
    splits = load_pairs(DataArguments(sample="mine"))
    assert as_lists(splits) == made
    assert splits["train"].features == PAIRS.features
    about = {"data": {"en": "mine", "pt": "meu"}, "language": "pt", "licence": "mit"}
    assert describe_data(DataArguments(sample="mine")) == about


def test_sample_made_of_files(load_pairs, monkeypatch, files, tmp_path, capsys):
    monkeypatch.setattr(files_module, "DATA", tmp_path)
    monkeypatch.setitem(
        SAMPLES, "mine", Sample(("mine", "meu"), columns=PAIRS.columns, files=["train.tsv", "dev.tsv"])
    )
    splits = load_pairs(DataArguments(sample="mine"))
    assert "first row" not in capsys.readouterr().out  # which has no header
    assert as_lists(splits) == as_lists(load_pairs(DataArguments(**files)))


@pytest.mark.parametrize("sample", [None, "nothing", "languages", "bosque"])
def test_a_sample_that_is_missing_or_of_another_task(load_pairs, sample):
    """Those of the task are named."""
    with pytest.raises(SystemExit) as refused:
        load_pairs(DataArguments(sample=sample))
    message, _, given = str(refused.value).partition(" (")
    assert "--train_file and --validation_file, or --dataset_name, or a --sample of accents, " in message
    named = message.removesuffix(".").split("--sample of ")[1].split(", ")
    assert {"french_g2p", "hebrew", "titles"} <= {*named}
    assert not {"novels", "portuguese", "languages", "bosque", "faquad"} & {*named}
    assert {"languages": "text_pair", "bosque": "words"}.get(sample, str(sample)) in given


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": "accents", "streaming": True}, "--streaming: the rows of --sample accents are made in memory"),
        ({"sample": "accents", "dataset_config_name": "pt"}, "--dataset_config_name pt: .* --dataset_name"),
        ({"train_file": ["pairs.tsv"], "dataset_config_name": "pt"}, "--dataset_config_name pt: .* --dataset_name"),
    ],
)
def test_options_that_the_data_would_ignore_are_refused(load_pairs, options, message):
    with pytest.raises(SystemExit, match=message):
        load_pairs(DataArguments(**options))


def test_the_samples_of_a_task_are_those_that_it_can_read(training):
    found = {}
    for row_format in (QUESTIONS, TEXT_PAIRS, TaggingTask().row_format, DOCUMENTS):
        with pytest.raises(SystemExit) as refused:
            load_rows(DataArguments(), training, row_format)
        named = str(refused.value).split("--sample of ")[1].split(" (")[0]
        found[row_format.columns[0]] = {*named.split(", ")}
    assert found["id"] == {"faquad"}
    assert found["anchor"] == {"misspellings", "faquad"}
    assert found["words"] == {"lener_br", "bosque"}
    assert found["text"] == {"novels", "portuguese_documents", "languages", "simpler_sentences"}


def test_malformed_row(load_pairs, files, training, tokenizer, tmp_path):
    """The message is a line without commands for a terminal. In a stream the report finds the row."""
    files["train_file"] = [str(write_lines(tmp_path / "b\n\x1bad.tsv", "ser\tsou", " \tvês"))]
    message = r"b\\n\\x1bad\.tsv, line 2: found an empty source"
    with pytest.raises(SystemExit, match=message):
        load_pairs(DataArguments(**files))
    stream = load_pairs(DataArguments(**files, streaming=True))
    with pytest.raises(SystemExit, match=message):
        report_rows(stream, training, COLUMNS, tokenizer)


@pytest.mark.parametrize(("suffix", "gap"), [("csv", ","), ("txt", "\t")])
def test_table_without_a_header_is_reported(load_pairs, files, tmp_path, capsys, suffix, gap):
    files["train_file"] = [str(write_lines(tmp_path / f"train.{suffix}", f"ser{gap}sou"))]
    files["validation_file"] = [str(write_lines(tmp_path / "dev.csv", "source,target", "ir,vou"))]
    assert load_pairs(DataArguments(**files))["train"]["source"][:] == ["ser"]
    printed = capsys.readouterr().out
    assert f"train.{suffix}: the first row does not name source, target; it is read as data" in printed
    assert "dev.csv" not in printed


def test_the_order_of_columns_without_a_header_is_said(load_pairs, files, tmp_path, capsys):
    files["train_file"] = [str(write_lines(tmp_path / "train.tsv", "ser\tV;1;SG\tsou", "ir\tV;1;SG\tvou"))]
    rows = load_pairs(DataArguments(**files))["train"]
    assert rows[0] == {"source": "ser", "target": "sou", "tags": ["<V>", "<1>", "<SG>"]}
    assert "train.tsv" in (printed := capsys.readouterr().out)
    assert "source 'ser', tags 'V;1;SG', target 'sou'" in printed


# Reporting


def test_report_comes_before_the_error(load_pairs, files, training, tokenizer, capsys):
    splits = load_pairs(DataArguments(**files))
    report_rows(splits, training, COLUMNS, tokenizer, max_length=4)
    assert "longer than 4 tokens" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"train, row 0, .*: found 4 tokens .* at most 3"):
        report_rows(splits, training, COLUMNS, tokenizer, max_length=3)
    assert "longer than 3 tokens" in capsys.readouterr().out


# Encoding


def test_rows_are_encoded_once(load_pairs, files, training, tokenizer):
    for _ in range(2):
        encoded = encode_rows(
            load_pairs(DataArguments(**files)), training, partial(encode_counted, tokenizer=tokenizer)
        )
    assert encoded["train"].column_names == ["input_ids", "labels"]
    assert encoded["train"]["input_ids"][:] == tokenizer(["ser", "ver"]).input_ids
    assert calls == [2, 1]  # train, and validation, which is also test


@pytest.mark.parametrize("change", ["code", "tokenizer"])
def test_changes_encode_again(load_pairs, files, training, tokenizer, monkeypatch, change):
    splits = load_pairs(DataArguments(**files))
    encode_rows(splits, training, partial(encode_counted, tokenizer=tokenizer))
    calls.clear()
    if change == "code":
        monkeypatch.setattr(load_module, "code_digest", lambda: "another digest")
    else:
        tokenizer = AtentaTokenizer.from_texts(["sevrouêi"], family="encoder-decoder")
    encoded = encode_rows(splits, training, partial(encode_counted, tokenizer=tokenizer))
    assert calls == [2, 1]
    assert encoded["train"]["input_ids"][:] == tokenizer(["ser", "ver"]).input_ids


def test_several_processes_encode_the_same_rows(load_pairs, files, training, tokenizer):
    splits = load_pairs(DataArguments(**files))
    function = partial(encode_counted, tokenizer=tokenizer)
    shared = encode_rows(splits, training, function, num_proc=2)
    assert calls == []
    own = encode_rows(splits, training, function)
    assert calls == [2, 1]  # the cache of the other batches is not used
    assert as_lists(shared) == as_lists(own)


@pytest.mark.parametrize("num_proc", [None, 2])
def test_row_that_cannot_be_encoded(load_pairs, training, files, tokenizer, tmp_path, num_proc):
    files["train_file"] = [str(write_lines(tmp_path / "tags.tsv", "ser\tsou\tV", "ver\tvês\tV"))]
    splits = load_pairs(DataArguments(**files))
    with pytest.raises(SystemExit, match="no tag <V>"):
        encode_rows(splits, training, partial(encode_pairs, tokenizer=tokenizer), num_proc)


def test_a_row_of_a_stream_that_cannot_be_encoded_is_a_bad_row(load_pairs, training, files, tokenizer, tmp_path):
    files["train_file"] = [str(write_lines(tmp_path / "tags.tsv", "ser\tsou\tV"))]
    stream = {"train": load_pairs(DataArguments(**files, streaming=True))["train"]}
    encoded = encode_rows(stream, training, partial(encode_pairs, tokenizer=tokenizer))
    with pytest.raises(BadRow, match=r"^train: .*no tag <V>"):
        next(iter(encoded["train"]))


def test_streams_are_encoded_lazily(load_pairs, files, training, tokenizer):
    splits = load_pairs(DataArguments(**files, streaming=True))
    encoded = encode_rows({"train": splits["train"]}, training, partial(encode_counted, tokenizer=tokenizer))
    assert calls == []
    assert [row["input_ids"] for row in encoded["train"]] == tokenizer(["ser", "ver"]).input_ids


def test_files_without_headers_have_one_order_of_columns(tmp_path):
    pairs = [f"{word}\t{tag}\t{word}x" for word in ascii_lowercase for tag in ("sg", "pl")]
    files = [str(write_lines(tmp_path / name, *of_file)) for name, of_file in (("a.tsv", pairs), ("b.tsv", pairs[:4]))]
    with pytest.raises(ValueError, match=r"b.tsv: found the columns source, target, tags .*a.tsv"):
        list(load_module.missing_headers(files, PAIRS))
