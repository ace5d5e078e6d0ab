"""CUDA kernels whose adjoints bench/kernels.py times, with their arguments and grids.

A kernel is made for a dtype, in which it computes, and for the threads of a block. kernel_warp.py and kernel_jax.py
have the same programs for other libraries.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

__all__ = ["PROGRAMS", "Prepared", "Problem", "Program"]

Grid = tuple[Any, Any]
Arguments = tuple[Any, ...]


def saxpy(real: Any, threads: int) -> Any:
    @cuda.jit
    def saxpy(a, x, y):
        """Add a multiple of an array to another one."""
        i = cuda.grid(1)
        if i < x.size:
            y[i] += a * x[i]

    return saxpy


def wave(real: Any, threads: int) -> Any:
    @cuda.jit
    def wave(u, before, after):
        """Time step of a wave with a cubic force."""
        j, i = cuda.grid(2)  # neighbouring threads load neighbouring elements
        if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
            v = u[i, j]
            curvature = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - real(4.0) * v
            after[i, j] = real(2.0) * v - before[i, j] + real(0.1) * (curvature - v * v * v)

    return wave


def n_body(real: Any, threads: int) -> Any:
    @cuda.jit
    def n_body(x, force):
        """Forces between all pairs of bodies: a block loads one tile of bodies after the other."""
        tile = cuda.shared.array((threads, 3), real)
        i, t = cuda.grid(1), cuda.threadIdx.x
        fx = real(0.0)
        fy = real(0.0)
        fz = real(0.0)
        for k in range(0, x.shape[0], threads):
            for axis in range(3):
                tile[t, axis] = x[k + t, axis]
            cuda.syncthreads()
            for j in range(threads):
                dx = tile[j, 0] - x[i, 0]
                dy = tile[j, 1] - x[i, 1]
                dz = tile[j, 2] - x[i, 2]
                r = dx * dx + dy * dy + dz * dz + real(0.01)
                w = real(1.0) / (r * math.sqrt(r))
                fx += w * dx
                fy += w * dy
                fz += w * dz
            cuda.syncthreads()
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz

    return n_body


def scatter(real: Any, threads: int) -> Any:
    @cuda.jit
    def scatter(k, w, h):
        """Squares of weights, added into bins."""
        i = cuda.grid(1)
        if i < k.size:
            cuda.atomic.add(h, k[i], w[i] * w[i])

    return scatter


def black_scholes(real: Any, threads: int) -> Any:
    @cuda.jit
    def black_scholes(market, z, price):
        """Price of a call option, from terminal values: spot, strike, rate, volatility and maturity are `market`."""
        i = cuda.grid(1)
        if i < z.size:
            spot, strike, rate, volatility, maturity = market[0], market[1], market[2], market[3], market[4]
            drift = (rate - real(0.5) * volatility * volatility) * maturity
            end = spot * math.exp(drift + volatility * math.sqrt(maturity) * z[i])
            if end > strike:
                cuda.atomic.add(price, 0, math.exp(-rate * maturity) * (end - strike) / real(z.size))

    return black_scholes


def batched_lu(real: Any, threads: int) -> Any:
    @cuda.jit
    def batched_lu(a, factors):
        """LU factors of 4 x 4 matrices, without pivots."""
        b = cuda.grid(1)
        if b >= a.shape[0]:
            return
        m = cuda.local.array((4, 4), real)
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

    return batched_lu


@dataclass(frozen=True)
class Program:
    """Program at several sizes.

    name      its name in the table
    build     makes the kernel for a dtype and for the threads of a block
    make      makes the arguments and the grid for a size, a dtype and the threads of a block
    inputs    numbers of the arguments whose gradients are compared
    result    number of the argument that the kernel writes to
    sizes     sizes at which it is timed, by name
    tiny      size at which its adjoint is compared with differences, in blocks of four threads
    tape      words of memory that dualrev's adjoint needs for a thread
    """

    name: str
    build: Callable[[Any, int], Any]
    make: Callable[[int, Any, int], tuple[Arguments, Grid]]
    inputs: tuple[int, ...]
    result: int
    sizes: dict[str, int]
    tiny: int
    tape: int = 64

    def kernel(self, dtype: Any, threads: int) -> Any:
        """Return the kernel for a dtype and for the threads of a block."""
        return _built(self.build, dtype, threads)


_built = functools.cache(lambda build, dtype, threads: build(dtype, threads))


@dataclass(frozen=True, eq=False)
class Problem:
    """Program at one size: its arguments, and a cotangent of its result."""

    program: Program
    dtype: Any
    threads: int
    args: Arguments
    grid: Grid
    ct: np.ndarray

    @classmethod
    def of(cls, program: Program, size: int, dtype: Any, threads: int) -> Problem:
        """Make the arguments of a program for a size, and a random cotangent."""
        args, grid = program.make(size, dtype, threads)
        ct = np.random.default_rng(1).standard_normal(args[program.result].shape).astype(dtype)
        return cls(program, dtype, threads, args, grid, ct)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Answer of a library for a problem, and its launches, each of which returns when the device is done.

    result      the array that the program writes to
    gradients   gradients with respect to the inputs
    primal      launch of the program
    adjoint     launch of its adjoint
    renew       sets the cotangent of the result again, which an adjoint may have taken out of its shadow
    """

    result: np.ndarray
    gradients: list[np.ndarray]
    primal: Callable[[], Any]
    adjoint: Callable[[], Any]
    renew: Callable[[], Any] = lambda: None


