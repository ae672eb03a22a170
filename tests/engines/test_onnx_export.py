"""ONNX files compared with the torch models that they were made of."""

import json
import shutil

import numpy as np
import onnx
import pytest
import torch
from safetensors.torch import load_file, save_file

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderModel,
    AtentaEncoderForTokenClassification,
    AtentaPairVotesForCausalLM,
    load_engine,
)
from atenta.engines.choice import ONNX_FOLDER
from atenta.engines.onnx_export import export_onnx
from atenta.engines.onnx_models import OnnxGenerator, OnnxHead, source_digests, weights_digest
from atenta.engines.torch_models import TorchGenerator, load_model
from atenta.modeling.cache_layers import CACHE_NAME
from support.exported import every_head, save_head
from support.models import (
    ALL_LAYOUTS,
    GENERATORS,
    GROUPS,
    every_generator,
    every_layout,
    layout_name,
    pad,
    texts,
    tiny_model,
)
from support.recomputed import RecomputedModel
from support.saved import edit_json
from support.wheels import ROOT

LENGTHS = [9, 4, 1, 6]
SIDES = {False: "left", True: "right"}  # by whether a model has a source


def batch_for(model, seed=1, lengths=LENGTHS):
    ids = texts(len(lengths), max(lengths), seed, vocab_size=model.config.vocab_size)
    if tags := getattr(model.config, "tag_token_ids", None):
        ids[::2, 0] = tags[0]
    return [each.numpy() for each in pad(ids, lengths, SIDES[model.config.is_encoder_decoder])]


def assert_same_head(folder, tolerance=1e-4):
    """Compare outputs at all real tokens, with padding on each side and two segments."""
    model, session = load_model(folder), OnnxHead(folder / ONNX_FOLDER)
    for lengths in (LENGTHS, [13, 20], [1]):
        ids = texts(len(lengths), max(lengths), seed=2, vocab_size=model.config.vocab_size)
        for side in ("right", "left"):
            input_ids, attention_mask = pad(ids, lengths, side)
            inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
            if getattr(model.config, "type_vocab_size", 0):
                inputs["token_type_ids"] = torch.randint(0, 2, input_ids.shape)
            with torch.no_grad():
                expected = model(**inputs)
            expected = {name: value for name, value in expected.items() if name != CACHE_NAME}
            actual = session.run({name: tensor.numpy() for name, tensor in inputs.items()})
            assert list(actual) == list(expected)
            for name, value in expected.items():
                real = attention_mask.bool().numpy() if value.shape[:2] == input_ids.shape else ...
                np.testing.assert_allclose(actual[name][real], value.numpy()[real], atol=tolerance, rtol=0)


def assert_exported_head(folder, model_class, tolerance=1e-4, **options):
    tiny_model(model_class, **options).save_pretrained(folder)
    export_onnx(folder)
    assert_same_head(folder, tolerance)


@every_head
def test_every_head(model_class, head_folder):
    assert_same_head(head_folder(model_class))


@pytest.mark.parametrize(
    "layout", [pytest.param(ALL_LAYOUTS[0], marks=pytest.mark.slow), ALL_LAYOUTS[5]], ids=layout_name
)
def test_groups_of_characters(layout, tmp_path):
    """In float32 as in torch, and in int8 with all products before the head rounded."""
    options = GROUPS | {"downsampling_size": 32, "downsampling_layers": 1, "num_hidden_layers": 1, "num_labels": 3}
    assert_exported_head(tmp_path, AtentaEncoderForTokenClassification, tolerance=1e-5, **layout, **options)
    (path,) = export_onnx(tmp_path, "int8")
    products = products_of(path)
    assert len(products["UINT8"]) == 2 + 1 + 4 + 1 + 4  # mixing, pooling, the block on groups, spreading, last block
    assert len(products["FLOAT"]) == 1
    edit_json(tmp_path / "config.json", downsampling_heads=4)
    with pytest.raises(ValueError, match=r"model\.onnx was not made of config\.json"):
        OnnxHead(tmp_path / ONNX_FOLDER)


def test_options_that_are_not_set_leave_earlier_files_valid(tmp_path):
    (tmp_path / "config.json").write_text('{"norm_first": true}', encoding="utf-8")
    earlier = source_digests(tmp_path)
    edit_json(tmp_path / "config.json", downsampling_rate=None, downsampling_heads=None, transducer=False)
    assert source_digests(tmp_path) == earlier


