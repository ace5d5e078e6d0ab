"""The dot product of two vectors: entry by entry in a loop, and in one operation on arrays."""

import numpy as np

from bench.peers.program import Program


def make_vectors(size):
    """Return two vectors of normal numbers, as one array (2, size)."""
    return tuple(np.random.default_rng(0).normal(size=(2, size)))


def in_arrays(x, y):
    """Convert both lists to arrays."""
    return np.array(x), np.array(y)


dot_loop = Program(
    "dot_loop",
    "Dot product, loop",
    "The dot product of two vectors, entry by entry in a loop.",
    make=lambda size: tuple(vector.tolist() for vector in make_vectors(size)),
    argnums=(0, 1),
    size=1000,
    unit="entries",
    quick=100,
    small=20,
)


@dot_loop.version("plain", "dualrev", "micrograd")
def _(math):
    def dot(x, y):
        """Dot product in plain Python, a loop over pairs of numbers."""
        total = 0.0
        for a, b in zip(x, y, strict=True):
            total = total + a * b
        return total

    return dot


@dot_loop.version("njit", "compiled", inputs=in_arrays)
def _():
    from numba import njit

    @njit
    def dot(x, y):
        """Dot product in numba, a loop over the indices of two arrays."""
        total = 0.0
        for k in range(len(x)):
            total += x[k] * y[k]
        return total

    return dot


@dot_loop.version("jax", form="scan", inputs=in_arrays)
def _():
    from jax import lax

    def dot(x, y):
        """Dot product in JAX: the loop is a `lax.scan`."""

        def step(total, entries):
            """Add the product of one pair of entries to the carry."""
            a, b = entries
            return total + a * b, None

        return lax.scan(step, 0.0, (x, y))[0]

    return dot


@dot_loop.version("torch", inputs=in_arrays)
def _():
    def dot(x, y):
        """Dot product in PyTorch, a loop over the entries of two tensors."""
        total = 0.0
        for a, b in zip(x, y, strict=True):
            total = total + a * b
        return total

    return dot


@dot_loop.version("autograd", inputs=in_arrays)
def _():
    def dot(x, y):
        """Dot product in autograd, a loop over indices: each access is a node of its tape."""
        total = 0.0
        for k in range(len(x)):
            total = total + x[k] * y[k]
        return total

    return dot


@dot_loop.version("casadi", inputs=in_arrays)
def _():
    def dot(x, y):
        """Dot product in CasADi: the loop runs while the graph is built."""
        total = 0.0
        for k in range(x.shape[0]):
            total = total + x[k] * y[k]
        return total

    return dot


dot_array = Program(
    "dot_array",
    "Dot product, arrays",
    "The dot product of two vectors in one operation on arrays.",
    make=make_vectors,
    argnums=(0, 1),
    size=100_000,
    unit="entries",
    quick=10_000,
    in_quick=True,
    small=20,
)


@dot_array.version("plain", "dualrev", arrays=True)
def _(np):
    return lambda x, y: np.dot(x, y)


@dot_array.version("njit", "compiled")
def _():
    from numba import njit

    @njit
    def dot(x, y):
        """Dot product in numba, by `np.dot`."""
        return np.dot(x, y)

    return dot


@dot_array.version("jax")
def _():
    import jax.numpy as jnp

    return lambda x, y: jnp.dot(x, y)


@dot_array.version("torch")
def _():
    import torch

    return lambda x, y: torch.dot(x, y)


@dot_array.version("autograd")
def _():
    import autograd.numpy as anp

    return lambda x, y: anp.dot(x, y)


@dot_array.version("casadi", symbols="MX")
def _():
    import casadi as ca

    return lambda x, y: ca.dot(x, y)
