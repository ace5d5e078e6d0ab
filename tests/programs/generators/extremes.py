"""Random kernels with atomic maxima and minima, loops, branches, stores in place, and a named tuple of arrays."""

import random
from collections.abc import Iterator

HEAD = """
import math
from typing import NamedTuple

import numpy as np
from numba import cuda

TABLE = np.array([0.3, -0.7, 1.1])


class State(NamedTuple):
    x: np.ndarray
    k: np.ndarray
    high: np.ndarray
    low: np.ndarray
    total: np.ndarray
    n: int


@cuda.jit(device=True)
def seen(s, j, v):
    if v > 0.05:
        cuda.atomic.max(s.high, j, v)
    else:
        cuda.atomic.min(s.low, j, 1.5 * v)


@cuda.jit
def kernel(s, y):
    i = cuda.grid(1)
    if i < s.x.size:
        v = s.x[i]
"""

#: Statements; {i} is the counter of the loop around, {c} a number between 0 and 1.
PLAIN = [
    "cuda.atomic.max(s.high, (i + {i}) % 4, v * v - {c} * v)",
    "cuda.atomic.min(s.low, s.k[i], math.cos(v + {c}))",
    "cuda.atomic.add(s.total, {i} % 2, {c} * v)",
    "seen(s, (s.k[i] + {i}) % 4, v - {c})",
    "v = v + {c} * v * cuda.const.array_like(TABLE)[(i + {i}) % 3]",
    "v = v * ({c} + 0.5) + 0.05",
]


def kernel_text(seed: int) -> str:
    """Return the text of a module with a random kernel; some kernels change x in place, others read all of it."""
    r = random.Random(seed)
    in_place = r.random() < 0.5
    more = ["s.x[i] = 0.8 * s.x[i] + {c} * v * v", "v = v + {c} * s.x[i]"] if in_place else ["v = v * s.x[i * 3 % 6]"]
    lines = [line for _ in range(r.randrange(3, 8)) for line in _statement(r, [*PLAIN, *more], 0, "0")]
    return HEAD + "".join(f"        {line}\n" for line in [*lines, "y[i] = v * v"])


def _statement(r: random.Random, some: list[str], depth: int, counter: str) -> Iterator[str]:
    """Yield the lines of a statement."""
    kind = r.randrange(5)
    if kind == 0 and depth < 2:
        yield f"for j{depth} in range(s.n - {r.randrange(2)}):"
        for _ in range(r.randrange(1, 4)):
            yield from (f"    {line}" for line in _statement(r, some, depth + 1, f"j{depth}"))
        if r.random() < 0.3:
            yield f"    if v > {r.random() + 0.8:.2f}:"
            yield "        break"
    elif kind == 1 and depth < 3:
        yield f"if v > {r.random():.2f}:"
        yield from (f"    {line}" for line in _statement(r, some, depth + 1, counter))
        yield "else:"
        yield from (f"    {line}" for line in _statement(r, some, depth + 1, counter))
    else:
        yield r.choice(some).format(i=counter, c=f"{r.random():.2f}")
