"""The programs of `bench/compiled.py --arrays`: numba functions whose statements work on whole arrays.

Each returns one float. Some have an adjoint, their gradient written by hand in numba, in array_adjoints.py. The last
two, a stencil and Horner's rule, are scalar loops that LLVM vectorises; they show whether it also vectorises the loops
of their gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bench.programs.compiled_programs import PROGRAMS, Program

__all__ = ["ARRAYS", "EVERY"]

# ----------------------------------------------------------------------------------------------------------------------
# Runge and Kutta's fourth-order method for coupled oscillators


@njit
def force(x, v, k):
    """Acceleration of the oscillators: a pull back to 0, and friction."""
    return -k * np.sin(x) - 0.1 * v


@njit
def rk4(x, v, k, steps):
    """Sum of squares of the state after `steps` steps of RK4: allocates new arrays in every statement."""
    h = 0.01
    for _ in range(steps):
        a1 = force(x, v, k)
        v2 = v + 0.5 * h * a1
        a2 = force(x + 0.5 * h * v, v2, k)
        v3 = v + 0.5 * h * a2
        a3 = force(x + 0.5 * h * v2, v3, k)
        v4 = v + h * a3
        a4 = force(x + h * v3, v4, k)
        x = x + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
        v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return np.sum(x * x) + np.sum(v * v)


def make_rk4(size: int) -> tuple[Any, ...]:
    """Return `size` oscillators, and 20 steps."""
    rng = np.random.default_rng(0)
    return rng.normal(size=size), rng.normal(size=size), rng.uniform(0.5, 2.0, size), 20


# ----------------------------------------------------------------------------------------------------------------------
# Shallow water over uneven ground, in slices


@njit
def shallow_water(h, u, ground, steps):
    """Sum of squares of height and speed after `steps` steps: overlapping slices, updated in place."""
    h, u = h.copy(), u.copy()
    for _ in range(steps):
        surface = h + ground
        u[1:-1] -= 0.05 * (surface[1:] - surface[:-1])
        u[1:-1] *= 1.0 - 0.01 * np.abs(u[1:-1])
        flux = u[1:-1] * 0.5 * (h[1:] + h[:-1])
        h[1:] += 0.05 * flux
        h[:-1] -= 0.05 * flux
    return np.sum(h * h) + np.sum(u**2)


def make_shallow_water(size: int) -> tuple[Any, ...]:
    """Return a bump of water on `size` cells over a wavy ground, and 50 steps."""
    place = np.linspace(0.0, 1.0, size)
    return 1.0 + 0.1 * np.exp(-100.0 * (place - 0.5) ** 2), np.zeros(size + 1), 0.05 * np.sin(9.0 * place), 50


# ----------------------------------------------------------------------------------------------------------------------
# Heat with an unknown conductivity, explicit steps on a grid, compared with what was measured


@njit
def heat(conductivity, start, measured, steps):
    """Squared distance of the last temperatures from those measured: slices of two-dimensional arrays."""
    t = start.copy()
    across = 0.5 * (conductivity[:, 1:] + conductivity[:, :-1])
    down = 0.5 * (conductivity[1:, :] + conductivity[:-1, :])
    for _ in range(steps):
        by_x = across * (t[:, 1:] - t[:, :-1])
        by_y = down * (t[1:, :] - t[:-1, :])
        t[1:-1, 1:-1] += 0.1 * (by_x[1:-1, 1:] - by_x[1:-1, :-1] + by_y[1:, 1:-1] - by_y[:-1, 1:-1])
    return np.sum((t - measured) ** 2)


def make_heat(size: int) -> tuple[Any, ...]:
    """Return conductivities, first and measured temperatures of `size` x `size` cells, and 20 steps."""
    rng = np.random.default_rng(0)
    shape = size, size
    return rng.uniform(0.5, 1.0, shape), rng.normal(size=shape), rng.normal(size=shape), 20


# ----------------------------------------------------------------------------------------------------------------------
# The energy of bodies under gravity, by broadcasting


@njit
def gravity(x, mass):
    """Potential energy: distances of all pairs by broadcasting, in an array of shape (n, n, 3)."""
    n = x.shape[0]
    apart = np.expand_dims(x, 1) - np.expand_dims(x, 0)
    squared = np.sum(apart * apart, axis=2) + 0.01
    return -0.5 * np.sum(mass.reshape(n, 1) * mass / np.sqrt(squared))


def make_gravity(size: int) -> tuple[Any, ...]:
    """Return `size` bodies with random masses."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(size, 3)), rng.uniform(0.5, 2.0, size)


