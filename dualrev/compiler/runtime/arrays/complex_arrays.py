"""What emitted code calls for complex numbers."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["complex_array", "conjugate"]


@njit
def complex_array(a, b):
    """The array of the numbers with these parts."""
    made = np.asarray(a + np.complex64(0j))  # numba's sum of an array without axes is a number
    for index in np.ndindex(a.shape):
        made[index] = complex(a[index], b[index])
    return made


@njit
def conjugate(a, b):
    """The array a - b j."""
    return np.asarray(a - b * np.complex64(1j))
