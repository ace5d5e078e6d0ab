"""A matrix times a vector: entry by entry in two loops, and in one operation on arrays."""

import numpy as np

from bench.peers.program import Program


def make_matrix_and_vector(size):
    """Return a square matrix and a vector of normal numbers."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(size, size)), rng.normal(size=size)


def in_arrays(a, x):
    """Convert the matrix and the vector to arrays."""
    return np.array(a), np.array(x)


matvec_loop = Program(
    "matvec_loop",
    "Matrix times vector, loops",
    "The sum of the squares of a matrix-vector product, entry by entry in two loops.",
    make=lambda size: tuple(array.tolist() for array in make_matrix_and_vector(size)),
    argnums=(0, 1),
    size=32,
    unit="rows",
    quick=10,
    small=5,
)


@matvec_loop.version("plain", "dualrev", "micrograd")
def _(math):
    def sum_of_squares(a, x):
        """Sum of squares in plain Python, two loops over lists."""
        total = 0.0
        for row in a:
            y = 0.0
            for a_ij, x_j in zip(row, x, strict=True):
                y = y + a_ij * x_j
            total = total + y * y
        return total

    return sum_of_squares


@matvec_loop.version("njit", "compiled", inputs=in_arrays)
def _():
    from numba import njit

    @njit
    def sum_of_squares(a, x):
        """Sum of squares in numba, two loops over indices."""
        total = 0.0
        for i in range(len(a)):
            y = 0.0
            for j in range(len(x)):
                y += a[i, j] * x[j]
            total += y * y
        return total

    return sum_of_squares


@matvec_loop.version("jax", form="vmap of scan", inputs=in_arrays)
def _():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def sum_of_squares(a, x):
        """Sum of squares in JAX: `vmap` over the rows, `lax.scan` over the entries of a row."""

        def add_product(y, entries):
            """Add the product of one pair of entries to the carry."""
            a_ij, x_j = entries
            return y + a_ij * x_j, None

        def product(row):
            """Dot product of a row and the vector."""
            return lax.scan(add_product, 0.0, (row, x))[0]

        return jnp.sum(jax.vmap(product)(a) ** 2)

    return sum_of_squares


@matvec_loop.version("torch", inputs=in_arrays)
def _():
    def sum_of_squares(a, x):
        """Sum of squares in PyTorch, two loops over the entries of tensors."""
        total = 0.0
        entries = x.unbind()
        for row in a:
            y = 0.0
            for a_ij, x_j in zip(row, entries, strict=True):
                y = y + a_ij * x_j
            total = total + y * y
        return total

    return sum_of_squares


@matvec_loop.version("autograd", inputs=in_arrays)
def _():
    def sum_of_squares(a, x):
        """Sum of squares in autograd, two loops over indices: each access is a node of its tape."""
        total = 0.0
        for i in range(len(a)):
            y = 0.0
            for j in range(len(x)):
                y = y + a[i, j] * x[j]
            total = total + y * y
        return total

    return sum_of_squares


@matvec_loop.version("casadi", inputs=in_arrays)
def _():
    def sum_of_squares(a, x):
        """Sum of squares in CasADi: both loops run while the graph is built."""
        total = 0.0
        for i in range(a.shape[0]):
            y = 0.0
            for j in range(a.shape[1]):
                y = y + a[i, j] * x[j]
            total = total + y * y
        return total

    return sum_of_squares


matvec_array = Program(
    "matvec_array",
    "Matrix times vector, arrays",
    "The sum of the squares of a matrix-vector product, in operations on arrays.",
    make=make_matrix_and_vector,
    argnums=(0, 1),
    size=300,
    unit="rows",
    quick=100,
    small=5,
)


@matvec_array.version("plain", "dualrev", arrays=True)
def _(np):
    return lambda a, x: np.sum((a @ x) ** 2)


@matvec_array.version("njit", "compiled")
def _():
    from numba import njit

    @njit
    def sum_of_squares(a, x):
        """Sum of squares in numba, by the operator `@`."""
        return np.sum((a @ x) ** 2)

    return sum_of_squares


@matvec_array.version("jax")
def _():
    import jax.numpy as jnp

    return lambda a, x: jnp.sum((a @ x) ** 2)


@matvec_array.version("torch")
def _():
    return lambda a, x: ((a @ x) ** 2).sum()


@matvec_array.version("autograd")
def _():
    import autograd.numpy as anp

    return lambda a, x: anp.sum((a @ x) ** 2)


@matvec_array.version("casadi", symbols="MX")
def _():
    import casadi as ca

    return lambda a, x: ca.sumsqr(a @ x)
