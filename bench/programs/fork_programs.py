"""Programs that fork into large parts of equal size, for the stage `parallel`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev import math as dm
from stages import fork
from stages.programs import PROGRAMS, particles

__all__ = ["FORKS", "Forking"]

STEPS = 100  # of a particle


@dataclasses.dataclass(frozen=True)
class Forking:
    """A program, and its primals at a size; `sizes` are those of the suite, of a quick run and of a full one."""

    title: str
    function: Callable[..., Any]
    make: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, int]


def tree(xs: list[Any]) -> Any:
    """The sum over a list, in a balanced tree of forks, of a thousand sines each."""
    if len(xs) > 1:
        half = len(xs) // 2
        left, right = fork(lambda: tree(xs[:half]), lambda: tree(xs[half:]))
        return left + right
    (x,) = xs
    for _ in range(1000):
        x = dm.sin(x)
    return x


def swarm(parts: list[Any]) -> Any:
    """The sum of x * y of particles after some steps, with a side of a fork for each half of the swarm."""
    if len(parts) > 1:
        half = len(parts) // 2
        left, right = fork(lambda: swarm(parts[:half]), lambda: swarm(parts[half:]))
        return left + right
    return particles(parts, STEPS)


#: The programs by name.
FORKS = {
    "tree": Forking("balanced tree of sines", tree, lambda n: (list(np.linspace(0.1, 1.1, n)),), (16, 128)),
    "particles": Forking("particles", swarm, lambda n: PROGRAMS["particles"].make(n, 0)[:1], (8, 64)),
}
