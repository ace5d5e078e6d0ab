"""GJR-GARCH for daily returns of the S&P 500, compared with the package arch: `python -m examples.garch`.

The model for returns r in percent is r_t = mu + e_t, where e_t is normal with the variance
s_t = omega + (alpha + gamma [e_{t-1} < 0]) e_{t-1}^2 + beta s_{t-1}. Falling prices raise the variance more than rising
prices.

dualrev computes the gradient and the Hessian of the likelihood for the fit, and the scores of single days for robust
standard errors.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from scipy.optimize import minimize

import dualrev as dr
from examples.arguments import at_least, needs, picture
from examples.timing import timed

NAMES = ("mu", "omega", "alpha", "gamma", "beta")
START = np.array([0.05, 0.02, 0.02, 0.1, 0.9])
LOW, HIGH = np.array([-10.0, 1e-6, 0.0, -1.0, 0.0]), np.array([10.0, 10.0, 1.0, 2.0, 1.0])


@njit
def variances(p, returns, before):
    """Compute the variance of each day. `before` is the variance before the first day."""
    mu, omega, alpha, gamma, beta = p[0], p[1], p[2], p[3], p[4]
    made = np.empty(len(returns))
    variance = omega + (alpha + 0.5 * gamma + beta) * before
    for t in range(len(returns)):
        made[t] = variance
        e = returns[t] - mu
        shock = alpha + gamma if e < 0.0 else alpha
        variance = omega + shock * e * e + beta * variance
    return made


@njit
def days(p, returns, before):
    """Compute the negative log-likelihood of each day."""
    made = variances(p, returns, before)
    for t in range(len(returns)):
        e = returns[t] - p[0]
        made[t] = 0.5 * (math.log(2.0 * math.pi * made[t]) + e * e / made[t])
    return made


@njit
def loss(p, returns, before):
    """Compute the negative log-likelihood of all days."""
    return np.sum(days(p, returns, before))


def earlier_variance(returns: np.ndarray) -> float:
    """Return the variance before the first day as arch chooses it: a weighted mean of the first 75 squares."""
    weights = 0.94 ** np.arange(min(75, len(returns)))
    squares = (returns[: len(weights)] - np.mean(returns)) ** 2
    return float(weights @ squares / np.sum(weights))


def fit(returns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit the model; return the estimate, its classic standard errors, and White's robust ones."""
    data = returns, earlier_variance(returns)
    found = minimize(
        dr.value_and_grad(loss), START, args=data, jac=True, method="SLSQP", bounds=list(zip(LOW, HIGH, strict=True))
    )
    p, gradient, hessian = found.x, dr.grad(loss), dr.hessian(loss)
    free = np.flatnonzero((p > LOW + 1e-9) & (p < HIGH - 1e-9))
    for _ in range(4):  # Newton's method, for the last digits of parameters that are not at a bound
        p[free] -= np.linalg.solve(hessian(p, *data)[np.ix_(free, free)], gradient(p, *data)[free])
    inverse = np.linalg.inv(hessian(p, *data))
    scores = dr.jacobian(days)(p, *data)
    robust = inverse @ (scores.T @ scores) @ inverse
    return p, np.sqrt(np.diag(inverse)), np.sqrt(np.diag(robust))


def simulated(count: int, seed: int = 0) -> np.ndarray:
    """Simulate returns of a known model."""
    mu, omega, alpha, gamma, beta = 0.05, 0.02, 0.03, 0.12, 0.88
    rng, made, variance = np.random.default_rng(seed), np.empty(count), 1.0
    for t, z in enumerate(rng.normal(size=count)):
        e = math.sqrt(variance) * z
        made[t] = mu + e
        variance = omega + (alpha + gamma * (e < 0.0)) * e * e + beta * variance
    return made


def sp500() -> np.ndarray:
    """Load daily returns in percent from 1999 to 2018, which come with arch."""
    from arch.data import sp500 as data

    return np.asarray(100.0 * data.load()["Adj Close"].pct_change().dropna(), float)


def by_arch(returns: np.ndarray) -> Any:
    """Return a function that fits the model by arch: estimate, classic and robust standard errors."""
    from arch import arch_model

    model = arch_model(returns, mean="Constant", vol="GARCH", p=1, o=1, q=1, dist="normal", rescale=False)

    def fitted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fit the model and compute both kinds of standard errors."""
        p = np.asarray(model.fit(disp="off", tol=1e-12, options={"maxiter": 500}).params)
        classic, robust = (np.sqrt(np.diag(model.compute_param_cov(p, robust=way))) for way in (False, True))
        return p, classic, robust

    return fitted


def draw(returns: np.ndarray, p: np.ndarray, path: str) -> None:
    """Draw the returns, and a band of two standard deviations."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    deviation = np.sqrt(variances(p, returns, earlier_variance(returns)))
    figure, axes = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
    axes.plot(returns, ".", color="0.6", markersize=1.5, label="returns, percent")
    for sign in (1.0, -1.0):
        axes.plot(p[0] + sign * 2.0 * deviation, color="C0", linewidth=0.7)
    axes.set_xlabel("trading day")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the estimates and standard errors, together with arch's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--simulated", type=at_least(500), metavar="N", help="fit N simulated returns, without arch and its data"
    )
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw the returns and their deviations")
    options = parser.parse_args(argv)
    if options.simulated is None:
        needs(parser, "arch", "--simulated 5000")
    returns = simulated(options.simulated) if options.simulated else sp500()
    ways = {"dualrev": lambda: fit(returns)} | ({} if options.simulated else {"arch": by_arch(returns)})
    results = {name: timed(run) for name, run in ways.items()}
    print(f"{len(returns)} returns")
    print("| | way | estimate | classic error | robust error |\n| --- | --- | ---: | ---: | ---: |")
    for k, parameter in enumerate(NAMES):
        for name, (found, _, _) in results.items():
            print(f"| {parameter} | {name} | " + " | ".join(f"{column[k]:.8f}" for column in found) + " |")
    for name, (_, first, second) in results.items():
        print(f"{name}: {first:.2f} s the first time, {second:.3f} s the second")
    if options.picture:
        draw(returns, results["dualrev"][0][0], options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
