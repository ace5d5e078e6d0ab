"""What emitted code calls for complex numbers."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["conjugate"]


@njit
def conjugate(a, b):
    """The array a - b j."""
    return a - b * np.complex64(1j)
