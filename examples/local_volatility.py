"""Calibrate a local volatility surface to option quotes: `python -m examples.local_volatility`.

The quotes are 100 implied volatilities of options on the S&P 500 in October 1995, from Andersen and
Brotherton-Ratcliffe, "The equity option volatility smile: an implicit finite-difference approach" (Journal of
Computational Finance 1, 1998). The unknown is the volatility as a function of time and price with which Dupire's
equation reproduces the quotes: one number for each expiry and each of 15 price levels, 150 in all. SciPy's
`least_squares` finds them with dualrev's Jacobian; the table compares this with finite differences and JAX.

Dupire's equation is c_t = s^2 / 2 (c_yy - c_y), where c(y, t) is the price of a call divided by its forward, y is
log(strike / forward), and s is the local volatility. It is solved by Crank and Nicolson's method.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import brentq, least_squares
from scipy.optimize._numdiff import approx_derivative
from scipy.special import ndtr

import dualrev as dr
from examples.timing import timed

SPOT, RATE, DIVIDEND = 590.0, 0.06, 0.0262
EXPIRIES = np.array([0.175, 0.425, 0.695, 0.94, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0])
STRIKES = SPOT * np.array([0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4])
QUOTES = 1e-3 * np.array(  # a row for each expiry
    [
        [190, 168, 133, 113, 102, 97, 120, 142, 169, 200],
        [177, 155, 138, 125, 109, 103, 100, 114, 130, 150],
        [172, 157, 144, 133, 118, 104, 100, 101, 108, 124],
        [171, 159, 149, 137, 127, 113, 106, 103, 100, 110],
        [171, 159, 150, 138, 128, 115, 107, 103, 99, 108],
        [169, 160, 151, 142, 133, 124, 119, 113, 107, 102],
        [169, 161, 153, 145, 137, 130, 126, 119, 115, 111],
        [168, 161, 155, 149, 143, 137, 133, 128, 124, 123],
        [168, 162, 157, 152, 148, 143, 139, 135, 130, 128],
        [168, 164, 159, 154, 151, 148, 144, 140, 136, 132],
    ]
)
LEVELS = np.array([-0.4, -0.3, -0.22, -0.16, -0.12, -0.08, -0.04, 0.0, 0.04, 0.08, 0.12, 0.16, 0.22, 0.3, 0.4])  # of y
ERROR = 0.002  # of a quote: 0.2 points of volatility
BEND, DRIFT = 0.3, 0.3  # how much the logarithms bend from level to level, and move from expiry to expiry


class Market(NamedTuple):
    """The constants of the residuals: the grid and the quotes."""

    payoff: np.ndarray  # of each of n grid points
    operator: np.ndarray  # (3, n): the weights of c_yy - c_y, of the neighbour below, the point, the one above
    level: np.ndarray  # of each grid point, the level below it
    share: np.ndarray  # and how far it is on the way to the next one
    intervals: np.ndarray  # years between expiries
    steps: int  # in each interval
    place: np.ndarray  # (expiries, strikes): the second of the four grid points around a strike
    weights: np.ndarray  # (expiries, strikes, 4): of these, in a cubic
    quotes: np.ndarray  # (expiries, strikes): of calls over their forwards
    scales: np.ndarray  # what an error of a quote's volatility makes of it: the vega times ERROR


@njit
def eliminated(half, operator):
    """Factor 1 - half * operator: return the multipliers of Gaussian elimination downwards and upwards."""
    down, up, inverse = np.zeros_like(half), np.zeros_like(half), np.ones_like(half)
    for i in range(1, len(half) - 1):
        down[i] = half[i] * operator[0, i] * inverse[i - 1]
        inverse[i] = 1.0 / (1.0 - half[i] * operator[1, i] - down[i] * half[i - 1] * operator[2, i - 1])
        up[i] = half[i] * operator[2, i]
    return down, up, inverse


@njit
def calls(logs, market):
    """Compute calls over their forwards (expiries, strikes) from log volatilities (expiries, levels)."""
    n, c = len(market.payoff), market.payoff.copy()
    half, made = np.zeros(n), np.empty(market.quotes.shape)
    for j in range(len(market.intervals)):
        dt = 0.5 * market.intervals[j] / market.steps
        for i in range(1, n - 1):
            k, share = market.level[i], market.share[i]
            half[i] = 0.5 * dt * math.exp(2.0 * ((1.0 - share) * logs[j, k] + share * logs[j, k + 1]))
        down, up, inverse = eliminated(half, market.operator)
        for step in range(2 * market.steps):
            if step % 2 == 0 and (j > 0 or step >= 4):  # half a step, explicit
                before = c[0]
                for i in range(1, n - 1):
                    slope = market.operator[0, i] * before + market.operator[1, i] * c[i]
                    before, c[i] = c[i], c[i] + half[i] * (slope + market.operator[2, i] * c[i + 1])
            else:  # half a step, implicit; the first four all are, for the sake of the payoff's kink
                for i in range(1, n - 1):
                    c[i] += down[i] * c[i - 1]
                for i in range(n - 2, 0, -1):
                    c[i] = (c[i] + up[i] * c[i + 1]) * inverse[i]
        for m in range(made.shape[1]):
            i, w = market.place[j, m], market.weights[j, m]
            made[j, m] = w[0] * c[i - 1] + w[1] * c[i] + w[2] * c[i + 1] + w[3] * c[i + 2]
    return made


@njit
def residuals(unknowns, market):
    """Compute the quotes' errors in multiples of ERROR, then the surface's roughness along levels and in time."""
    expiries, strikes = market.quotes.shape
    logs = unknowns.reshape(expiries, -1)
    levels = logs.shape[1]
    made = np.empty(expiries * (strikes + levels - 2) + (expiries - 1) * levels)
    made[: expiries * strikes] = ((calls(logs, market) - market.quotes) / market.scales).ravel()
    at = expiries * strikes
    for j in range(expiries):
        for k in range(1, levels - 1):
            made[at] = (logs[j, k + 1] - 2.0 * logs[j, k] + logs[j, k - 1]) / BEND
            at += 1
    for j in range(1, expiries):
        for k in range(levels):
            made[at] = (logs[j, k] - logs[j - 1, k]) / DRIFT
            at += 1
    return made


def black(y: Any, deviation: Any) -> Any:
    """Black's formula: a call over its forward. `deviation` is the volatility times the square root of the years."""
    return ndtr(0.5 * deviation - y / deviation) - np.exp(y) * ndtr(-0.5 * deviation - y / deviation)


