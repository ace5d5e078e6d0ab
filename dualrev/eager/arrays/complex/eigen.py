"""Eigenvalues and eigenvectors that are complex.

    with p = inv(v) da v: dw = diag(p), dv = v (p / gaps) + v c

where c keeps the columns of v as LAPACK scales them: of length 1, and with a largest component that is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import imag_part, join, real_part, values
from dualrev.eager.arrays.complex.rules import by_rule_of_parts
from dualrev.eager.arrays.linear_algebra.matrices import adjoint, columns, over_gaps

__all__ = ["eig"]


def eig(a: Any) -> Any:
    """The eigenvalues and the eigenvectors of matrices, as complex numbers."""

    def compute(x: Any) -> tuple[Any, Any]:
        """Return complex eigenvalues and eigenvectors as pairs of parts."""
        w, v = np.linalg.eig(x)
        return join(real_part(w), imag_part(w)), join(real_part(v), imag_part(v))

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangent of the matrix; dv has no part along v, and the largest component of v stays real."""
        (w, v), (gw, gv) = ys, gs
        largest = _largest(v)
        s = np.sum(np.conj(v) * gv, axis=-2, keepdims=True)
        size = np.sum(largest * real_part(v), axis=-2, keepdims=True)
        of_u = gv - real_part(s) * v + 1j * largest * (-imag_part(s) / size)
        p = over_gaps(adjoint(v) @ of_u, np.conj(w)) + columns(gw) * np.eye(w.shape[-1])
        return [np.linalg.solve(adjoint(v), p @ adjoint(v))]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the eigenvalues and of the eigenvectors."""
        w, v = ys
        p = np.linalg.solve(v, ts[0] @ v)
        u = v @ over_gaps(p, w)
        largest = _largest(v)
        size = np.sum(largest * real_part(v), axis=-2, keepdims=True)
        turned = np.sum(largest * imag_part(u), axis=-2, keepdims=True) / size
        dv = u - v * (real_part(np.sum(np.conj(v) * u, axis=-2, keepdims=True)) + 1j * turned)
        return [np.diagonal(p, axis1=-2, axis2=-1), dv]

    return by_rule_of_parts(compute, pull, push, a)


def _largest(v: Any) -> Any:
    """1 at the largest component of every column, 0 elsewhere."""
    sizes = np.abs(values(v))
    place = np.argmax(sizes, axis=-2, keepdims=True)
    made = np.zeros(sizes.shape)
    np.put_along_axis(made, place, 1.0, axis=-2)
    return made
