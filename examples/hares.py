"""Fit an ODE to the hares and lynxes of the Hudson Bay: `python -m examples.hares`.

The Lotka-Volterra model for the numbers h and l is h'/h = a - b l and l'/l = d h - c. The four rates and the numbers
at the start are fitted to the pelts of each year, by least squares in the logarithms. dualrev computes the Jacobian of
the solution in two ways: through `dualrev.ode`, whose method chooses its steps, and of a loop with RK4. The table
compares them with SciPy's differences, and with JAX and diffrax.

The data are thousands of pelts that the Hudson's Bay Company traded from 1900 to 1920, as P. Howard's lecture notes
"Modeling Basics" (Texas A&M University, 2009) print them; they go back to C. Elton and M. Nicholson (Journal of Animal
Ecology, 1942) and D. MacLulich (1937).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import OptimizeResult, least_squares

import dualrev as dr
from dualrev import ode
from examples.arguments import picture
from examples.timing import timed

FIRST = 1900
HARES = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNXES = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
NAMES = (
    "a, growth of hares",
    "b, hares caught",
    "c, loss of lynxes",
    "d, gain of lynxes",
    "hares, 1900",
    "lynxes, 1900",
)
START = np.log([0.5, 0.025, 0.8, 0.025, 30.0, 4.0])  # unknown are the logarithms: all six are positive
STEPS = 50  # of Runge and Kutta's method in a year
TOLERANCE = 1e-8  # of the solvers that choose their steps


def pelts() -> np.ndarray:
    """Return the hares and lynxes of each year, of shape (2, 21)."""
    return np.array([[float(word) for word in line.split()] for line in (HARES, LYNXES)])


@njit
def growth(t, logs, p):
    """Compute the time derivatives of the logarithms of hares and lynxes."""
    return math.exp(p[0]) - math.exp(p[1] + logs[1]), math.exp(p[3] + logs[0]) - math.exp(p[2])


@njit
def by_rk45(p, logs):
    """Compute the residuals by adaptive steps: the model's logarithms minus the data's, in one row."""
    years = np.arange(logs.shape[1]) * 1.0
    solution = ode.rk45(growth, (0.0, years[-1]), p[4:], years, (p,), TOLERANCE, TOLERANCE)
    return (solution.y - logs).ravel()


@njit
def by_loop(p, logs, steps):
    """Compute the residuals by RK4, with `steps` steps in a year; x and y are the logarithms."""
    a, b, c, d = math.exp(p[0]), math.exp(p[1]), math.exp(p[2]), math.exp(p[3])
    x, y, size = p[4], p[5], 1.0 / steps
    made = np.empty(logs.size)
    years = logs.shape[1]
    for year in range(years):
        made[year], made[years + year] = x - logs[0, year], y - logs[1, year]
        if year + 1 < years:
            for _ in range(steps):
                x1, y1 = a - b * math.exp(y), d * math.exp(x) - c
                x2, y2 = a - b * math.exp(y + 0.5 * size * y1), d * math.exp(x + 0.5 * size * x1) - c
                x3, y3 = a - b * math.exp(y + 0.5 * size * y2), d * math.exp(x + 0.5 * size * x2) - c
                x4, y4 = a - b * math.exp(y + size * y3), d * math.exp(x + size * x3) - c
                x += size / 6.0 * (x1 + 2.0 * x2 + 2.0 * x3 + x4)
                y += size / 6.0 * (y1 + 2.0 * y2 + 2.0 * y3 + y4)
    return made


class Fit(NamedTuple):
    """A fit: the six numbers, their standard errors, the deviation of the logarithms, and SciPy's result."""

    values: np.ndarray
    errors: np.ndarray
    deviation: float
    result: OptimizeResult


def fit(residuals: Callable[..., Any], jacobian: Any, logs: np.ndarray) -> Fit:
    """Fit by `least_squares`. `jacobian` is a function of the six logarithms, or "2-point"."""
    result = least_squares(residuals, START, jac=jacobian, args=(logs,), xtol=1e-10, ftol=1e-12, gtol=1e-12)
    deviation = math.sqrt(2.0 * result.cost / (logs.size - len(START)))
    inverse = np.linalg.inv(result.jac.T @ result.jac)
    values = np.exp(result.x)
    return Fit(values, values * deviation * np.sqrt(np.diag(inverse)), deviation, result)


