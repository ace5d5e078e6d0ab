"""Greeks of options by Monte Carlo, compared with finite differences: `python -m examples.greeks`.

1. A barrier call in Heston's model: its derivatives with respect to seven parameters.
2. An Asian call, in a parallel loop over its paths: its gradient.
3. The gamma of the Asian call, a second derivative.

A branch on the barrier would make the payoff jump, and derivatives along a path would miss the jump. So each step
multiplies the weight of its path by the probability that a Brownian bridge between the two prices does not touch the
barrier. This is smooth, and exact in the limit of small steps.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit, prange

import dualrev as dr
from examples.arguments import positive

HESTON = {"spot": 100.0, "v0": 0.04, "kappa": 1.5, "theta": 0.04, "xi": 0.3, "rho": -0.6, "rate": 0.02}
STRIKE, BARRIER, YEARS = 100.0, 85.0, 1.0
ASIAN = {"spot": 100.0, "volatility": 0.25, "rate": 0.02}


@njit
def barrier_call(p, strike, barrier, years, draws):
    """Price of a call that dies below the barrier. `draws` are normal numbers of shape (paths, steps, 2)."""
    spot, v0, kappa, theta, xi, rho, rate = p[0], p[1], p[2], p[3], p[4], p[5], p[6]
    paths, steps = draws.shape[0], draws.shape[1]
    dt = years / steps
    total = 0.0
    for i in range(paths):
        x, v, alive = math.log(spot / barrier), v0, 1.0
        for k in range(steps):
            variance = max(v, 1e-5) * dt
            deviation = math.sqrt(variance)
            before = x
            x += rate * dt - 0.5 * variance + deviation * draws[i, k, 0]
            z = rho * draws[i, k, 0] + math.sqrt(1.0 - rho * rho) * draws[i, k, 1]
            v += kappa * (theta - max(v, 0.0)) * dt + xi * deviation * z
            if x <= 0.0:
                alive = 0.0
                break
            alive *= 1.0 - math.exp(-2.0 * before * x / variance)
        if alive > 0.0:
            total += alive * max(barrier * math.exp(x) - strike, 0.0)
    return math.exp(-rate * years) * total / paths


@njit(parallel=True)
def asian(p, strike, years, draws):
    """Price of a call on the mean price, whose kink is smoothed over half a unit of price."""
    spot, volatility, rate = p[0], p[1], p[2]
    paths, steps = draws.shape[0], draws.shape[1]
    dt = years / steps
    total = 0.0
    for i in prange(paths):
        x, mean = 0.0, 0.0
        for k in range(steps):
            x += (rate - 0.5 * volatility * volatility) * dt + volatility * math.sqrt(dt) * draws[i, k]
            mean += math.exp(x)
        gain = (spot * mean / steps - strike) / 0.5
        total += 0.5 * (gain + math.log1p(math.exp(-gain)) if gain > 0.0 else math.log1p(math.exp(gain)))
    return math.exp(-rate * years) * total / paths


def differences(f: Callable[..., float], p: np.ndarray, args: tuple[Any, ...], step: float = 1e-5) -> np.ndarray:
    """Compute central differences: two prices for each parameter, with the same random numbers."""
    made = np.empty(len(p))
    for k, size in enumerate(step * np.abs(p)):
        up, down = p.copy(), p.copy()
        up[k] += size
        down[k] -= size
        made[k] = (f(up, *args) - f(down, *args)) / (2.0 * size)
    return made


def second_difference(f: Callable[..., float], p: np.ndarray, args: tuple[Any, ...], step: float) -> float:
    """Compute the second difference with respect to the spot, from three prices."""
    size = step * p[0]
    up, down = p.copy(), p.copy()
    up[0] += size
    down[0] -= size
    return (f(up, *args) - 2.0 * f(p, *args) + f(down, *args)) / size**2


def gamma(p: np.ndarray, *args: Any) -> float:
    """Compute the second derivative with respect to the spot, by one Hessian-vector product."""
    return float(dr.hvp(asian)(p, np.array([1.0, 0.0, 0.0]), *args)[0])


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a function's result, and the milliseconds of processor time of its third call."""
    run()
    run()
    before = time.process_time()
    result = run()
    return result, 1e3 * (time.process_time() - before)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the Greeks, by derivatives and by finite differences, and their times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", type=positive, default=20_000, help="number of Monte Carlo paths (20000)")
    parser.add_argument("--steps", type=positive, default=100, help="steps of a path (100)")
    options = parser.parse_args(argv)
    draws = np.random.default_rng(0).normal(size=(options.paths, options.steps, 2))
    p, args = np.array(list(HESTON.values())), (STRIKE, BARRIER, YEARS, draws)
    price, price_time = timed(lambda: barrier_call(p, *args))
    greeks, greeks_time = timed(lambda: dr.grad(barrier_call)(p, *args))
    bumped, bumped_time = timed(lambda: differences(barrier_call, p, args))
    print(f"barrier call in Heston's model: {price:.4f}")
    print("| by | derivative | differences |\n| --- | ---: | ---: |")
    for name, exact, approximate in zip(HESTON, greeks, bumped, strict=True):
        print(f"| {name} | {exact:.8f} | {approximate:.8f} |")
    print(f"ms: price {price_time:.1f}, all seven derivatives {greeks_time:.1f}, differences {bumped_time:.1f}\n")

    q, rest = np.array(list(ASIAN.values())), (STRIKE, YEARS, np.ascontiguousarray(draws[:, :, 0]))
    price, price_time = timed(lambda: asian(q, *rest))
    greeks, greeks_time = timed(lambda: dr.grad(asian)(q, *rest))
    bumped, bumped_time = timed(lambda: differences(asian, q, rest))
    exact, gamma_time = timed(lambda: gamma(q, *rest))
    print(f"Asian call: {price:.4f}")
    print("| by | derivative | differences |\n| --- | ---: | ---: |")
    for name, slope, approximate in zip(ASIAN, greeks, bumped, strict=True):
        print(f"| {name} | {slope:.8f} | {approximate:.8f} |")
    steps = (1e-2, 1e-4, 1e-6)
    seconds = ", ".join(f"{second_difference(asian, q, rest, step):.6f} ({step:g})" for step in steps)
    print(f"| spot, twice (gamma) | {exact:.8f} | with steps of the spot: {seconds} |")
    print(
        f"ms: price {price_time:.1f}, gradient {greeks_time:.1f}, differences {bumped_time:.1f}, gamma {gamma_time:.1f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
