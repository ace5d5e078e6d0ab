"""The functions of `bench/second.py`, written for every library as its users would write them.

Each takes one array of numbers, with respect to which it is differentiated, and data. The versions for JAX and CasADi
take the data first and return a function of the numbers, so that these libraries see the data as constants.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

import dualrev as dr

__all__ = ["PROGRAMS", "Program"]


@dataclasses.dataclass(frozen=True)
class Program:
    """A function in all versions; `make(size)` returns the numbers and the data."""

    name: str
    title: str
    what: str  # "Hessian", or "product": of the Hessian and a vector
    function: Any  # for numba
    make: Callable[[int], tuple[Any, ...]]
    size: int
    small: int  # for tests
    tape: Callable[..., Any]
    jax: Callable[..., Any]
    casadi: Callable[..., Any]
    symbols: str = "SX"  # what CasADi's function is called with
    vector: Callable[[np.ndarray], np.ndarray] = np.cos  # of a product, from the numbers


# ----------------------------------------------------------------------------------------------------------------------
# GJR-GARCH: a variance follows the returns before, and falling prices move it more


@njit
def gjr_garch(p, returns):
    """Negative log-likelihood of the returns in numba, a loop with a branch."""
    mean, omega, alpha, gamma, beta = p[0], p[1], p[2], p[3], p[4]
    variance = omega / (1.0 - alpha - 0.5 * gamma - beta)
    total = 0.0
    for r in returns:
        e = r - mean
        total += math.log(variance) + e * e / variance
        factor = alpha + gamma if e < 0.0 else alpha
        variance = omega + factor * e * e + beta * variance
    return 0.5 * total


def make_gjr_garch(size: int) -> tuple[Any, ...]:
    """Return the five parameters, and `size` returns with heavy tails."""
    rng = np.random.default_rng(0)
    return np.array([0.02, 0.05, 0.05, 0.1, 0.85]), rng.standard_t(6, size=size)


def tape_gjr_garch(p: Any, returns: Any) -> Any:
    """Negative log-likelihood for the tape, a loop over Python floats."""
    mean, omega, alpha, gamma, beta = p
    variance = omega / (1.0 - alpha - 0.5 * gamma - beta)
    total = 0.0
    for r in returns.tolist():
        e = r - mean
        total += dr.math.log(variance) + e * e / variance
        factor = alpha + gamma if e < 0.0 else alpha
        variance = omega + factor * e * e + beta * variance
    return 0.5 * total


def jax_gjr_garch(returns: Any) -> Callable[[Any], Any]:
    """Negative log-likelihood in JAX: `lax.scan` for the variances, whole arrays for the rest."""
    import jax.numpy as jnp
    from jax import lax

    def f(p: Any) -> Any:
        """The function of the five parameters."""
        mean, omega, alpha, gamma, beta = p
        e = returns - mean
        shocks = omega + jnp.where(e < 0.0, alpha + gamma, alpha) * e * e
        first = omega / (1.0 - alpha - 0.5 * gamma - beta)
        _, variances = lax.scan(lambda v, shock: (shock + beta * v, v), first, shocks)
        return 0.5 * jnp.sum(jnp.log(variances) + e * e / variances)

    return f


def casadi_gjr_garch(returns: Any) -> Callable[[Any], Any]:
    """Negative log-likelihood in CasADi: the loop is unrolled into scalar operations."""
    import casadi as ca

    def f(p: Any) -> Any:
        """The function of the five parameters."""
        mean, omega, alpha, gamma, beta = ca.vertsplit(p)
        variance = omega / (1.0 - alpha - 0.5 * gamma - beta)
        total = 0.0
        for r in returns.tolist():
            e = r - mean
            total += ca.log(variance) + e * e / variance
            variance = omega + ca.if_else(e < 0.0, alpha + gamma, alpha) * e * e + beta * variance
        return 0.5 * total

    return f


# ----------------------------------------------------------------------------------------------------------------------
# A network with 7 inputs, 11 units and one output: 100 parameters

INPUTS, UNITS = 7, 11


@njit
def network(p, x, y):
    """Mean squared error of the network in numba, by loops over rows, units and inputs."""
    total = 0.0
    for i in range(len(y)):
        out = p[99]
        for j in range(11):
            score = p[77 + j]
            for k in range(7):
                score += p[7 * j + k] * x[i, k]
            out += p[88 + j] * math.tanh(score)
        total += (out - y[i]) ** 2
    return total / len(y)


def make_network(size: int) -> tuple[Any, ...]:
    """Return 100 parameters, and `size` rows with their targets."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(size, INPUTS))
    return rng.normal(0.0, 0.5, 100), x, np.sin(x[:, 0]) + x[:, 1] * x[:, 2]


def _layers(p: Any) -> tuple[Any, Any, Any, Any]:
    return p[:77].reshape((UNITS, INPUTS)), p[77:88], p[88:99], p[99]


def tape_network(p: Any, x: Any, y: Any) -> Any:
    """Mean squared error for the tape, in NumPy's matrix products."""
    w, b, v, c = _layers(p)
    return np.mean((np.tanh(x @ w.T + b) @ v + c - y) ** 2)


