"""Kernels whose arguments are arrays of records."""

import math

import numpy as np
from numba import cuda

from programs.cuda_kernels import KEYS, Case, X

PARTICLE = np.dtype([("x", "f8"), ("y", "f4"), ("k", "i8"), ("v", "f8", (2,))], align=True)
_rng = np.random.default_rng(17)


def particles(n):
    """Return an array of records."""
    found = np.zeros(n, PARTICLE)
    for name in ("x", "y", "v"):
        found[name] = _rng.uniform(0.1, 1.0, found[name].shape)
    found["k"] = _rng.integers(0, 4, n)
    return found


@cuda.jit(device=True)
def charge(p, i):
    return p[i].y * p[i].y


@cuda.jit
def fields(p, grid, out):
    """Loads by attribute and by name, stores, and a scatter."""
    i = cuda.grid(1)
    if i < p.size:
        w = charge(p, i) * math.sin(p[i]["x"])
        out[i].x = w + p["y"][i]
        out[i].k = p[i].k + 1
        cuda.atomic.add(grid, p[i].k, w * p[i].x)


@cuda.jit
def moved(p, dt):
    """Records that are changed in place."""
    i = cuda.grid(1)
    if i < p.shape[0]:
        p[i].y = p[i].y + dt * p[i].x * p[i].x
        p[i].x += dt * p[i].y


@cuda.jit
def named_record(p, out):
    """A record that has a name, and fields with more axes."""
    i = cuda.grid(1)
    if i < p.size:
        r = p[i]
        if r.k > 1:
            r.x = r.x * r.y
        last = p[p.size - 1 - i]
        out[i] = last.v[0] * p["v"][i, 0] + last.v[1]


@cuda.jit
def deposited(x, k, cells):
    """Atomic additions to a field of records."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(cells["x"], k[i], x[i] * x[i])


RECORDS = {
    "fields": Case(fields, (3, 4), (particles(10), np.zeros(4), particles(10))),
    "moved": Case(moved, (3, 4), (particles(10), 0.3), ("p",), second=False),
    "named record": Case(named_record, (3, 4), (particles(10), X), ("p",)),
    "deposited": Case(deposited, (3, 4), (X, KEYS.ravel()[:10].copy(), particles(4))),
}