def test_the_end_that_a_transducer_writes_is_in_its_graph(tmp_path):
    (tmp_path / "config.json").write_text('{"transducer": true, "eos_token_id": 2}', encoding="utf-8")
    earlier = source_digests(tmp_path)
    edit_json(tmp_path / "config.json", eos_token_id=3)
    assert source_digests(tmp_path) != earlier


def assert_same_logits(begin, model, steps=36, most_branches=8):
    """Follow random branches of random texts, and compare logits with a model that reads each branch again.

    Args:
        begin: returns the model to test.
        model: the torch model that it was made of.
    """
    generator = np.random.default_rng(0)
    tested, expected = begin(), RecomputedModel(model)
    inputs = batch_for(model)
    rows, branches = len(inputs[0]), 1
    logits = [each.start(*inputs) for each in (tested, expected)]
    for step in range(steps):
        np.testing.assert_allclose(*logits, atol=1e-4, rtol=0)
        if step % 10 == 9:  # the first goes, so that the others get other places
            rows -= 1
            for each in (tested, expected):
                each.keep(np.arange(1, rows + 1))
        now = branches if step % 3 else int(generator.integers(1, most_branches + 1))
        parents = generator.integers(0, branches, (rows, now))
        token_ids, branches = generator.integers(3, model.config.vocab_size, (rows, now)), now
        logits = [each.step(token_ids, parents) for each in (tested, expected)]


@pytest.mark.parametrize("family", ["decoder", "encoder-decoder"])
@pytest.mark.parametrize("engine", ["onnx", "torch"])
def test_every_branch_has_its_own_logits(family, engine, folders):
    folder = folders[family]
    model = load_model(folder)
    onnx_generator = OnnxGenerator(folder / ONNX_FOLDER, model.config.to_dict())
    generator = {"onnx": onnx_generator, "torch": TorchGenerator(model)}[engine]
    assert_same_logits(generator.begin, model)


def assert_exported_generator(folder, model):
    model.save_pretrained(folder)
    export_onnx(folder)
    assert_same_logits(OnnxGenerator(folder / ONNX_FOLDER, model.config.to_dict()).begin, model)


def test_a_transducer(tmp_path):
    """In a source that is padded, with beams that end and split."""
    options = {
        "transducer": True,
        "conv_kernel_size": 3,
        "position_embedding_type": "rotary",
        "initializer_range": 0.3,
    }
    model = tiny_model(GENERATORS[1], encoder_layers=1, decoder_layers=1, **options)
    assert_exported_generator(tmp_path, model)
    assert_same_logits(TorchGenerator(model).begin, model)


@pytest.mark.slow
def test_rotary_positions_without_rotary_cross_attention(tmp_path):
    options = {"position_embedding_type": "rotary", "rotary_cross_attention": False, "encoder_layers": 1}
    assert_exported_generator(
        tmp_path, tiny_model(GENERATORS[1], decoder_layers=1, tie_word_embeddings=True, **options)
    )


@pytest.mark.slow
@every_layout
@every_generator
def test_every_layout_of_generators(model_class, layout, tmp_path):
    """With one block in each stack; the models that other tests export have several."""
    stacks = ("num_hidden",) if model_class is AtentaDecoderForCausalLM else ("encoder", "decoder")
    options = {f"{stack}_layers": 1 for stack in stacks}
    assert_exported_generator(tmp_path, tiny_model(model_class, **layout, **options))


@pytest.fixture
def tagger_files(head_folder):
    """The files of a model whose blocks are larger than the rest of it, in float32 and in int8."""
    folder = head_folder(AtentaEncoderForTokenClassification) / ONNX_FOLDER
    return [folder / name for name in ("model.onnx", "model_int8.onnx")]


def products_of(path):
    """The weights of the matrix products of a file by their types: the sizes of each."""
    model = onnx.load(path)
    onnx.checker.check_model(model)
    weights = {each.name: each for each in model.graph.initializer}
    rounded = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "DequantizeLinear"}
    found = {}
    for node in model.graph.node:
        if node.op_type in ("MatMul", "Gemm", "MatMulNBits"):
            weight = weights.get(rounded.get(node.input[1], node.input[1]))
            if weight is not None:
                found.setdefault(onnx.TensorProto.DataType.Name(weight.data_type), []).append(tuple(weight.dims))
    return found