# ----------------------------------------------------------------------------------------------------------------------
# The likelihood of a Kalman filter, by matrices


@njit
def kalman_matrices(transition, noise, observe, error, ys):
    """Log-likelihood of the observations: products of small matrices, `solve` and `det` in every step."""
    n = transition.shape[0]
    m, p = np.zeros(n), np.eye(n)
    likelihood = 0.0
    for t in range(ys.shape[0]):
        m = transition @ m
        p = transition @ p @ transition.T + noise
        innovation = ys[t] - observe @ m
        s = observe @ p @ observe.T + error
        solved = np.linalg.solve(s, innovation)
        likelihood -= 0.5 * (innovation @ solved + np.log(np.linalg.det(s)))
        gain = p @ observe.T
        m = m + gain @ solved
        p = p - gain @ np.linalg.solve(s, gain.T)
    return likelihood


def make_kalman_matrices(size: int) -> tuple[Any, ...]:
    """Return a filter with four states, and `size` observations of two numbers each."""
    rng = np.random.default_rng(0)
    n, k = 4, 2
    transition = 0.9 * np.eye(n) + 0.05 * rng.normal(size=(n, n))
    ys = rng.normal(size=(size, k))
    return transition, 0.1 * np.eye(n), rng.normal(size=(k, n)), 0.5 * np.eye(k), ys


# ----------------------------------------------------------------------------------------------------------------------
# A network of two layers, trained on classes


@njit
def network(w1, b1, w2, b2, x, labels):
    """Mean cross-entropy of the batch: two matrix products, then a loop over its rows."""
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    loss = 0.0
    for i in range(len(labels)):
        row = scores[i] - np.max(scores[i])
        loss += np.log(np.sum(np.exp(row))) - row[labels[i]]
    return loss / len(labels)


def make_network(size: int) -> tuple[Any, ...]:
    """Return a network of 20, 50 and 10 units, and `size` rows with their labels."""
    rng = np.random.default_rng(0)
    inputs, hidden, classes = 20, 50, 10
    weights = 0.2 * rng.normal(size=(inputs, hidden)), np.zeros(hidden)
    weights += 0.2 * rng.normal(size=(hidden, classes)), np.zeros(classes)
    return *weights, rng.normal(size=(size, inputs)), rng.integers(0, classes, size)


# ----------------------------------------------------------------------------------------------------------------------
# A recursive network over a binary tree, with a vector at each node


@njit
def encoded(w, b, words, left, right, node):
    """Encode the tree below `node` as a vector, by recursion."""
    if left[node] < 0:
        return words[node]
    one = encoded(w, b, words, left, right, left[node])
    other = encoded(w, b, words, left, right, right[node])
    gates = w @ np.concatenate((one, other)) + b
    n = len(one)
    keep = 1.0 / (1.0 + np.exp(-gates[:n]))
    return keep * np.tanh(gates[n:]) + (1.0 - keep) * 0.5 * (one + other)


@njit
def tree_network(w, b, words, left, right):
    """Sum of squares of the vector at the root."""
    root = encoded(w, b, words, left, right, 0)
    return np.sum(root * root)


def make_tree_network(size: int) -> tuple[Any, ...]:
    """Return a complete binary tree with `size` leaves and vectors of 16 numbers."""
    rng = np.random.default_rng(0)
    n, nodes = 16, 2 * size - 1
    left, right = np.full(nodes, -1), np.full(nodes, -1)
    for node in range(size - 1):
        left[node], right[node] = 2 * node + 1, 2 * node + 2
    return 0.3 * rng.normal(size=(2 * n, 2 * n)), np.zeros(2 * n), rng.normal(size=(nodes, n)), left, right


# ----------------------------------------------------------------------------------------------------------------------
# Attention


@njit
def attention(x, query, key, value):
    """Sum of squares of one attention layer's output: matrix products, and a softmax row by row."""
    q, k, v = x @ query, x @ key, x @ value
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.empty_like(scores)
    for i in range(scores.shape[0]):
        e = np.exp(scores[i] - scores[i].max())
        weights[i] = e / e.sum()
    y = weights @ v
    return np.sum(y * y)


