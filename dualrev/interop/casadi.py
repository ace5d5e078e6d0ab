"""Function of dualrev for CasADi: a Callback, whose Jacobian is a Callback, and so is the Jacobian of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from dualrev.interop.jacobian_products import Products, axes_error

__all__ = ["function"]


def __dir__() -> list[str]:
    return __all__


_ORDERS = 2


def function(f: Callable[..., Any], n: int, *data: Any, shape: tuple[int, ...] = ()) -> casadi.Callback:
    """CasADi function of a column of n numbers that computes f(x, *data), with a dense Jacobian and Hessian.

    Args:
        f: Function of an array of n doubles, and of data: a numba function or a Python function.
        n: Number of variables.
        *data: Constants.
        shape: Shape of the value of f: () for a number, (m,) for a column.

    Returns:
        A `casadi.Callback` for numbers and MX symbols, with exact Hessians in `nlpsol`. CasADi keeps no reference; keep
        the object in a variable as long as the expressions that use it.

    Raises:
        BridgeError: `shape` has more than one axis.

    >>> def square(x):  # CasADi takes its name: a lambda has none
    ...     return (x * x).sum()
    >>> float(function(square, 2)(casadi.DM([1.0, 2.0])))
    5.0
    """
    if len(shape) > 1:
        raise axes_error(getattr(f, "__name__", "f"), shape, "CasADi")
    return _Level(Products(f, data, shape), n, 0)


class _Level(casadi.Callback):
    """Value, Jacobian or Jacobian of the Jacobian; CasADi stacks the columns of a matrix in a vector."""

    def __init__(self, products: Products, n: int, order: int) -> None:
        casadi.Callback.__init__(self)
        self.products, self.n, self.order = products, n, order
        self.m = products.shape[0] if products.shape else 1
        self.kept: list[casadi.Callback] = []  # CasADi does not hold on to them
        self.construct(f"{products.name}_{order}" if order else products.name, {})

    def get_n_in(self) -> int:
        """Return the number of arguments: a Jacobian gets the result of its function, too."""
        return 1 + self.order  # a Jacobian gets what it is the Jacobian of as well

    def get_n_out(self) -> int:
        """Return the number of results: a Jacobian has one with respect to each argument."""
        return max(1, self.order)  # ... and is made by each of its arguments

    def get_sparsity_in(self, i: int) -> casadi.Sparsity:
        """Return the sparsity of argument i: dense for x, empty for results, which no derivative uses."""
        dense = casadi.Sparsity.dense
        return (dense(self.n, 1), casadi.Sparsity(self.m, 1), casadi.Sparsity(self.m, self.n))[i]

    def get_sparsity_out(self, i: int) -> casadi.Sparsity:
        """Return the sparsity of result i."""
        rows = self.m * self.n if self.order == _ORDERS else self.m
        if i == 1:  # a Jacobian does not depend on the value
            return casadi.Sparsity(rows, self.m)
        return casadi.Sparsity.dense(rows, self.n if self.order else 1)

    def eval(self, args: Any) -> list[Any]:
        """Compute the value, the Jacobian or its Jacobian."""
        x = np.array(args[0], dtype=np.float64).reshape(self.n)
        if self.order == 0:
            return [casadi.DM(self.products.value(x).reshape(self.m, 1))]
        if self.order == 1:
            return [casadi.DM(self.products.jacobian(x).reshape(self.m, self.n))]
        curved = self.products.curved(x).reshape(self.m, self.n, self.n)
        rows = self.m * self.n
        return [casadi.DM(curved.transpose(1, 0, 2).reshape(rows, self.n)), casadi.DM(rows, self.m)]

    def has_jacobian(self) -> bool:
        """Whether there is a further derivative."""
        return self.order < _ORDERS

    def get_jacobian(self, name: str, inames: Any, onames: Any, options: Any) -> casadi.Callback:
        """Return the derivative of the next order."""
        self.kept.append(_Level(self.products, self.n, self.order + 1))
        return self.kept[-1]
