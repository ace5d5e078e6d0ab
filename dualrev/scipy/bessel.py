"""Spherical Bessel functions and Hankel functions of traced arguments; their orders are constants.

    (2 n + 1) j_n'(z) = n j_(n-1)(z) - (n + 1) j_(n+1)(z), the same for y_n        (DLMF 10.51.2)
    (2 n + 1) i_n'(z) = n i_(n-1)(z) + (n + 1) i_(n+1)(z), and -k_n'               (DLMF 10.51.5)
    2 H_v'(z) = H_(v-1)(z) - H_(v+1)(z)                                            (DLMF 10.6.1)

Source: NIST's Digital Library of Mathematical Functions, chapter 10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as _special

from dualrev.eager.arrays.complex.pairs import is_complex, values
from dualrev.eager.arrays.linear_algebra.matrices import conjugated, of_matrices, rule
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import is_plain, valued

__all__ = ["hankel1", "hankel2", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"]


def _by_argument(f: Callable[..., Any], original: Any, slope: Callable[..., Any], order: Any, z: Any) -> Any:
    """original(order, z), where z has the shape of the result, with its derivative slope(order, z) by z."""

    def compute(z: Any) -> Any:
        """Return the value, where z may be traced by runs further out."""
        return original(order, values(z)) if is_plain(z) else f(order, z)

    return rule(
        compute,
        lambda xs, ys, gs: [gs[0] * conjugated(slope(order, xs[0]))],
        lambda xs, ys, ts: [ts[0] * slope(order, xs[0])],
        z,
    )


def _constant(order: Any, name: str) -> Any:
    if not is_plain(order):
        raise UnsupportedError(f"scipy.special.{name} by its order", "dr.value(n) for the order n")
    return np.asarray(values(order))[()]


def _spherical(original: Any, sign: float, next_sign: float) -> Any:
    @valued(original)
    def f(n: Any, z: Any, derivative: bool = False) -> Any:
        n = _constant(n, original.__name__)
        z = of_matrices(z) + np.zeros(np.shape(n))
        return slope(n, z) if derivative else _by_argument(f, original, slope, n, z)

    def slope(n: Any, z: Any) -> Any:
        return sign * (n * f(np.maximum(n - 1, 0), z) + next_sign * (n + 1) * f(n + 1, z)) / (2 * n + 1)

    return f


def _hankel(original: Any) -> Any:
    @valued(original)
    def f(v: Any, z: Any) -> Any:
        v = _constant(v, original.__name__)
        z = of_matrices(z)
        z = z + np.zeros(np.shape(v), complex) if np.ndim(v) or not is_complex(z) else z
        return _by_argument(f, original, slope, v, z)

    def slope(v: Any, z: Any) -> Any:
        return 0.5 * (f(v - 1, z) - f(v + 1, z))

    return f


spherical_jn, spherical_yn = _spherical(_special.spherical_jn, 1.0, -1.0), _spherical(_special.spherical_yn, 1.0, -1.0)
spherical_in, spherical_kn = _spherical(_special.spherical_in, 1.0, 1.0), _spherical(_special.spherical_kn, -1.0, 1.0)
hankel1, hankel2 = _hankel(_special.hankel1), _hankel(_special.hankel2)
