"""Where two values of a function differ: nested data with the same strings, and numbers that agree to some digits."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import RealArray, plain
from dualrev.eager.numbers.dual import DualNumber
from dualrev.pytree.structures import unpack

__all__ = ["difference", "distances", "is_single"]


def difference(
    found: Any,
    expected: Any,
    rtol: float = 1e-9,
    single: bool = False,
    how: tuple[str, str] = ("while differentiated", "normally"),
) -> str:
    """Where two values differ, in words; nothing if they agree. Objects of unknown classes are not looked at.

    >>> difference((1.0, 2.0), (1.0, 3.0))
    '2.0 while differentiated but 3.0 normally at [1]'
    """

    def said(a: str, b: str, place: str = "") -> str:
        return f"{a} {how[0]} but {b} {how[1]}{place}"

    rtol = max(rtol, 1e-4) if single else rtol
    ours, theirs = list(_entries(found)), list(_entries(expected))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        return said(_short(found), _short(expected), ", data of another structure")
    for (path, a), (_, b) in zip(ours, theirs, strict=True):
        place = f" at {path}" if path else ""
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            if type(a) is not type(b) or a != b:
                return said(_short(a), _short(b), place)
        elif a.shape != b.shape:
            return said(f"an array of shape {a.shape}", f"one of shape {b.shape}", place)
        else:
            sizes = np.abs(b[np.isfinite(b)])
            floor = 1e-3 * rtol * max(1.0, sizes.max(initial=0.0))
            wrong = ~np.isclose(a, b, rtol, floor, equal_nan=True)
            if wrong.any():
                at = tuple(map(int, np.argwhere(wrong)[0]))
                where = f" at {path}{list(at) if at else ''}" if path or at else ""
                return said(repr(float(a[at])), repr(float(b[at])), where)
    return ""


def distances(found: Any, expected: Any) -> list[np.ndarray] | None:
    """How far the numbers of two values are apart; None if something else differs."""
    ours, theirs = list(_entries(found)), list(_entries(expected))
    if [(path, _without_numbers(a)) for path, a in ours] != [(path, _without_numbers(b)) for path, b in theirs]:
        return None
    numbers = [(a, b) for (_, a), (_, b) in zip(ours, theirs, strict=True) if isinstance(b, np.ndarray)]
    with np.errstate(invalid="ignore"):
        return [np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b)) for a, b in numbers]


def _entries(y: Any) -> Iterator[tuple[str, Any]]:
    """The numbers, arrays of them and strings in nested data, with their places; numbers are arrays, too."""
    todo = [("", y)]
    while todo:
        path, x = todo.pop()
        if isinstance(x, (str, bytes, enum.Enum)) or x is None:
            yield path, x
        elif isinstance(x, (int, float, np.number, np.bool_, DualNumber, RealArray)):
            yield path, np.asarray(plain(x), dtype=float)
        elif isinstance(x, np.ndarray) and x.dtype.kind in "iubf":
            yield path, np.asarray(x, dtype=float)
        elif isinstance(x, np.ndarray) and x.dtype == object and any(isinstance(u, DualNumber) for u in x.flat):
            yield path, np.asarray(plain(x), dtype=float)
        elif (unpacked := unpack(x)) is not None:
            todo += [(f"{path}{name}", u) for name, u in zip(_names(x, *unpacked), unpacked[1], strict=True)][::-1]


def _without_numbers(x: Any) -> Any:
    return (np.ndarray, x.shape) if isinstance(x, np.ndarray) else (type(x), x)


def _names(x: Any, node: Any, children: list[Any]) -> list[str]:
    """How to get at each child."""
    names = [f"[{k}]" for k in range(len(children))]
    if node.cls is complex:
        return [".real", ".imag"]
    if dataclasses.is_dataclass(x) and node.rest is None:
        names = [f".{f.name}" for f in dataclasses.fields(x) if hasattr(x, f.name)]
    elif type(x) is dict:  # optree has an order of its own for keys
        names = [f"[{key!r}]" for key in node.rest]
    return names


def is_single(x: Any) -> bool:
    """Whether there is float32 or float16 in nested data: on the tape, arithmetic is in double precision."""
    todo = [x]
    while todo:
        u = todo.pop()
        if isinstance(u, (np.ndarray, np.floating)) and u.dtype.kind == "f" and u.dtype.itemsize < 8:
            return True
        unpacked = unpack(u)
        todo += [] if unpacked is None else unpacked[1]
    return False


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 80 else text[:77] + "..."
