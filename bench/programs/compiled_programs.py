"""The programs of `bench/compiled.py`: numba functions as users write them, each with one float as its result.

Some have an adjoint: their gradient, written by hand in numba, in compiled_adjoints.py. `plain` turns a program into
the same Python function without numba, which the tape can differentiate.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.core.registry import CPUDispatcher

import dualrev
from bench.programs import array_adjoints, compiled_adjoints
from bench.programs.compiled_helpers import log_sum_exp, rotate_vec_by_quat

__all__ = ["PROGRAMS", "Program", "plain"]

# ----------------------------------------------------------------------------------------------------------------------
# Dot product


@njit
def dot(x, y):
    """Dot product: a reduction that numba vectorises."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def make_dot(size: int) -> tuple[Any, ...]:
    """Return two vectors of `size` numbers."""
    rng = np.random.default_rng(0)
    return rng.normal(size=size), rng.normal(size=size)


# ----------------------------------------------------------------------------------------------------------------------
# Sum of a matrix-vector product


@njit
def matrix_vector(a, x):
    """Sum of a matrix-vector product: the entries of `y` are accumulated in place."""
    rows, columns = a.shape
    y = np.zeros(rows)
    for i in range(rows):
        for j in range(columns):
            y[i] += a[i, j] * x[j]
    return y.sum()


def make_matrix_vector(size: int) -> tuple[Any, ...]:
    """Return a square matrix with `size` rows, and a vector."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(size, size)), rng.normal(size=size)


# ----------------------------------------------------------------------------------------------------------------------
# A vector, turned by a quaternion many times


@njit
def quaternions(q, v, turns):
    """Sum of the vector after `turns` turns: a loop whose state is a tuple of three numbers."""
    for _ in range(turns):
        v = rotate_vec_by_quat(q, v)
    return v[0] + v[1] + v[2]


def make_quaternions(size: int) -> tuple[Any, ...]:
    """Return a unit quaternion, a vector, and `size` turns."""
    q = np.array([0.9, 0.1, -0.3, 0.2])
    return tuple((q / np.sqrt(q @ q)).tolist()), (0.3, -1.2, 0.7), size


# ----------------------------------------------------------------------------------------------------------------------
# A damped particle at a wall, by Euler steps


@njit
def particles(stiffness, damping, x, v, steps):
    """Mean square of the position after `steps` Euler steps, with two branches on the state in each."""
    total = 0.0
    for _ in range(steps):
        force = -stiffness * x
        if v < 0.0:
            force -= damping * v
        else:
            force -= 0.5 * damping * v
        if x > 0.75:
            force -= 40.0 * (x - 0.75)
        v += 0.01 * force / 1.5
        x += 0.01 * v
        total += x * x
    return total / steps


def make_particles(size: int) -> tuple[Any, ...]:
    """Return the particle's constants and first state, and `size` steps."""
    return 2.0, 0.2, 0.7, 0.9, size


# ----------------------------------------------------------------------------------------------------------------------
# A pendulum


@njit
def pendulum(angle, speed, pull, steps):
    """Mean square of the angle over `steps` Euler steps: one sine in each."""
    total = 0.0
    for _ in range(steps):
        speed -= 0.001 * pull * math.sin(angle)
        angle += 0.001 * speed
        total += angle * angle
    return total / steps


def make_pendulum(size: int) -> tuple[Any, ...]:
    """Return the first state, the pull, and `size` steps."""
    return 1.2, 0.3, 9.81, size


# ----------------------------------------------------------------------------------------------------------------------
# Newton's iteration


@njit
def cube_root(a):
    """Cube root by Newton's iteration, until the relative error is below 1e-12."""
    x = a
    while abs(x * x * x - a) > 1e-12 * a:
        x = x - (x * x * x - a) / (3.0 * x * x)
    return x


@njit
def newton(numbers):
    """Sum of cube roots: the number of iterations depends on the data."""
    total = 0.0
    for a in numbers:
        total += cube_root(a)
    return total


def make_newton(size: int) -> tuple[Any, ...]:
    """Return `size` numbers from 0.5 to 20."""
    return (np.random.default_rng(0).uniform(0.5, 20.0, size),)


