"""Products of the Hessians of models with vectors, by every library's own way: `python -m bench.eager --products`.

autograd's is reverse over reverse, as its `make_hvp` has it; JAX's, without a compiler, is forward over reverse, as is
dualrev's; PyTorch's is `torch.autograd.functional.hvp`, by two reverse passes.
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
    """The vector: it has the shapes of the parameters."""
    rng = np.random.default_rng(1)
    return [rng.standard_normal(u.shape) for u in x]


def by_dualrev(model: Model, x: Any, c: Any) -> Run:
    product, v = dr.hvp(lambda x: model.run(np, x, c)), direction(x)
    return lambda: (0.0, product(x, v))


def by_autograd(model: Model, x: Any, c: Any) -> Run:
    import autograd

    product, v = autograd.make_hvp(lambda x: model.run(autograd.numpy, x, c)), direction(x)
    return lambda: (0.0, product(x)[0](v))


def by_jax(model: Model, x: Any, c: Any) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    at, along, constant = (convert(jax.numpy.asarray, u) for u in (x, direction(x), c))
    gradient = jax.grad(lambda x: model.run(jax.numpy, x, constant))
    return lambda: (0.0, jax.block_until_ready(jax.jvp(gradient, (at,), (along,))[1]))


def by_torch(model: Model, x: Any, c: Any) -> Run:
    import torch

    at, along, constant = (convert(torch.tensor, u) for u in (x, direction(x), c))

    def loss(*x: Any) -> Any:
        return model.run(torch, list(x), constant)

    def run() -> Any:
        _, product = torch.autograd.functional.hvp(loss, tuple(at), tuple(along))
        return 0.0, [u.numpy() for u in product]

    return run


PRODUCTS = {"dualrev": by_dualrev, "autograd": by_autograd, "JAX": by_jax, "PyTorch": by_torch}
