"""Chapter 1: difference quotients."""

from __future__ import annotations

import math

from stages.exercises.exercise import Chapter, Exercise, case

__all__ = ["CHAPTER"]


def square(x):
    """where square maps x to x * x"""
    return x * x


def cube(x):
    """where cube maps x to x * x * x"""
    return x * x * x


def reciprocal(x):
    """where reciprocal maps x to 1 / x"""
    return 1.0 / x


def only(xs):
    """where only maps xs to 3 * xs[0]"""
    return 3.0 * xs[0]


def first_times_second(xs):
    """where first_times_second maps xs to xs[0] * xs[1]"""
    return xs[0] * xs[1]


def weighted(xs):
    """where weighted maps xs to 1 * xs[0]**2 + 2 * xs[1]**2 + 3 * xs[2]**2 + ..."""
    return sum((k + 1) * x * x for k, x in enumerate(xs))


_FORWARD = [
    case("forward_difference", 2.5, square, 1.0, 0.5, bound=2),
    case("forward_difference", 4.5, square, 2.0, 0.5, bound=2),
    case("forward_difference", 7.0, cube, 1.0, 1.0, bound=2),
    case("forward_difference", -0.5, reciprocal, 1.0, 1.0, bound=2),
    case("forward_difference", -3.5, square, -2.0, 0.5, bound=2),
    case("forward_difference", math.sin(0.5) / 0.5, math.sin, 0.0, 0.5, bound=2),
]
_CENTRAL = [
    case("central_difference", 2.0, square, 1.0, 0.5, bound=2),
    case("central_difference", 4.0, cube, 1.0, 1.0, bound=2),
    case("central_difference", 12.25, cube, 2.0, 0.5, bound=2),
    case("central_difference", -0.2666666666666667, reciprocal, 2.0, 0.5, bound=2),
    case("central_difference", math.sin(0.5) / 0.5, math.sin, 0.0, 0.5, bound=2),
]
_GRADIENT = [
    case("difference_gradient", [3.0], only, [2.0], bound=2),
    case("difference_gradient", [3.0, 2.0], first_times_second, [2.0, 3.0], bound=4),
    case("difference_gradient", [2.0, -4.0, 3.0], weighted, [1.0, -1.0, 0.5], bound=6),
    case("difference_gradient", [2.0 * (k + 1) for k in range(20)], weighted, [1.0] * 20, bound=40),
]

CHAPTER = Chapter(
    1,
    "Differences",
    (
        Exercise(
            "forward_difference",
            _FORWARD,
            "The difference of the two values, as a whole, is divided by h.",
            "calls of f",
        ),
        Exercise(
            "central_difference",
            _CENTRAL,
            "The two points are 2 * h apart. The value of f at x itself is not needed.",
            "calls of f",
        ),
        Exercise(
            "difference_gradient",
            _GRADIENT,
            "Change one element at a time, by h in both directions; all others keep their values.",
            "calls of f",
            tolerance=1e-7,
        ),
    ),
)
