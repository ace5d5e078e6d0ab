"""The programs and sizes on the page, with arguments that are easy to follow."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from dualrev import tree
from stages.programs import PROGRAMS, Cell

__all__ = ["DEFAULTS", "SAMPLES", "Sample", "sample"]

#: The programs that are shown if none is asked for.
DEFAULTS = ("fig1", "doublings", "section4", "wide", "deep")


class Sample(NamedTuple):
    """The sizes of a program that a reader can choose, the initial size, and the arguments of a size."""

    sizes: tuple[int, ...]
    start: int
    make: Callable[[int], tuple[Any, ...]]


def _wide(n: int) -> tuple[Any, ...]:
    return [float(k) for k in range(1, n + 1)], 3


def _deep(n: int) -> tuple[Any, ...]:
    cell = None
    for k in range(n, 0, -1):
        cell = Cell(float(k), cell)
    return cell, [1.0, 2.0, 3.0]


#: For the others `sample` has the program's own arguments, rounded.
SAMPLES: dict[str, Sample] = {
    "fig1": Sample((1,), 1, lambda n: (3.0, 2.0)),
    "doublings": Sample(tuple(range(1, 13)), 4, lambda n: (1.0, n)),
    "section4": Sample((1,), 1, lambda n: (1.0,)),
    "wide": Sample((6, 8, 12, 16, 20, 24), 16, _wide),
    "deep": Sample(tuple(range(1, 9)), 6, _deep),
}

#: The largest size that is small enough to go through.
_SIZES = {
    "scaled_doublings": 6,
    "scalar_mult": 6,
    "dot": 6,
    "sum_mat_vec": 3,
    "rotate": 1,
    "neural": 2,
    "particles": 1,
    "expression": 8,
    "compose": 6,
    "newton": 1,
    "loop": 3,
}


def sample(name: str, size: int | None = None, seed: int = 0) -> Sample:
    """Return the sizes and arguments of a program: easy arguments, unless a size or a seed asks for others.

    >>> sample("doublings").make(3)
    (1.0, 3)
    >>> sample("dot").sizes, sample("dot").make(2)
    ((1, 2, 3, 4, 5, 6), ([0.27, -0.46], [-0.92, -0.97]))
    """
    program = PROGRAMS[name]

    def make(n: int) -> tuple[Any, ...]:
        """The program's arguments of size n from the seed, rounded to two decimals."""
        scalars, structure = tree.inputs(program.make(n, seed))
        return structure.rebuild([round(x, 2) for x in scalars])

    plain = Sample(tuple(range(1, _SIZES.get(name, 1) + 1)), _SIZES.get(name, 1), make)
    chosen = SAMPLES.get(name, plain)
    if seed or size is not None:
        chosen = chosen._replace(make=make)
    if size is not None:
        chosen = chosen._replace(sizes=tuple(sorted({*chosen.sizes, size})), start=size)
    return chosen


def only(primals: tuple[Any, ...]) -> Sample:
    """A sample of one size, with these arguments."""
    return Sample((1,), 1, lambda n: primals)


def of_sizes(sizes: tuple[int, ...], make: Callable[[int], tuple[Any, ...]]) -> Sample:
    """A sample of the user's function, at the sizes given."""
    return Sample(tuple(sorted(itertools.chain(sizes))), sizes[0], make)
