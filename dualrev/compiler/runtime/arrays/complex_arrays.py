"""Complex arrays from their real and imaginary parts."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["complex_array", "conjugate"]


@njit
def complex_array(a, b):
    """Combine real and imaginary parts into a complex array."""
    made = np.asarray(a + np.complex64(0j))  # numba's sum of an array without axes is a number
    for index in np.ndindex(a.shape):
        made[index] = complex(a[index], b[index])
    return made


@njit
def conjugate(a, b):
    """Combine parts into a conjugate complex array: `a - b j`."""
    return np.asarray(a - b * np.complex64(1j))
