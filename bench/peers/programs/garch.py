"""GARCH(1,1): each variance depends on the variance and the return before."""

import numpy as np

from bench.peers.program import Program


def arrays(mean, omega, alpha, beta, returns):
    """Convert the returns to an array."""
    return mean, omega, alpha, beta, np.array(returns)


garch = Program(
    "garch",
    "GARCH(1,1)",
    "The log-likelihood of returns whose variance follows the returns before: a scalar recursion, with a logarithm.",
    make=lambda returns: (0.02, 0.1, 0.1, 0.8, np.random.default_rng(0).normal(size=returns).tolist()),
    argnums=(0, 1, 2, 3),
    size=1000,
    unit="returns",
    quick=100,
    small=12,
)


@garch.version("plain", "dualrev", "micrograd")
def _(math):
    def log_likelihood(mean, omega, alpha, beta, returns):
        """Log-likelihood in plain Python, a loop over the returns."""
        variance = omega / (1.0 - alpha - beta)
        total = 0.0
        for r in returns:
            e = r - mean
            square = e * e
            total = total + math.log(variance) + square / variance
            variance = omega + alpha * square + beta * variance
        return -0.5 * total

    return log_likelihood


@garch.version("njit", "compiled", inputs=arrays)
def _():
    import math

    from numba import njit

    @njit
    def log_likelihood(mean, omega, alpha, beta, returns):
        """Log-likelihood in numba, a loop over the returns."""
        variance = omega / (1.0 - alpha - beta)
        total = 0.0
        for r in returns:
            e = r - mean
            square = e * e
            total += math.log(variance) + square / variance
            variance = omega + alpha * square + beta * variance
        return -0.5 * total

    return log_likelihood


@garch.version("jax", form="scan", inputs=arrays, note="the recursion as lax.scan, all else in arrays")
def _():
    import jax.numpy as jnp
    from jax import lax

    def log_likelihood(mean, omega, alpha, beta, returns):
        """Log-likelihood in JAX: `lax.scan` for the variances, whole arrays for the rest."""
        squares = (returns - mean) ** 2
        first = omega / (1.0 - alpha - beta)
        _, variances = lax.scan(lambda v, square: (omega + alpha * square + beta * v, v), first, squares)
        return -0.5 * jnp.sum(jnp.log(variances) + squares / variances)

    return log_likelihood


@garch.version("torch", form="arrays", inputs=arrays, note="the recursion as a loop, all else in arrays")
def _():
    import torch

    def log_likelihood(mean, omega, alpha, beta, returns):
        """Log-likelihood in PyTorch: a loop for the variances, whole tensors for the rest."""
        squares = (returns - mean) ** 2
        variances = [omega / (1.0 - alpha - beta)]
        for shock in (omega + alpha * squares[:-1]).unbind():
            variances.append(shock + beta * variances[-1])
        variances = torch.stack(variances)
        return -0.5 * (torch.log(variances) + squares / variances).sum()

    return log_likelihood


@garch.version("autograd", form="arrays", inputs=arrays, note="the recursion as a loop, all else in arrays")
def _():
    import autograd.numpy as np

    def log_likelihood(mean, omega, alpha, beta, returns):
        """Log-likelihood in autograd: a loop for the variances, whole arrays for the rest."""
        squares = (returns - mean) ** 2
        shocks = omega + alpha * squares
        variances = [omega / (1.0 - alpha - beta)]
        for t in range(len(returns) - 1):
            variances.append(shocks[t] + beta * variances[t])
        variances = np.array(variances)
        return -0.5 * np.sum(np.log(variances) + squares / variances)

    return log_likelihood


@garch.version("casadi", form="SX", note="the loop is unrolled, into operations of scalars")
def _():
    import casadi as ca

    def log_likelihood(mean, omega, alpha, beta, returns):
        """Log-likelihood in CasADi: the loop is unrolled into scalar operations."""
        variance = omega / (1.0 - alpha - beta)
        total = 0.0
        for r in returns:
            square = (r - mean) ** 2
            total += ca.log(variance) + square / variance
            variance = omega + alpha * square + beta * variance
        return -0.5 * total

    return log_likelihood


@garch.version(
    "casadi",
    form="mapaccum",
    inputs=arrays,
    note="the recursion as Function.mapaccum, all else in arrays",
    symbols="MX",
)
def _():
    import casadi as ca

    def log_likelihood(mean, omega, alpha, beta, returns):
        """Log-likelihood in CasADi: `Function.mapaccum` for the variances, whole matrices for the rest."""
        variance, shock, rate = ca.SX.sym("variance"), ca.SX.sym("shock"), ca.SX.sym("rate")
        step = ca.Function("step", [variance, shock, rate], [shock + rate * variance])
        squares = (ca.DM(returns).T - mean) ** 2
        first, shocks = omega / (1.0 - alpha - beta), omega + alpha * squares[:-1]
        later = step.mapaccum(shocks.numel())(first, shocks, ca.repmat(beta, 1, shocks.numel()))
        variances = ca.horzcat(first, later)
        return -0.5 * ca.sum2(ca.log(variances) + squares / variances)

    return log_likelihood