def strikes_of(shape: tuple[int, ...]) -> np.ndarray:
    """Return the first strikes of the first expiries, as y."""
    return np.log(STRIKES[: shape[1]] / SPOT) - (RATE - DIVIDEND) * EXPIRIES[: shape[0], None]


def market_of(volatilities: np.ndarray, points: int = 161, steps: int = 12) -> Market:
    """Build the grid, which is fine around y = 0, for the quotes of the first expiries and strikes."""
    at, root = strikes_of(volatilities.shape), np.sqrt(EXPIRIES[: len(volatilities), None])
    y = 0.08 * np.sinh(np.linspace(-1.0, 1.0, points) * math.asinh(1.3 / 0.08))
    a, b = np.diff(y)[:-1], np.diff(y)[1:]
    operator = np.zeros((3, points))
    operator[:, 1:-1] = (2.0 + b) / (a * (a + b)), (a - b - 2.0) / (a * b), (2.0 - a) / (b * (a + b))
    level = np.clip(np.searchsorted(LEVELS, y) - 1, 0, len(LEVELS) - 2)
    share = np.clip((y - LEVELS[level]) / np.diff(LEVELS)[level], 0.0, 1.0)  # flat outside
    place = np.searchsorted(y, at) - 1
    around = y[place[..., None] + np.arange(-1, 3)]
    weights = np.ones(around.shape)  # Lagrange's
    for k in range(4):
        for other in {0, 1, 2, 3} - {k}:
            weights[..., k] *= (at - around[..., other]) / (around[..., k] - around[..., other])
    deviation = volatilities * root
    vega = root * np.exp(-0.5 * (0.5 * deviation - at / deviation) ** 2) / math.sqrt(2.0 * math.pi)
    return Market(
        payoff=np.maximum(1.0 - np.exp(y), 0.0),
        operator=operator,
        level=level,
        share=share,
        intervals=np.diff(EXPIRIES[: len(volatilities)], prepend=0.0),
        steps=steps,
        place=place,
        weights=weights,
        quotes=black(at, deviation),
        scales=ERROR * vega,
    )


