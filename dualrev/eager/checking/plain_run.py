"""Comparison of a function's value on plain numbers with its value while it is differentiated.

A function that is differentiated gets numbers of other classes, and copies of its arguments. If it can tell, by
isinstance(x, float) or by writing to an array that it was given twice, it may compute something else; so does its
derivative. `dualrev.check(f, *args)`, and every derivative where the environment has DUALREV_CHECK=1, run f once more,
on plain numbers, and compare:

    plain = PlainRun(f, args, kwargs)       before the function is differentiated
    plain.compare(y, again)                 CheckError if f gives another value than y; diagnosis.py says why

Values are equal if they agree to 9 digits (comparison.py), or as far as f tells apart arguments that agree to 13.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.checking.comparison import difference, distances, is_single
from dualrev.eager.checking.diagnosis import reason
from dualrev.eager.copies import copied
from dualrev.errors import CheckError

__all__ = ["PlainRun", "wanted"]


def wanted() -> bool:
    """Whether every derivative is to compare its value."""
    if _KEY not in getattr(os.environ, "_data", _EVERYTHING):  # os.environ.get raises an error and catches it: 1 us
        return False
    return os.environ.get("DUALREV_CHECK", "0") not in ("", "0")


_KEY: Any = os.fsencode("DUALREV_CHECK") if os.name == "posix" else "DUALREV_CHECK"
_EVERYTHING = (_KEY,)


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
            what = f"raised {type(error).__name__} normally but returned while differentiated"
            raise CheckError.of_value(self.f, what, "") from error
        if not self.agrees(found, expected):
            raise self.error(found, expected, again)

    def agrees(self, found: Any, expected: Any) -> bool:
        """Whether the two values differ by rounding only."""
        return not self._difference(found, expected) or self.is_rounding(found, expected)

    def error(self, found: Any, expected: Any, again: Callable[[], Any]) -> CheckError:
        """Return the error for values that differ, with the reason."""
        what = f"returned {self._difference(found, expected)}"
        return CheckError.of_value(self.f, what, reason(self, found, expected, again))

    def is_repeatable(self, expected: Any) -> bool:
        """Whether f gives this value again, and again."""
        return not difference(self.call(), self.call(), rtol=0.0) and not self._difference(self.call(), expected)

    def is_rounding(self, found: Any, expected: Any) -> bool:
        """Whether f changes by as much where its arguments change in the 13th digit: its roundings do the same."""
        rng = np.random.default_rng(0)

        def moved(u: Any) -> Any:
            """Perturb a number or an array by a relative 1e-13."""
            v = u * (1.0 + 1e-13 * rng.uniform(-1.0, 1.0, np.shape(u)))
            return v if isinstance(u, np.ndarray) else type(u)(v)

        left = distances(found, expected)
        if left is None or not self.is_repeatable(expected):
            return False
        for _ in range(3):
            try:
                changes = distances(self.call(copied(self.given, moved)), expected)
            except Exception:
                return False
            if changes is not None:
                left = [np.where(10.0 * change >= d, 0.0, d) for change, d in zip(changes, left, strict=True)]
        return not any(np.any(d != 0.0) for d in left)

    def _difference(self, found: Any, expected: Any) -> str:
        return difference(found, expected, single=is_single((self.given, expected)))
