"""Chapter 8: compiled reverse mode."""

from __future__ import annotations

from dualrev.math import sin
from stages import d4_arrays
from stages.exercises.exercise import Case, Chapter, Exercise, case

__all__ = ["CHAPTER"]


def _loop(x, ys):
    for y in ys:
        x = sin(x) * y
    return x


def _branch(x):
    while x < 100.0:
        x = x * x + 1.0 if x < 2.0 else 3.0 * x - 2.0
    return x


def _of_loop(x: float, ys: list[float]) -> Case:
    """Return a case: the stage arrays computes what is expected."""
    value, pullback = d4_arrays.vjp(_loop, x, ys)
    return case("loop_gradient", (value, *pullback(1.0)), x, ys)


def _of_branch(x: float) -> Case:
    value, pullback = d4_arrays.vjp(_branch, x)
    return case("branch_gradient", (value, *pullback(1.0)), x)


_LONG = [2.0, -1.5, 3.0, 0.5, 2.5, -3.0]
_PRODUCT = ("a", "mul", "x", "y")

CHAPTER = Chapter(
    8,
    "Compiled reverse mode",
    (
        Exercise(
            "loop_gradient",
            [_of_loop(*args) for args in ((0.5, []), (0.5, [2.0]), (0.5, [2.0, 3.0]), (1.0, [0.0, 2.0]), (0.3, _LONG))],
            "The partial derivatives need the x from before the iteration. Append it to a list before it is "
            "overwritten, and take the elements from the end.",
        ),
        Exercise(
            "branch_gradient",
            [_of_branch(x) for x in (150.0, 50.0, 2.0, 1.25, 1.0, -1.0, 0.1)],
            "x after an iteration does not tell which branch was taken: record it, and x where the branch squares.",
        ),
        Exercise(
            "recorded",
            [
                case("recorded", [], []),
                case("recorded", [], [("a", "add", "x", "y")]),
                case("recorded", ["x", "y"], [_PRODUCT]),
                case("recorded", ["x"], [("a", "sin", "x")]),
                case("recorded", ["a"], [("a", "exp", "x")]),
                case("recorded", ["x", "y"], [_PRODUCT, ("b", "add", "a", "x")]),
                case(
                    "recorded",
                    ["a", "b", "c"],
                    [("a", "sub", "x", "y"), ("b", "exp", "a"), ("c", "mul", "a", "b"), ("d", "sin", "c")],
                ),
                case("recorded", ["x"], [("a", "mul", "x", "x"), ("b", "sub", "a", "x")]),
            ],
            "Look at the partial derivatives: those of sums are 1 and -1, and read no variable.",
        ),
    ),
)