def implied(prices: np.ndarray) -> np.ndarray:
    """Compute implied volatilities from the prices of calls over their forwards."""
    made, at = np.empty(prices.shape), strikes_of(prices.shape)
    for place, price in np.ndenumerate(prices):
        made[place] = brentq(lambda x, y=at[place], price=price: black(y, x) - price, 1e-4, 3.0)
    return made / np.sqrt(EXPIRIES[: len(prices), None])


class Fit(NamedTuple):
    """The result of a calibration."""

    logs: np.ndarray  # (expiries, levels)
    errors: np.ndarray  # their standard errors
    steps: int  # of the optimiser
    calls: int  # of the residuals, those for differences among them
    cost: float


def calibrated(market: Market, f: Callable[..., Any], jacobian: Any) -> Fit:
    """Calibrate by SciPy's least squares, from a flat surface. `jacobian` is SciPy's argument `jac`."""
    count = 0

    def counted(*args: Any) -> Any:
        """Count the call, and compute the residuals."""
        nonlocal count
        count += 1
        return f(*args)

    shape = len(market.intervals), len(LEVELS)
    start = np.full(shape, math.log(0.15)).ravel()
    tight = {"ftol": 1e-10, "xtol": 1e-10, "gtol": 1e-10}
    found = least_squares(counted, start, jac=jacobian, args=(market,), **tight)
    errors = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    return Fit(found.x.reshape(shape), errors.reshape(shape), found.njev, count, found.cost)


def differences(f: Callable[..., Any], way: str) -> Callable[..., Any]:
    """Return SciPy's Jacobian by finite differences."""
    return lambda x, market: approx_derivative(f, x, way, args=(market,))


def by_jax(market: Market) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return residuals and Jacobian written for JAX, with JAX's tridiagonal solver."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    solve, low, high = jax.lax.linalg.tridiagonal_solve, market.level, market.level + 1
    below, at, above = market.operator

    def calls(logs: Any) -> Any:
        """Prices of calls over their forwards, in JAX."""
        c, rows = jnp.asarray(market.payoff), []
        for j, interval in enumerate(market.intervals):
            dt = 0.5 * interval / market.steps
            half = 0.5 * dt * jnp.exp(2.0 * ((1.0 - market.share) * logs[j, low] + market.share * logs[j, high]))
            half = half.at[0].set(0.0).at[-1].set(0.0)
            diagonals = -half * below, 1.0 - half * at, -half * above

            def implicit(c: Any, diagonals: Any = diagonals) -> Any:
                """Half a step of the implicit scheme."""
                return solve(*diagonals, c[:, None])[:, 0]

            def both(c: Any, _: Any, half: Any = half, implicit: Any = implicit) -> Any:
                """A whole step: half of it explicit, then half of it implicit."""
                slope = below[1:-1] * c[:-2] + at[1:-1] * c[1:-1] + above[1:-1] * c[2:]
                return implicit(c.at[1:-1].add(half[1:-1] * slope)), None

            for _ in range(0 if j else 4):
                c = implicit(c)
            c, _ = jax.lax.scan(both, c, None, length=market.steps if j else market.steps - 2)
            rows.append(jnp.sum(market.weights[j] * c[market.place[j][:, None] + np.arange(-1, 3)], axis=1))
        return jnp.stack(rows)

    def residuals(unknowns: Any) -> Any:
        """Residuals as for numba, in JAX."""
        logs = unknowns.reshape(len(market.intervals), -1)
        misfit = (calls(logs) - market.quotes) / market.scales
        bend = (logs[:, 2:] - 2.0 * logs[:, 1:-1] + logs[:, :-2]) / BEND
        return jnp.concatenate([misfit.ravel(), bend.ravel(), ((logs[1:] - logs[:-1]) / DRIFT).ravel()])

    f, jacobian = jax.jit(residuals), jax.jit(jax.jacfwd(residuals))
    return lambda x, market: np.asarray(f(x)), lambda x, market: np.asarray(jacobian(x))


