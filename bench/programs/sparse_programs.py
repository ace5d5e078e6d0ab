"""The functions of `bench/sparse.py`, written for every library as its users would write them.

Three functions take an array and data, and have a sparse derivative with respect to the array. Two more are functions
of one sample, for `vmap` over a batch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

__all__ = ["BATCHES", "PROGRAMS", "Batch", "Program"]


@dataclasses.dataclass(frozen=True)
class Program:
    """A function with a sparse derivative; `make(size)` returns the numbers and the data."""

    title: str
    what: str  # "Jacobian" or "Hessian"
    function: Any  # for numba
    tape: Callable[..., Any]
    casadi: Callable[..., Any]  # of a symbol and data
    make: Callable[[int], tuple[Any, ...]]
    size: int
    small: int  # for tests


@dataclasses.dataclass(frozen=True)
class Batch:
    """A function of one sample; `make(size)` returns the arguments, first the shared ones, then those to map over."""

    title: str
    what: str  # "Jacobians" or "gradients"
    function: Any
    jax: Callable[..., Any]
    shared: int  # the number of first arguments that all samples share
    make: Callable[[int], tuple[Any, ...]]
    size: int
    small: int


# ----------------------------------------------------------------------------------------------------------------------
# Bundle adjustment: cameras of 9 numbers see points of 3; a row depends on one of each


@njit
def rotated(r, x):
    """Rodrigues' formula: the point `x`, turned about the axis `r` by its length."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    angle = math.sqrt(square)
    c, s = math.cos(angle), math.sin(angle) / angle
    d = (r[0] * x[0] + r[1] * x[1] + r[2] * x[2]) * (1.0 - c) / square
    a = x[0] * c + (r[1] * x[2] - r[2] * x[1]) * s + r[0] * d
    b = x[1] * c + (r[2] * x[0] - r[0] * x[2]) * s + r[1] * d
    return a, b, x[2] * c + (r[0] * x[1] - r[1] * x[0]) * s + r[2] * d


@njit
def bundle(p, cameras, camera, point, seen):
    """Residuals of all observations in numba, two for each."""
    made = np.empty(2 * len(camera))
    for i in range(len(camera)):
        k, j = 9 * camera[i], 9 * cameras + 3 * point[i]
        a, b, c = rotated((p[k], p[k + 1], p[k + 2]), (p[j], p[j + 1], p[j + 2]))
        u, v = -(a + p[k + 3]) / (c + p[k + 5]), -(b + p[k + 4]) / (c + p[k + 5])
        r = u * u + v * v
        f = p[k + 6] * (1.0 + p[k + 7] * r + p[k + 8] * r * r)
        made[2 * i] = f * u - seen[i, 0]
        made[2 * i + 1] = f * v - seen[i, 1]
    return made