def examples_of(folder):
    """The inputs of a model for a text, twice."""
    ids = texts(1, 12, vocab_size=load_model(folder).config.vocab_size).numpy()
    return [dict.fromkeys(("token_type_ids", "attention_mask"), np.ones((1, 12), int)) | {"input_ids": ids}] * 2


@pytest.mark.parametrize(("calibrated", "kind"), [(False, "UINT8"), (True, "INT8")])
def test_int8_files_round_the_blocks_only(calibrated, kind, tagger_files, tmp_path):
    folder = shutil.copytree(tagger_files[1].parents[1], tmp_path / "model")
    (path,) = export_onnx(folder, "int8", examples_of(folder) if calibrated else ())
    assert path.stat().st_size < tagger_files[0].stat().st_size / 2
    products = products_of(path)
    assert len(products[kind]) == 4  # queries, keys and values are one
    (head,) = products["FLOAT"]
    assert sorted(head) == [3, 96]


def test_int8_files_of_an_encoder_decoder(encoder_decoder_folder, tmp_path):
    folder = shutil.copytree(encoder_decoder_folder, tmp_path / "model")
    vocab_size = load_model(folder).config.vocab_size
    encoder, decoder = map(products_of, export_onnx(folder, "int8"))
    assert len(encoder["UINT8"]) == 3 * 4 + 2 * 2
    assert "FLOAT" not in encoder
    assert len(decoder["UINT8"]) == 2 * (4 + 2)  # the source's keys and values are the encoder's
    (head,) = decoder["FLOAT"]
    assert vocab_size in head


