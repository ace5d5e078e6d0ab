"""The compiled derivatives of a program against the tape, at ordinary numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from programs.generators.generator import Program
from support.oracle import direction, flat, inner, rebuild

import dualrev as dr
from fuzzing.running import Discarded, Failed, Taped, arguments, eager, load, same, widened

__all__ = ["Differs", "Engine", "agree", "check_plain", "check_rows", "coarse", "compiled", "tangents_like"]

RTOL = 1e-9  # of the compiled gradient against the tape: they add in different orders


class Differs(Discarded):
    """Numba computes something else than plain Python does: the tape says nothing of it."""


class Engine(NamedTuple):
    """The functions that make compiled derivatives. Tests replace them; value_and_grad=None means no compiler."""

    value_and_grad: Callable[..., Any] | None
    jvp: Callable[..., Any]
    hvp: Callable[..., Any] = dr.hvp
    hessian: Callable[..., Any] = dr.hessian


def check_plain(of: Program, engine: Engine, folder: str) -> None:
    """Value, gradient, the arguments afterwards, and with of.forward the tangent: all as the tape has them."""
    taped = eager(of)
    agree(of, taped, compiled(of, folder), engine)


def compiled(of: Program, folder: str) -> Any:
    """The program's f, if numba compiles it, and rightly."""
    check_rows(of)
    try:
        f = load(of.source, folder).f
        f(*arguments(of))
    except Exception as error:  # numba has limits and errors of its own
        raise Discarded(f"numba raises {type(error).__name__}") from error
    return f


def check_rows(of: Program) -> None:
    """Discard a program whose rows numba loses: beside a list comprehension, a loop over them writes nothing."""
    if re.search(r"for row\d+ in ", of.source) and re.search(r" for \w+ in [^:]*\]", of.source):
        raise Discarded("numba loses what is written to rows")


def coarse(of: Program) -> float:
    """How much larger the roundings may be."""
    return 1e6 if any("float32" in text for text in of.arguments) else 1.0


def agree(of: Program, taped: Taped, f: Any, engine: Engine) -> None:
    """The derivatives of f at these arguments against the tape's."""
    expected, gradients, argnums, by_python = taped
    left = arguments(of)
    value = f(*left)
    share, size = coarse(of), max(1.0, *map(abs, flat(by_python)))
    try:
        same("numba's value", float(value), expected, share * 1e-11, max(1.0, abs(expected)))
        same("numba's arguments", widened(left), by_python, share * 1e-11, size)
    except Failed as error:  # numba reads what an operation in place has written: a += a[::-1]
        raise Differs("numba differs from numpy") from error
    if engine.value_and_grad is None:
        return
    derivative = engine.value_and_grad(f, argnums)
    scale = max([1.0, abs(expected), *map(abs, flat(gradients))])
    for turn in ("first", "second"):  # nothing may be left over from the first call
        given = arguments(of)
        found = derivative(*given)
        same(f"value, {turn} call", float(found[0]), float(value), share * 1e-13, max(1.0, abs(expected)))
        same(f"gradient, {turn} call", widened(found[1]), gradients, share * RTOL, scale)
        same(f"arguments, {turn} call", given, left, share * 1e-13, size)
    if not of.forward:
        return
    given = arguments(of)
    v = direction(tuple(given[k] for k in argnums))
    found = engine.jvp(f, given, tangents_like(given, argnums, v))
    slopes = [abs(g * s) for g, s in zip(flat(gradients), flat(v), strict=True)]
    same("value, jvp", float(found[0]), float(value), share * 1e-13, max(1.0, abs(expected)))
    same("tangent", float(found[1]), float(inner(gradients, v)), share * RTOL, max(1.0, abs(expected), sum(slopes)))
    same("arguments, jvp", given, left, share * 1e-13, size)


def tangents_like(given: tuple[Any, ...], argnums: tuple[int, ...], v: tuple[Any, ...]) -> tuple[Any, ...]:
    """A tangent for every argument: those of v, and None for discrete values, which have none."""
    tangents: list[Any] = [None] * len(given)
    for k, tangent in zip(argnums, v, strict=True):
        tangents[k] = rebuild(given[k], flat(tangent), lambda _: None)
    return tuple(tangents)