def projected(x, r, of, stack, math, seen):
    """Residuals of many observations, from columns of points and cameras, which are arrays of any library."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    angle = math.sqrt(square)
    c, s = math.cos(angle), math.sin(angle) / angle
    d = (r[0] * x[0] + r[1] * x[1] + r[2] * x[2]) * (1.0 - c) / square
    a = x[0] * c + (r[1] * x[2] - r[2] * x[1]) * s + r[0] * d
    b = x[1] * c + (r[2] * x[0] - r[0] * x[2]) * s + r[1] * d
    e = x[2] * c + (r[0] * x[1] - r[1] * x[0]) * s + r[2] * d
    u, v = -(a + of[0]) / (e + of[2]), -(b + of[1]) / (e + of[2])
    q = u * u + v * v
    f = of[3] * (1.0 + of[4] * q + of[5] * q * q)
    return stack(f * u - seen[:, 0], f * v - seen[:, 1])


def bundle_of_arrays(p, cameras, camera, point, seen):
    """Residuals for the tape: the columns of cameras and points, gathered for all observations."""
    table, points = p[: 9 * cameras].reshape(cameras, 9)[camera], p[9 * cameras :].reshape(-1, 3)[point]
    columns = [table[:, k] for k in range(9)]
    x = [points[:, k] for k in range(3)]
    return projected(x, columns[:3], columns[3:], lambda u, v: np.stack([u, v], axis=1).reshape(-1), np, seen)


def bundle_of_symbols(p, cameras, camera, point, seen):
    """Residuals in CasADi: the columns of cameras and points, gathered for all observations."""
    import casadi as ca

    columns = [p[9 * camera + k] for k in range(9)]
    x = [p[9 * cameras + 3 * point + k] for k in range(3)]
    return projected(x, columns[:3], columns[3:], lambda u, v: ca.vec(ca.horzcat(u, v).T), ca, seen)


def make_bundle(size: int) -> tuple[Any, ...]:
    """Return `size` observations, with a point for every eight of them and a camera for every 400."""
    rng = np.random.default_rng(0)
    cameras, points = max(2, size // 400), size // 8
    camera, point = np.arange(size) % cameras, rng.permutation(np.arange(size) % points)
    of = [rng.normal(0.0, 0.1, (cameras, 5)), rng.normal(-5.0, 0.1, cameras), rng.normal(500.0, 5.0, cameras)]
    p = np.concatenate(
        [np.column_stack([*of, rng.normal(0.0, 0.01, (cameras, 2))]).ravel(), rng.normal(size=3 * points)]
    )
    return p, cameras, camera, point, rng.normal(size=(size, 2))


# ----------------------------------------------------------------------------------------------------------------------
# Rosenbrock's function, chained: a Hessian with three diagonals


@njit
def rosenbrock(x):
    """Chained Rosenbrock function in numba, a loop."""
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


def rosenbrock_of_arrays(x):
    """Chained Rosenbrock function for the tape, in slices."""
    return np.sum(100.0 * (x[1:] - x[:-1] * x[:-1]) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_of_symbols(x):
    """Chained Rosenbrock function in CasADi, in slices."""
    import casadi as ca

    return ca.sum1(100.0 * (x[1:] - x[:-1] * x[:-1]) ** 2 + (1.0 - x[:-1]) ** 2)


def make_rosenbrock(size: int) -> tuple[Any, ...]:
    """Return `size` numbers from -1 to 1.5."""
    return (np.linspace(-1.0, 1.5, size),)


# ----------------------------------------------------------------------------------------------------------------------
# Reaction and diffusion on a square: the equations of an implicit step, five numbers in a row


@njit
def diffusion(u, before, n, rate, dt):
    """Residuals of an implicit Euler step in numba, a loop over the cells of an n x n grid."""
    made = np.empty(n * n)
    for i in range(n):
        for j in range(n):
            k = n * i + j
            here = u[k]
            flow = -4.0 * here
            flow += u[k - n] if i > 0 else here
            flow += u[k + n] if i < n - 1 else here
            flow += u[k - 1] if j > 0 else here
            flow += u[k + 1] if j < n - 1 else here
            made[k] = here - before[k] - dt * (rate * flow + here - here**3)
    return made


def diffusion_of_arrays(u, before, n, rate, dt):
    """Residuals of an implicit Euler step for the tape: neighbours are slices of a padded grid."""
    grid = u.reshape(n, n)
    wide = np.concatenate([grid[:1], grid, grid[-1:]])
    flow = wide[:-2] + wide[2:] - 4.0 * grid
    wide = np.concatenate([grid[:, :1], grid, grid[:, -1:]], axis=1)
    flow = flow + wide[:, :-2] + wide[:, 2:]
    return (grid - before.reshape(n, n) - dt * (rate * flow + grid - grid**3)).reshape(-1)


def diffusion_of_symbols(u, before, n, rate, dt):
    """Residuals of an implicit Euler step in CasADi: neighbours are slices of a padded grid."""
    import casadi as ca

    grid = ca.reshape(u, n, n)  # by columns: the square is the same
    tall = ca.vertcat(grid[0, :], grid, grid[-1, :])
    wide = ca.horzcat(grid[:, 0], grid, grid[:, -1])
    flow = tall[:-2, :] + tall[2:, :] + wide[:, :-2] + wide[:, 2:] - 4.0 * grid
    return u - before - dt * (rate * ca.vec(flow) + u - u**3)


def make_diffusion(size: int) -> tuple[Any, ...]:
    """Return a state near the solution, the state before, and the constants, for a grid of `size` cells."""
    n = math.isqrt(size)
    before = np.sin(np.arange(n * n))
    return 0.9 * before, before, n, 4.0, 0.1


PROGRAMS = {
    "bundle": Program(
        "bundle adjustment, 16,000 x 3,180",
        "Jacobian",
        bundle,
        bundle_of_arrays,
        bundle_of_symbols,
        make_bundle,
        8000,
        80,
    ),
    "rosenbrock": Program(
        "chained Rosenbrock, 1,000,000",
        "Hessian",
        rosenbrock,
        rosenbrock_of_arrays,
        rosenbrock_of_symbols,
        make_rosenbrock,
        1_000_000,
        60,
    ),
    "diffusion": Program(
        "reaction and diffusion, 316 x 316",
        "Jacobian",
        diffusion,
        diffusion_of_arrays,
        diffusion_of_symbols,
        make_diffusion,
        316 * 316,
        64,
    ),
}

# ----------------------------------------------------------------------------------------------------------------------
# Of a batch


@njit
def polar(x):
    """Four functions of two numbers, in numba."""
    return np.array([x[0] * np.cos(x[1]), x[0] * np.sin(x[1]), x[0] * x[1], np.exp(x[0] - x[1])])


def polar_of_jax(x):
    """The same four functions of two numbers, in JAX."""
    import jax.numpy as jnp

    return jnp.array([x[0] * jnp.cos(x[1]), x[0] * jnp.sin(x[1]), x[0] * x[1], jnp.exp(x[0] - x[1])])


def make_polar(size: int) -> tuple[Any, ...]:
    """Return `size` points in the plane."""
    return (np.random.default_rng(0).normal(size=(size, 2)),)


@njit
def network(w, b, v, x, y):
    """Squared error of a network with 8 inputs and 16 units at one sample, in numba."""
    total = -y
    for k in range(len(b)):
        z = b[k]
        for j in range(len(x)):
            z += w[k, j] * x[j]
        total += v[k] * math.tanh(z)
    return total * total


def network_of_jax(w, b, v, x, y):
    """The same squared error at one sample, in JAX."""
    import jax.numpy as jnp

    return (v @ jnp.tanh(w @ x + b) - y) ** 2


def make_network(size: int) -> tuple[Any, ...]:
    """Return the parameters that all samples share, and `size` samples."""
    rng = np.random.default_rng(0)
    w, b, v = rng.normal(size=(16, 8)), rng.normal(size=16), rng.normal(size=16)
    return w, b, v, rng.normal(size=(size, 8)), rng.normal(size=size)


BATCHES = {
    "polar": Batch(
        "Jacobians 4 x 2 at 1,000,000 points", "Jacobians", polar, polar_of_jax, 0, make_polar, 1_000_000, 20
    ),
    "network": Batch(
        "gradients of 100,000 samples, network of 160",
        "gradients",
        network,
        network_of_jax,
        3,
        make_network,
        100_000,
        20,
    ),
}
