"""Function of dualrev for PyTensor, and so for PyMC: an Op with gradients, which PyTensor's numba mode compiles.

`Product` is the Op of all four products of dualrev.interop.jacobian_products; the first two have gradients, made of
the others:

    value(x)  ->  pull(x, ct)          pull(x, ct)  ->  second(x, ct, u), push(x, u)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numba import njit
from numba.extending import is_jitted
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_funcify

from dualrev.api import derivatives
from dualrev.errors import BridgeError
from dualrev.interop.jacobian_products import Products, type_error

__all__ = ["function"]


def __dir__() -> list[str]:
    return __all__


def function(f: Callable[..., Any], *data: Any, shape: tuple[int, ...] = ()) -> Callable[[Any], Any]:
    """PyTensor function of a variable x that computes f(x, *data), such as `pm.Potential` takes.

    Args:
        f: Function of an array or a number, and of data: a numba function or a Python function.
        *data: Constants: numbers and numpy arrays.
        shape: Shape of the value of f; () for a number.

    Returns:
        A function of a variable of doubles. Its result has gradients of two orders.

    Raises:
        BridgeError: x has another type: write x.astype("float64").

    If f is a numba function that returns a number, PyTensor's numba mode (which nutpie uses) compiles it and its
    gradient into the graph, without calls of Python.

    docs/interop.md has an example.
    """
    products = Products(f, data, shape)

    def apply(x: Any) -> Any:
        """Return a variable for f(x)."""
        x = pt.as_tensor_variable(x)
        if x.dtype != "float64":
            raise type_error(products.name, f"a variable of {x.dtype}", 'x.astype("float64")')
        return Product(products, "value")(x)

    apply.__name__ = apply.__qualname__ = products.name
    return apply


class Product(Op):
    """Op of one of the four products, which `kind` names."""

    __props__ = ("products", "kind")  # two of the same are one in a graph

    def __init__(self, products: Products, kind: str) -> None:
        self.products, self.kind = products, kind

    def __str__(self) -> str:
        return f"{self.kind} of {self.products.name}"

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node with the types of the inputs and of the result."""
        inputs = tuple(map(pt.as_tensor_variable, inputs))
        like_y = pt.tensor(dtype="float64", shape=self.products.shape)
        output = like_y if self.kind in ("value", "push") else pt.tensor(dtype="float64", shape=inputs[0].type.shape)
        return Apply(self, list(inputs), [output])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        """Compute the product."""
        outputs[0][0] = np.asarray(getattr(self.products, self.kind)(*inputs))

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> list[Any]:
        """Return the shape of the result."""
        return [self.products.shape if self.kind in ("value", "push") else shapes[0]]

    def L_op(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:  # noqa: N802  PyTensor's name
        """Return the gradients: products of the next order."""
        (u,) = cotangents
        if self.kind == "value":
            return [Product(self.products, "pull")(*inputs, u)]
        if self.kind == "pull":
            second, push = Product(self.products, "second"), Product(self.products, "push")
            return [second(*inputs, u), push(inputs[0], u)]
        why = "there are two orders of derivatives here"
        raise BridgeError(f"a third derivative of {self.products.name!r}", why, "an objective with two at most")


@numba_funcify.register(Product)
def compiled(op: Product, node: Any = None, **options: Any) -> Any:
    """Return numba code for the value or the gradient, if f is a numba function that has it; else code that calls
    `perform`.
    """
    f, data = op.products.f, op.products.data
    known = op.kind == "value" or (op.kind == "pull" and not op.products.shape)
    if not is_jitted(f) or not known or node.inputs[0].type.ndim == 0:
        return numba_funcify.dispatch(Op)(op, node=node, **options)
    if op.kind == "value":

        @njit
        def value(x):  # type: ignore[no-untyped-def]
            """Return f(x, *data) as an array."""
            return np.asarray(f(x, *data))

        return value
    slope = derivatives.grad(f)

    @njit
    def pull(x, ct):  # type: ignore[no-untyped-def]
        """Return the gradient, times the cotangent."""
        return ct.item() * slope(x, *data)

    return pull
