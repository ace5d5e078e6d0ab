"""A local level model for the flow of the Nile, compared with statsmodels: `python -m examples.kalman`.

Each year's flow is a level plus noise, and the level is a random walk: y_t = a_t + e_t, a_{t+1} = a_t + u_t. A Kalman
filter computes the likelihood of the two variances. dualrev differentiates it twice: the gradient and the Hessian with
respect to the logarithms of the variances are for the fit, and the gradient with respect to the data is the smoother,
since E[e | y] = -s (d log p / dy), where s is the variance of e.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np
from numba import njit
from scipy.optimize import minimize

import dualrev as dr
from examples.arguments import at_least, needs, picture
from examples.timing import timed

VAGUE = 1e6  # the variance of the first level, which is unknown: statsmodels' value


@njit
def log_likelihood(logs, y, burnt):
    """Compute the log-likelihood of the logarithms of both variances, without the first `burnt` years."""
    noise, walk = math.exp(logs[0]), math.exp(logs[1])
    level, variance, total = 0.0, VAGUE, 0.0
    for t in range(len(y)):
        surprise, spread = y[t] - level, variance + noise
        if t >= burnt:
            total -= 0.5 * (math.log(2.0 * math.pi * spread) + surprise * surprise / spread)
        gain = variance / spread
        level += gain * surprise
        variance = variance * (1.0 - gain) + walk
    return total


@njit
def loss(logs, y, burnt):
    """Compute the negative log-likelihood, for the minimizer."""
    return -log_likelihood(logs, y, burnt)


def fit(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Fit the model; return the two variances, their standard errors, the log-likelihood, and the smoothed level."""
    start = np.full(2, math.log(np.var(y) / 2.0))
    gradient, hessian = dr.grad(loss), dr.hessian(loss)
    found = minimize(loss, start, args=(y, 1), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9})
    variances = np.exp(found.x)
    errors = variances * np.sqrt(np.diag(np.linalg.inv(hessian(found.x, y, 1))))
    smoothed = y + variances[0] * dr.grad(log_likelihood, 1)(found.x, y, 0)
    return variances, errors, -float(found.fun), smoothed


def simulated(count: int, seed: int = 0) -> np.ndarray:
    """Simulate data of a known model, with the variances 15,000 and 1,500."""
    rng = np.random.default_rng(seed)
    return 1000.0 + np.cumsum(rng.normal(0.0, math.sqrt(1500.0), count)) + rng.normal(0.0, math.sqrt(15000.0), count)


def nile() -> np.ndarray:
    """Load the flow of each year from 1871 to 1970, which comes with statsmodels."""
    from statsmodels.datasets import nile as data

    return np.asarray(data.load_pandas().data["volume"], float)


def by_statsmodels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Fit the model by statsmodels, with standard errors from its numerical Hessian."""
    from statsmodels.tsa.statespace.structural import UnobservedComponents

    result = UnobservedComponents(y, "local level").fit(
        disp=False, cov_type="approx", method="bfgs", maxiter=200, gtol=1e-8
    )
    return np.asarray(result.params), np.asarray(result.bse), float(result.llf), np.asarray(result.smoothed_state[0])


def draw(y: np.ndarray, smoothed: np.ndarray, path: str) -> None:
    """Draw the data and the smoothed level."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
    years = 1871 + np.arange(len(y))
    axes.plot(years, y, ".", color="0.5", label="flow of the Nile")
    axes.plot(years, smoothed, color="C0", label="level, by the gradient with respect to the data")
    axes.legend()
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the estimates and standard errors, together with statsmodels'."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulated", type=at_least(20), metavar="N", help="fit N simulated years")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw the data and the level")
    options = parser.parse_args(argv)
    if options.simulated is None:
        needs(parser, "statsmodels", "--simulated 100")
    y = simulated(options.simulated) if options.simulated else nile()
    ways = {"dualrev": lambda: fit(y)} | ({} if options.simulated else {"statsmodels": lambda: by_statsmodels(y)})
    print("| way | noise | error | walk | error | log likelihood | level, first and last year |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    results = {name: timed(run) for name, run in ways.items()}
    for name, ((variances, errors, likelihood, smoothed), _, _) in results.items():
        cells = [variances[0], errors[0], variances[1], errors[1]]
        print(f"| {name} | " + " | ".join(f"{x:.2f}" for x in cells), end=" | ")
        print(f"{likelihood:.6f} | {smoothed[0]:.3f}, {smoothed[-1]:.3f} |")
    for name, (_, first, second) in results.items():
        print(f"{name}: {first:.2f} s the first time, {second:.4f} s the second")
    if options.picture:
        draw(y, results["dualrev"][0][3], options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
