"""The real numbers of arguments that the tape has not: of complex numbers, records, and instances of a jitclass.

The gradient by z = x + iy is df/dx - i df/dy: `covector` gives df/dx and df/dy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from programs.generators.things import INSTANCES
from support.case import fresh

__all__ = ["covector", "numbers", "tangent", "with_numbers"]


def _parts(x: Any) -> list[Any]:
    """The items of a tuple, the fields of an object; nothing of a number or an array."""
    if isinstance(x, tuple):
        return list(x)
    if isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names):
        return [x[name] for name in x.dtype.names]
    return [getattr(x, name) for name in INSTANCES.get(type(x).__name__, (None, ()))[1]]


def numbers(x: Any, discrete: bool = False, sign: float = 1.0) -> list[float]:
    """All of them, with discrete ones if asked; `sign` is for imaginary parts."""
    if parts := _parts(x):
        return [u for part in parts for u in numbers(part, discrete, sign)]
    a = np.ravel(np.array([] if x is None else x))
    if a.dtype.kind == "c":
        return [float(u) for z in a for u in (z.real, sign * z.imag)]
    return [float(u) for u in a] if discrete or a.dtype.kind == "f" else []


def covector(x: Any) -> list[float]:
    """The numbers of a gradient."""
    return numbers(x, sign=-1.0)


def with_numbers(x: Any, values: Iterator[float]) -> Any:
    """The same with other numbers, in memory of its own."""
    if isinstance(x, tuple):
        made = [with_numbers(part, values) for part in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    if isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names):
        made = x.copy()
        for name in x.dtype.names:
            made[name] = with_numbers(x[name], values)
        return made
    if _parts(x):
        return INSTANCES[type(x).__name__][0](*[with_numbers(part, values) for part in _parts(x)])
    a = np.array(x)
    if a.dtype.kind not in "fc":
        return fresh(x)
    two = a.dtype.kind == "c"
    drawn = [next(values) + 1j * next(values) if two else next(values) for _ in range(a.size)]
    if not isinstance(x, np.ndarray):
        return type(x)(drawn[0])
    made = fresh(x)
    made[...] = np.reshape(drawn, x.shape)
    return made


def tangent(x: Any, values: Iterator[float]) -> Any:
    """A tangent: a tuple for an instance, None for what is discrete."""
    if isinstance(x, tuple):
        made = [tangent(part, values) for part in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    if isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names):
        return with_numbers(np.zeros_like(x), values)
    if _parts(x):
        return tuple(tangent(part, values) for part in _parts(x))
    return with_numbers(x, values) if np.array(x).dtype.kind in "fc" else None
