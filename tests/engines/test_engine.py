"""Engines answer as transformers does: the same texts, scores and outputs, one at a time, in lists and as a stream."""

import re
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import get_args

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

from atenta import (
    AtentaEncoderForPreTraining,
    AtentaEncoderForTokenClassification,
    AtentaTokenizer,
    phonemize,
    restore_accents,
    restore_text,
)
from atenta.engines import choice
from atenta.engines.choice import ONNX_FOLDER, ChosenEngine
from atenta.engines.engine import load_engine
from atenta.engines.onnx_export import export_onnx
from atenta.engines.onnx_models import FORMAT, FORMAT_KEY
from atenta.engines.torch_models import load_model
from atenta.modeling.cache_layers import CACHE_NAME
from atenta.modeling.letter_lock import KeepLettersLogitsProcessor
from support.exported import CHARACTERS, TAG, every_head
from support.saved import save_pairs

TEXTS = ["a cao", "", "É", "caco beb, acao ocea", "ab\u0303 o", "日 é.", "ca", "a b c e o ã"]
FAMILIES = ("decoder", "encoder-decoder")
ENGINES = get_args(ChosenEngine)
SEARCHES = [
    {"max_new_tokens": 30},
    {"num_beams": 4, "max_new_tokens": 20},
    {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 0.5, "early_stopping": True, "max_new_tokens": 15},
]
one_of_each = pytest.mark.parametrize(("family", "name"), [(family, name) for family in FAMILIES for name in ENGINES])


@pytest.fixture(scope="module")
def engines(folders):
    """Engines by family and name."""
    return {(family, name): load_engine(folders[family], name) for family in FAMILIES for name in ENGINES}


@pytest.fixture(scope="module")
def expected(folders):
    """A function that returns what `generate` of transformers finds for a text alone: texts and scores."""
    loaded = {}
    for family, auto_class in zip(FAMILIES, (AutoModelForCausalLM, AutoModelForSeq2SeqLM)):
        loaded[family] = AutoTokenizer.from_pretrained(folders[family]), auto_class.from_pretrained(folders[family])
        loaded[family][1].generation_config.max_length = None

    def generated(family, text, keep_letters=False, **options):
        if family == "encoder-decoder" and not text.strip():
            return [text], None
        tokenizer, model = loaded[family]
        inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        if keep_letters:
            options["logits_processor"] = [KeepLettersLogitsProcessor(tokenizer, inputs.input_ids)]
        output = model.generate(**inputs, **options, return_dict_in_generate=True, output_scores=True)
        start = 1 if family == "encoder-decoder" else inputs.input_ids.shape[1]
        texts = tokenizer.batch_decode(output.sequences[:, start:], skip_special_tokens=True)
        return texts, output.get("sequences_scores")

    return generated


