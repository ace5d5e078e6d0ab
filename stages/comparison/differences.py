"""Slopes of a function along random directions by finite differences, the witness that knows no rule of AD.

    D(h)     = (f(x + h v) - f(x)) / h                  for h = 1/100, 1/400, 1/1600, .. and for their negatives
    D(0)       by Richardson's extrapolation, which also estimates its own error; rounding is added to the estimate
    v        = a random sign times a random size, in units of max(1, |x|); if these do not resolve D(0), of |x|

An h whose step leaves f's domain is passed over. So the steps become smaller until they fit the scale of x and of f. If
the domain ends at x, the other side gives the slope. There is no slope at a kink, where the sides differ, nor where the
error stays too large.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dualrev import tree

__all__ = ["RESOLVED", "Slope", "distance", "slopes"]

RESOLVED = 1e-5  #: the relative error that a slope must not exceed
FIRST, SHRINK, STEPS, COLUMNS = 1e-2, 4.0, 26, 6


class Slope(NamedTuple):
    """The slope of the sum of f's scalars along a direction, and the estimate of its error."""

    direction: np.ndarray
    value: float
    error: float


class _Limit(NamedTuple):
    """An estimate of D(0) from one side, and of its error."""

    value: float
    error: float


#: Maps a step to D(step) and its rounding error; None outside of f's domain.
_Quotient = Callable[[float], tuple[float, float] | None]


def slopes(f: Callable[..., Any], primals: tuple[Any, ...]) -> list[Slope]:
    """Return the slopes along two random directions; none if one of them cannot be found.

    >>> [slope] = {round(float(s.value / s.direction[0]), 6) for s in slopes(lambda x: x**0.5, (0.0001,))}
    >>> slope
    50.0
    >>> slopes(abs, (0.0,))
    []
    """
    scalars, structure = tree.inputs(primals)
    x = np.array(scalars)
    random = np.random.default_rng(0)

    def at(point: np.ndarray) -> np.ndarray | None:
        """The scalars of f's value; None outside of its domain, where it may raise anything."""
        try:
            found = np.array(tree.outputs(f(*structure.rebuild(point.tolist())))[0], float)
        except Exception:
            return None
        return found if np.all(np.isfinite(found)) else None

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        here = at(x)
        if here is None:
            return []
        found = []
        for _ in range(2):
            signed = random.choice((-1.0, 1.0), len(x)) * random.uniform(0.5, 1.0, len(x)) / math.sqrt(len(x))
            size = np.abs(x)
            for v in (signed * np.maximum(1.0, size), signed * np.where(size > 0.0, size, 1.0)):
                limit = _two_sided(_quotient(at, x, here, v))
                if limit is not None and np.isfinite(limit.value / np.max(np.abs(v))):  # or the gradient overflows
                    found.append(Slope(v, *limit))
                    break
            else:
                return []
    return found


def distance(gradient: np.ndarray, expected: list[Slope]) -> float:
    """Return the largest deviation of the gradient's slopes, over the largest slope.

    A deviation of a slope's estimated error is at most RESOLVED.
    """
    scale = max(max(abs(slope.value), slope.error / RESOLVED) for slope in expected)
    return max(abs(float(gradient @ slope.direction) - slope.value) for slope in expected) / (scale or 1.0)


def _quotient(
    at: Callable[[np.ndarray], np.ndarray | None], x: np.ndarray, here: np.ndarray, v: np.ndarray
) -> _Quotient:
    """Return the function D of the docstring above."""

    def quotient(h: float) -> tuple[float, float] | None:
        there = at(x + h * v)
        if there is None or there.shape != here.shape:
            return None
        value = math.fsum(there - here) / h
        rounding = 4.0 * sys.float_info.epsilon / abs(h)  # of f's scalars, and of the step itself
        size = math.fsum(np.abs(there)) + math.fsum(np.abs(here)) + math.sqrt(len(x)) * abs(value)
        return (value, rounding * size) if math.isfinite(value) else None

    return quotient


def _two_sided(quotient: _Quotient) -> _Limit | None:
    """Return D(0), of both sides or of the one in the domain; None if it is not resolved, or the sides differ."""
    sides = [side for side in (_one_sided(quotient, 1.0), _one_sided(quotient, -1.0)) if side is not None]
    best = min(sides, key=lambda side: side.error, default=None)
    if best is None or not all(math.isfinite(side.error) for side in sides):
        return None
    apart = abs(sides[0].value - sides[-1].value)
    near = sum(side.error for side in sides) + RESOLVED * max(abs(side.value) for side in sides)
    return best if apart <= near else None


def _one_sided(quotient: _Quotient, sign: float) -> _Limit | None:
    """Extrapolate D from one side to 0, by Neville's scheme; None outside of the domain, error inf if not resolved."""
    best, resolved, inside = _Limit(math.nan, math.inf), False, False
    row: list[float] = []
    sizes: list[float] = []
    for k in range(STEPS):
        found = quotient(sign * FIRST / SHRINK**k)
        if found is None:
            row, sizes = [], []
            continue
        inside, (value, rounding) = True, found
        before, row, sizes = row[:COLUMNS], [value], [abs(value), *sizes[:COLUMNS]]
        for j, old in enumerate(before):
            row.append(row[j] + (row[j] - old) / (SHRINK ** (j + 1) - 1.0))
            error = max(abs(row[-1] - row[j]), abs(row[-1] - old)) + rounding
            if error < best.error:
                best, resolved = _Limit(row[-1], error), error <= RESOLVED * (max(sizes) or 1.0)
        if rounding > best.error or best.error <= max(1e-9 * abs(best.value), 1e-12 * max(sizes)):
            break
    if not inside:
        return None
    return best if resolved else _Limit(best.value, math.inf)
