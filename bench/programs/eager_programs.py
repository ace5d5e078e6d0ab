"""Array operations for bench/eager.py, run without a compiler: each program repeats one operation ten times.

A program takes numpy (or a library's own version of it) and its arguments, and returns one number. The operation is
applied to its own result `z`, whose elements stay near 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "Program"]

TIMES = 10
SIZES = (1, 5, 100, 10**4, 10**5, 10**6, 10**7)


@dataclasses.dataclass(frozen=True)
class Program:
    """An operation `step(np, z, x, c)`: z starts as x, which is differentiated; c is a constant."""

    name: str
    step: Callable[..., Any]
    libraries: tuple[str, ...] = ("dualrev", "autograd", "JAX", "PyTorch")
    square: bool = False  # x is a square matrix
    most: int = 10**7  # elements
    times: int = TIMES

    def sizes(self, asked: Sequence[int] | None) -> list[int]:
        """Return the numbers of elements to time: those that the user asks for, or SIZES, up to `most`."""
        return [n for n in asked or SIZES if n <= self.most]

    def run(self, np: Any, x: Any, c: Any) -> Any:
        """Repeat the operation, and sum the result."""
        z = x
        for _ in range(self.times):
            z = self.step(np, z, x, c)
        return np.sum(z)

    def make(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the argument and the constant, with about `size` elements each."""
        rng = np.random.default_rng(0)
        side = round(size**0.5)
        shape = (side, side) if self.square else (size,)
        return rng.uniform(0.9, 1.1, shape), rng.uniform(0.9, 1.1, shape)


def _broadcast(np: Any, z: Any, x: Any, c: Any) -> Any:
    return z + 0.01 * z[0]


def _half_written(np: Any, z: Any, x: Any, c: Any) -> Any:
    z = z * 1.0
    z[: len(z) // 2] = x[: len(x) // 2]
    return z


def _picked(np: Any, z: Any, x: Any, c: Any) -> Any:
    return z[_places(len(z))]


def _places(n: int) -> np.ndarray:
    return np.arange(n)[::-1]


_NUMPY = ("dualrev", "autograd", "JAX")

PROGRAMS = {
    program.name: program
    for program in [
        Program("x + y", lambda np, z, x, c: z + x),
        Program("x * y", lambda np, z, x, c: z * x),
        Program("c * x", lambda np, z, x, c: c * z),
        Program("exp(-x)", lambda np, z, x, c: np.exp(-z)),
        Program("tanh(x)", lambda np, z, x, c: np.tanh(z)),
        Program("x / (1 + x**2)", lambda np, z, x, c: 2.0 * z / (1.0 + z**2)),
        Program("where", lambda np, z, x, c: np.where(c > 1.0, z, x)),
        Program("z + dot(z, x)", lambda np, z, x, c: z + 1e-9 * np.dot(z, x)),
        Program("sum along an axis", lambda np, z, x, c: z - 1e-3 * np.sum(z, axis=0), _NUMPY, square=True),
        Program("broadcast", _broadcast, square=True),
        Program("slices", lambda np, z, x, c: np.concatenate([z[1:], z[:1]]), _NUMPY),
        Program("slice assignment", _half_written, ("dualrev",)),
        Program("fancy indexing", _picked, _NUMPY),
        Program("matmul", lambda np, z, x, c: np.matmul(z, c) / len(z), square=True, most=10**6),
        Program("einsum", lambda np, z, x, c: np.einsum("ij,kj->ik", z, c) / len(z), _NUMPY, square=True, most=10**4),
        Program("sort", lambda np, z, x, c: np.sort(z) * c, _NUMPY),
    ]
}
