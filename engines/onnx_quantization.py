"""ONNX graphs in int8 whose answers do not depend on what else is in a batch.

Products of a batch could share a scale that is found as they run. Then a text's answer would change with its
neighbours. So each scale is fixed in the file, or belongs to some numbers of one token.
"""

import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

_BLOCK = 64  # weights of a column that share a scale; with 32 or 128, products take longer


def round_weights(model: onnx.ModelProto, path: str | os.PathLike, excluded: Collection[str]) -> None:
    """Write a graph with the weights of its matrix products in int8, 64 of a column with one scale.

    It needs no calibration. onnxruntime may round what they multiply too, 64 numbers of a token with one scale.

    Args:
        model: the graph, which is changed.
        path: the file to write.
        excluded: names of nodes that stay as they are.
    """
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
    range are cut off there. The results are float32.

    Args:
        model: the graph, which is changed.
        path: the file to write.
        excluded: names of nodes that stay as they are.
        examples: inputs of the graph by name; others are left out.
    """
    names = [each.name for each in model.graph.input]
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
