"""Find the conductivities of a plate from its temperatures, with checkpoints: `python -m examples.heat`.

A plate of n x n cells starts with known temperatures. Heat flows for some steps, and the temperatures at the end are
measured. The unknowns are the conductivities of all cells: 99,856 at n = 316. L-BFGS minimises the misfit plus a term
that prefers smooth conductivities; one reverse pass computes the whole gradient.

The reverse pass needs the temperatures of all steps. `dr.checkpoint(step, loop=2)` keeps about twice the square root of
their number, and recomputes the steps between.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from scipy.optimize import minimize

import dualrev as dr
from examples.arguments import at_least, picture, positive


@njit
def step(k, u, conductivities):
    """Compute the next temperatures: the flow is the mean of two conductivities times the difference."""
    n = len(u)
    made = u.copy()
    for i in range(n):
        for j in range(n):
            c = conductivities[i, j]
            if i + 1 < n:
                flow = 0.1 * (c + conductivities[i + 1, j]) * (u[i + 1, j] - u[i, j])
                made[i, j] += flow
                made[i + 1, j] -= flow
            if j + 1 < n:
                flow = 0.1 * (c + conductivities[i, j + 1]) * (u[i, j + 1] - u[i, j])
                made[i, j] += flow
                made[i, j + 1] -= flow
    return made


run = dr.checkpoint(step, loop=2)


@njit
def misfit(end, logs, measured):
    """Compute the objective: squared differences of the temperatures, plus a smoothness term."""
    n = len(logs)
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += (end[i, j] - measured[i, j]) ** 2
            if i + 1 < n:
                total += 1e-5 * (logs[i + 1, j] - logs[i, j]) ** 2
            if j + 1 < n:
                total += 1e-5 * (logs[i, j + 1] - logs[i, j]) ** 2
    return total


@njit
def with_checkpoints(logs, start, measured, steps):
    """Compute the objective, with a gradient that keeps few states."""
    return misfit(run(steps, start, np.exp(logs)), logs, measured)


@njit
def without(logs, start, measured, steps):
    """Compute the objective, with a gradient that keeps all states."""
    u, conductivities = start, np.exp(logs)
    for k in range(steps):
        u = step(k, u, conductivities)
    return misfit(u, logs, measured)


WAYS = {"checkpoints": with_checkpoints, "all states": without}


def problem(n: int, steps: int, noise: float = 1e-4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return logarithms of the true conductivities, first temperatures, and measured last temperatures."""
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, n), np.linspace(-1.0, 1.0, n))
    truth = -1.0 + 0.8 * np.exp(-8.0 * ((x - 0.3) ** 2 + y**2)) - 0.8 * np.exp(-8.0 * ((x + 0.4) ** 2 + (y - 0.2) ** 2))
    start = np.sin(9.0 * x) * np.sin(7.0 * y + 1.0) + x
    end = start
    for k in range(steps):
        end = step(k, end, np.exp(truth))
    return truth, start, end + np.random.default_rng(0).normal(0.0, noise, end.shape)


def found(n: int, steps: int, iterations: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Solve the problem; return the truth, the estimate, and SciPy's result."""
    truth, start, measured = problem(n, steps)
    slope = dr.value_and_grad(with_checkpoints)

    def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit and its gradient, for SciPy's flat vectors."""
        value, gradient = slope(vector.reshape(n, n), start, measured, steps)
        return value, gradient.ravel()

    begin = np.full(n * n, -1.0)
    result = minimize(objective, begin, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    return truth, result.x.reshape(n, n), result


def cost(way: str, n: int, steps: int) -> tuple[float, float, float]:
    """Measure seconds of the function and its gradient, and MB of the gradient, once, in this process."""
    truth, start, measured = problem(n, steps)
    logs, slope = np.full_like(truth, -1.0), dr.value_and_grad(WAYS[way])
    args = start, measured, steps
    for f in (WAYS[way], slope):
        f(np.full((4, 4), -1.0), np.ones((4, 4)), np.ones((4, 4)), 4)  # compiled
    times, before = [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for f in (WAYS[way], slope):
        begin = time.process_time()
        f(logs, *args)
        times.append(time.process_time() - begin)
    return times[0], times[1], (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024.0


def draw(truth: np.ndarray, estimate: np.ndarray, path: str) -> None:
    """Draw the truth and the estimate side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(7.0, 3.2), layout="constrained")
    for axis, values, title in zip(axes, (truth, estimate), ("true", "found"), strict=True):
        image = axis.imshow(values, vmin=truth.min(), vmax=truth.max())
        axis.set_title(f"log conductivity, {title}")
        axis.set_axis_off()
    figure.colorbar(image, ax=axes)
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Print time and memory of a gradient, and the distance of the estimate from the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=at_least(2), default=316, help="n, for a plate of n x n cells (316)")
    parser.add_argument("--steps", type=positive, default=200, help="time steps (200)")
    parser.add_argument("--iterations", type=positive, default=30, help="iterations of L-BFGS (30)")
    parser.add_argument("--cost", choices=WAYS, help="only print time and memory of one gradient, in this process")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw the true and the found conductivities")
    options = parser.parse_args(argv)
    if options.cost:
        print(
            "| {} | {:.2f} | {:.2f} | {:.0f} |".format(options.cost, *cost(options.cost, options.size, options.steps))
        )
        return 0
    print(f"{options.size**2} unknowns, {options.steps} steps")
    print("| way | function s | gradient s | gradient MB |\n| --- | ---: | ---: | ---: |", flush=True)
    for way in WAYS:  # a process for each, whose memory is its own
        given = [f"--size={options.size}", f"--steps={options.steps}", f"--cost={way}"]
        subprocess.run([sys.executable, "-m", "examples.heat", *given], check=True)
    begin = time.process_time()
    truth, estimate, result = found(options.size, options.steps, options.iterations)
    error = np.sqrt(np.mean((estimate - truth) ** 2))
    print(f"{result.nit} iterations, {result.nfev} gradients, {time.process_time() - begin:.0f} s:", end=" ")
    print(f"misfit {result.fun:.6f}, error of the logarithms {error:.3f}, of the start {np.std(truth + 1.0):.3f}")
    if options.picture:
        draw(truth, estimate, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
