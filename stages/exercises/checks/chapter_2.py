"""Chapter 2: forward mode."""

from __future__ import annotations

import math

from stages.exercises import dual
from stages.exercises.exercise import Case, Chapter, Exercise, Outcome, case, pair

__all__ = ["CHAPTER"]


def product(xs):
    """where product maps xs to xs[0] * xs[1] * xs[2] * ..."""
    result = xs[0]
    for x in xs[1:]:
        result = result * x
    return result


def triple(xs):
    """where triple maps xs to 3 * xs[0]"""
    return 3.0 * xs[0]


def fig1(xs):
    """where fig1 maps xs to xs[0] * (xs[0] + xs[1])"""
    return xs[0] * (xs[0] + xs[1])


def constant(xs):
    """where constant maps xs to 5.0"""
    return 5.0


def waves(xs):
    """where waves maps xs to sin(xs[0] - xs[1]) * exp(xs[2])"""
    return dual.sin(xs[0] - xs[1]) * dual.exp(xs[2])


def _of_pairs(name, expected, u, v) -> Case:
    """Return the case of an operation on dual numbers."""
    plain = case(name, expected, u, v)

    def run(answer) -> Outcome:
        """Refuse a result that is no pair."""

        def checked(u, v):
            """The answer, whose result has to be a pair."""
            return pair(answer(u, v), "a pair (value, tangent)")

        return plain.run(checked)

    return Case(plain.text, run)


def _quotient(u, v):
    (x, dx), (y, dy) = u, v
    return x / y, (dx * y - x * dy) / y**2


_MULTIPLY = [
    _of_pairs("multiply", (6.0, 2.0), (3.0, 1.0), (2.0, 0.0)),
    _of_pairs("multiply", (6.0, 3.0), (3.0, 0.0), (2.0, 1.0)),
    _of_pairs("multiply", (0.0, 5.0), (0.0, 1.0), (5.0, 7.0)),
    _of_pairs("multiply", (9.0, 6.0), (3.0, 1.0), (3.0, 1.0)),
    _of_pairs("multiply", (-6.0, -1.0), (-2.0, 1.0), (3.0, 2.0)),
]
_PAIRS = [
    ((3.0, 1.0), (2.0, 0.0)),
    ((3.0, 0.0), (2.0, 1.0)),
    ((0.0, 1.0), (4.0, 3.0)),
    ((5.0, 1.0), (5.0, 1.0)),
    ((-2.0, 0.5), (-0.5, 3.0)),
]
_DIVIDE = [_of_pairs("divide", _quotient(u, v), u, v) for u, v in _PAIRS]
_GRADIENT = [
    case("forward_gradient", [3.0], triple, [2.0], bound=1),
    case("forward_gradient", [8.0, 3.0], fig1, [3.0, 2.0], bound=2),
    case("forward_gradient", [0.0, 0.0], constant, [3.0, 2.0], bound=2),
    case("forward_gradient", [math.e, -math.e, 0.0], waves, [0.5, 0.5, 1.0], bound=3),
    case("forward_gradient", [1.0] * 30, product, [1.0] * 30, bound=30),
]

CHAPTER = Chapter(
    2,
    "Forward mode",
    (
        Exercise("multiply", _MULTIPLY, "The tangent follows the product rule: both factors contribute."),
        Exercise("divide", _DIVIDE, "(x / y)' = (x' * y - x * y') / y**2."),
        Exercise(
            "forward_gradient",
            _GRADIENT,
            "In run k, the input number k has the tangent 1, and all others have 0.",
            "runs of f",
        ),
    ),
)
