"""Views of arrays of complex numbers: they are had where numpy has them, so that nothing stored in them is lost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dualrev as dr

Z = np.array([[1.0 + 2.0j, 0.5 - 1.0j, 2.0j], [3.0 - 1.0j, -1.0 + 1.0j, 0.3 + 0.0j], [0.2 + 0.7j, 1.5j, -2.0 + 1.0j]])

MAKERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "product": lambda z: z * z,
    "product with a row": lambda z: z * z[0],
    "quotient": lambda z: z / z[1],
    "power": lambda z: z**2,
    "product of vectors": lambda z: z[0] * z[1],
    "exp": np.exp,
    "exp of the transpose": lambda z: np.exp(z.T),
    "transpose": lambda z: z.T.astype(complex),
    "eigh": lambda z: np.linalg.eigh(z)[1],
    "u": lambda z: np.linalg.svd(z)[0],
    "vh": lambda z: np.linalg.svd(z)[2],
    "q": lambda z: np.linalg.qr(z)[0],
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_stored_by_ravel_is_stored_where_numpy_makes_a_view(name):
    def f(z):
        y = MAKERS[name](z)
        y.ravel()[1] = 7.0
        y.reshape(-1)[2] *= 3.0
        return y

    direction, h = Z[::-1] + 1.0j, 1e-6
    y, dy = dr.jvp(f, (Z,), (direction,))
    assert_allclose(y, f(Z), rtol=1e-12, atol=1e-12)
    assert_allclose(dy, (f(Z + h * direction) - f(Z - h * direction)) / (2 * h), rtol=1e-6, atol=1e-6)
