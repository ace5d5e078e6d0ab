"""References for compiled gradients: the function itself, the eager tape on its twin, and differences."""

from __future__ import annotations

import functools
import math
import random
import types
from typing import Any

import numpy as np
from programs.constructs.collected import CASES

import dualrev as dr
from support.case import fresh
from support.oracle import assert_same, direction, flat, rebuild, widen
from support.twin import twin

__all__ = [
    "check_value",
    "in_dtypes_of",
    "is_single",
    "leaf_map",
    "none",
    "reference",
    "smooth_function",
    "tolerance",
    "unboxed",
]


# Nested data


def leaf_map(g: Any, x: Any) -> Any:
    """x with g(leaf) for every leaf; only tuples are nodes."""
    if isinstance(x, tuple):
        parts = [leaf_map(g, u) for u in x]
        return type(x)(*parts) if hasattr(x, "_make") else tuple(parts)
    return g(x)


def in_dtypes_of(like: Any, x: Any) -> Any:
    """Convert the arrays of x to the dtypes and layouts of the arrays of `like`."""
    if isinstance(like, tuple):
        parts = [in_dtypes_of(u, v) for u, v in zip(like, x, strict=True)]
        return type(like)(*parts) if hasattr(like, "_make") else tuple(parts)
    if not isinstance(like, np.ndarray) or x is None:
        return x
    made = fresh(like)
    made[...] = x
    return made


def unboxed(x: Any) -> Any:
    """x with Python's floats for numpy's: numba returns those for float32 too."""
    return leaf_map(lambda u: float(u) if isinstance(u, np.floating) else u, x)


def is_single(x: Any) -> bool:
    """Whether there is float32 anywhere."""
    return any(map(is_single, x)) if isinstance(x, tuple) else getattr(x, "dtype", None) == np.float32


def none(leaf: Any) -> None:
    return None


# The references


def function_of_chosen(case: Any, f: Any, primals: tuple[Any, ...], constant: Any = fresh) -> Any:
    """f, as a function of the arguments that are differentiated; the others are made anew by `constant`."""

    def function(*chosen: Any) -> Any:
        whole = list(constant(primals))
        for k, u in zip(case.argnums, chosen, strict=True):
            whole[k] = u
        return f(*whole)

    return function


def in_plain_python(case: Any) -> Any:
    """The twin of the case's function, as a function of the arguments that are differentiated."""
    return function_of_chosen(case, twin(case.function), twin(case.primals), functools.partial(leaf_map, storable))


def storable(leaf: Any) -> Any:
    """A copy, of an array of floats as one that can hold numbers under differentiation."""
    return dr.numpy.array(leaf) if isinstance(leaf, np.ndarray) else leaf


def smooth_function(case: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the function and the arguments for differences: the numba function, or its twin if it has float32 only."""
    chosen = tuple(case.primals[k] for k in case.argnums)
    if is_single(case.primals):
        return in_plain_python(case), widen(chosen)
    f = function_of_chosen(case, case.function, case.primals)
    return lambda *xs: f(*in_dtypes_of(chosen, xs)), chosen


def cotangents(case: Any, y: Any) -> list[Any]:
    """1.0 for a float; else random ones, where the case says so one for every row of y."""
    if isinstance(y, float):
        return [1.0]
    rng = random.Random(case.name)
    whole = [rng.choice([-1, 1]) * rng.uniform(0.5, 1.5) for _ in flat(y)]
    if not case.each:
        return [in_dtypes_of(y, rebuild(y, whole, none))]
    made, start = [], 0
    for row in rows(y):
        end = start + row
        made.append(rebuild(y, [c if start <= k < end else 0.0 for k, c in enumerate(whole)], none))
        start = end
    return [in_dtypes_of(y, ct) for ct in made]


def rows(y: Any) -> list[int]:
    """How many scalars the rows of y have, in order."""
    if isinstance(y, tuple):
        return [n for u in y for n in rows(u)]
    if isinstance(y, np.ndarray):
        return [y[0].size] * len(y) if y.ndim > 1 else [y.size]
    return [1] if isinstance(y, float) else []


@functools.cache
def reference(number: int) -> Any:
    """Compute the function's results and the tape's derivatives, once for all tests."""
    case = CASES[number]
    args = case.arguments()
    y = fresh(case.function(*args))
    cts = cotangents(case, y)
    chosen = fresh(tuple(case.primals[k] for k in case.argnums))
    v = in_dtypes_of(chosen, direction(chosen))
    eager, pullback = dr.vjp(in_plain_python(case), *chosen)
    tangent = dr.jvp(in_plain_python(case), chosen, v)[1]
    gradients = [pullback(ct) for ct in cts]
    return types.SimpleNamespace(
        case=case, y=y, after=args, eager=eager, cts=cts, gradients=gradients, v=v, tangent=tangent
    )


def tolerance(case: Any, expected: Any, double: float, single: float) -> dict[str, float]:
    """A share of every number, and of the largest one: sums are formed in another order."""
    share = single if is_single(case.primals) else double
    size = max((abs(x) for x in flat(expected) if math.isfinite(x)), default=0.0)
    return {"rtol": share, "floor": share * size}


def check_value(case: Any, found: Any, expected: Any) -> None:
    """Assert that values agree to the last digits; fastmath and float32 may round otherwise."""
    assert_same(unboxed(found), unboxed(expected), **tolerance(case, expected, double=1e-14, single=1e-6))
