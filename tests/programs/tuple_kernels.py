"""Kernels whose arguments are tuples, and named tuples, of arrays and numbers."""

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np
from numba import cuda

from programs.cuda_kernels import KEYS, Case, X, Y


class State(NamedTuple):
    """Positions and velocities."""

    x: np.ndarray
    v: np.ndarray


Model = namedtuple("Model", "stiffness spring keys dt")


@cuda.jit(device=True)
def pull(state, model, i):
    return -model.stiffness[model.keys[i]] * math.sin(state.x[i]) * model.spring


@cuda.jit
def swing(state, model, after):
    """A step of springs: a state, a model with numbers and integers, and a state for the results."""
    i = cuda.grid(1)
    if i < state.x.size:
        v = state.v[i] + model.dt * pull(state, model, i)
        after.v[i] = v
        after.x[i] = state.x[i] + model.dt * v


@cuda.jit
def swing_in_place(state, model):
    i = cuda.grid(1)
    x, v = state
    if i < x.size:
        v[i] += model.dt * pull(state, model, i)
        x[i] += model.dt * v[i] * v[i]


@cuda.jit
def nested(parts, y, y_0):
    """Tuples in a tuple, of one type and of several, and names that are those of members."""
    i = cuda.grid(1)
    (a, b), (k, (c,)), scale = parts
    if i < y.size:
        y[i] = a[i] * b[k[i]] * scale + c[i] ** 2
        y_0[i] = parts[0][1][i] * y_0[i]


@cuda.jit
def largest(rows, out):
    """An array that an index chooses, and atomic operations on members."""
    i = cuda.grid(1)
    if i < rows[0].size:
        row = rows[i % 3]
        cuda.atomic.add(out[0], 0, row[i] ** 2)
        cuda.atomic.max(out[1], 0, row[i])


_rng = np.random.default_rng(13)
_K = KEYS.ravel()[:10].copy()
_STATE = State(X, Y)
_MODEL = Model(np.array([0.5, 1.0, 1.5, 2.0]), 0.8, _K, 0.25)

#: Named tuples, numbers in them, tuples of tuples; `before` names members.
TUPLES = {
    "swing": Case(swing, (3, 4), (_STATE, _MODEL, State(Y + 1, X + 1))),
    "swing in place": Case(swing_in_place, (3, 4), (_STATE, _MODEL), ("state.x", "state.v"), second=False),
    "nested": Case(nested, (3, 4), (((X, Y), (_K, (X[::-1] + 1,)), 3), Y * 2, X * 3), ("y_0",)),
    "largest": Case(largest, (3, 4), ((X, Y, X * Y), (np.zeros(1), np.zeros(1))), ("out[1]",), second=False),
}
