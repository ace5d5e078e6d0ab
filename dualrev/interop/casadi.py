"""A function of dualrev's in CasADi: a Callback, whose Jacobian is a Callback, and so is the Jacobian of that."""

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
    """f(x, *data) as a CasADi function of a column of n numbers, with a dense Jacobian and its Jacobian.

    Args:
        f: A numba function, or any other, of an array of n doubles, and of data.
        n: CasADi wants the sizes first.
        data: Constants.
        shape: That of f's results: () for a number, (m,) for a column.

    Returns:
        A `casadi.Callback`, to be called with numbers and with MX symbols: in `nlpsol`, exact Hessians included. CasADi
        does not hold on to it: keep it in a variable for as long as the expressions that it is in.

    Raises:
        BridgeError: where `shape` has more than one axis.
    """
    if len(shape) > 1:
        raise axes_error(getattr(f, "__name__", "f"), shape, "CasADi")
    return _Level(Products(f, data, shape), n, 0)


class _Level(casadi.Callback):
    """The value, the Jacobian or the Jacobian of the Jacobian; CasADi stacks the columns of a matrix in a vector."""

    def __init__(self, products: Products, n: int, order: int) -> None:
        casadi.Callback.__init__(self)
        self.products, self.n, self.order = products, n, order
        self.m = products.shape[0] if products.shape else 1
        self.kept: list[casadi.Callback] = []  # CasADi does not hold on to them
        self.construct(f"{products.name}_{order}" if order else products.name, {})

    def get_n_in(self) -> int:
        return 1 + self.order  # a Jacobian gets what it is the Jacobian of as well

    def get_n_out(self) -> int:
        return max(1, self.order)  # ... and is made by each of its arguments

    def get_sparsity_in(self, i: int) -> casadi.Sparsity:
        dense = casadi.Sparsity.dense
        return (dense(self.n, 1), casadi.Sparsity(self.m, 1), casadi.Sparsity(self.m, self.n))[i]

    def get_sparsity_out(self, i: int) -> casadi.Sparsity:
        rows = self.m * self.n if self.order == _ORDERS else self.m
        if i == 1:  # a Jacobian does not depend on the value
            return casadi.Sparsity(rows, self.m)
        return casadi.Sparsity.dense(rows, self.n if self.order else 1)

    def eval(self, args: Any) -> list[Any]:
        x = np.array(args[0], dtype=np.float64).reshape(self.n)
        if self.order == 0:
            return [casadi.DM(self.products.value(x).reshape(self.m, 1))]
        if self.order == 1:
            return [casadi.DM(self.products.jacobian(x).reshape(self.m, self.n))]
        curved = self.products.curved(x).reshape(self.m, self.n, self.n)
        rows = self.m * self.n
        return [casadi.DM(curved.transpose(1, 0, 2).reshape(rows, self.n)), casadi.DM(rows, self.m)]

    def has_jacobian(self) -> bool:
        return self.order < _ORDERS

    def get_jacobian(self, name: str, inames: Any, onames: Any, options: Any) -> casadi.Callback:
        self.kept.append(_Level(self.products, self.n, self.order + 1))
        return self.kept[-1]
