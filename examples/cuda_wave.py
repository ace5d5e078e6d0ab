"""Fit the sources of a wave in CUDA kernels: `python -m examples.cuda_wave`.

A membrane of n x n cells is at rest. Sources of unknown strength, one in each cell, push it with a known pulse, and the
waves are measured along two edges, at each time step. L-BFGS of SciPy finds the strengths: it minimises the squared
differences from the measurements, plus a small penalty of large strengths.

Kernels of `numba.cuda` compute the waves, and `dr.cuda.vjp` the gradient: it launches their adjoints in the reverse
order. The waves depend linearly on the sources, so it copies no state.

Without a GPU, run it in numba's simulator: `NUMBA_ENABLE_CUDASIM=1 python -m examples.cuda_wave`.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import cuda
from scipy.optimize import minimize

import dualrev as dr
from examples.arguments import at_least, positive

PENALTY = 1e-4


@cuda.jit
def step(u, before, source, pulse):
    """Overwrite the state before the last one with the next one."""
    i, j = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        curvature = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
        before[i, j] = 2.0 * u[i, j] - before[i, j] + 0.4 * curvature + pulse * source[i, j]


@cuda.jit
def measure(u, traces):
    """Measure the state next to two edges."""
    j = cuda.grid(1)
    if j < u.shape[0]:
        traces[0, j] = u[1, j]
        traces[1, j] = u[j, 1]


@cuda.jit
def misfit(traces, measured, out):
    """Add the squared differences from the measurements."""
    k, j = cuda.grid(2)
    if k < traces.shape[0] and j < traces.shape[2]:
        for edge in range(2):
            cuda.atomic.add(out, 0, (traces[k, edge, j] - measured[k, edge, j]) ** 2)


@cuda.jit
def penalty(source, weight, out):
    """Add the penalty of large strengths."""
    i, j = cuda.grid(2)
    if i < source.shape[0] and j < source.shape[1]:
        cuda.atomic.add(out, 0, weight * source[i, j] ** 2)


def grid(*extents: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return blocks and threads for an array of these extents."""
    threads = tuple(min(n, 16) for n in extents)
    return tuple(-(-n // t) for n, t in zip(extents, threads, strict=True)), threads


def pulse(k: int) -> float:
    """Return the strength of the pulse at a time step."""
    return math.exp(-((k - 3.0) ** 2) / 4.0)


def waves(record: dr.cuda.Record, source: Any, steps: int) -> Any:
    """Launch the time steps; return the traces of all steps."""
    n = source.shape[0]
    u, before, traces = record.zeros((n, n)), record.zeros((n, n)), record.zeros((steps, 2, n))
    for k in range(steps):
        record[step, *grid(n, n)](u, before, source, pulse(k))
        u, before = before, u
        record[measure, *grid(n)](u, traces[k])
    return traces


def objective(steps: int, measured: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return the objective of L-BFGS: of a flat array of strengths, its value and its gradient."""
    n = measured.shape[-1]

    def launch(record: dr.cuda.Record, source: Any) -> Any:
        """Launch all kernels of the objective."""
        traces, out = waves(record, source, steps), record.zeros(1)
        record[misfit, *grid(steps, n)](traces, record.to_device(measured), out)
        record[penalty, *grid(n, n)](source, PENALTY, out)
        return out

    def value_and_gradient(strengths: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        value, pullback = dr.cuda.vjp(launch, strengths.reshape(n, n))
        return float(value[0]), pullback(np.ones(1))[0].ravel()

    return value_and_gradient


def problem(n: int, steps: int, noise: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Return the true strengths, of two sources, and the measurements, with noise."""
    x, y = np.meshgrid(np.arange(n) / (n - 1), np.arange(n) / (n - 1))
    truth = np.exp(-40.0 * ((x - 0.35) ** 2 + (y - 0.4) ** 2)) - np.exp(-40.0 * ((x - 0.6) ** 2 + (y - 0.65) ** 2))
    truth[[0, -1]] = truth[:, [0, -1]] = 0.0
    traces, _ = dr.cuda.vjp(lambda record, source: waves(record, source, steps), truth)
    return truth, traces + np.random.default_rng(0).normal(0.0, noise, traces.shape)


def found(n: int, steps: int, iterations: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Solve the problem; return the truth, the estimate, and SciPy's result."""
    truth, measured = problem(n, steps)
    options = {"maxiter": iterations}
    result = minimize(objective(steps, measured), np.zeros(n * n), jac=True, method="L-BFGS-B", options=options)
    return truth, result.x.reshape(n, n), result


def main(argv: Sequence[str] | None = None) -> int:
    """Print the distance of the estimate from the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=at_least(4), default=10, help="n, for a membrane of n x n cells (10)")
    parser.add_argument("--steps", type=positive, default=24, help="time steps (24)")
    parser.add_argument("--iterations", type=positive, default=20, help="iterations of L-BFGS (20)")
    options = parser.parse_args(argv)
    if not cuda.is_available():
        parser.error("there is no GPU: set NUMBA_ENABLE_CUDASIM=1 to run it in numba's simulator")
    begin = time.perf_counter()
    truth, estimate, result = found(options.size, options.steps, options.iterations)
    error = np.linalg.norm(estimate - truth) / np.linalg.norm(truth)
    print(f"{options.size**2} unknowns, {options.steps} steps")
    print(f"{result.nit} iterations, {result.nfev} gradients, {time.perf_counter() - begin:.1f} s:", end=" ")
    print(f"objective {result.fun:.6f}, relative error of the strengths {error:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