def test_a_text_that_names_a_file_is_pointed_out(engines, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    functions = [engines["decoder", "onnx"].generate, phonemize, restore_accents, restore_text]
    expected = [answer(["nao", "acao.txt"]) for answer in functions]
    (tmp_path / "acao.txt").write_text("nao", encoding="utf-8")
    for answer, texts in zip(functions, expected):
        with pytest.warns(UserWarning, match=r"'acao\.txt' is also the name of a file") as warned:
            assert answer(["nao", "acao.txt"]) == texts
        assert [each.filename for each in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert restore_accents(["nao", tmp_path / "acao.txt"]) == ["não", "não"]


@one_of_each
@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_texts_and_scores_are_those_of_generate(family, name, search, engines, expected):
    found = engines[family, name].n_best(TEXTS, batch_size=3, **search)
    for text, outputs in zip(TEXTS, found):
        texts, scores = expected(family, text, **search)
        assert [one.text for one in outputs] == texts
        if scores is not None:
            assert [one.score for one in outputs] == pytest.approx(scores.tolist(), abs=1e-4)
    assert len({outputs[0].text for outputs in found}) > 4
    if family == "encoder-decoder":
        assert {one.finished for outputs in found for one in outputs} == {True, False}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("search", [{}, {"num_beams": 3}], ids=str)
def test_letters_are_kept(name, search, engines, expected):
    """Also where an output needs more tokens than the options allow."""
    engine = engines["encoder-decoder", name]
    found = engine.generate([f"{TAG}{text}" for text in TEXTS], keep_letters=True, max_new_tokens=2, **search)
    assert found == [
        expected("encoder-decoder", f"{TAG}{text}", keep_letters=True, max_new_tokens=40, **search)[0][0]
        for text in TEXTS
    ]
    assert found != TEXTS


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.filterwarnings("ignore:.*reached the largest length")
def test_feature_tags_come_before_a_text(name, engines, folders):
    engine, folder = engines["encoder-decoder", name], folders["encoder-decoder"]
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    ids = [tokenizer.convert_tokens_to_ids(TAG), *tokenizer("caco").input_ids]
    output = model.generate(torch.tensor([ids]), max_new_tokens=20, max_length=None)
    expected, tag = tokenizer.decode(output[0], skip_special_tokens=True), TAG.strip("<>")
    assert engine.generate("caco", tags=[tag], max_new_tokens=20) == expected
    assert engine.generate(["a", "caco"], tags=[[], [tag]], max_new_tokens=20)[1] == expected
    assert "".join(engine.stream("caco", tags=[tag], max_new_tokens=20)) == expected
    for text in ("caco", f"caco\t{tag}"):
        with pytest.warns(UserWarning, match=f"such as {tag}: .*as `tags`"):
            assert engine.generate(text, max_new_tokens=20) != expected
    with pytest.raises(ValueError, match=f"'SG'.*{tag}"):
        engine.generate("caco", tags=[tag, "SG"])
    for tags in ([[tag]], [tag, tag], tag):
        with pytest.raises(ValueError, match="one such list for each of 2 texts"):
            engine.n_best(["a", "b"], tags=tags)
    with pytest.raises(ValueError, match=f"tag .*{tag}.*expected some of"):
        engine.generate("caco", tags=[[tag]])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore:.*reached the largest length")
def test_a_sample_depends_on_its_seed_and_text_alone_in_both_engines(family, engines):
    def sample(name, texts, seed=3, **search):
        search = {"do_sample": True, "num_return_sequences": 3, "max_new_tokens": 20, **search}
        found = engines[family, name].n_best(texts, seed=seed, **search)
        return [[one.text for one in outputs] for outputs in found]

    expected = sample("torch", TEXTS, batch_size=8)
    for name in ENGINES:
        assert [sample(name, [text])[0] for text in TEXTS] == expected
        assert sample(name, tuple(TEXTS[::-1]), batch_size=3) == expected[::-1]
        assert sample(name, []) == []
        assert sample(name, TEXTS, seed=4) != expected
        assert sample(name, TEXTS, seed=None) != sample(name, TEXTS, seed=None)
        cut = sample(name, TEXTS, top_p=0.9)
        assert cut == sample("torch", TEXTS, top_p=0.9) != expected
    assert len(set(expected[3])) > 1


@one_of_each
def test_a_stream_is_the_text(family, name, engines):
    engine = engines[family, name]
    for text in TEXTS[:5]:
        for search in ({}, {"do_sample": True, "seed": 1, "top_k": 5}):
            (found,) = engine.n_best([text], max_new_tokens=25, **search)
            pieces = list(engine.stream(text, max_new_tokens=25, **search))
            assert "".join(pieces) == found[0].text
            assert len(pieces) == len(found[0].text)


@pytest.mark.filterwarnings("ignore:.*reached the largest length")
def test_saved_options_count_but_beams_of_a_stream(folders, tmp_path, engines):
    folder = shutil.copytree(folders["encoder-decoder"], tmp_path / "model")
    (folder / "generation_config.json").write_text(
        '{"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 20}', encoding="utf-8"
    )
    engine, unsaved = load_engine(folder, "torch"), engines["encoder-decoder", "torch"]
    assert engine.generate(TEXTS) == unsaved.generate(TEXTS, num_beams=3, max_new_tokens=20)
    assert "".join(engine.stream(TEXTS[3])) == unsaved.generate(TEXTS[3], max_new_tokens=20)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("text", ["", " ", " \n\u3000"])
@pytest.mark.filterwarnings("ignore:.*reached the largest length")
def test_an_empty_source_gives_itself(text, name, engines, folders):
    """With and without windows, as in the pipeline; only a decoder goes on from an empty text."""
    engine = engines["encoder-decoder", name]
    assert engine.config["window_length"] is None
    for options in ({}, {"num_beams": 3}):
        assert engine.generate([text, "ca"], max_new_tokens=5, **options)[0] == text
        assert [one.text for one in engine.n_best([text], **options)[0]] == [text]
    assert "".join(engine.stream(text)) == text
    pipe = pipeline("text2text-generation", str(folders["encoder-decoder"]), device="cpu")
    assert pipe(text)[0]["generated_text"] == text
    assert engines["decoder", name].generate("", max_new_tokens=5)


@pytest.mark.parametrize("family", FAMILIES)
def test_many_beams_of_long_outputs(family, folders, engines):
    """The cache has hundreds of places, and at first room for 80; texts are dropped on the way."""
    texts = [text * times for text, times in zip(TEXTS, (8, 1, 20, 2, 9, 4, 16, 1))]
    # What ends an output at a place of its own, whatever the weights: its source's end, or its prompt's length.
    options = {"keep_letters": True} if family == "encoder-decoder" else {"max_length": 60}
    options |= {"num_beams": 10, "num_return_sequences": 2, "length_penalty": 2.0}
    one_batch = load_engine(folders[family], "onnx", threads=1)
    found, theirs = (engine.n_best(texts, **options) for engine in (one_batch, engines[family, "torch"]))
    for ours, others in zip(found, theirs):
        assert [one.text for one in ours] == [one.text for one in others]
        assert [one.score for one in ours] == pytest.approx([one.score for one in others], abs=1e-4)
    lengths = [len(outputs[0].text) for outputs in found]
    assert len(set(lengths)) > 3
    assert max(lengths) > 35  # of ten beams each


@one_of_each
def test_threads_share_an_engine(family, name, engines):
    engine = engines[family, name]
    parts = [TEXTS[number:] + TEXTS[:number] for number in range(4)]

    def answer(part):
        return [one.text for outputs in engine.n_best(part, num_beams=2, max_new_tokens=12) for one in outputs]

    alone = [answer(part) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(answer, parts)) == alone


def test_an_output_of_an_encoder_decoder_that_is_cut_off_is_warned_of(engines):
    for name in ENGINES:
        with pytest.warns(UserWarning, match="of 8 outputs reached the largest length without <eos>") as warned:
            engines["encoder-decoder", name].generate(TEXTS, tags=[[]] * len(TEXTS), max_new_tokens=2)
        assert [warning.filename for warning in warned] == [__file__]
        with warnings.catch_warnings(action="error"):
            engines["decoder", name].generate(TEXTS, max_new_tokens=2)


@pytest.mark.parametrize("name", ENGINES)
@every_head
def test_outputs_of_heads_are_those_of_the_model(model_class, name, head_folder):
    folder = head_folder(model_class)
    engine, model, tokenizer = load_engine(folder, name), load_model(folder), AutoTokenizer.from_pretrained(folder)
    pairs = TEXTS[::-1] if "Encoder" in model_class.__name__ else None
    for others in (None, pairs):
        found = engine.predict(TEXTS, others)
        assert len(found) == len(TEXTS)
        for number, (text, outputs) in enumerate(zip(TEXTS, found)):
            inputs = tokenizer([text], others and [others[number]], return_tensors="pt")
            if not getattr(model.config, "type_vocab_size", 0):
                inputs.pop("token_type_ids", None)
            with torch.no_grad():
                theirs = {key: value for key, value in model(**inputs).items() if key != CACHE_NAME}
            assert list(outputs) == list(theirs)
            for key, value in theirs.items():
                assert outputs[key].dtype == np.float32
                np.testing.assert_allclose(outputs[key], value[0], atol=1e-4, rtol=0)
    assert engine.predict([]) == []


@pytest.mark.parametrize("name", ENGINES)
def test_a_column_gives_what_a_list_gives(name, engines, head_folder):
    texts = ["b", "aa"]
    decoder, head = engines["decoder", name], load_engine(head_folder(AtentaEncoderForTokenClassification), name)
    for column in (pd.Series(texts, index=[1, 0]), np.array(texts)):
        assert decoder.generate(column, max_new_tokens=3) == decoder.generate(texts, max_new_tokens=3)
        for found, expected in zip(head.predict(column, column), head.predict(texts, texts)):
            np.testing.assert_array_equal(found["logits"], expected["logits"])


@pytest.mark.parametrize("name", ENGINES)
def test_a_text_may_be_longer_than_a_batch(name, head_folder):
    """Of 1,024 tokens, where the positions are no limit."""
    engine = load_engine(head_folder(AtentaEncoderForTokenClassification), name)
    lengths = (3, 1022, 1023, 2500)
    outputs = engine.predict(["a" * length for length in lengths])
    assert [len(each["logits"]) for each in outputs] == [length + 2 for length in lengths]


@pytest.mark.parametrize("name", ENGINES)
def test_learned_positions_are_a_limit(name, engines, head_folder):
    """Of 64 tokens; the last one of an output is not read."""
    decoder, head = engines["decoder", name], load_engine(head_folder(AtentaEncoderForPreTraining), name)
    longest = "a" * 63  # and <bos>
    assert decoder.n_best([longest], max_new_tokens=1)
    assert len(head.predict(["a" * 62])) == 1  # with two special tokens
    for call in (
        lambda: decoder.generate(longest, max_new_tokens=2, eos_token_id=None),
        lambda: list(decoder.stream(longest, max_new_tokens=2, eos_token_id=None)),
        lambda: decoder.generate(["a", longest + "a"], max_new_tokens=1),
        lambda: head.predict(["a", "a" * 63]),
    ):
        with pytest.raises(ValueError, match="64 positions") as refused:
            call()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ENGINES)
def test_tags_take_none_of_the_learned_positions(name, tmp_path):
    """They are at position 0, and the letters are counted from 1."""
    tokenizer = AtentaTokenizer.from_texts(["abc"], family="encoder-decoder", tags=["<PL>"])
    limit = {"position_embedding_type": "learned", "max_position_embeddings": 12}
    save_pairs(tmp_path, alphabet="abc", tag_token_ids=[tokenizer.convert_tokens_to_ids("<PL>")], **limit)
    export_onnx(tmp_path)
    engine = load_engine(tmp_path, name)
    longest = "a" * 10  # and <eos>
    for tags in (["PL"], []):
        assert engine.n_best([longest], tags=[tags])
        with pytest.raises(ValueError, match="12 positions"):
            engine.n_best([longest + "a"], tags=[tags])


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("search", [{}, {"num_beams": 3}], ids=str)
def test_a_long_text_that_ends_is_no_obstacle_to_others(name, search, engines):
    """Nothing is read beyond its last position, while the others go on."""
    engine = engines["decoder", name]

    def outputs_of(texts, max_new_tokens):
        return [outputs[0] for outputs in engine.n_best(texts, max_new_tokens=max_new_tokens, **search)]

    long = [f"{first}{'aceb' * 13}" for first in CHARACTERS]
    (ended, *_) = (text for text, output in zip(long, outputs_of(long, 8)) if output.finished)
    short = ["".join(pair) for pair in product(CHARACTERS[:10], repeat=2)]
    others = [text for text, output in zip(short, outputs_of(short, 40)) if not output.finished][:7]
    assert len(others) == 7
    together = outputs_of([ended, *others], 40)
    assert [output.text for output in together] == [outputs_of([text], 40)[0].text for text in (ended, *others)]


def test_the_engine_is_chosen(folders, tmp_path, monkeypatch):
    folder = folders["decoder"]
    assert load_engine(folder).name == load_engine(str(folder), "onnx", threads=1).name == "onnx"
    assert load_engine(folder, "torch").name == "torch"
    assert repr(load_engine(folder)) == "<Engine: AtentaDecoderForCausalLM in onnx>"
    copy = shutil.copytree(folder, tmp_path / "model", ignore=shutil.ignore_patterns(ONNX_FOLDER))
    assert load_engine(copy).name == "torch"
    monkeypatch.setattr(choice, "find_spec", lambda name: None if name == "onnxruntime" else name)
    assert load_engine(folder).name == "torch"


def write_onnx(folder, format=None):
    """Write a graph with another format into the folder of a decoder, or none."""
    file = folder / ONNX_FOLDER / "decoder_model.onnx"
    model = onnx.load(file)
    (entry,) = [entry for entry in model.metadata_props if entry.key == FORMAT_KEY]
    model.metadata_props.remove(entry)
    if format is not None:
        model.metadata_props.add(key=FORMAT_KEY, value=format)
    onnx.save(model, file)


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        (shutil.rmtree, {}, FileNotFoundError, "FOLDER: found no config.json there; expected"),
        (
            lambda folder: shutil.rmtree(folder / ONNX_FOLDER),
            {"engine": "onnx"},
            FileNotFoundError,
            "FOLDER/onnx has no model.onnx and no decoder_model.onnx.* atenta export FOLDER$",
        ),
        (None, {"quantization": "int8"}, FileNotFoundError, "atenta export FOLDER --quantization int8$"),
        (lambda folder: (folder / "tokenizer.json").unlink(), {}, FileNotFoundError, "FOLDER has no tokenizer.json"),
        (lambda folder: (folder / "config.json").write_text("[]"), {}, ValueError, r"FOLDER/config.json .*\[\]"),
        (
            lambda folder: (folder / ONNX_FOLDER / "decoder_model.onnx").write_bytes(b"half"),
            {},
            ValueError,
            f"onnxruntime {onnxruntime.__version__} cannot read FOLDER/onnx/decoder_model.onnx",
        ),
        (lambda folder: write_onnx(folder, "0"), {}, ValueError, f"_model.onnx has format 0; expected {FORMAT}"),
        (write_onnx, {}, ValueError, f"_model.onnx has format None; expected {FORMAT}.*: atenta export FOLDER"),
        (None, {"engine": "tensorflow"}, ValueError, "engine='tensorflow'; expected .*'auto', 'onnx', 'torch'"),
        (None, {"quantization": "int4"}, ValueError, "quantization='int4'; expected 'int8'"),
        (None, {"engine": "torch", "quantization": "int8"}, ValueError, "quantization='int8' .*engine='torch'"),
        (None, {"threads": "2"}, ValueError, "threads='2'; expected 1 or more"),
    ],
)
def test_folders_and_options_that_do_not_fit_are_refused(change, options, error, message, decoder_folder, tmp_path):
    folder = shutil.copytree(decoder_folder, tmp_path / "model")
    if change is not None:
        change(folder)
    with pytest.raises(error, match=message.replace("FOLDER", str(folder))) as refused:
        load_engine(folder, **options)
    assert "\n" not in str(refused.value)


