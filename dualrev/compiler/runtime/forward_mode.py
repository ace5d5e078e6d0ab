"""Tangent arrays that the caller gives: checks of their shapes, and copies with the dtype and strides of the primal."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.compiler.runtime.arrays.copies import store, strided_zeros
from dualrev.errors import TangentError
from dualrev.rules.library.njit_internal import inner

__all__ = ["new_tangent", "strided_tangent", "tangent"]


@inner
def tangent(x, t_x):
    """Check the shape of a tangent array, and return it; TangentError if it differs from the primal's."""
    if t_x.shape != x.shape:
        raise TangentError
    return t_x


@inner
def new_tangent(x, t_x):
    """Copy a tangent into a new array of the primal's dtype and layout, which the function may write."""
    made = np.zeros_like(x)
    store(made, tangent(x, t_x))
    return made


@inner
def strided_tangent(x, t_x):
    """Copy a tangent into a new array with the strides of the primal."""
    made = strided_zeros(x)
    store(made, tangent(x, t_x))
    return made
