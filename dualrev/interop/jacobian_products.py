"""Products that every bridge needs of f(x, *data): its value, products with its Jacobian, and their derivative.

    value(x)            y
    pull(x, ct)         ct J          of the shape of x
    push(x, t)          J t           of the shape of y
    second(x, ct, u)    d<ct J, u>/dx of the shape of x: ct H u where f gives a number

x is an array of doubles, or one double; `data` are constants. So pull has derivatives itself: push, by ct, and second,
by x. A bridge registers that, and its library can differentiate twice. f is a numba function, whose products are
compiled, or any other function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.api import derivatives
from dualrev.errors import BridgeError

__all__ = ["Products", "axes_error", "result_error", "type_error"]


class Products:
    """Function f with `data`, whose value has this shape, and its products."""

    def __init__(self, f: Callable[..., Any], data: tuple[Any, ...], shape: tuple[int, ...]) -> None:
        self.name = getattr(f, "__name__", type(f).__name__)
        self.f, self.data, self.shape = f, data, tuple(shape)
        if self.shape:
            self._jacobian = derivatives.jacobian(f)
            self._curved = derivatives.jacfwd(self._jacobian)
        else:
            self._grad, self._hvp = derivatives.grad(f), derivatives.hvp(f)

    def value(self, x: Any) -> np.ndarray:
        """Return f(x); BridgeError if it has another shape."""
        made = np.asarray(self.f(number(x), *self.data), dtype=np.float64)
        if made.shape != self.shape:
            raise result_error(self.name, made.shape, self.shape)
        return made

    def pull(self, x: Any, ct: Any) -> np.ndarray:
        """Return ct J, of the shape of x."""
        if not self.shape:
            return np.asarray(float(ct) * self._grad(number(x), *self.data))
        _, back = derivatives.vjp(self.f, number(x), *self.data)
        return np.asarray(back(np.asarray(ct))[0])

    def push(self, x: Any, t: Any) -> np.ndarray:
        """Return J t, of the shape of y."""
        if not self.shape:
            return np.asarray(np.sum(self._grad(number(x), *self.data) * t))
        return np.tensordot(self.jacobian(x), t, np.ndim(x))

    def second(self, x: Any, ct: Any, u: Any) -> np.ndarray:
        """Return the derivative of <ct J, u> by x, of the shape of x."""
        if not self.shape:
            return np.asarray(float(ct) * self._hvp(number(x), number(u), *self.data))
        along = np.tensordot(ct, self.curved(x), len(self.shape))
        return np.tensordot(u, along, np.ndim(x))

    def jacobian(self, x: Any) -> np.ndarray:
        """Return the dense Jacobian: the shape of y, then that of x."""
        found = (self._jacobian if self.shape else self._grad)(number(x), *self.data)
        return np.asarray(found)

    def curved(self, x: Any) -> np.ndarray:
        """Return the dense derivative of the Jacobian: the shape of y, then that of x twice."""
        if self.shape:
            return np.asarray(self._curved(number(x), *self.data))
        return np.asarray(derivatives.hessian(self.f)(number(x), *self.data))


def type_error(name: str, found: str, instead: str) -> BridgeError:
    """Return the error for an argument that is not of doubles."""
    return BridgeError(f"the argument of {name!r}", f"it is {found}, and dualrev's is an array of doubles", instead)


def result_error(name: str, found: tuple[int, ...], announced: tuple[int, ...]) -> BridgeError:
    """Return the error for a result of another shape than the one announced."""
    why = f"its shape is {found}, where {announced} was announced"
    return BridgeError(f"the result of {name!r}", why, f"shape={found}, or a function that gives the other")


def axes_error(name: str, shape: tuple[int, ...], library: str) -> BridgeError:
    """Return the error for an array that has to be a vector."""
    return BridgeError(f"{name} of shape {shape}", f"{library} takes vectors here", "x.ravel(), an array of one axis")


def number(x: Any) -> Any:
    """Return x as a writable array of doubles, or as a float if it has no axes."""
    return float(x) if np.ndim(x) == 0 else np.array(x, dtype=np.float64)
