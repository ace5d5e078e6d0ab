"""Chapter 7: the tape."""

from __future__ import annotations

import math
from typing import Any

from dualrev.math import sin
from stages import d4_arrays
from stages.exercises.exercise import Case, Chapter, Exercise, case

__all__ = ["CHAPTER"]

_Program = list[tuple[Any, ...]]

#: x * (x + y) with the inputs x and y.
_FIG1: _Program = [("add", 0, 1), ("mul", 0, 2)]


def _run(program: _Program, xs: list[Any]) -> list[Any]:
    """Return the values of all ids."""
    values = list(xs)
    for op, *operands in program:
        u = [values[i] for i in operands]
        values.append(u[0] + u[1] if op == "add" else u[0] * u[1] if op == "mul" else sin(u[0]))
    return values


def _gradient(program: _Program, xs: list[float], text: str = "") -> Case:
    """Return a case: the stage arrays computes what is expected."""
    _, pullback = d4_arrays.vjp(lambda *inputs: _run(program, list(inputs))[-1], *xs)
    return case("gradient", list(pullback(1.0)), program, xs, text=text)


def _recorded(program: _Program, xs: list[float], partials: list[list[float]]) -> Case:
    """Return a case of `record`, with the partial derivatives of each instruction."""
    ends = [0] * len(xs)
    for row in [[], *partials]:
        ends.append(ends[-1] + len(row))
    flat = [p for row in partials for p in row]
    ids = [i for _, *operands in program for i in operands]
    return case("record", (_run(program, xs), ends, flat, ids), program, xs)


def _resolved(expected: list[float], ends: list[int], partials: list[float], ids: list[int], z: float = 1.0) -> Case:
    return case("resolve", expected, ends, partials, ids, z)


_LONG: _Program = [("sin", 0), *(("mul" if k % 7 == 0 else "add", k, k - 1) for k in range(1, 400))]
_SQUARES: _Program = [("mul", 0, 0), ("mul", 1, 1)]

CHAPTER = Chapter(
    7,
    "The tape",
    (
        Exercise(
            "resolve",
            [
                _resolved([3.0], [0, 0], [], [], 3.0),
                _resolved([2.0, 1.0], [0, 0, 1], [2.0], [0]),
                _resolved([8.0, 3.0, 3.0, 1.0], [0, 0, 0, 2, 4], [1.0, 1.0, 5.0, 3.0], [0, 1, 0, 2]),
                _resolved([55.0, 9.0, 2.0, 1.0], [0, 0, 2, 4, 6], [2.0, 3.0, 4.0, 5.0, 1.0, 2.0], [0, 0, 1, 0, 1, 2]),
                _resolved([4.0, 0.0, 1.0], [0, 0, 1, 2], [math.inf, 4.0], [0, 0]),
                case(
                    "resolve",
                    [2.0 ** (60 - i) for i in range(61)],
                    [0, *range(0, 122, 2)],
                    [1.0] * 120,
                    [i // 2 for i in range(120)],
                    1.0,
                    text="resolve for the tape of 60 doublings",
                ),
            ],
            "For i from the last id down: if i was called, for k from ends[i] to ends[i + 1] - 1, add.",
        ),
        Exercise(
            "record",
            [
                _recorded([], [2.0], []),
                _recorded([("add", 0, 1)], [2.0, 3.0], [[1.0, 1.0]]),
                _recorded([("mul", 0, 1)], [2.0, 3.0], [[3.0, 2.0]]),
                _recorded([("sin", 0)], [1.0], [[math.cos(1.0)]]),
                _recorded(_FIG1, [3.0, 2.0], [[1.0, 1.0], [5.0, 3.0]]),
                _recorded(_SQUARES, [3.0], [[3.0, 3.0], [9.0, 9.0]]),
            ],
            "The first len(xs) + 1 elements of ends are 0: inputs have no entries. After each instruction, append the "
            "number of entries so far.",
        ),
        Exercise(
            "gradient",
            [
                _gradient([], [2.0]),
                _gradient([("add", 0, 1)], [2.0, 3.0]),
                _gradient([("mul", 0, 0)], [3.0]),
                _gradient(_FIG1, [3.0, 2.0]),
                _gradient([("sin", 0), ("mul", 2, 1), ("add", 3, 2)], [0.5, 2.0]),
                _gradient(_LONG, [0.001], "gradient of a program with 400 instructions"),
            ],
            "record, then resolve with z = 1.0; the first len(xs) arguments are the gradient.",
        ),
    ),
)
