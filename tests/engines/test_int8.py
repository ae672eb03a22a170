"""Answers of int8 files that do not depend on the texts beside them, on their order, or on the number of threads."""

import random
import shutil

import numpy as np
import onnx
import pytest
from onnx import helper
from onnxruntime import InferenceSession

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
)
from atenta.engines.engine import load_engine
from atenta.engines.onnx_export import export_onnx
from atenta.engines.onnx_quantization import round_weights
from atenta.recipes import export
from support.exported import CHARACTERS, save_head
from support.recipes import write_lines

TRANSLATOR = AtentaEncoderDecoderForConditionalGeneration
KINDS = [  # and whether its products are calibrated with texts
    (AtentaEncoderForTokenClassification, True),
    (AtentaEncoderForTokenClassification, False),
    (AtentaEncoderForSequenceClassification, True),
    (AtentaDecoderForSequenceClassification, True),
    (TRANSLATOR, False),
    (AtentaDecoderForCausalLM, False),
]


def draw_texts(count, seed):
    generator = random.Random(seed)
    return ["".join(generator.choices(CHARACTERS, k=generator.randint(0, 40))) for _ in range(count)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0].__name__}-{'texts' if kind[1] else 'alone'}")
def exported(request, tmp_path_factory, folders):
    """The folder of a model that is exported in int8, by the command if it reads texts for it."""
    model_class, calibrated = request.param
    folder = tmp_path_factory.mktemp("int8")
    if not calibrated and model_class is not AtentaEncoderForTokenClassification:  # traced for other tests
        saved = folders["encoder-decoder" if model_class is TRANSLATOR else "decoder"]
        shutil.copytree(saved, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("onnx"))
    else:
        save_head(model_class, folder)
    if calibrated:
        texts = write_lines(folder / "texts.txt", *draw_texts(50, seed=0))
        export.main([str(folder), "--quantization", "int8", "--texts", str(texts)])
    else:
        export_onnx(folder, "int8")
    return folder


def test_answers_do_not_depend_on_the_batch(exported):
    texts = draw_texts(40, seed=1)
    shuffled = random.Random(2).sample(range(40), 40)
    engines = [load_engine(exported, "onnx", quantization="int8", threads=count) for count in (1, 2)]
    if engines[0].can_generate:
        options = {"max_new_tokens": 20}

        def answers(engine, texts, **batch):
            return [found.text for (found,) in engine.n_best(texts, **options, **batch)]

        alone = [answers(engines[0], [text])[0] for text in texts]
        assert len(set(alone)) > 10
        for engine in engines:
            for size in (5, 32):
                assert answers(engine, [texts[index] for index in shuffled], batch_size=size) == [
                    alone[index] for index in shuffled
                ]
        return
    alone = [engines[0].predict([text])[0]["logits"] for text in texts]
    for engine in engines:
        together = engine.predict([texts[index] for index in shuffled])
        for index, outputs in zip(shuffled, together, strict=True):
            np.testing.assert_allclose(outputs["logits"], alone[index], atol=1e-4)


def test_int8_is_close_to_float32(exported):
    """Not the same, because weights are rounded; the random weights of these models are rounded badly.

    The files in int8 are taken by themselves, because there are no others.
    """
    texts = draw_texts(40, seed=3)
    rounded, exact = load_engine(exported), load_engine(exported, "torch")
    if exact.can_generate:
        first = [[engine.generate(text, max_new_tokens=1) for text in texts] for engine in (rounded, exact)]
        assert sum(ours == theirs for ours, theirs in zip(*first)) > 30
        return
    ours, theirs = (np.concatenate([each["logits"] for each in engine.predict(texts)]) for engine in (rounded, exact))
    assert np.abs(ours - theirs).max() > 0
    assert np.abs(ours - theirs).mean() < 0.1 * theirs.std()


@pytest.mark.parametrize("is_shared", [False, True])
def test_large_tables_have_a_scale_for_each_vector(tmp_path, is_shared):
    """Unless an output layer multiplies by the same table."""
    table = np.random.default_rng(0).normal(size=(8192, 32)).astype(np.float32) * np.logspace(-3, 3, 8192)[:, None]
    table = table.astype(np.float32)
    table[7] = 0
    nodes = [helper.make_node("Gather", ["table", "ids"], ["found"])]
    if is_shared:
        transposed = helper.make_node("Transpose", ["table"], ["transposed"], perm=[1, 0])
        nodes += [transposed, helper.make_node("MatMul", ["found", "transposed"], ["scores"])]
    types = {"ids": onnx.TensorProto.INT64, "found": onnx.TensorProto.FLOAT}
    ids, found = (helper.make_tensor_value_info(name, kind, ["batch", None]) for name, kind in types.items())
    graph = helper.make_graph(nodes, "look-up", [ids], [found], [onnx.numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    round_weights(model, tmp_path / "rounded.onnx", ())
    chosen = np.arange(8192)[None]
    (looked_up,) = InferenceSession(tmp_path / "rounded.onnx").run(["found"], {"ids": chosen})
    error = np.abs(looked_up[0] - table).max(1)
    assert (error <= np.abs(table).max(1) / 253).all()
    assert error.any() != is_shared
    assert ((tmp_path / "rounded.onnx").stat().st_size < 0.3 * table.nbytes) != is_shared