def by_diffrax() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the residuals and their forward-mode Jacobian by JAX and diffrax, with Dormand and Prince's method."""
    import diffrax
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def slopes(t: Any, logs: Any, p: Any) -> Any:
        """Time derivatives of the logarithms, in JAX."""
        return jnp.stack([jnp.exp(p[0]) - jnp.exp(p[1] + logs[1]), jnp.exp(p[3] + logs[0]) - jnp.exp(p[2])])

    def residuals(p: Any, logs: Any) -> Any:
        """Logarithms by the model minus the logarithms of the data, in JAX."""
        years = jnp.arange(float(logs.shape[1]))
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(slopes),
            diffrax.Dopri5(),
            *(0.0, years[-1], None, p[4:], p),
            saveat=diffrax.SaveAt(ts=years),
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            adjoint=diffrax.ForwardMode(),
        )
        return jnp.ravel(solution.ys.T - logs)

    return jax.jit(residuals), jax.jit(jax.jacfwd(residuals))


def ways() -> dict[str, tuple[Callable[..., Any], Any]]:
    """Return the residuals and the Jacobian of every row of the table."""
    loop = partial(by_loop, steps=STEPS)
    of_loop = dr.jacobian(by_loop)
    made: dict[str, tuple[Callable[..., Any], Any]] = {
        "dualrev, `ode.rk45`": (by_rk45, dr.jacobian(by_rk45)),
        "dualrev, a compiled loop": (loop, lambda p, logs: of_loop(p, logs, STEPS)),
        "differences, `ode.rk45`": (by_rk45, "2-point"),
        "differences, a compiled loop": (loop, "2-point"),
    }
    return made | ({"JAX, diffrax": by_diffrax()} if find_spec("diffrax") else {})


def draw(found: Fit, counts: np.ndarray, file: str) -> None:
    """Draw the pelts, the model's curves, and bands of two standard errors of the curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    p, parts = found.result.x, 10
    times = FIRST + np.arange(parts * (counts.shape[1] - 1) + 1) / parts
    # A step of the loop's "year" is a tenth of one: rates are a tenth, too.
    finer = p - np.log([parts, parts, parts, parts, 1.0, 1.0])
    none = np.zeros((2, len(times)))
    curves = by_loop(finer, none, STEPS // parts).reshape(2, -1)
    slopes = dr.jacobian(by_loop)(finer, none, STEPS // parts)
    covariance = found.deviation**2 * np.linalg.inv(found.result.jac.T @ found.result.jac)
    spread = 2.0 * np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes)).reshape(2, -1)
    figure, axes = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
    years = FIRST + np.arange(counts.shape[1])
    for k, (name, color) in enumerate((("hares", "C0"), ("lynxes", "C3"))):
        axes.plot(years, counts[k], "o", color=color, markersize=4)
        axes.plot(times, np.exp(curves[k]), color=color, label=name)
        low, high = np.exp(curves[k] - spread[k]), np.exp(curves[k] + spread[k])
        axes.fill_between(times, low, high, color=color, alpha=0.2, linewidth=0.0)
    axes.set_xticks(years[::2])
    axes.set_ylabel("thousands of pelts")
    axes.legend()
    figure.savefig(file, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Fit in each way; print the estimates, their standard errors, and the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--years", type=int, choices=range(6, 22), default=21, metavar="N", help="fit the first N years, 6 to 21 (21)"
    )
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw the pelts and the curves")
    options = parser.parse_args(argv)
    counts = pelts()[:, : options.years]
    logs = np.log(counts)
    results = {name: timed(partial(fit, *way, logs)) for name, way in ways().items()}
    exact: Fit = results["dualrev, a compiled loop"][0]
    print(f"{counts.size} numbers; deviation of the logarithms {exact.deviation:.4f}")
    print("| | estimate | standard error |\n| --- | ---: | ---: |")
    for name, value, error in zip(NAMES, exact.values, exact.errors, strict=True):
        print(f"| {name} | {value:.6f} | {error:.6f} |")
    print("| way | first fit s | second fit s | Jacobians | estimates differ by | errors differ by |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, (found, first, second) in results.items():
        apart = (np.max(np.abs(ours / theirs - 1.0)) for ours, theirs in zip(found[:2], exact[:2], strict=True))
        cells = f"{first:.3f} | {second:.4f} | {found.result.njev}", *(f"{x:.0e}" for x in apart)
        print(f"| {name} | " + " | ".join(cells) + " |")
    if options.picture:
        draw(exact, counts, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
