"""The compiled derivatives of a program against differences of the numba function itself, and against each other.

This is for what the tape has not, or does otherwise: the function is taken as numba compiles it. Forward and reverse
mode agree to the last digits; differences say less, but share nothing with them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from programs.generators.generator import Program

from fuzzing.agreeing import RTOL, Differs, Engine, check_plain, coarse, compiled
from fuzzing.leaves import covector, numbers, tangent, with_numbers
from fuzzing.running import LIMIT, Discarded, Failed, arguments, plain, same, slopes_of

__all__ = ["check_by_differences", "check_by_tape_or_differences", "check_product_by_differences"]


def _places(given: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(k for k, x in enumerate(given) if numbers(x))


def _moderate(xs: list[float], what: str) -> None:
    if not all(math.isfinite(x) and abs(x) < LIMIT for x in xs):
        raise Discarded(f"large {what}")


def _direction(xs: list[float]) -> list[float]:
    rng = random.Random(0)
    return [max(abs(x), 0.1) * rng.choice([-1, 1]) * rng.uniform(0.5, 1.0) for x in xs]


def _slope_agrees(g: Callable[[list[float]], float], xs: list[float], v: list[float], gradient: list[float]) -> None:
    """A gradient against differences of g in the direction v."""

    def at(t: float) -> float:
        return g([x + t * w for x, w in zip(xs, v, strict=True)])

    terms = [a * b for a, b in zip(gradient, v, strict=True)]
    slopes_of(at, math.fsum(terms), sum(map(abs, terms)))


def check_by_differences(of: Program, engine: Engine, folder: str) -> None:
    """Value, gradient, the arguments afterwards, and with of.forward the tangent."""
    by_differences(of, compiled(of, folder), engine)


def check_by_tape_or_differences(of: Program, engine: Engine, folder: str) -> None:
    """As the tape has them, or where numba differs from plain Python, as differences have them."""
    try:
        check_plain(of, engine, folder)
    except Differs:
        if coarse(of) > 1.0:
            raise
        check_by_differences(of, engine, folder)


def by_differences(of: Program, f: Any, engine: Engine) -> None:
    """The same of f, which numba has compiled."""
    given, left = arguments(of), arguments(of)
    xs, argnums = numbers(given), _places(given)
    value = float(f(*left))
    _moderate([value, *numbers(left)], "value")
    if engine.value_and_grad is None:
        return
    _check_draws(of, value)
    derivative, gradient, size = engine.value_and_grad(f, argnums), [0.0], max(1.0, *map(abs, numbers(left)))
    for turn in ("first", "second"):
        mine = arguments(of)
        found, by = derivative(*mine)
        same(f"value, {turn} call", float(found), value, 1e-13, max(1.0, abs(value)))
        same(f"arguments, {turn} call", numbers(mine, True), numbers(left, True), 1e-13, size)
        last, gradient = gradient, covector(by)
        if turn == "second":
            same("gradient, second call", gradient, last, 1e-13, max(1.0, *map(abs, last)))
    _moderate(gradient, "gradient")
    v = _direction(xs)
    for w in _directions(v, given):
        _slope_agrees(lambda ys: float(f(*with_numbers(given, iter(ys)))), xs, w, gradient)
    if of.forward:
        mine, slopes = arguments(of), [a * b for a, b in zip(gradient, v, strict=True)]
        found, along = engine.jvp(f, mine, tangent(given, iter(v)))
        scale = max(1.0, abs(value), sum(map(abs, slopes)))
        same("value, jvp", float(found), value, 1e-13, max(1.0, abs(value)))
        same("tangent", float(along), math.fsum(slopes), RTOL, scale)
        same("arguments, jvp", numbers(mine, True), numbers(left, True), 1e-13, size)


def _check_draws(of: Program, value: float) -> None:
    """Discard what draws otherwise in numba: beside an inner function, it leaves out a draw that nobody uses."""
    if "np.random." not in of.source:
        return
    try:
        drawn = float(plain(of.source, math, np)(*arguments(of, wide=True)))
    except Exception:  # plain Python has not all that numba has
        return
    try:
        same("numba's value", value, drawn, 1e-9, max(1.0, abs(value)))
    except Failed as error:
        raise Discarded("numba draws otherwise than plain Python") from error


def _directions(v: list[float], given: tuple[Any, ...]) -> list[list[float]]:
    """The whole direction, and the part of each argument: a small gradient hides beside a large one."""
    made, start = [v], 0
    for x in given:
        end = start + len(numbers(x))
        if start < end:
            made.append([w if start <= k < end else 0.0 for k, w in enumerate(v)])
        start = end
    return made if len(made) > 2 else made[:1]


def check_product_by_differences(of: Program, engine: Engine, folder: str) -> None:
    """`hvp` by the first argument, against differences of the compiled gradient."""
    f = compiled(of, folder)
    by_differences(of, f, engine._replace(value_and_grad=None))
    if engine.value_and_grad is None:
        return
    given, left = arguments(of), arguments(of)
    f(*left)
    xs, gradient = numbers(given[0]), engine.value_and_grad(f, 0)
    v, mine = _direction(xs), arguments(of)
    product = numbers(engine.hvp(f)(mine[0], tangent(given[0], iter(v)), *mine[1:]))
    size = max(1.0, *map(abs, numbers(left)))
    same("arguments, product", numbers(mine, True), numbers(left, True), 1e-13, size)
    _moderate(product, "second derivative")

    def slope(ys: list[float]) -> float:
        by = covector(gradient(with_numbers(given[0], iter(ys)), *arguments(of)[1:])[1])
        return math.fsum(a * b for a, b in zip(by, v, strict=True))

    _slope_agrees(slope, xs, v, product)
