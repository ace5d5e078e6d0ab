"""Function of dualrev for PyTorch: a `torch.autograd.Function` that can be differentiated twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from dualrev.interop.jacobian_products import Products, type_error

__all__ = ["function"]


def __dir__() -> list[str]:
    return __all__


def function(f: Callable[..., Any], *data: Any, shape: tuple[int, ...] = ()) -> Callable[[torch.Tensor], torch.Tensor]:
    """PyTorch function of a tensor x that computes f(x, *data), with two orders of derivatives.

    Args:
        f: Function of an array or a number, and of data: a numba function or a Python function.
        *data: Constants: numbers and numpy arrays.
        shape: Shape of the value of f; () for a number.

    Returns:
        A function of a tensor of doubles on the CPU.

    Raises:
        BridgeError: x is not a tensor of doubles on the CPU: write x.double() or x.cpu().

    docs/interop.md has an example.
    """
    products = Products(f, data, shape)

    class Pull(torch.autograd.Function):
        """Cotangent of x, as a function of x and of the cotangent of y."""

        @staticmethod
        def forward(x: Any, ct: Any) -> Any:
            """Return the cotangent of x."""
            return tensor(products.pull(array(x), array(ct)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Save x and the cotangent of y."""
            ctx.save_for_backward(*inputs)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, u: Any) -> Any:
            """Return the cotangents of x and of the cotangent of y."""
            x, ct = map(array, ctx.saved_tensors)
            return tensor(products.second(x, ct, array(u))), tensor(products.push(x, array(u)))

    class Value(torch.autograd.Function):
        """Value of f, with `Pull` as its derivative."""

        @staticmethod
        def forward(x: Any) -> Any:
            """Return f(x)."""
            return tensor(products.value(array(x)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Save x."""
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            """Return the cotangent of x."""
            return Pull.apply(*ctx.saved_tensors, ct)

    def checked(x: torch.Tensor) -> torch.Tensor:
        """Return f(x) for a tensor of doubles on the CPU."""
        if not isinstance(x, torch.Tensor):
            raise type_error(products.name, f"{type(x).__name__}", "torch.tensor(x, dtype=torch.float64)")
        if x.dtype != torch.float64:
            raise type_error(products.name, f"a tensor of {x.dtype}", "x.double()")
        if x.device.type != "cpu":
            raise type_error(products.name, f"a tensor on {x.device}", "x.cpu()")
        return Value.apply(x)

    checked.__name__ = checked.__qualname__ = products.name
    return checked


def array(x: torch.Tensor) -> Any:
    """Return the numpy array of a tensor."""
    return x.detach().numpy()


def tensor(x: Any) -> torch.Tensor:
    """Return a tensor of doubles."""
    return torch.tensor(x, dtype=torch.float64)
