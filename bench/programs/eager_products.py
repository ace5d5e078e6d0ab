"""Hessian-vector products of the models, by the function that each library has: `python -m bench.eager --products`.

dualrev's `hvp` and JAX's `jvp` of `grad` (without `jax.jit`) are forward over reverse; autograd's `make_hvp` and
PyTorch's `torch.autograd.functional.hvp` are reverse over reverse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dualrev as dr
from bench.measuring.agreement import convert
from bench.programs.eager_models import Model

__all__ = ["PRODUCTS", "direction"]

Run = Callable[[], Any]


def direction(x: Any) -> Any:
    """Return a random vector with the shapes of the parameters."""
    rng = np.random.default_rng(1)
    return [rng.standard_normal(u.shape) for u in x]


def by_dualrev(model: Model, x: Any, c: Any) -> Run:
    """Prepare dualrev's `hvp` on the tape: forward over reverse."""
    product, v = dr.hvp(lambda x: model.run(np, x, c)), direction(x)
    return lambda: (0.0, product(x, v))


def by_autograd(model: Model, x: Any, c: Any) -> Run:
    """Prepare autograd's `make_hvp`: reverse over reverse."""
    import autograd

    product, v = autograd.make_hvp(lambda x: model.run(autograd.numpy, x, c)), direction(x)
    return lambda: (0.0, product(x)[0](v))


def by_jax(model: Model, x: Any, c: Any) -> Run:
    """Prepare `jax.jvp` of `jax.grad`, without `jax.jit`: forward over reverse."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    at, along, constant = (convert(jax.numpy.asarray, u) for u in (x, direction(x), c))
    gradient = jax.grad(lambda x: model.run(jax.numpy, x, constant))
    return lambda: (0.0, jax.block_until_ready(jax.jvp(gradient, (at,), (along,))[1]))


def by_torch(model: Model, x: Any, c: Any) -> Run:
    """Prepare PyTorch's `functional.hvp`: two reverse passes."""
    import torch

    at, along, constant = (convert(torch.tensor, u) for u in (x, direction(x), c))

    def loss(*x: Any) -> Any:
        """The model's loss, as a function of separate tensors."""
        return model.run(torch, list(x), constant)

    def run() -> Any:
        """Compute the product, as NumPy arrays."""
        _, product = torch.autograd.functional.hvp(loss, tuple(at), tuple(along))
        return 0.0, [u.numpy() for u in product]

    return run


PRODUCTS = {"dualrev": by_dualrev, "autograd": by_autograd, "JAX": by_jax, "PyTorch": by_torch}