# ----------------------------------------------------------------------------------------------------------------------
# GARCH(1,1)


@njit
def garch(mean, omega, alpha, beta, returns):
    """Log-likelihood of the returns: a recursion over one number, with a logarithm in each step."""
    variance = omega / (1.0 - alpha - beta)
    total = 0.0
    for r in returns:
        e = r - mean
        total += math.log(variance) + e * e / variance
        variance = omega + alpha * e * e + beta * variance
    return -0.5 * total


def make_garch(size: int) -> tuple[Any, ...]:
    """Return the four parameters, and `size` returns."""
    return 0.02, 0.1, 0.1, 0.8, np.random.default_rng(0).normal(size=size)


# ----------------------------------------------------------------------------------------------------------------------
# Kalman filter of a local linear trend


@njit
def kalman(series, noise, level_noise, slope_noise):
    """Log-likelihood of the series: a recursion over five numbers, with the covariance written out."""
    level, slope = series[0], 0.0
    p11, p12, p22 = 10.0, 0.0, 10.0
    total = 0.0
    for t in range(1, len(series)):
        level += slope
        p11, p12, p22 = p11 + 2.0 * p12 + p22 + level_noise, p12 + p22, p22 + slope_noise
        error, variance = series[t] - level, p11 + noise
        total += math.log(variance) + error * error / variance
        gain1, gain2 = p11 / variance, p12 / variance
        level += gain1 * error
        slope += gain2 * error
        p11, p12, p22 = p11 - gain1 * p11, p12 - gain1 * p12, p22 - gain2 * p12
    return -0.5 * total


def make_kalman(size: int) -> tuple[Any, ...]:
    """Return a series of `size` observations, and three variances."""
    rng = np.random.default_rng(0)
    return np.cumsum(0.1 + 0.3 * rng.normal(size=size)) + rng.normal(size=size), 1.2, 0.1, 0.01


# ----------------------------------------------------------------------------------------------------------------------
# Mixture of Gaussians, in the parameters of ADBench: inverse factors of covariances, logarithms on their diagonals


@njit
def mixture(logits, means, factors, points):
    """Log-likelihood of the points: a triangular product for every point and component."""
    n, d = points.shape
    k = len(logits)
    diagonals = np.exp(factors[:, :d])
    heights = np.empty(k)
    for j in range(k):
        heights[j] = logits[j] + factors[j, :d].sum()
    scores, centred = np.empty(k), np.empty(d)
    total = 0.0
    for i in range(n):
        for j in range(k):
            squares = 0.0
            at = d
            for a in range(d):
                centred[a] = points[i, a] - means[j, a]
                z = diagonals[j, a] * centred[a]
                for b in range(a):
                    z += factors[j, at] * centred[b]
                    at += 1
                squares += z * z
            scores[j] = heights[j] - 0.5 * squares
        total += log_sum_exp(scores)
    return total - n * log_sum_exp(logits)