def draw(market: Market, volatilities: np.ndarray, fit: Fit, path: str) -> None:
    """Draw the smiles of some expiries, and the local volatilities with their standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    found = implied(calls(fit.logs, market))
    drawn = [j for j in (0, 1, 3, 6, 9) if j < len(found)]
    for colour, j in enumerate(drawn):
        axes[0].plot(STRIKES, 100.0 * volatilities[j], "o", color=f"C{colour}", markersize=4)
        axes[0].plot(STRIKES, 100.0 * found[j], color=f"C{colour}", label=f"{EXPIRIES[j]:g} years")
    axes[0].set(xlabel="strike", title="quotes (points), and the fit (lines)", ylabel="implied volatility, percent")
    axes[0].legend()
    for colour, j in list(enumerate(drawn))[::2]:
        low, at, high = (100.0 * np.exp(fit.logs[j] + sign * fit.errors[j]) for sign in (-1.0, 0.0, 1.0))
        axes[1].plot(LEVELS, at, color=f"C{colour}", label=f"up to {EXPIRIES[j]:g} years")
        axes[1].fill_between(LEVELS, low, high, color=f"C{colour}", alpha=0.25, linewidth=0.0)
    axes[1].set(xlabel="log(price / forward)", title="local volatility, and one standard error", ylabel="percent")
    axes[1].legend()
    figure.savefig(path, dpi=110)


def milliseconds(f: Callable[..., Any], *args: Any, times: int = 20) -> float:
    """Return the mean processor time of a call in milliseconds, after a first call."""
    f(*args)
    before = time.process_time()
    for _ in range(times):
        f(*args)
    return 1e3 * (time.process_time() - before) / times


def main(argv: Sequence[str] | None = None) -> int:
    """Calibrate with every Jacobian, and print times and results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expiries", type=int, default=10, help="number of expiries to use, up to 10 (10)")
    parser.add_argument("--points", type=int, default=161, help="points of the grid (161)")
    parser.add_argument("--picture", metavar="FILE", help="draw the smiles and the local volatilities")
    options = parser.parse_args(argv)
    volatilities = QUOTES[: options.expiries]
    market = market_of(volatilities, options.points)
    exact = dr.jacfwd(residuals)
    ways: dict[str, tuple[Any, Any]] = {"dualrev": (residuals, exact)}
    ways |= {f"differences, {way}": (residuals, way) for way in ("2-point", "3-point")}
    if importlib.util.find_spec("jax"):
        ways["JAX"] = by_jax(market)
    else:
        print("JAX is not installed: it is left out")
    start = np.full(options.expiries * len(LEVELS), math.log(0.15))
    runs = {name: timed(partial(calibrated, market, f, jac)) for name, (f, jac) in ways.items()}
    best = runs["dualrev"][0]
    expected = exact(best.logs.ravel(), market)
    print(f"{volatilities.size} quotes, {start.size} unknowns, {len(expected)} residuals")
    columns = "residuals ms | Jacobian ms | its error | steps | calls | first s | second s | standard errors off by"
    print(f"| way | {columns} |")
    print("| --- |" + " ---: |" * 8)
    for name, (f, jac) in ways.items():
        jacobian = jac if callable(jac) else differences(f, jac)
        fit, one, two = runs[name]
        error = np.max(np.abs(jacobian(best.logs.ravel(), market) - expected)) / np.max(np.abs(expected))
        off = np.max(np.abs(fit.errors / best.errors - 1.0))
        cells = [f"{milliseconds(f, start, market):.2f}", f"{milliseconds(jacobian, start, market):.1f}"]
        cells += ["-" if name == "dualrev" else f"{error:.0e}", str(fit.steps), str(fit.calls)]
        cells += [f"{one:.2f}", f"{two:.2f}", "-" if name == "dualrev" else f"{off:.0e}"]
        print(f"| {name} | " + " | ".join(cells) + " |")
    misfit = 100.0 * (implied(calls(best.logs, market)) - volatilities)
    print(f"errors of the quotes: {np.sqrt(np.mean(misfit**2)):.3f} points of volatility in the mean square,", end=" ")
    print(f"{np.max(np.abs(misfit)):.3f} at most")
    if options.picture:
        draw(market, volatilities, best, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
