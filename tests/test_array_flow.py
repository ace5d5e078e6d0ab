"""Cotangents of whole arrays, values kept by reference, ids that are not written out: random sequences, and edges."""

import random

import numpy as np
import pytest

import dualrev as dr
from dualrev import numpy as dnp


def _write_half(rng, a, b):
    k = rng.randrange(1, len(a))
    a[:k] = b[len(b) - k :]


def _write_elements(rng, a, b):
    places = rng.sample(range(len(a)), 3)
    a[places] = b[sorted(places)] * 0.5


def _write_one(rng, a, b):
    a[rng.randrange(len(a))] = b[rng.randrange(-len(b), len(b))]


def _write_through_a_view(rng, a, b):
    view = a.reshape(2, -1).T if rng.random() < 0.5 else a[::-1].reshape(-1, 2)
    view[1:, 0] = b[: len(view) - 1]


def _write_all(rng, a, b):
    a[...] = b


def _write_a_constant(rng, a, b):
    a[rng.randrange(len(a)) :] = 0.25


WRITES = [_write_half, _write_elements, _write_one, _write_through_a_view, _write_all, _write_a_constant]
MAKES = [
    lambda a, b, c: a + b,
    lambda a, b, c: a - b,
    lambda a, b, c: a * b,
    lambda a, b, c: a / (2.0 + b * b),
    lambda a, b, c: np.tanh(a),
    lambda a, b, c: np.exp(-a * a),
    lambda a, b, c: np.where(c > 0.0, a, b),
    lambda a, b, c: np.where(c > 0.0, a, 0.5),
    lambda a, b, c: np.concatenate([a[2:], b[:2]]),
    lambda a, b, c: a[np.arange(len(a)) // 2],
    lambda a, b, c: a[::-1] * b[::-1],
    lambda a, b, c: (a.reshape(2, -1) + b[: len(b) // 2]).reshape(-1),
    lambda a, b, c: (a.reshape(2, -1).T * b.reshape(-1, 2)).ravel(),
    lambda a, b, c: a - np.mean(b),
    lambda a, b, c: a * np.mean(b.reshape(2, -1), axis=1)[1],
    lambda a, b, c: a + np.dot(a, b) / len(a),
    lambda a, b, c: (a.reshape(2, -1) @ b.reshape(-1, 2)).reshape(-1)[np.arange(len(a)) % 4] / len(a),
    lambda a, b, c: np.sort(a) * c,
    lambda a, b, c: a[1] * b,
    lambda a, b, c: c * a,
    lambda a, b, c: np.copy(a),
    lambda a, b, c: a[:],
]


def program(seed):
    """A sequence of operations and writes on arrays, some of them views of others, and its argument."""
    n = 240 if seed % 4 == 0 else 6

    def f(x):
        rng = random.Random(seed)
        c = np.linspace(-1.0, 1.5, n)
        zeros = dnp.zeros if isinstance(x, dr.RealArray) else np.zeros
        pool = [x * 1.0, x[::-1] * 0.5, zeros(n)]
        for _ in range(rng.randrange(4, 14)):
            if rng.random() < 0.4:
                rng.choice(WRITES)(rng, rng.choice(pool), rng.choice(pool))
            else:
                pool[rng.randrange(3)] = rng.choice(MAKES)(rng.choice(pool), rng.choice(pool), c)
            if rng.random() < 0.1:
                c[rng.randrange(n)] *= -1.0
        return np.sum(pool[0] * pool[1]) + np.sum(np.tanh(pool[2]))

    return f, np.random.default_rng(seed).uniform(-1.0, 1.0, n)


def agrees(seed, order=1):
    f, x = program(seed)
    y, gradient = dr.value_and_grad(f)(x)
    v = np.random.default_rng(seed + 1).uniform(-1.0, 1.0, len(x))
    h = 1e-6
    if not np.isfinite(y) or np.abs(gradient).max() > 1e3:
        return
    assert y == pytest.approx(f(x), rel=1e-12, abs=1e-12), seed
    expected = (f(x + h * v) - f(x - h * v)) / (2 * h)
    scale = 1.0 + np.abs(gradient).max()
    assert gradient @ v == pytest.approx(expected, rel=1e-4, abs=1e-4 * scale), seed
    assert dr.jvp(f, (x,), (v,))[1] == pytest.approx(gradient @ v, rel=1e-9, abs=1e-9 * scale), seed
    if order == 2 and len(x) < 10:
        hessian = dr.hessian(f)(x)
        product = dr.hvp(f)(x, v)
        size = 1.0 + np.abs(hessian).max()
        if size < 1e3:
            assert np.allclose(hessian, hessian.T, rtol=1e-8, atol=1e-8 * size), seed
            assert np.allclose(product, hessian @ v, rtol=1e-8, atol=1e-8 * size), seed
            slopes = (dr.grad(f)(x + h * v) - dr.grad(f)(x - h * v)) / (2 * h)
            assert np.allclose(product, slopes, rtol=1e-3, atol=1e-3 * size), seed


def test_random_sequences_have_the_derivatives_of_differences():
    for seed in range(150):
        agrees(seed, order=2 if seed % 10 == 0 else 1)


@pytest.mark.slow
def test_many_random_sequences_have_the_derivatives_of_differences():
    for seed in range(1000, 21000):
        agrees(seed, order=2 if seed % 20 == 0 else 1)
