"""A check of what a model returns: no answer is made of numbers that are none."""

import numpy as np


def expect_finite(*outputs: np.ndarray) -> None:
    """Expect outputs of a model to be finite. Finite weights give others if they are damaged, or too large.

    Raises:
        ValueError: If a number is infinite, or is none.
    """
    if not all(np.isfinite(values).all() for values in outputs):
        raise ValueError(
            "The outputs of the model are not finite numbers, because weights are damaged or too large; expected "
            "those of a trained model: save it again, or train it again."
        )
