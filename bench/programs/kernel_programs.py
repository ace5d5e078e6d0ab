"""CUDA kernels whose adjoints bench/kernels.py times: a kernel, its grid, and its arguments for a size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import cuda

__all__ = ["PROGRAMS", "Program"]

Grid = tuple[Any, Any]


@cuda.jit
def saxpy(a, x, y):
    """Add a multiple of an array to another one."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def wave(u, before, after):
    """Time step of a wave with a cubic force."""
    i, j = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        v = u[i, j]
        curvature = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * v
        after[i, j] = 2 * v - before[i, j] + 0.1 * (curvature - v * v * v)


@cuda.jit
def n_body(x, force):
    """Forces between all pairs of bodies."""
    i = cuda.grid(1)
    if i >= x.shape[0]:
        return
    fx = 0.0
    fy = 0.0
    fz = 0.0
    for j in range(x.shape[0]):
        dx = x[j, 0] - x[i, 0]
        dy = x[j, 1] - x[i, 1]
        dz = x[j, 2] - x[i, 2]
        r = dx * dx + dy * dy + dz * dz + 0.01
        w = 1.0 / (r * math.sqrt(r))
        fx += w * dx
        fy += w * dy
        fz += w * dz
    force[i, 0] = fx
    force[i, 1] = fy
    force[i, 2] = fz


@cuda.jit
def scatter(k, w, h):
    """Squares of weights, added into bins."""
    i = cuda.grid(1)
    if i < k.size:
        cuda.atomic.add(h, k[i], w[i] * w[i])


@cuda.jit
def black_scholes(market, z, price):
    """Price of a call option, from terminal values: spot, strike, rate, volatility and maturity are `market`."""
    i = cuda.grid(1)
    if i < z.size:
        spot, strike, rate, volatility, maturity = market[0], market[1], market[2], market[3], market[4]
        drift = (rate - 0.5 * volatility * volatility) * maturity
        end = spot * math.exp(drift + volatility * math.sqrt(maturity) * z[i])
        if end > strike:
            cuda.atomic.add(price, 0, math.exp(-rate * maturity) * (end - strike) / z.size)


@cuda.jit
def batched_lu(a, factors):
    """LU factors of 4 x 4 matrices, without pivots."""
    b = cuda.grid(1)
    if b >= a.shape[0]:
        return
    m = cuda.local.array((4, 4), numba.float64)
    for i in range(4):
        for j in range(4):
            m[i, j] = a[b, i, j]
    for k in range(4):
        for i in range(k + 1, 4):
            m[i, k] = m[i, k] / m[k, k]
            for j in range(k + 1, 4):
                m[i, j] = m[i, j] - m[i, k] * m[k, j]
    for i in range(4):
        for j in range(4):
            factors[b, i, j] = m[i, j]


@dataclass(frozen=True)
class Program:
    """Kernel with `make(size, dtype, threads)`, its arguments and its grid; `size` is for times, `tiny` for a check."""

    name: str
    kernel: Any
    make: Callable[[int, Any, int], tuple[tuple[Any, ...], Grid]]
    size: int
    tiny: int


def _line(n: int, threads: int) -> Grid:
    return -(-n // threads), threads


def _saxpy(n: int, dtype: Any, threads: int) -> tuple[tuple[Any, ...], Grid]:
    x, y = np.random.default_rng(0).random((2, n)).astype(dtype)
    return (dtype(0.5), x, y), _line(n, threads)


def _wave(n: int, dtype: Any, threads: int) -> tuple[tuple[Any, ...], Grid]:
    side = math.isqrt(threads)
    u, before, after = np.random.default_rng(0).random((3, n, n)).astype(dtype)
    return (u, before, after), ((-(-n // side),) * 2, (side, side))


def _n_body(n: int, dtype: Any, threads: int) -> tuple[tuple[Any, ...], Grid]:
    x, force = np.random.default_rng(0).random((2, n, 3)).astype(dtype)
    return (x, force), _line(n, threads)


def _scatter(n: int, dtype: Any, threads: int) -> tuple[tuple[Any, ...], Grid]:
    rng = np.random.default_rng(0)
    bins = max(2, n // 1024)
    return (rng.integers(0, bins, n), rng.random(n).astype(dtype), np.zeros(bins, dtype)), _line(n, threads)


def _black_scholes(n: int, dtype: Any, threads: int) -> tuple[tuple[Any, ...], Grid]:
    z = np.random.default_rng(0).standard_normal(n).astype(dtype)
    return (np.array([100.0, 95.0, 0.03, 0.2, 1.0], dtype), z, np.zeros(1, dtype)), _line(n, threads)


def _batched_lu(n: int, dtype: Any, threads: int) -> tuple[tuple[Any, ...], Grid]:
    a = np.random.default_rng(0).random((n, 4, 4)) + 4.0 * np.eye(4)
    return (a.astype(dtype), np.zeros((n, 4, 4), dtype)), _line(n, threads)


PROGRAMS = (
    Program("saxpy", saxpy, _saxpy, 1 << 24, 6),
    Program("2-D wave", wave, _wave, 4096, 5),
    Program("N-body, without shared memory", n_body, _n_body, 8192, 5),
    Program("histogram-like scatter", scatter, _scatter, 1 << 24, 6),
    Program("Black-Scholes Monte Carlo", black_scholes, _black_scholes, 1 << 22, 6),
    Program("batched LU, 4 x 4", batched_lu, _batched_lu, 1 << 18, 3),
)
