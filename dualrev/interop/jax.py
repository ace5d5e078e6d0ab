"""Function of dualrev for JAX: `jax.pure_callback` with reverse-mode rules of two orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from dualrev.interop.jacobian_products import Products, type_error

__all__ = ["function"]


def __dir__() -> list[str]:
    return __all__


def function(f: Callable[..., Any], *data: Any, shape: tuple[int, ...] = ()) -> Callable[[Any], Any]:
    """JAX function of x that computes f(x, *data): for jit, grad, Hessians (jacrev of jacrev) and vmap.

    Args:
        f: Function of an array or a number, and of data: a numba function or a Python function.
        *data: Constants.
        shape: Shape of the value of f, which JAX needs in advance; () for a number.

    Returns:
        A function of a JAX array of doubles.

    Raises:
        BridgeError: x is not an array of doubles, which need `jax.config.update("jax_enable_x64", True)`.

    Reverse mode only, of two orders: JAX raises errors of its own for jvp, jacfwd and hessian (forward over reverse).
    Write `jax.jacrev(jax.grad(...))`.

    >>> jax.config.update("jax_enable_x64", True)
    >>> slope = jax.grad(function(lambda x: (x * x).sum()))
    >>> np.asarray(slope(np.array([1.0, 2.0]))).tolist()
    [2.0, 4.0]
    """
    products = Products(f, data, shape)

    def call(method: Callable[..., Any], shape: tuple[int, ...], *args: Any) -> Any:
        """Call a method of the products from JAX, with a result of this shape."""
        result = jax.ShapeDtypeStruct(shape, np.float64)
        return jax.pure_callback(lambda *xs: method(*map(np.asarray, xs)), result, *args, vmap_method="sequential")

    @jax.custom_vjp
    def value(x: Any) -> Any:
        """Return f(x)."""
        return call(products.value, products.shape, x)

    @jax.custom_vjp
    def pull(x: Any, ct: Any) -> Any:
        """Return the cotangent of x, as a function that has a derivative itself."""
        return call(products.pull, x.shape, x, ct)

    def derivative_of_pull(kept: Any, u: Any) -> Any:
        """Return the cotangents of x and of ct."""
        x, ct = kept
        return call(products.second, x.shape, x, ct, u), call(products.push, products.shape, x, u)

    value.defvjp(lambda x: (value(x), x), lambda x, ct: (pull(x, ct),))
    pull.defvjp(lambda x, ct: (pull(x, ct), (x, ct)), derivative_of_pull)

    def checked(x: Any) -> Any:
        """Return f(x) for an x of doubles."""
        x = jax.numpy.asarray(x)
        if x.dtype != np.float64:
            raise type_error(
                products.name,
                f"a JAX array of {x.dtype}",
                'jax.config.update("jax_enable_x64", True), and x of doubles',
            )
        return value(x)

    checked.__name__ = checked.__qualname__ = products.name
    return checked
