"""Statements that numba leaves out, since they are never reached: nothing has a type there."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from support.incore import gradient


@njit
def _arrays(x, s):
    rows = [x * 1.0]
    if 3 % 2 != 1:
        rows[0] = x * 0.4
        rows.append(x * 0.3)
        s = rows.pop()[0]
    return s * x[0] + rows[-1][0]


@njit
def _tuples(x, s):
    pairs = [(x[0], s)]
    if 3 % 2 != 1:
        pairs.append((s * 2.0, x[1]))
        a, b = pairs[0]
        s = a * b
    return s * x[0] + pairs[-1][0]


@njit
def _numbers(x, s):
    known = {1: x[0]}
    if 3 % 2 != 1:
        known[2] = x[0] * 3.0
        for k in known:
            s += known[k]
    return s * x[0] + known[1]


@pytest.mark.parametrize("f", [_arrays, _tuples, _numbers], ids=lambda f: f.__name__)
def test_code_that_is_never_reached_is_left_out(f):
    """All of them are s x[0] + x[0]."""
    x, s = np.array([0.3, 0.5]), 0.7
    _, (d_x, d_s) = gradient(f, (x, s), (0, 1))
    np.testing.assert_allclose(d_x, [s + 1.0, 0.0])
    assert d_s == pytest.approx(x[0])
