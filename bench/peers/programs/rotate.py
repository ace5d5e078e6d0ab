"""A vector that a quaternion turns many times: vectors of three numbers, for which arrays gain little."""

import numpy as np

from bench.peers.program import Program


def make_rotate(turns):
    """Return a unit quaternion, a vector, and how often to turn it."""
    q = np.array([0.9, 0.1, -0.3, 0.2])
    return tuple((q / np.sqrt(q @ q)).tolist()), (0.3, -1.2, 0.7), turns


def arrays(q, v, turns):
    """Convert the quaternion and the vector to arrays."""
    return np.array(q), np.array(v), turns


rotate = Program(
    "rotate",
    "Rotations by a quaternion",
    "The sum of a vector that a unit quaternion has turned many times: a loop without branches, over three numbers.",
    make=make_rotate,
    argnums=(0, 1),
    size=500,
    unit="turns",
    quick=50,
    small=3,
)


@rotate.version("plain", "dualrev", "micrograd")
def _(math):
    def turned(q, v):
        """Return `v`, turned once: products of seven numbers."""
        s, a, b, c = q
        x, y, z = v
        along = 2.0 * (a * x + b * y + c * z)
        same = s * s - (a * a + b * b + c * c)
        twice = 2.0 * s
        return (
            along * a + same * x + twice * (b * z - c * y),
            along * b + same * y + twice * (c * x - a * z),
            along * c + same * z + twice * (a * y - b * x),
        )

    def sum_of_turned(q, v, turns):
        """Sum of the turned vector in plain Python, on tuples of numbers."""
        for _ in range(turns):
            v = turned(q, v)
        return v[0] + v[1] + v[2]

    return sum_of_turned


@rotate.version("njit", "compiled")
def _():
    from numba import njit

    @njit
    def turned(q, v):
        """Return `v`, turned once: products of seven numbers."""
        s, a, b, c = q
        x, y, z = v
        along = 2.0 * (a * x + b * y + c * z)
        same = s * s - (a * a + b * b + c * c)
        twice = 2.0 * s
        return (
            along * a + same * x + twice * (b * z - c * y),
            along * b + same * y + twice * (c * x - a * z),
            along * c + same * z + twice * (a * y - b * x),
        )

    @njit
    def sum_of_turned(q, v, turns):
        """Sum of the turned vector in numba, on tuples of numbers."""
        for _ in range(turns):
            v = turned(q, v)
        return v[0] + v[1] + v[2]

    return sum_of_turned


@rotate.version("jax", form="scan", inputs=arrays, note="vectors as arrays, the loop as lax.scan")
def _():
    import jax.numpy as jnp
    from jax import lax

    def sum_of_turned(q, v, turns):
        """Sum of the turned vector in JAX: `lax.scan` over the turns, on arrays of three numbers."""
        s, u = q[0], q[1:]

        def turn(v, _):
            """Turn the vector once, by dot and cross products."""
            return 2.0 * jnp.dot(u, v) * u + (s * s - jnp.dot(u, u)) * v + 2.0 * s * jnp.cross(u, v), None

        v, _ = lax.scan(turn, v, length=turns)
        return jnp.sum(v)

    return sum_of_turned


@rotate.version("torch", form="vectors", inputs=arrays)
def _():
    import torch

    def sum_of_turned(q, v, turns):
        """Sum of the turned vector in PyTorch, a loop with dot and cross products."""
        s, u = q[0], q[1:]
        for _ in range(turns):
            v = 2.0 * torch.dot(u, v) * u + (s * s - torch.dot(u, u)) * v + 2.0 * s * torch.linalg.cross(u, v)
        return v.sum()

    return sum_of_turned


@rotate.version("autograd", form="vectors", inputs=arrays)
def _():
    import autograd.numpy as np

    def sum_of_turned(q, v, turns):
        """Sum of the turned vector in autograd, a loop with dot and cross products."""
        s, u = q[0], q[1:]
        for _ in range(turns):
            v = 2.0 * np.dot(u, v) * u + (s * s - np.dot(u, u)) * v + 2.0 * s * np.cross(u, v)
        return np.sum(v)

    return sum_of_turned


@rotate.version("casadi", form="SX", inputs=arrays, note="the loop is unrolled, into operations of scalars")
def _():
    import casadi as ca

    def sum_of_turned(q, v, turns):
        """Sum of the turned vector in CasADi: the loop is unrolled into scalar operations."""
        s, u = q[0], q[1:]
        for _ in range(turns):
            v = 2.0 * ca.dot(u, v) * u + (s * s - ca.dot(u, u)) * v + 2.0 * s * ca.cross(u, v)
        return ca.sum1(v)

    return sum_of_turned


@rotate.version("casadi", form="fold", inputs=arrays, note="the loop as Function.fold", symbols="MX")
def _():
    import casadi as ca

    def sum_of_turned(q, v, turns):
        """Sum of the turned vector in CasADi: `Function.fold` over the turns."""
        start, s, u = ca.SX.sym("start", 3), ca.SX.sym("s"), ca.SX.sym("u", 3)
        turned = 2.0 * ca.dot(u, start) * u + (s * s - ca.dot(u, u)) * start + 2.0 * s * ca.cross(u, start)
        turn = ca.Function("turn", [start, s, u], [turned])
        return ca.sum1(turn.fold(turns)(v, ca.repmat(q[0], 1, turns), ca.repmat(q[1:], 1, turns)))

    return sum_of_turned
