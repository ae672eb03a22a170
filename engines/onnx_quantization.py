"""ONNX graphs in int8 whose answers do not depend on what else is in a batch.

Products of a batch could share a scale that is found as they run. Then a text's answer would change with its
neighbours. So each scale is fixed in the file, or belongs to some numbers of one token.
"""

import logging
import math
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

_BLOCK = 64  # weights of a column that share a scale; with 32 or 128, products take longer
_LARGE = 1 << 18  # numbers of a table of vectors, such as those of n-grams, from which it is rounded too


def round_weights(model: onnx.ModelProto, path: str | os.PathLike, excluded: Collection[str]) -> None:
    """Write a graph with the weights of its matrix products in int8, 64 of a column with one scale.

    It needs no calibration. onnxruntime may round what they multiply too, 64 numbers of a token with one scale. Large
    tables of vectors are in int8 with a scale for each vector.

    Args:
        model: the graph, which is changed.
        path: the file to write.
        excluded: names of nodes that stay as they are.
    """
    _round_tables(model)
    with _logging_as_it_is():
        from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

        # Level 4 multiplies integers, which takes less time.
        config = DefaultWeightOnlyQuantConfig(block_size=_BLOCK, is_symmetric=True, accuracy_level=4, bits=8)
        quantizer = MatMulNBitsQuantizer(model, nodes_to_exclude=list(excluded), algo_config=config)
        quantizer.process()
    onnx.save(quantizer.model.model, path)


def round_calibrated(
    model: onnx.ModelProto,
    path: str | os.PathLike,
    excluded: Collection[str],
    examples: Sequence[Mapping[str, np.ndarray]],
) -> None:
    """Write a graph whose matrix products are in int8, with a scale for each column of their weights.

    What they multiply is rounded too, with the scale that its range in the examples asks for; numbers outside of this
    range are cut off there. The results are float32. Large tables of vectors are rounded as in [`round_weights`],
    whose arguments the others are.

    Args:
        examples: inputs of the graph by name; others are left out.
    """
    names = [each.name for each in model.graph.input]
    _round_tables(model)
    with _logging_as_it_is():
        quantize_static(
            model,
            path,
            _Examples([{name: example[name] for name in names} for example in examples]),
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=list(excluded),
            per_channel=True,
            reduce_range=True,  # weights to 7 bits: with 8, sums overflow on processors without VNNI
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True, "OpTypesToExcludeOutputQuantization": ["MatMul"]},
        )


def _round_tables(model: onnx.ModelProto) -> None:
    """Store large tables, (vectors, size) in float32, in int8; each vector that is looked up has its own scale."""
    uses = Counter(name for node in model.graph.node for name in node.input)
    tables = {
        each.name: each
        for each in model.graph.initializer
        if len(each.dims) == 2 and math.prod(each.dims) >= _LARGE and each.data_type == onnx.TensorProto.FLOAT
    }
    nodes = []
    for node in model.graph.node:
        table = tables.get(node.input[0]) if node.op_type == "Gather" else None
        if table is None or uses[table.name] > 1:  # an output layer may share it
            nodes.append(node)
            continue
        name, rows, found = table.name, node.input[1], node.output[0]
        vectors = onnx.numpy_helper.to_array(table)
        scales = np.maximum(np.abs(vectors).max(1, keepdims=True) / 127, np.finfo(np.float32).tiny)
        rounded = np.rint(vectors / scales).astype(np.int8)
        model.graph.initializer.remove(table)
        model.graph.initializer.extend(
            onnx.numpy_helper.from_array(values, f"{name}.{kind}")
            for kind, values in (("int8", rounded), ("scales", scales.astype(np.float32)))
        )
        nodes += [
            onnx.helper.make_node("Gather", [f"{name}.int8", rows], [f"{found}.int8"]),
            onnx.helper.make_node("Cast", [f"{found}.int8"], [f"{found}.float"], to=onnx.TensorProto.FLOAT),
            onnx.helper.make_node("Gather", [f"{name}.scales", rows], [f"{found}.scales"]),
            onnx.helper.make_node("Mul", [f"{found}.float", f"{found}.scales"], [found]),
        ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


class _Examples(CalibrationDataReader):
    def __init__(self, examples: Sequence[Mapping[str, np.ndarray]]) -> None:
        self.examples = iter(examples)

    def get_next(self) -> Mapping[str, np.ndarray] | None:
        return next(self.examples, None)


@contextmanager
def _logging_as_it_is() -> Iterator[None]:
    """Keep onnxruntime from setting up logging for the whole process, which it does if nobody has."""
    nobody = logging.NullHandler()
    logging.getLogger().addHandler(nobody)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(nobody)
