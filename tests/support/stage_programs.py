"""Sizes and arguments with which the programs of stages/programs.py are tested."""

import numpy as np

from stages.programs import PROGRAMS
from support.oracle import flat, rebuild

__all__ = ["SIZES", "SIZES_OF_ORDER_2_IN_NAIVE", "cotangent", "small"]

# Naive takes time exponential in these programs' sizes, so they get tiny ones; all others are small for speed only.
SIZES = dict.fromkeys(PROGRAMS, 5) | {
    "doublings": 8,
    "scaled_doublings": 8,
    "neural": 4,  # 44 scalars: the oracle compares a Jacobian of up to 64 entries as a whole
    "particles": 2,
    "newton": 2,
    "loop": 20,
}
# A nested derivative uses a value again in every partial that is made of it, so naive's exponents grow: at the sizes
# above it would take 12 s for neural and, with some seeds, 35 s for newton.
SIZES_OF_ORDER_2_IN_NAIVE = SIZES | {"neural": 2, "newton": 1}


def small(program, seed, sizes=SIZES):
    """Primals with which every stage is done in a moment."""
    primals = program.make(sizes[program.name], seed)
    # A particle's coordinates are used more than once in a step, so naive takes time exponential in the steps.
    return (*primals[:-1], 4) if program.name == "particles" else primals


def cotangent(y):
    numbers = np.random.default_rng(1).uniform(0.5, 1.5, len(flat(y))).tolist()
    return rebuild(y, numbers, discrete=lambda leaf: None)
