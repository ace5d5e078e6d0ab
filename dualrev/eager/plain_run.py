"""What a function computes on plain numbers, beside what it computes under differentiation.

Under differentiation a function is given numbers of other classes, and copies of its arguments. Where it can tell, by
isinstance(x, float) or by writing to an array that it was given twice, it may compute something else; its derivative is
then that of something else. `dualrev.check(f, *args)`, and every derivative where the environment has DUALREV_CHECK=1,
run f once more, on plain numbers, and compare:

    plain = PlainRun(f, args, kwargs)       before the function runs under differentiation
    plain.compare(y, again)                 CheckError if f gives another value than y; diagnosis.py says why

Values are equal if they agree to 9 digits, or as far as f tells apart arguments that agree to 13 digits.
"""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dualrev.eager.arrays.storage import RealArray, plain
from dualrev.eager.copies import copied
from dualrev.eager.dual import DualNumber
from dualrev.errors import CheckError
from dualrev.tree import unpack

__all__ = ["PlainRun", "difference", "is_single", "wanted"]


def wanted() -> bool:
    """Whether every derivative is to compare its value."""
    return os.environ.get("DUALREV_CHECK", "0") not in ("", "0")


class PlainRun:
    """A function, and plain copies of its arguments, which share memory where these do."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], has_aux: bool = False
    ) -> None:
        self.f, self.has_aux = f, has_aux
        self.given = copied((args, kwargs))

    def call(self, given: Any = None) -> Any:
        """The value of f for (args, kwargs), which f may change."""
        args, kwargs = copied(self.given) if given is None else given
        y = self.f(*args, **kwargs)
        return y[0] if self.has_aux else y

    def compare(self, found: Any, again: Callable[[], Any]) -> None:
        """CheckError if the value is another one than `found`, that under differentiation.

        again() computes that once more, where a reason is looked for.
        """
        try:
            expected = self.call()
        except Exception as error:
            what = f"by itself it raises {type(error).__name__}, and under differentiation it returns"
            raise CheckError.of_value(self.f, what, "") from error
        if not self.agrees(found, expected):
            raise self.error(found, expected, again)

    def agrees(self, found: Any, expected: Any) -> bool:
        """Whether the two values differ by rounding only."""
        return not self._difference(found, expected) or self.is_rounding(found, expected)

    def error(self, found: Any, expected: Any, again: Callable[[], Any]) -> CheckError:
        """That they do not, and why."""
        from dualrev.eager.diagnosis import reason  # most calls do not need it

        what = f"it gives {self._difference(found, expected)}"
        return CheckError.of_value(self.f, what, reason(self, found, expected, again))

    def is_repeatable(self, expected: Any) -> bool:
        """Whether f gives this value again, and again."""
        return not difference(self.call(), self.call(), rtol=0.0) and not self._difference(self.call(), expected)

    def is_rounding(self, found: Any, expected: Any) -> bool:
        """Whether f changes by as much where its arguments change in the 13th digit: its roundings do the same."""
        rng = np.random.default_rng(0)

        def moved(u: Any) -> Any:
            v = u * (1.0 + 1e-13 * rng.uniform(-1.0, 1.0, np.shape(u)))
            return v if isinstance(u, np.ndarray) else type(u)(v)

        left = _distances(found, expected)
        if left is None or not self.is_repeatable(expected):
            return False
        for _ in range(3):
            try:
                changes = _distances(self.call(copied(self.given, moved)), expected)
            except Exception:
                return False
            if changes is not None:
                left = [np.where(10.0 * change >= d, 0.0, d) for change, d in zip(changes, left, strict=True)]
        return not any(np.any(d != 0.0) for d in left)

    def _difference(self, found: Any, expected: Any) -> str:
        return difference(found, expected, single=is_single((self.given, expected)))


def difference(found: Any, expected: Any, rtol: float = 1e-9, single: bool = False) -> str:
    """Where two values differ, in words; nothing if they agree. Objects of unknown classes are not looked at.

    >>> difference((1.0, 2.0), (1.0, 3.0))
    '2.0 for 3.0 at [1]'
    """
    rtol = max(rtol, 1e-4) if single else rtol
    ours, theirs = list(_entries(found)), list(_entries(expected))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        return f"{_short(found)} for {_short(expected)}, data of another structure"
    for (path, a), (_, b) in zip(ours, theirs, strict=True):
        place = f" at {path}" if path else ""
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            if type(a) is not type(b) or a != b:
                return f"{_short(a)} for {_short(b)}{place}"
        elif a.shape != b.shape:
            return f"an array of shape {a.shape} for one of shape {b.shape}{place}"
        else:
            sizes = np.abs(b[np.isfinite(b)])
            floor = 1e-3 * rtol * max(1.0, sizes.max(initial=0.0))
            wrong = ~np.isclose(a, b, rtol, floor, equal_nan=True)
            if wrong.any():
                at = tuple(map(int, np.argwhere(wrong)[0]))
                where = f" at {path}{list(at) if at else ''}" if path or at else ""
                return f"{float(a[at])!r} for {float(b[at])!r}{where}"
    return ""


def _distances(found: Any, expected: Any) -> list[np.ndarray] | None:
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