def test_both_files_of_an_encoder_decoder_are_needed(encoder_decoder_folder, tmp_path):
    folder = shutil.copytree(encoder_decoder_folder, tmp_path / "model")
    (folder / ONNX_FOLDER / "encoder_model.onnx").unlink()
    with pytest.raises(FileNotFoundError, match=r"encoder_model\.onnx is not there\. .*: atenta export"):
        load_engine(folder)
    with pytest.raises(TypeError, match=r"Found None \(NoneType\); expected the folder"):
        load_engine(None)


@pytest.mark.parametrize(
    ("missing", "engine", "message"),
    [
        ({"onnxruntime"}, "onnx", 'need onnxruntime: pip install "atenta[onnx]"'),
        ({"torch"}, "torch", "engine='torch' needs torch and transformers: pip install"),
        ({"onnxruntime", "torch"}, "auto", 'need onnxruntime: pip install "atenta[onnx]"'),
    ],
)
def test_a_missing_engine_is_named(missing, engine, message, decoder_folder, monkeypatch):
    monkeypatch.setattr(choice, "find_spec", lambda name: None if name in missing else name)
    with pytest.raises(ImportError, match=re.escape(message)):
        load_engine(decoder_folder, engine)


@pytest.mark.parametrize("left", ["decoder_model.onnx", "decoder_model_int8.onnx"])
def test_onnx_files_without_weights_ask_for_onnxruntime(left, decoder_folder, tmp_path, monkeypatch):
    folder = shutil.copytree(decoder_folder, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    (folder / ONNX_FOLDER / "decoder_model.onnx").rename(folder / ONNX_FOLDER / left)
    monkeypatch.setattr(choice, "find_spec", lambda name: None if name == "onnxruntime" else name)
    with pytest.raises(ImportError, match="need onnxruntime"):
        load_engine(folder)


@pytest.mark.parametrize("name", ENGINES)
def test_calls_that_do_not_fit_the_model_are_refused(name, engines, head_folder):
    decoder, translator = (engines[family, name] for family in FAMILIES)
    head, single = (load_engine(head_folder(AtentaEncoderForTokenClassification), name) for _ in range(2))
    single.config["type_vocab_size"] = 1
    calls = [  # and names that the error must have
        (lambda: head.generate("a"), ValueError, ["AtentaEncoderForTokenClassification", "`predict`"]),
        (lambda: head.stream("a"), ValueError, ["AtentaEncoderForTokenClassification", "`predict`"]),
        (lambda: decoder.predict(["a"]), ValueError, ["AtentaDecoderForCausalLM", "`generate`"]),
        (lambda: decoder.generate("a", keep_letters=True), ValueError, ["keep_letters=True"]),
        (lambda: decoder.generate("a", num_beam=2), ValueError, ["num_beam", "num_beams"]),
        (lambda: decoder.generate("a", batch_size="4"), ValueError, ["batch_size='4'"]),
        (lambda: translator.generate("a", keep_letters="no"), ValueError, ["keep_letters='no'", "True", "False"]),
        (lambda: decoder.n_best("a"), TypeError, ["`texts`", "'a'", "list"]),
        (lambda: decoder.generate([1]), TypeError, ["`texts[0]`", "1 (int)", "str"]),
        (lambda: translator.generate("\ud800"), ValueError, ["surrogate"]),
        (lambda: translator.stream("a", num_beams=2), ValueError, ["num_beams", "2"]),
        (
            lambda: translator.stream("a", do_sample=True, num_return_sequences=3),
            *(ValueError, ["num_return_sequences", "3"]),
        ),
        (lambda: translator.stream(["a"]), TypeError, ["['a']", "str"]),
        (lambda: head.predict(["a"], ["a", "b"]), ValueError, ["1 texts", "2 text_pairs"]),
        (lambda: single.predict(["a"], ["b"]), ValueError, ["type_vocab_size=1"]),
        (lambda: load_engine(""), ValueError, ["empty"]),
    ]
    for call, error, names in calls:
        with pytest.raises(error) as refused:
            call()
        assert [name for name in names if name not in str(refused.value)] == []
        assert "\n" not in str(refused.value)
