"""Arrays of an allocation problem: their types, the range of their entries, and setting them read-only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Sizes beyond these leave no room for products and quotients in doubles.
LEAST_SIZE, MOST_SIZE = 1e-120, 1e120


def frozen(array: FloatArray) -> FloatArray:
    """The array, set read-only."""
    array.setflags(write=False)
    return array
