"""The functions of the paper's Table 1, and two after the authors' later artifact, at growing sizes.

Times are per unit of n, as in the paper: a product of two numbers and rotate_vec_by_quat are differentiated n times,
the dot product is of two lists of n numbers, and the matrix has sqrt(n) rows and columns. The stages and the tape
differentiate the functions of stages/programs.py; this module has the numba functions for the compiler.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from stages.programs import PROGRAMS, Layer, Vec3, rotate_vec_by_quat


@dataclasses.dataclass(frozen=True)
class Row:
    """A function in two forms, for the tape and for numba, with what n counts (`unit`) and the paper's times.

    `make(k)` returns a pair: the primals of the tape's function and the arguments of the numba function. `count(k)` is
    the n of these inputs. If `repeated`, n calls are timed.
    """

    name: str
    title: str
    unit: str
    function: Callable[..., Any]
    compiled: Any
    make: Callable[[int], tuple[tuple[Any, ...], tuple[Any, ...]]]
    argnums: tuple[int, ...]
    sizes: tuple[int, ...]  # of k
    count: Callable[[int], int] = int
    repeated: bool = False
    paper: tuple[float, float] | None = None  # the authors' implementation, and the Haskell library ad

    @property
    def quick(self) -> tuple[int, ...]:
        """The sizes of `make bench-quick`: the first three."""
        return self.sizes[:3]


def scalar_mult(x, y):
    """Product of two numbers."""
    return x * y


@njit
def dot(xs, ys):
    """Dot product in numba, a loop."""
    total = 0.0
    for i in range(len(xs)):
        total += xs[i] * ys[i]
    return total


@njit
def sum_mat_vec(rows, xs):
    """Sum of a matrix-vector product in numba, a dot product for each row."""
    total = 0.0
    for i in range(len(rows)):
        total += dot(rows[i], xs)
    return total


@njit
def rotate_and_add(vx, vy, vz, qx, qy, qz, qw):
    """Sum of the turned vector: its gradient is the pullback of the cotangent (1, 1, 1)."""
    along = 2.0 * (qx * vx + qy * vy + qz * vz)
    same = qw * qw - (qx * qx + qy * qy + qz * qz)
    x = along * qx + same * vx + 2.0 * qw * (qy * vz - qz * vy)
    y = along * qy + same * vy + 2.0 * qw * (qz * vx - qx * vz)
    z = along * qz + same * vz + 2.0 * qw * (qx * vy - qy * vx)
    return x + y + z


@njit
def neural(weights1, biases1, weights2, biases2, xs, label):
    """Cross-entropy of one example under two layers, in numba."""
    n = len(xs)
    hidden, scores = np.empty(n), np.empty(n)
    for i in range(n):
        y = dot(weights1[i], xs) + biases1[i]
        hidden[i] = y if y > 0.0 else 0.0
    largest = -np.inf
    for i in range(n):
        scores[i] = dot(weights2[i], hidden) + biases2[i]
        largest = max(largest, scores[i])
    total = 0.0
    for i in range(n):
        total += math.exp(scores[i] - largest)
    return -math.log(math.exp(scores[label] - largest) / total)


@njit
def particles(swarm, steps):
    """Sum of x * y over all particles after `steps` Euler steps, in numba."""
    dt, mass = 0.05, 1.0
    total = 0.0
    for i in range(len(swarm)):
        (x, y), (vx, vy) = swarm[i, 0], swarm[i, 1]
        for _ in range(steps):
            ax = (1.0 / mass) * (-0.5 * x - 0.2 * vx)
            ay = (1.0 / mass) * (-0.5 * y - 0.2 * vy)
            x, y, vx, vy = x + dt * vx, y + dt * vy, vx + dt * ax, vy + dt * ay
        total += x * y
    return total


def _arrays(k: int, name: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    primals = PROGRAMS[name].make(k, 0)
    return primals, tuple(np.array(x) for x in primals)


def _rotation(k: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    (v,), q = PROGRAMS["rotate"].make(1, 0)
    assert isinstance(v, Vec3)
    return (v, q), (v.x, v.y, v.z, q.x, q.y, q.z, q.w)


def _neural(k: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    layers, xs, label = PROGRAMS["neural"].make(k, 0)
    assert all(isinstance(layer, Layer) for layer in layers)
    arrays = [np.array(x) for layer in layers for x in (layer.weights, layer.biases)]
    return (layers, xs, label), (*arrays, np.array(xs), label)


def _particles(k: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    swarm, _ = PROGRAMS["particles"].make(k, 0)
    return (swarm, STEPS), (np.array([(p.position, p.velocity) for p in swarm]), STEPS)


#: What is timed for every function: plain Python, three stages, dualrev's tape, numba, and dualrev's compiled gradient.
#: `lists` is the algorithm of the paper's implementation (section 10): section 7 with 8.1 and 8.2. micrograd, a library
#: in the same language, is timed on the paper's four functions, as the paper times `ad`.
COLUMNS = ("plain", "lists", "contrib", "tape", "micrograd", "dualrev", "njit", "compiled")

STEPS = 100  # of a particle; a thousand in the authors' artifact

ROWS = {
    row.name: row
    for row in (
        Row(
            "scalar_mult",
            "scalar mult.",
            "derivatives",
            scalar_mult,
            njit(scalar_mult),
            lambda k: ((0.3, -0.7), (0.3, -0.7)),
            (0, 1),
            (20, 40, 80, 160, 320),
            repeated=True,
            paper=(0.146, 0.536),
        ),
        Row(
            "dot",
            "dot product",
            "entries",
            PROGRAMS["dot"].function,
            dot,
            lambda k: _arrays(k, "dot"),
            (0, 1),
            (250, 500, 1000, 2000, 4000, 8000),
            paper=(2.210, 2.070),
        ),
        Row(
            "sum_mat_vec",
            "sum-mat-vec",
            "entries of the matrix",
            PROGRAMS["sum_mat_vec"].function,
            sum_mat_vec,
            lambda k: _arrays(k, "sum_mat_vec"),
            (0, 1),
            (16, 23, 32, 45, 64, 90),
            count=lambda k: k * k,
            paper=(2.050, 1.320),
        ),
        Row(
            "rotate",
            "rotate_vec_by_quat",
            "derivatives",
            rotate_vec_by_quat,
            rotate_and_add,
            _rotation,
            (0, 1, 2, 3, 4, 5, 6),
            (10, 20, 40, 80, 160),
            repeated=True,
            paper=(8.770, 6.130),
        ),
        Row(
            "neural",
            "neural",
            "weights",
            PROGRAMS["neural"].function,
            neural,
            _neural,
            (0, 1, 2, 3, 4),
            (8, 12, 16, 24, 32, 48),
            count=lambda k: 2 * k * k,
        ),
        Row(
            "particles",
            "particles",
            "Euler steps of a particle",
            PROGRAMS["particles"].function,
            particles,
            _particles,
            (0,),
            (1, 2, 4, 8, 16),
            count=lambda k: STEPS * k,
        ),
    )
}