def jax_network(x: Any, y: Any) -> Callable[[Any], Any]:
    """Mean squared error in JAX, by matrix products."""
    import jax.numpy as jnp

    def f(p: Any) -> Any:
        """The function of the 100 parameters."""
        w, b, v, c = _layers(p)
        return jnp.mean((jnp.tanh(x @ w.T + b) @ v + c - y) ** 2)

    return f


def casadi_network(x: Any, y: Any) -> Callable[[Any], Any]:
    """Mean squared error in CasADi, by products of whole matrices."""
    import casadi as ca

    def f(p: Any) -> Any:
        """The function of the 100 parameters."""
        w, b, v, c = ca.reshape(p[:77], INPUTS, UNITS).T, p[77:88], p[88:99], p[99]
        hidden = ca.tanh(w @ ca.DM(x).T + ca.repmat(b, 1, len(y)))
        return ca.sumsqr(v.T @ hidden + c - ca.DM(y).T) / len(y)

    return f


# ----------------------------------------------------------------------------------------------------------------------
# Rosenbrock's function, as a chain


@njit
def rosenbrock(x):
    """Chained Rosenbrock function in numba, a loop."""
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


def make_rosenbrock(size: int) -> tuple[Any, ...]:
    """Return a point near the minimum, with `size` coordinates."""
    return (np.random.default_rng(0).normal(1.0, 0.3, size),)


def tape_rosenbrock(x: Any) -> Any:
    """Chained Rosenbrock function for the tape, in slices."""
    return np.sum(100.0 * (x[1:] - x[:-1] * x[:-1]) ** 2 + (1.0 - x[:-1]) ** 2)


def jax_rosenbrock() -> Callable[[Any], Any]:
    """Chained Rosenbrock function in JAX, in slices."""
    import jax.numpy as jnp

    return lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] * x[:-1]) ** 2 + (1.0 - x[:-1]) ** 2)


def casadi_rosenbrock() -> Callable[[Any], Any]:
    """Chained Rosenbrock function in CasADi, as two sums of squares."""
    import casadi as ca

    return lambda x: ca.sumsqr(10.0 * (x[1:] - x[:-1] * x[:-1])) + ca.sumsqr(1.0 - x[:-1])


# ----------------------------------------------------------------------------------------------------------------------
# K-means: the Hessian is diagonal, so that its product with ones is the diagonal


@njit
def k_means(centres, points):
    """Sum of squared distances to the nearest centre in numba, three loops."""
    total = 0.0
    for i in range(points.shape[0]):
        nearest = math.inf
        for j in range(centres.shape[0]):
            distance = 0.0
            for k in range(points.shape[1]):
                difference = points[i, k] - centres[j, k]
                distance += difference * difference
            nearest = min(nearest, distance)
        total += nearest
    return total


def make_k_means(size: int) -> tuple[Any, ...]:
    """Return 10 centres and `size` points around them, in 16 dimensions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0.0, 3.0, (10, 16))
    points = centres[rng.integers(0, 10, size)] + rng.normal(size=(size, 16))
    return centres + rng.normal(0.0, 0.3, centres.shape), points


def tape_k_means(centres: Any, points: Any) -> Any:
    """Sum of squared distances for the tape, by broadcasting."""
    distances = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(distances, axis=1))


def jax_k_means(points: Any) -> Callable[[Any], Any]:
    """Sum of squared distances in JAX, by broadcasting."""
    import jax.numpy as jnp

    def f(centres: Any) -> Any:
        """The function of the centres."""
        distances = jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
        return jnp.sum(jnp.min(distances, axis=1))

    return f


def casadi_k_means(points: Any) -> Callable[[Any], Any]:
    """Sum of squared distances in CasADi: one row of distances for each centre, then their minimum."""
    import functools

    import casadi as ca

    def f(centres: Any) -> Any:
        """The function of the centres."""
        columns = ca.DM(points).T
        rows = ca.vertsplit(centres)
        distances = [ca.sum1((columns - ca.repmat(row.T, 1, len(points))) ** 2) for row in rows]
        return ca.sum2(functools.reduce(ca.fmin, distances))

    return f


# ----------------------------------------------------------------------------------------------------------------------

PROGRAMS = {
    program.name: program
    for program in [
        Program(
            "garch",
            "GJR-GARCH, 5,000 returns",
            "Hessian",
            gjr_garch,
            make_gjr_garch,
            size=5000,
            small=40,
            tape=tape_gjr_garch,
            jax=jax_gjr_garch,
            casadi=casadi_gjr_garch,
        ),
        Program(
            "network",
            "network of 100 parameters, 200 rows",
            "Hessian",
            network,
            make_network,
            size=200,
            small=5,
            tape=tape_network,
            jax=jax_network,
            casadi=casadi_network,
            symbols="MX",
        ),
        Program(
            "rosenbrock",
            "Rosenbrock chain of 1,000",
            "product",
            rosenbrock,
            make_rosenbrock,
            size=1000,
            small=10,
            tape=tape_rosenbrock,
            jax=jax_rosenbrock,
            casadi=casadi_rosenbrock,
        ),
        Program(
            "k-means",
            "K-means, 10,000 points, 10 centres, 16 axes",
            "product",
            k_means,
            make_k_means,
            size=10_000,
            small=30,
            tape=tape_k_means,
            jax=jax_k_means,
            casadi=casadi_k_means,
            symbols="MX",
            vector=np.ones_like,
        ),
    ]
}
