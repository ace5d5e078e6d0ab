"""Programs that fork: a balanced tree, and programs at random."""

import random
from functools import partial

from dualrev import math as dm
from stages import STAGES, fork

__all__ = ["chain", "gradient", "program", "tree"]


def gradient(stage, f, *primals):
    """The value of f and its gradient, by a stage."""
    y, pullback = STAGES[stage].vjp(f, *primals)
    return y, pullback(1.0)


def tree(xs):
    """The sum of squares of a list: both halves, beside each other."""
    if len(xs) == 1:
        return xs[0] * xs[0]
    half = len(xs) // 2
    left, right = fork(lambda: tree(xs[:half]), lambda: tree(xs[half:]))
    return left + right


def chain(x, n):
    """n sines, one after the other."""
    for _ in range(n):
        x = dm.sin(x)
    return x


def part(values, depth, seed):
    """Operations and forks at random, on the values so far; the seed alone says which, not what ran before."""
    values, choices = list(values), random.Random(seed)
    for _ in range(choices.randint(1, 4)):
        u, v = choices.choice(values), choices.choice(values)
        if depth and choices.random() < 0.6:
            first, second = (partial(part, tuple(values), depth - 1, choices.random()) for _ in range(2))
            values += fork(first, second)
        else:
            values.append(choices.choice((lambda: dm.sin(u) + v, lambda: 0.5 * u * v, lambda: u - v))())  # noqa: B023
    return values[-1] + 0.25 * choices.choice(values)


def program(seed):
    """A function of some numbers, made at random."""
    return lambda *xs: part(xs, 4, seed)