def make_attention(size: int) -> tuple[Any, ...]:
    """Return a sequence of `size` vectors of 16 numbers, and the three matrices of the layer."""
    rng = np.random.default_rng(0)
    n = 16
    return rng.normal(size=(size, n)), *(rng.normal(size=(n, n)) / 4.0 for _ in range(3))


# ----------------------------------------------------------------------------------------------------------------------
# Leapfrog steps of Hamiltonian Monte Carlo for a logistic regression: the energy at the end, by the start


@njit
def leapfrog(beta, momentum, x, y, step):
    """Energy after five leapfrog steps: two products with the data matrix in each gradient."""
    for _ in range(5):
        p = 1.0 / (1.0 + np.exp(-(x @ beta)))
        momentum = momentum + 0.5 * step * (x.T @ (y - p) - beta)
        beta = beta + step * momentum
        p = 1.0 / (1.0 + np.exp(-(x @ beta)))
        momentum = momentum + 0.5 * step * (x.T @ (y - p) - beta)
    z = x @ beta
    return np.sum(np.log(1.0 + np.exp(z)) - y * z) + 0.5 * np.sum(beta**2) + 0.5 * np.sum(momentum**2)


def make_leapfrog(size: int) -> tuple[Any, ...]:
    """Return a regression with 10 coefficients and `size` rows, and a step size."""
    rng = np.random.default_rng(0)
    n = 10
    x = rng.normal(size=(size, n))
    return rng.normal(size=n), rng.normal(size=n), x, (rng.random(size) < 0.5) * 1.0, 0.01


# ----------------------------------------------------------------------------------------------------------------------
# In scalar style: an explicit stencil, and a polynomial at many places


@njit
def stencil(u, rate, steps):
    """Sum of squares after `steps` explicit steps of the heat equation: two arrays that swap names."""
    now, then = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            then[i] = now[i] + rate * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, then = then, now
    total = 0.0
    for i in range(len(u)):
        total += now[i] * now[i]
    return total


def make_stencil(size: int) -> tuple[Any, ...]:
    """Return `size` temperatures, a rate, and 80 steps."""
    return np.random.default_rng(0).normal(size=size), 0.2, 80


@njit
def horner(coefficients, x):
    """Sum of squares of a polynomial at all x, by Horner's rule."""
    total = 0.0
    for i in range(len(x)):
        p = 0.0
        for k in range(len(coefficients)):
            p = p * x[i] + coefficients[k]
        total += p * p
    return total


def make_horner(size: int) -> tuple[Any, ...]:
    """Return 8 coefficients and `size` arguments."""
    rng = np.random.default_rng(0)
    return rng.normal(size=8), rng.uniform(-1.0, 1.0, size)


# ----------------------------------------------------------------------------------------------------------------------
# All of them

_ENTRIES = [
    Program("rk4", rk4, make_rk4, 1000, 3, (0, 1, 2)),
    Program("rk4_small", rk4, make_rk4, 8, 3, (0, 1, 2)),
    Program("shallow_water", shallow_water, make_shallow_water, 1000, 6, (0, 1, 2)),
    Program("heat", heat, make_heat, 100, 5, (0, 1, 2)),
    Program("gravity", gravity, make_gravity, 200, 4, (0, 1)),
    Program("kalman_matrices", kalman_matrices, make_kalman_matrices, 200, 4, (0, 1, 2, 3, 4)),
    Program("network", network, make_network, 200, 5, (0, 1, 2, 3, 4)),
    Program("tree_network", tree_network, make_tree_network, 64, 4, (0, 1, 2)),
    Program("attention", attention, make_attention, 64, 4, (0, 1, 2, 3)),
    Program("leapfrog", leapfrog, make_leapfrog, 500, 6, (0, 1, 2, 3, 4)),
    Program("stencil", stencil, make_stencil, 1000, 6, (0, 1)),
    Program("horner", horner, make_horner, 10_000, 4, (0, 1)),
]
ARRAYS = {program.name: program for program in _ENTRIES}

#: All programs: in scalar style, and those above.
EVERY = PROGRAMS | ARRAYS
