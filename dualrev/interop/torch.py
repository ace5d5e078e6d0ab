"""A function of dualrev's in PyTorch: a `torch.autograd.Function` that can be differentiated twice."""

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
    """f(x, *data) as a function of a tensor x, with a backward pass, and one of that.

    Args:
        f: A numba function, or any other, of an array or a number, and of data.
        data: Constants: numbers and numpy arrays.
        shape: That of f's results; () is a number.

    Returns:
        A function of a tensor of doubles on the processor.

    Raises:
        BridgeError: where x is no such tensor: write x.double() or x.cpu().
    """
    products = Products(f, data, shape)

    class Pull(torch.autograd.Function):
        """The cotangent of x, as a function of x and of that of y."""

        @staticmethod
        def forward(x: Any, ct: Any) -> Any:
            return tensor(products.pull(array(x), array(ct)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, u: Any) -> Any:
            x, ct = map(array, ctx.saved_tensors)
            return tensor(products.second(x, ct, array(u))), tensor(products.push(x, array(u)))

    class Value(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return tensor(products.value(array(x)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return Pull.apply(*ctx.saved_tensors, ct)

    def checked(x: torch.Tensor) -> torch.Tensor:
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
    return x.detach().numpy()


def tensor(x: Any) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64)
