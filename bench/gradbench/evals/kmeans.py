"""The cost of clusters, and Newton's step for their centres: the gradient over the Hessian's diagonal."""

from __future__ import annotations

import numpy as np
from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, listed, reals

__all__ = ["FUNCTIONS"]


@njit
def nearest(point, centroids):
    """The number of the centre next to the point, the first one of a tie."""
    found, least = 0, np.inf
    for j in range(len(centroids)):
        square = 0.0
        for k in range(len(point)):
            square += (point[k] - centroids[j, k]) ** 2
        if square < least:
            found, least = j, square
    return found


@njit
def cost(points, centroids):
    total = 0.0
    for i in range(len(points)):
        j = nearest(points[i], centroids)
        for k in range(points.shape[1]):
            total += (points[i, k] - centroids[j, k]) ** 2
    return total


slope = dr.grad(cost, 1)


@njit
def step(points, centroids):
    """The Hessian is diagonal: its product with ones is the diagonal."""
    gradient, diagonal = dr.jvp(slope, (points, centroids), (np.zeros_like(points), np.ones_like(centroids)))
    return gradient / diagonal


def prepare(given):
    points = reals(given, "points", None, None)
    centroids = reals(given, "centroids", None, points.shape[1])
    if len(centroids) == 0:
        raise InputError("'centroids' is empty: no point has a nearest one")
    return points, centroids


EXAMPLE = {"points": [[0.0, 1.0], [2.0, 3.0]], "centroids": [[0.5, 0.5], [2.0, 2.0]]}
FUNCTIONS = {
    "cost": Function(cost, prepare, EXAMPLE),
    "dir": Function(step, prepare, EXAMPLE, listed),
}
