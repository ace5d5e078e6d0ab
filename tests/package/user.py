"""Typical code of users: tests/repo/test_package.py runs it, and checks it with mypy and pyright."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_type

import numpy as np
from numba import njit
from numpy.typing import NDArray

import dualrev as dr

Array = NDArray[np.float64]


@dataclass
class Line:
    slope: Array
    intercept: float


def power(x: float, n: int = 2) -> float:
    y = 1.0
    for _ in range(n):
        y *= x
    return y


def loss(line: Line, x: Array) -> np.float64:
    return np.sum((x @ line.slope + line.intercept) ** 2)


def noted(x: float) -> tuple[float, str]:
    return x * x, "square"


def doubled(x: Array) -> Array:
    return 2.0 * x


def length(x: Array) -> np.float64:
    return np.sum(x * x)


@dr.custom_vjp
def clipped(x: float) -> float:
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (min(max(ct, -1.0), 1.0),))


def steep(x: float) -> float:
    return 100.0 * clipped(x)


@njit
def swing(stiffness: float, steps: int) -> float:
    x, v = 1.0, 0.0
    for _ in range(steps):
        v -= 0.01 * stiffness * x
        x += 0.01 * v
    return x


assert_type(dr.grad(power)(3.0), float)
assert_type(dr.grad(dr.grad(power))(3.0, n=3), float)
assert_type(dr.value_and_grad(power)(3.0, 4), tuple[float, float])
assert_type(dr.grad(noted, has_aux=True)(3.0), tuple[float, str])
assert_type(dr.value_and_grad(noted, has_aux=True)(3.0), tuple[tuple[float, str], float])
assert_type(dr.grad(loss)(Line(np.ones(2), 0.5), np.eye(2)), Line)
assert_type(dr.hvp(power)(3.0, 1.0), float)
assert_type(dr.jvp(power, (3.0,), (1.0,)), tuple[float, float])
assert_type(dr.vjp(noted, 3.0, has_aux=True)[2], str)
assert_type(dr.grad(power, argnames="x")(3.0), Any)
assert_type(dr.linearize(power, 3.0)[1](1.0), float)
assert_type(dr.linearize(noted, 3.0, has_aux=True)[2], str)
assert_type(dr.jacobian(power)(3.0), float)
assert_type(dr.jacobian(doubled)(np.ones(2)), NDArray[Any])
assert_type(dr.jacrev(noted, has_aux=True)(3.0), tuple[Any, str])
assert_type(dr.jacfwd(lambda x: x * x[0])(np.ones(2)), Any)
assert_type(dr.hessian(power)(3.0), float)
assert_type(dr.hessian(length)(np.ones(2)), NDArray[Any])
assert_type(dr.vmap(power)(np.ones(2)), NDArray[Any])
assert_type(dr.vmap(noted, in_axes=0), Callable[..., Any])
assert_type(clipped(3.0), float)
assert_type(dr.checkpoint(power)(3.0), float)
assert_type(dr.stop_gradient(3.0), float)

assert dr.grad(power)(3.0) == 6.0
assert dr.grad(power, argnums=0)(3.0, 3) == 27.0
assert dr.grad(steep)(3.0) == 1.0
assert dr.grad(loss)(Line(np.ones(2), 0.5), np.eye(2)).intercept == 6.0
slope, plain = dr.grad(swing)(2.0, 50), dr.grad(swing.py_func)(2.0, 50)
assert abs(slope - plain) < 1e-12, (slope, plain)
print(dr.__version__, dr.__file__)
