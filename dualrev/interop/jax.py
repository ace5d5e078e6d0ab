"""A function of dualrev's in JAX: `jax.pure_callback`, with rules for reverse mode, twice."""

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
    """f(x, *data) as a function of x for JAX: under jit, grad, hessian (jacrev of jacrev) and vmap.

    Args:
        f: A numba function, or any other, of an array or a number, and of data.
        data: Constants.
        shape: That of f's results. JAX wants to know it before it calls f; () is a number.

    Returns:
        A function of a JAX array of doubles.

    Raises:
        BridgeError: where x is not of doubles, which JAX has after `jax.config.update("jax_enable_x64", True)`.

    Reverse mode only: JAX's `jvp`, `jacfwd` and `hessian`, which is forward over reverse, are errors of JAX's own.
    Write `jax.jacrev(jax.grad(...))`. There are two orders.
    """
    products = Products(f, data, shape)

    def call(method: Callable[..., Any], shape: tuple[int, ...], *args: Any) -> Any:
        result = jax.ShapeDtypeStruct(shape, np.float64)
        return jax.pure_callback(lambda *xs: method(*map(np.asarray, xs)), result, *args, vmap_method="sequential")

    @jax.custom_vjp
    def value(x: Any) -> Any:
        return call(products.value, products.shape, x)

    @jax.custom_vjp
    def pull(x: Any, ct: Any) -> Any:
        return call(products.pull, x.shape, x, ct)

    def derivative_of_pull(kept: Any, u: Any) -> Any:
        x, ct = kept
        return call(products.second, x.shape, x, ct, u), call(products.push, products.shape, x, u)

    value.defvjp(lambda x: (value(x), x), lambda x, ct: (pull(x, ct),))
    pull.defvjp(lambda x, ct: (pull(x, ct), (x, ct)), derivative_of_pull)

    def checked(x: Any) -> Any:
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