def _line(n: int, threads: int) -> Grid:
    return -(-n // threads), threads


def _saxpy(n: int, dtype: Any, threads: int) -> tuple[Arguments, Grid]:
    x, y = np.random.default_rng(0).random((2, n)).astype(dtype)
    return (dtype(0.5), x, y), _line(n, threads)


def _wave(n: int, dtype: Any, threads: int) -> tuple[Arguments, Grid]:
    width = min(threads, 32)
    shape = width, threads // width
    u, before, after = np.random.default_rng(0).random((3, n, n)).astype(dtype)
    return (u, before, after), (tuple(-(-n // extent) for extent in shape), shape)


def _n_body(n: int, dtype: Any, threads: int) -> tuple[Arguments, Grid]:
    if n % threads:
        raise ValueError(f"bodies come in tiles of {threads}, got {n}")
    x, force = np.random.default_rng(0).random((2, n, 3)).astype(dtype)
    return (x, force), _line(n, threads)


def _scatter(n: int, dtype: Any, threads: int) -> tuple[Arguments, Grid]:
    rng = np.random.default_rng(0)
    bins = max(2, n // 1024)
    return (rng.integers(0, bins, n), rng.random(n).astype(dtype), np.zeros(bins, dtype)), _line(n, threads)


def _black_scholes(n: int, dtype: Any, threads: int) -> tuple[Arguments, Grid]:
    z = np.random.default_rng(0).standard_normal(n).astype(dtype)
    return (np.array([100.0, 95.0, 0.03, 0.2, 1.0], dtype), z, np.zeros(1, dtype)), _line(n, threads)


def _batched_lu(n: int, dtype: Any, threads: int) -> tuple[Arguments, Grid]:
    a = np.random.default_rng(0).random((n, 4, 4)) + 4.0 * np.eye(4)
    return (a.astype(dtype), np.zeros((n, 4, 4), dtype)), _line(n, threads)


def _sizes(large: int, small: int) -> dict[str, int]:
    return {"large": large, "small": small}


_LARGE = 8192  # bodies, in blocks of 256: the adjoint saves three words of a thread for each tile

PROGRAMS = (
    Program("saxpy", saxpy, _saxpy, (1, 2), 2, _sizes(1 << 24, 1 << 16), 6),
    Program("2-D wave", wave, _wave, (0, 1), 2, _sizes(4096, 256), 5),
    Program("N-body, shared memory", n_body, _n_body, (0,), 1, _sizes(_LARGE, 1024), 8, 3 * _LARGE // 256),
    Program("histogram-like scatter", scatter, _scatter, (1,), 2, _sizes(1 << 24, 1 << 16), 6),
    Program("Black-Scholes Monte Carlo", black_scholes, _black_scholes, (0, 1), 2, _sizes(1 << 22, 1 << 16), 6),
    Program("batched LU, 4 x 4", batched_lu, _batched_lu, (0,), 1, _sizes(1 << 18, 1 << 12), 3),
)