def make_mixture(size: int, d: int = 10, k: int = 10) -> tuple[Any, ...]:
    """Return logits, means and factors of `k` components, and `size` points, in `d` dimensions."""
    rng = np.random.default_rng(0)
    factors = 0.3 * rng.normal(size=(k, d + d * (d - 1) // 2))
    return rng.normal(size=k), rng.normal(size=(k, d)), factors, rng.normal(size=(size, d))


# ----------------------------------------------------------------------------------------------------------------------
# Cholesky's factorisation


@njit
def cholesky(matrix):
    """Log-determinant by a factorisation in place: three nested loops that overwrite their input."""
    n = len(matrix)
    a = matrix.copy()
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / a[j, j]
        s = a[i, i]
        for k in range(i):
            s -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(s)
    total = 0.0
    for i in range(n):
        total += math.log(a[i, i])
    return 2.0 * total


def make_cholesky(size: int) -> tuple[Any, ...]:
    """Return a positive definite matrix with `size` rows."""
    a = np.random.default_rng(0).normal(size=(size, size))
    return (a @ a.T / size + np.eye(size),)


# ----------------------------------------------------------------------------------------------------------------------
# Thomas's solver of tridiagonal systems


@njit
def thomas(lower, diagonal, upper, right):
    """Sum of squares of the solution: a loop forwards and one backwards, each step needs the one before."""
    n = len(diagonal)
    c, x = np.empty(n), np.empty(n)
    c[0] = upper[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        x[i] = (right[i] - lower[i] * x[i - 1]) / pivot
    total = x[n - 1] * x[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
        total += x[i] * x[i]
    return total


def make_thomas(size: int) -> tuple[Any, ...]:
    """Return the three diagonals and the right-hand side of a diagonally dominant system of `size` equations."""
    rng = np.random.default_rng(0)
    lower, upper, right = rng.normal(size=(3, size))
    return lower, 3.0 + np.abs(lower) + np.abs(upper), upper, right


# ----------------------------------------------------------------------------------------------------------------------
# Determinant by minors


@njit
def minor(matrix, column):
    """Copy the matrix without its first row and one column."""
    n = len(matrix)
    made = np.empty((n - 1, n - 1))
    for i in range(1, n):
        for j in range(n):
            if j < column:
                made[i - 1, j] = matrix[i, j]
            elif j > column:
                made[i - 1, j - 1] = matrix[i, j]
    return made


@njit
def minors(matrix):
    """Determinant by expansion along the first row: a recursion that allocates a matrix in every call."""
    if len(matrix) == 1:
        return matrix[0, 0]
    total, sign = 0.0, 1.0
    for j in range(len(matrix)):
        total += sign * matrix[0, j] * minors(minor(matrix, j))
        sign = -sign
    return total


def make_minors(size: int) -> tuple[Any, ...]:
    """Return a matrix with `size` rows: `size`! products."""
    return (np.random.default_rng(0).normal(size=(size, size)),)


# ----------------------------------------------------------------------------------------------------------------------
# LSTM, in the form of ADBench: gates act on each unit by itself


@njit
def sigmoid(x):
    """Logistic function."""
    return 1.0 / (1.0 + math.exp(-x))


@njit
def lstm(weights, biases, ends, state, sequence):
    """Mean log-likelihood of the text: five exponentials or hyperbolic tangents for each unit, layer and character."""
    layers, _, units = weights.shape
    hidden, cell = state[0].copy(), state[1].copy()
    total = 0.0
    for t in range(len(sequence) - 1):
        exps = 0.0
        gold = 0.0
        for i in range(units):
            x = sequence[t, i] * ends[0, i]
            for layer in range(layers):
                forget = sigmoid(x * weights[layer, 0, i] + biases[layer, 0, i])
                ingate = sigmoid(hidden[layer, i] * weights[layer, 1, i] + biases[layer, 1, i])
                outgate = sigmoid(x * weights[layer, 2, i] + biases[layer, 2, i])
                change = math.tanh(hidden[layer, i] * weights[layer, 3, i] + biases[layer, 3, i])
                cell[layer, i] = cell[layer, i] * forget + ingate * change
                hidden[layer, i] = outgate * math.tanh(cell[layer, i])
                x = hidden[layer, i]
            y = x * ends[1, i] + ends[2, i]
            exps += math.exp(y)
            gold += sequence[t + 1, i] * y
        total += gold - math.log(exps + 2.0)
    return total / (len(sequence) - 1)


def make_lstm(size: int, layers: int = 2, units: int = 14) -> tuple[Any, ...]:
    """Return the parameters and state of `layers` layers of `units` units, and a text of `size` characters."""
    rng = np.random.default_rng(0)
    weights, biases = 0.5 * rng.normal(size=(2, layers, 4, units))
    sequence = rng.uniform(size=(size + 1, units))
    return weights, biases, rng.normal(size=(3, units)), rng.normal(size=(2, layers, units)), sequence


# ----------------------------------------------------------------------------------------------------------------------
# Dynamic programming with max: local alignment after Smith and Waterman


@njit
def alignment(scores, gap):
    """Best score of a local alignment: a table of maxima of four, of which the largest entry is the result."""
    n, m = scores.shape
    table = np.zeros((n + 1, m + 1))
    best = 0.0
    for i in range(n):
        for j in range(m):
            s = max(0.0, table[i, j] + scores[i, j])
            s = max(s, table[i, j + 1] - gap, table[i + 1, j] - gap)
            table[i + 1, j + 1] = s
            if s > best:
                best = s
    return best


def make_alignment(size: int) -> tuple[Any, ...]:
    """Return a matrix of scores with `size` rows, and the cost of a gap."""
    return np.random.default_rng(0).normal(-0.4, 1.0, (size, size)), 0.7


# ----------------------------------------------------------------------------------------------------------------------
# Dynamic time warping


@njit
def time_warping(x, y):
    """Least cost of matching two series: a table, each entry a minimum of three."""
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            difference = x[i] - y[j]
            table[i + 1, j + 1] = difference * difference + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return table[len(x), len(y)]


def make_time_warping(size: int) -> tuple[Any, ...]:
    """Return two random walks of `size` steps."""
    rng = np.random.default_rng(0)
    return np.cumsum(rng.normal(size=size)), np.cumsum(rng.normal(size=size))


# ----------------------------------------------------------------------------------------------------------------------
# Asian option by Monte Carlo, path by path


@njit
def asian_option(spot, strike, rate, volatility, maturity, normals):
    """Discounted mean payoff: a loop over paths and steps, with a maximum at the end of a path."""
    paths, steps = normals.shape
    dt = maturity / steps
    drift = (rate - 0.5 * volatility * volatility) * dt
    scale = volatility * math.sqrt(dt)
    total = 0.0
    for p in range(paths):
        price, average = spot, 0.0
        for t in range(steps):
            price *= math.exp(drift + scale * normals[p, t])
            average += price / steps
        total += max(average - strike, 0.0)
    return math.exp(-rate * maturity) * total / paths


def make_asian_option(size: int, steps: int = 50) -> tuple[Any, ...]:
    """Return the parameters of the option, and normal numbers for `size` paths."""
    return 100.0, 101.0, 0.03, 0.25, 1.5, np.random.default_rng(0).normal(size=(size, steps))


# ----------------------------------------------------------------------------------------------------------------------
# Forces between bodies

SOFTENING = 1e-2


@njit
def n_body(positions, masses):
    """Sum of squares of all forces: each pair of bodies adds to two rows of an array."""
    n = len(masses)
    forces = np.zeros((n, 3))
    for i in range(n):
        for j in range(i):
            dx = positions[j, 0] - positions[i, 0]
            dy = positions[j, 1] - positions[i, 1]
            dz = positions[j, 2] - positions[i, 2]
            square = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = masses[i] * masses[j] / (square * math.sqrt(square))
            forces[i, 0] += pull * dx
            forces[i, 1] += pull * dy
            forces[i, 2] += pull * dz
            forces[j, 0] -= pull * dx
            forces[j, 1] -= pull * dy
            forces[j, 2] -= pull * dz
    total = 0.0
    for i in range(n):
        for axis in range(3):
            total += forces[i, axis] ** 2
    return total


def make_n_body(size: int) -> tuple[Any, ...]:
    """Return positions and masses of `size` bodies."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(size, 3)), rng.uniform(0.5, 2.0, size)


# ----------------------------------------------------------------------------------------------------------------------
# A tree, by recursion


@njit
def tree(node, left, right, weights):
    """Value at a node, by recursion over its two children."""
    if left[node] < 0:
        return weights[node]
    below = tree(left[node], left, right, weights) + tree(right[node], left, right, weights)
    return weights[node] * below / (1.0 + below * below)


def make_tree(size: int) -> tuple[Any, ...]:
    """Return a random binary tree with `size` nodes. The index of a child is larger than its parent's."""
    rng = np.random.default_rng(0)
    left, right = np.full(size, -1), np.full(size, -1)
    todo = [(0, size)]  # the number of a node, and how many nodes there are from it on
    while todo:
        node, nodes = todo.pop()
        if nodes >= 3:
            on_the_left = 2 * int(rng.integers(0, (nodes - 1) // 2)) + 1
            left[node], right[node] = node + 1, node + 1 + on_the_left
            todo += [(node + 1, on_the_left), (node + 1 + on_the_left, nodes - 1 - on_the_left)]
    return 0, left, right, rng.uniform(1.0, 2.0, size)


# ----------------------------------------------------------------------------------------------------------------------
# All of them


@dataclasses.dataclass(frozen=True)
class Program:
    """A program: `function(*make(size))` is a float, differentiated with respect to its real arguments, `argnums`."""

    name: str
    function: Any
    make: Callable[[int], tuple[Any, ...]]
    size: int
    small: int  # for tests
    argnums: tuple[int, ...]
    enzyme: float | None = None  # gradient over primal, both in C++, without the cost of the calls

    @property
    def adjoint(self) -> Any:
        """The handwritten gradient, or None. It returns the value, then the cotangents of the real arguments."""
        name = f"{self.function.py_func.__name__}_adjoint"
        return getattr(compiled_adjoints, name, getattr(array_adjoints, name, None))

    @property
    def lines(self) -> int:
        """The number of source lines with helpers, without blank lines and docstrings."""
        return sum(_count_lines(f.py_func) for f in _with_helpers(self.function))


_ENTRIES = [
    Program("dot", dot, make_dot, 100_000, 7, (0, 1), 1.5),
    Program("matrix_vector", matrix_vector, make_matrix_vector, 300, 5, (0, 1), 1.3),
    Program("quaternions", quaternions, make_quaternions, 10_000, 4, (0, 1), 2.0),
    Program("particles", particles, make_particles, 1000, 400, (0, 1, 2, 3), 1.8),
    Program("pendulum", pendulum, make_pendulum, 100_000, 50, (0, 1, 2)),
    Program("newton", newton, make_newton, 1000, 5, (0,), 6.6),
    Program("garch", garch, make_garch, 10_000, 12, (0, 1, 2, 3, 4)),
    Program("kalman", kalman, make_kalman, 1000, 12, (0, 1, 2, 3)),
    Program("mixture", mixture, make_mixture, 1000, 4, (0, 1, 2, 3), 1.9),  # 1.9 to 2.2
    Program("cholesky", cholesky, make_cholesky, 100, 5, (0,)),
    Program("thomas", thomas, make_thomas, 100_000, 7, (0, 1, 2, 3)),
    Program("minors", minors, make_minors, 8, 4, (0,), 17.6),
    Program("lstm", lstm, make_lstm, 20, 2, (0, 1, 2, 3, 4), 2.0),
    Program("alignment", alignment, make_alignment, 300, 9, (0, 1)),
    Program("time_warping", time_warping, make_time_warping, 300, 8, (0, 1)),
    Program("asian_option", asian_option, make_asian_option, 1000, 3, (0, 1, 2, 3, 4, 5)),
    Program("n_body", n_body, make_n_body, 100, 4, (0, 1)),
    Program("tree", tree, make_tree, 4095, 15, (3,), 7.9),
]
PROGRAMS = {program.name: program for program in _ENTRIES}


def plain(function: Any) -> Callable[..., Any]:
    """Return the same function in plain Python, helpers included, with dualrev's `math` and `numpy`.

    >>> plain(cube_root)(8.0)
    2.0
    >>> dualrev.grad(plain(cube_root))(8.0)  # 1 / (3 a**(2/3))
    0.08333333333333334
    """
    environment: dict[str, Any] = {}
    for f in _with_helpers(function):
        environment |= f.py_func.__globals__
    environment |= {"math": dualrev.math, "np": dualrev.numpy}
    for name, value in environment.items():
        if isinstance(value, CPUDispatcher):
            environment[name] = types.FunctionType(value.py_func.__code__, environment)
    return environment[function.py_func.__name__]


def _count_lines(f: types.FunctionType) -> int:
    """Count the source lines of a function, without blank lines and its docstring."""
    source = inspect.getsource(f)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    docstring = range(first.lineno, (first.end_lineno or first.lineno) + 1) if f.__doc__ else ()
    return sum(bool(line.strip()) for k, line in enumerate(source.splitlines(), 1) if k not in docstring)


def _with_helpers(function: Any) -> list[Any]:
    """List a numba function and all numba functions that it calls, directly or not."""
    found = [function]
    for f in found:
        for name in f.py_func.__code__.co_names:
            value = f.py_func.__globals__.get(name)
            if isinstance(value, CPUDispatcher) and value not in found:
                found.append(value)
    return found
