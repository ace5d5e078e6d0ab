"""A function of a named tuple, for tests of more than one file."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit


class Model(NamedTuple):
    weights: np.ndarray
    bias: float
    count: int


@njit
def model(m, x, scale=2.0):
    total = 0.0
    for i in range(m.weights.shape[0]):
        for j in range(m.weights.shape[1]):
            total += math.sin(m.weights[i, j] * x) * m.bias**m.count
    return scale * total
