"""The cost of K-means, and Newton's step for the centres: the gradient divided by the Hessian's diagonal."""

from __future__ import annotations

import numpy as np
from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, listed, reals

__all__ = ["FUNCTIONS"]


@njit
def nearest(point, centroids):
    """Return the index of the nearest centre, the first one of a tie."""
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
    """Sum of squared distances of the points from their nearest centres."""
    total = 0.0
    for i in range(len(points)):
        j = nearest(points[i], centroids)
        for k in range(points.shape[1]):
            total += (points[i, k] - centroids[j, k]) ** 2
    return total


slope = dr.grad(cost, 1)


@njit
def step(points, centroids):
    """Newton's step. The Hessian is diagonal, so its product with ones is its diagonal."""
    gradient, diagonal = dr.jvp(slope, (points, centroids), (np.zeros_like(points), np.ones_like(centroids)))
    return gradient / diagonal


def prepare(given):
    """Read the points and the centres."""
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