@pytest.mark.parametrize("name", ["onnx/model.part", "onnx"])
def test_nothing_is_written_through_a_link(name, decoder_folder, tmp_path):
    folder = shutil.copytree(decoder_folder, tmp_path / "model", ignore=shutil.ignore_patterns("onnx"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(elsewhere / "file" if name.endswith("part") else elsewhere)
    with pytest.raises(ValueError, match="is a link to"):
        export_onnx(folder)
    assert not list(elsewhere.iterdir())


def test_examples_that_nothing_reads_are_refused(tagger_files, decoder_folder):
    folder = tagger_files[1].parents[1]
    with pytest.raises(ValueError, match=r"calibration.*quantization='int8'"):
        export_onnx(folder, calibration=examples_of(folder))
    with pytest.raises(ValueError, match=r"generates.*calibration") as refused:
        export_onnx(decoder_folder, "int8", examples_of(decoder_folder))
    assert str(decoder_folder) in str(refused.value)


def test_files_of_other_weights_are_deleted(tagger_files, tmp_path):
    """Also files without a digest, damaged files, and those of another kind of model; no file of another name."""
    folder = shutil.copytree(tagger_files[0].parents[1], tmp_path / "model")
    export_onnx(folder)
    assert (folder / ONNX_FOLDER / "model_int8.onnx").is_file()  # of the same weights
    save_head(AtentaEncoderForTokenClassification, folder, initializer_range=0.06)
    before_digests = onnx.load(tagger_files[0])
    del before_digests.metadata_props[:]
    onnx.save(before_digests, folder / ONNX_FOLDER / "encoder_model.onnx")
    (folder / ONNX_FOLDER / "decoder_model.onnx").write_bytes(b"damaged")
    (folder / ONNX_FOLDER / "mine.onnx").write_bytes(b"mine")
    export_onnx(folder)
    assert sorted(path.name for path in folder.glob("onnx/*")) == ["mine.onnx", "model.onnx"]
    assert digest_in(folder / ONNX_FOLDER / "model.onnx") == weights_digest(folder)


@pytest.mark.parametrize("quantization", [None, "int8"])
def test_a_file_of_the_other_name_is_refused(quantization, tagger_files, tmp_path):
    folder = shutil.copytree(tagger_files[0].parents[1], tmp_path / "model")
    export_onnx(folder, "int8", examples_of(folder))  # the other kind of nodes
    files = [folder / ONNX_FOLDER / path.name for path in tagger_files]
    source, target = files if quantization else reversed(files)
    source.replace(target)
    with pytest.raises(ValueError, match="float32.*int8" if quantization else "int8.*float32"):
        OnnxHead(target.parent, quantization)


@pytest.mark.parametrize(
    ("model_class", "classes"), [(AtentaEncoderForTokenClassification, 2), (AtentaDecoderForSequenceClassification, 4)]
)
def test_other_classes_than_those_of_the_file_are_refused(classes, model_class, head_folder, tmp_path):
    folder = shutil.copytree(head_folder(model_class), tmp_path / "model")
    edit_json(folder / "config.json", id2label={str(index): f"label {index}" for index in range(classes)})
    with pytest.raises(
        ValueError, match=rf"model\.onnx has logits of 3 classes, .*config\.json .* {classes} "
    ) as refused:
        load_engine(folder, "onnx")
    assert "\n" not in str(refused.value)


def test_files_say_nothing_about_this_machine(tagger_files, encoder_decoder_folder):
    files = [*tagger_files, *encoder_decoder_folder.glob("onnx/*")]
    assert len(files) == 4
    for file in files:
        content = file.read_bytes()
        for part in (str(ROOT), str(file.parents[2]), "site-packages", ".py", "stack_trace"):
            assert part.encode() not in content, part


def digest_in(path):
    """The digest of weights that a file names."""
    return {each.key: each.value for each in onnx.load(path).metadata_props}["atenta_weights"]


def test_files_of_other_options_or_tokens_are_refused(tagger_files, tmp_path):
    folder = shutil.copytree(tagger_files[0].parents[1], tmp_path / "model")
    model = json.loads((folder / "tokenizer.json").read_bytes())["model"]
    swapped = model | {"vocab": model["vocab"] | {"a": model["vocab"]["b"], "b": model["vocab"]["a"]}}
    for name, changes in (
        ("config.json", {"layer_norm_eps": 0.1}),
        ("config.json", {"norm_first": False}),
        ("tokenizer.json", {"model": swapped}),
    ):
        before = edit_json(folder / name, **changes)
        with pytest.raises(ValueError, match=rf"model\.onnx was not made of {name} .*: atenta export"):
            load_engine(folder, "onnx")
        edit_json(folder / name, **before)
    edit_json(folder / "config.json", dropout=0.3, transformers_version="6.0", id2label={"0": "x", "1": "y", "2": "z"})
    load_engine(folder, "onnx")  # none of these is in the graph


def test_weights_are_the_same_however_they_are_saved(tmp_path):
    model = tiny_model(AtentaDecoderForCausalLM, num_hidden_layers=1)
    model.save_pretrained(tmp_path / "shards", max_shard_size="4KB")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 2
    model.save_pretrained(tmp_path / "whole")
    of_shards = weights_digest(tmp_path / "shards")  # which is noted in an export
    weights = load_file(tmp_path / "whole" / "model.safetensors")
    assert of_shards == weights_digest(tmp_path / "whole")
    save_file(weights, tmp_path / "whole" / "model.safetensors", {"made by": "another program"})
    assert of_shards == weights_digest(tmp_path / "whole")
    for dtype in (torch.float16, torch.bfloat16):
        rounded = {name: weight.to(dtype) for name, weight in weights.items()}
        save_file(rounded, tmp_path / "whole" / "model.safetensors")
        digest = weights_digest(tmp_path / "whole")
        save_file({name: each.float() for name, each in rounded.items()}, tmp_path / "whole" / "model.safetensors")
        assert digest == weights_digest(tmp_path / "whole") != of_shards
    weights["lm_head.weight"][0, 0] += 1
    other = tmp_path / "whole" / "model_old.safetensors"  # which no loader reads
    shutil.copy(tmp_path / "whole" / "model.safetensors", other)
    save_file(weights, tmp_path / "whole" / "model.safetensors", {"format": "pt"})
    assert of_shards != weights_digest(tmp_path / "whole")
    missing = sorted((tmp_path / "shards").glob("*.safetensors"))[1]
    missing.unlink()
    with pytest.raises(ValueError, match=missing.name):
        weights_digest(tmp_path / "shards")


def test_other_models_are_refused(tmp_path):
    for model_class, message in (
        (AtentaPairVotesForCausalLM, "AtentaPairVotesForCausalLM.* an encoder, a decoder"),
        (AtentaEncoderDecoderModel, "AtentaEncoderDecoderModel.* output layer"),
    ):
        tiny_model(model_class).save_pretrained(tmp_path)
        with pytest.raises(ValueError, match=message) as refused:
            export_onnx(tmp_path)
        assert str(tmp_path) in str(refused.value)
    (tmp_path / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match=r"cannot load the model\.safetensors \("):
        weights_digest(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no model\.safetensors"):
        weights_digest(tmp_path)
    assert not (tmp_path / ONNX_FOLDER).exists()
