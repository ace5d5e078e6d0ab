"""Bundle adjustment: the sparse Jacobian of the errors of p observations, by n cameras of m points.

An observation's two errors depend on a block of 15 numbers: 11 of its camera (rotation, centre, focal length, principal
point, distortion), 3 of its point, and its weight. Each observation has its own copy of these numbers. So the gradient
of the sum of all first errors contains the first row of every block's Jacobian, and the gradient of the sum of all
second errors the second row: two gradients make the Jacobian, for every p.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, listed, real, reals, whole

__all__ = ["FUNCTIONS"]

CAMERA, POINT = 11, 3
BLOCK = CAMERA + POINT + 1


@njit
def rotated(a, b, c, x, y, z):
    """Rodrigues' formula: (x, y, z) turned about (a, b, c) by its length."""
    square = a * a + b * b + c * c
    if square == 0.0:
        return x + b * z - c * y, y + c * x - a * z, z + a * y - b * x
    angle = math.sqrt(square)
    cosine, sine = math.cos(angle), math.sin(angle)
    a, b, c = a / angle, b / angle, c / angle
    along = (a * x + b * y + c * z) * (1.0 - cosine)
    turned_x = x * cosine + (b * z - c * y) * sine + a * along
    turned_y = y * cosine + (c * x - a * z) * sine + b * along
    return turned_x, turned_y, z * cosine + (a * y - b * x) * sine + c * along


@njit
def errors(block, feature):
    """Return the weighted differences between the projected point and the feature."""
    x, y, z = rotated(block[0], block[1], block[2], block[11] - block[3], block[12] - block[4], block[13] - block[5])
    x, y = x / z, y / z
    square = x * x + y * y
    scale = (1.0 + block[9] * square + block[10] * square * square) * block[6]
    return block[14] * (x * scale + block[7] - feature[0]), block[14] * (y * scale + block[8] - feature[1])


@njit
def weight_error(w):
    """Error of a weight, as the eval defines it."""
    return 1.0 - w * w


@njit
def gathered(cameras, points, weights, seen):
    """Copy the 15 numbers of every observation to a row of an array."""
    blocks = np.empty((len(weights), BLOCK))
    for i in range(len(weights)):
        for k in range(CAMERA):
            blocks[i, k] = cameras[seen[i, 0], k]
        for k in range(POINT):
            blocks[i, CAMERA + k] = points[seen[i, 1], k]
        blocks[i, BLOCK - 1] = weights[i]
    return blocks


@njit
def total(blocks, features, first, second):
    """Sum of all errors: the first ones times `first` plus the second ones times `second`."""
    made = 0.0
    for i in range(len(blocks)):
        x, y = errors(blocks[i], features[i])
        made += first * x + second * y
    return made


slope, weight_slope = dr.grad(total), dr.grad(weight_error)


@njit
def objective(cameras, points, weights, seen, features):
    """Compute the errors of all observations, shape (p, 2), and of all weights, shape (p,)."""
    blocks = gathered(cameras, points, weights, seen)
    projected, weighted = np.empty((len(weights), 2)), np.empty(len(weights))
    for i in range(len(weights)):
        projected[i] = errors(blocks[i], features[i])
        weighted[i] = weight_error(weights[i])
    return projected, weighted


@njit
def jacobian(cameras, points, weights, seen, features):
    """Compute the Jacobian in compressed rows: where each row begins, the columns, and the entries."""
    p, n, m = len(weights), len(cameras), len(points)
    blocks = gathered(cameras, points, weights, seen)
    upper, lower = slope(blocks, features, 1.0, 0.0), slope(blocks, features, 0.0, 1.0)
    wide = 2 * BLOCK * p
    rows, columns, entries = np.empty(3 * p + 1, np.int64), np.empty(wide + p, np.int64), np.empty(wide + p)
    for i in range(p):
        for k in range(BLOCK):
            at = CAMERA * seen[i, 0] + k
            if k >= CAMERA:
                at = CAMERA * n + POINT * seen[i, 1] + k - CAMERA
            if k == BLOCK - 1:
                at = CAMERA * n + POINT * m + i
            place = 2 * BLOCK * i + k
            columns[place], columns[place + BLOCK] = at, at
            entries[place], entries[place + BLOCK] = upper[i, k], lower[i, k]
        rows[2 * i], rows[2 * i + 1] = 2 * BLOCK * i, 2 * BLOCK * i + BLOCK
        rows[2 * p + i] = wide + i
        columns[wide + i], entries[wide + i] = CAMERA * n + POINT * m + i, weight_slope(weights[i])
    rows[3 * p] = wide + p
    return rows, columns, entries


def prepare(given):
    """Read the input: one camera, point, weight and feature, which all observations share."""
    n, m, p = (whole(given, name, 1) for name in "nmp")
    camera, point, feature = reals(given, "cam", CAMERA), reals(given, "x", POINT), reals(given, "feat", 2)
    if p > 10**8 or n > 10**8 or m > 10**8:
        raise InputError(f"n, m and p are {n}, {m} and {p}: more than 100,000,000 do not fit into memory")
    observations = np.arange(p)
    seen = np.stack([observations % n, observations % m], axis=1)
    cameras, points, features = np.tile(camera, (n, 1)), np.tile(point, (m, 1)), np.tile(feature, (p, 1))
    return cameras, points, np.full(p, real(given, "w")), seen, features


def finish_objective(found):
    """Return the errors of the first observation, as GradBench wants it, since all observations are equal."""
    projected, weighted = found
    return {
        "reproj_error": {"elements": listed(projected[0]), "repeated": len(projected)},
        "w_err": {"element": float(weighted[0]), "repeated": len(weighted)},
    }


def finish_jacobian(found):
    """Return the numbers of the first observation and the last number, of each of the three arrays."""
    names = "rows", "cols", "vals"
    return {name: [*listed(x[: 2 * BLOCK]), x[-1].item()] for name, x in zip(names, found, strict=True)}


EXAMPLE = {
    "n": 1, "m": 1, "p": 1, "w": 0.5, "feat": [1.0, 2.0], "x": [0.1, 0.2, -3.0],
    "cam": [0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 500.0, 0.0, 0.0, 0.01, 0.02],
}  # fmt: skip
FUNCTIONS = {
    "objective": Function(objective, prepare, EXAMPLE, finish_objective),
    "jacobian": Function(jacobian, prepare, EXAMPLE, finish_jacobian),
}
