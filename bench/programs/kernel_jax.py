"""The programs of kernel_programs.py in JAX, and their gradients by `jax.vjp`, both compiled by `jax.jit`."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the other libraries need memory, too

import jax
import jax.numpy as jnp
import numpy as np

from bench.programs.kernel_programs import Prepared, Problem

__all__ = ["device", "prepare"]

jax.config.update("jax_enable_x64", True)  # arrays of float32 stay what they are


def saxpy(a: Any, x: Any, y: Any) -> Any:
    """Add a multiple of an array to another one."""
    return y + a * x


def wave(u: Any, before: Any, after: Any) -> Any:
    """Time step of a wave with a cubic force."""
    v = u[1:-1, 1:-1]
    curvature = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * v
    return after.at[1:-1, 1:-1].set(2.0 * v - before[1:-1, 1:-1] + 0.1 * (curvature - v * v * v))


def n_body(x: Any, force: Any) -> Any:
    """Forces between all pairs of bodies."""
    d = x[None] - x[:, None]
    r = jnp.sum(d * d, axis=2) + 0.01
    return jnp.sum(d / (r * jnp.sqrt(r))[:, :, None], axis=1)


def scatter(k: Any, w: Any, h: Any) -> Any:
    """Squares of weights, added into bins."""
    return h.at[k].add(w * w)


def black_scholes(market: Any, z: Any, price: Any) -> Any:
    """Price of a call option, from terminal values."""
    spot, strike, rate, volatility, maturity = market
    drift = (rate - 0.5 * volatility * volatility) * maturity
    end = spot * jnp.exp(drift + volatility * jnp.sqrt(maturity) * z)
    return price + jnp.exp(-rate * maturity) * jnp.mean(jnp.maximum(end - strike, 0.0))


def batched_lu(a: Any, factors: Any) -> Any:
    """LU factors of matrices, without pivots."""
    for k in range(a.shape[1] - 1):
        column = a[:, k + 1 :, k] / a[:, k, k, None]
        a = a.at[:, k + 1 :, k].set(column)
        a = a.at[:, k + 1 :, k + 1 :].add(-column[:, :, None] * a[:, k, None, k + 1 :])
    return a


FUNCTIONS = {f.__name__: f for f in (saxpy, wave, n_body, scatter, black_scholes, batched_lu)}


def device() -> str:
    """Return the platform of JAX's default device: "gpu" or "cpu"."""
    return str(jax.default_backend())


def prepare(problem: Problem) -> Prepared:
    """Compute a program and its gradients once, which compiles them."""
    program = problem.program
    function = FUNCTIONS[program.build.__name__]
    given = [jnp.asarray(x) for x in problem.args]
    ct = jnp.asarray(problem.ct)

    @jax.jit
    def pulled(given: Any, ct: Any) -> Any:
        """Pull a cotangent of the result back to the inputs."""

        def of_inputs(*inputs: Any) -> Any:
            """Compute the result as a function of the inputs only."""
            known = dict(zip(program.inputs, inputs, strict=True))
            return function(*(known.get(k, x) for k, x in enumerate(given)))

        _, pullback = jax.vjp(of_inputs, *(given[k] for k in program.inputs))
        return pullback(ct)

    primal = jax.jit(function)
    return Prepared(
        np.asarray(primal(*given)),
        [np.asarray(x) for x in pulled(given, ct)],
        lambda: jax.block_until_ready(primal(*given)),
        lambda: jax.block_until_ready(pulled(given, ct)),
    )
