"""Families of programs that tell the stages apart: each has one problem, which one stage solves."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from stages import STAGES

#: What is timed at growing sizes: the program itself, every stage, and dualrev's own tape.
ENGINES = ("plain", *STAGES, "dualrev")

CLAIMS: dict[str, Callable[[float], float]] = {
    "n": lambda n: n,
    "n log n": lambda n: n * math.log(n),
    "n^2": lambda n: n * n,
    "2^n": lambda n: 2.0**n,
}


@dataclasses.dataclass(frozen=True)
class Family:
    """A program of stages/programs.py at growing sizes, and the paper's law for its time in every stage.

    An operation on a staging map takes the logarithm of its number of entries. On doublings and chains a map has few
    entries, for every n.
    """

    name: str
    program: str
    unit: str
    problem: str
    solved: str  # by which stage, and how
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    claims: dict[str, str]  # stage -> a key of CLAIMS; "n" for stages that are not in it


_BY_TWO = tuple(2**k for k in range(4, 17))

FAMILIES = {
    family.name: family
    for family in (
        Family(
            "doublings",
            "scaled_doublings",
            "doublings",
            "Every number is used twice, so that a backpropagator is called once for every path that leads to it.",
            "staged (section 4) delays calls and merges them: each backpropagator is called once.",
            (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, *_BY_TWO),
            (4, 6, 8, 10, 12, 32, 64, 128, 256),
            {"naive": "2^n"},
        ),
        Family(
            "wide",
            "wide",
            "inputs, n/10 products",
            "n inputs and n/10 operations: a zero or a sum of cotangents is as large as the whole input.",
            "cayley (section 5) writes only what it adds: a map from indices takes log n for each.",
            _BY_TWO[1:],
            (64, 128, 256, 512, 1024),
            {"naive": "n^2", "staged": "n^2", "cayley": "n log n", "sparse": "n log n"},
        ),
        Family(
            "deep",
            "deep",
            "cells",
            "The input is a list of n cells, so a scalar of the input lies up to n pairs deep.",
            "sparse (section 6) takes log n for a scalar at any depth, arrays (section 7) a constant.",
            _BY_TWO,
            (16, 32, 64, 128, 256),
            {"naive": "n^2", "staged": "n^2", "cayley": "n^2", "sparse": "n log n"},
        ),
        Family(
            "chains",
            "loop",
            "steps of 5 operations",
            "n steps on three numbers, each value used once: only the cost of an operation differs.",
            "From arrays to tape (sections 7 and 8) only the constant gets smaller.",
            _BY_TWO,
            (32, 128, 512, 2048),
            {},
        ),
    )
}
