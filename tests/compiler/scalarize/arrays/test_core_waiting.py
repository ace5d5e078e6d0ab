"""Arithmetic of arrays that waits for its reader is computed before what it reads is written to, in core."""

import numpy as np
import pytest
from fuzzing.running import load
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr

PROGRAM = """import numpy as np
from numba import njit

@njit
def put(a, v):
    a[0] = v

@njit
def deep(a):
    put(a[1:], 7.0)
    return 1.0

@njit
def same(a):
    return a

@njit
def f(x0, y0):
    x = x0.copy()
    y = y0 * 1.0
    z = x0 + 1j * y0
    w1 = x * 2.0
    w2 = x[::-1] * y
    w3 = z.real * 3.0
    s = np.sin(x)
    w4 = x[:, None] * s
    WRITE
    return np.sum(w1 * w1) + np.sum(w2 ** 2) + np.sum(w3 ** 3) + np.sum(w4 * w4) + np.sum(x * y) + np.sum(np.abs(z))
"""
WRITES = [
    *["x[0] = 3.0", "x[1:] = 2.0", "x[:] = x[::-1].copy()", "x += 1.0", "x[1:] *= 2.0", "x[1] += 4.0", "x.fill(2.0)"],
    *[
        "v = x[1:]\n    v[0] = 9.0",
        "v = x[::-1]\n    v += 2.0",
        "put(x, 4.0)",
        "t = deep(x)",
        "q = same(x)\n    q[2] = 8.0",
    ],
    *["np.add(x, x, x)", "np.sin(x, x)", "x.reshape(3, 1)[1, 0] = 6.0", "x.ravel()[1] = 6.0", "x.sort()"],
    *[
        "for i in range(len(x)):\n        x[i] = x[i] * 2.0",
        "if x[0] > -10.0:\n        x[0] = 11.0",
        "x[x > 0.0] = 0.5",
    ],
    *["for i, u in enumerate(x):\n        x[i] = u + 1.0", "x[0], x[1] = x[1], x[0]", "x, y = y, x", "x = x + 1.0"],
    *["x[np.array([0, 2])] = 1.5", "x[:] = np.cumsum(x)", "tt = (x, 2.0)\n    tt[0][0] = 5.0", "w1 = w1 + x"],
    *[
        "z += 1.0",
        "z[0] = 3.0",
        "z[:] = z * 2.0",
        "z.imag[1] = 0.5",
        "z = z + 1.0",
        "y *= x",
        "s[1:] = 0.1",
        "w1[:] = w1 * x",
    ],
]


@pytest.mark.parametrize("write", WRITES)
def test_what_waits_is_computed_before_what_it_reads_is_written_to(write, tmp_path):
    text = PROGRAM.replace("WRITE", write)
    args = np.array([0.3, -0.4, 0.7]), np.array([0.9, 0.5, -0.2])
    namespace: dict[str, object] = {"np": np, "njit": lambda f: f}
    exec(text[text.index("@njit") :], namespace)
    _, found = gradient(load(text, str(tmp_path)).f, args, (0, 1))
    assert_same(tuple(found), dr.grad(namespace["f"], (0, 1))(*args), rtol=1e-11, floor=1e-11)


LAST = [
    "y[:] = y",
    "y[::-1] = y",
    "y += y",
    "y *= y",
    "np.exp(y, y)",
    "np.add(y, y, y)",
    "np.multiply(y, x, y)",
    "y[:] = 2",
]


@pytest.mark.parametrize("write", LAST)
@pytest.mark.parametrize("made", ["x * x[0]", "np.sqrt(x)"])
def test_what_is_written_to_is_made_though_nothing_reads_it_afterwards(write, made, tmp_path):
    text = f"""import numpy as np
from numba import njit

@njit
def f(x):
    y = {made}
    {write}
    return np.var(x)
"""
    x = np.array([0.3, 0.4, 0.7])
    _, found = gradient(load(text, str(tmp_path)).f, (x,), (0,))
    assert_same(tuple(found), (2.0 / 3.0 * (x - x.mean()),), rtol=1e-12)
