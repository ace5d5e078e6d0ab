"""Dual numbers: a real scalar that is being differentiated, and the derivative call that it belongs to.

Nesting: every derivative call has a `Run`; a later run is an inner one. An operation belongs to the innermost run
among its arguments; dual numbers of outer runs are constants to it, and its values and partials are computed with them,
by the same methods. So perturbations are never confused (Siskind and Pearlmutter's tags).

Here stands what a dual number has of its value: comparisons, conversions, its text. `overload` gives the classes of a
transformation their arithmetic, and what they answer to numpy.
"""

from __future__ import annotations

import itertools
import math
import numbers
from contextvars import ContextVar
from typing import Any

from dualrev.errors import ConversionError, HashError, LeakError

__all__ = ["RUNNING", "DualNumber", "Run", "alive", "next_level", "value"]

#: The calls of class Run that are going on in this thread, the outermost first.
RUNNING: ContextVar[tuple[Run, ...]] = ContextVar("running", default=())

next_level = itertools.count().__next__  # only ever counts up: a run that starts later is an inner one


class Run:
    """One derivative call: its level, and whatever state the transformation threads through it (ids, a tape).

    The function is called inside of `with run:`. A dual number that is used after that was kept somewhere it should not
    have been: `over` says so.
    """

    def __init__(self, **state: Any) -> None:
        self.level = next_level()
        self.over = False
        self.__dict__.update(state)

    def __enter__(self) -> Run:
        RUNNING.set((*RUNNING.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        self.over = True
        RUNNING.set(tuple([run for run in RUNNING.get() if run is not self]))

    def __getattr__(self, name: str) -> Any:  # tells type checkers that the state may have any name
        raise AttributeError(name)


class DualNumber:
    """A real scalar that is being differentiated: behaves as its value, and records what is done with it."""

    __slots__ = ()
    x: Any
    run: Run
    __array_ufunc__: Any  # numpy's protocol: overload.py
    late = False  # whether `op` takes a function that computes the partials

    def __eq__(self, other: object) -> Any:
        return self.x == (other if other.__class__ is float else value(other))

    def __ne__(self, other: object) -> Any:
        return self.x != (other if other.__class__ is float else value(other))

    def __lt__(self, other: Any) -> Any:
        return self.x < (other if other.__class__ is float else value(other))

    def __le__(self, other: Any) -> Any:
        return self.x <= (other if other.__class__ is float else value(other))

    def __gt__(self, other: Any) -> Any:
        return self.x > (other if other.__class__ is float else value(other))

    def __ge__(self, other: Any) -> Any:
        return self.x >= (other if other.__class__ is float else value(other))

    def __bool__(self) -> bool:
        return bool(value(self))

    # What is piecewise constant is a plain number: its derivative is 0.
    def __int__(self) -> int:
        return int(value(self))

    def __trunc__(self) -> int:
        return math.trunc(value(self))

    def __floor__(self) -> int:
        return math.floor(value(self))

    def __ceil__(self) -> int:
        return math.ceil(value(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(value(self), digits)

    # What numbers.Real promises.
    @property
    def real(self) -> DualNumber:
        """The number itself."""
        return self

    @property
    def imag(self) -> float:
        """0.0"""
        return 0.0

    def conjugate(self) -> DualNumber:
        """The number itself."""
        return self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __float__(self) -> float:
        alive(self)
        raise ConversionError("float()")

    def as_integer_ratio(self) -> tuple[int, int]:
        """ConversionError: `statistics` and `fractions` compute with such ratios."""
        alive(self)
        raise ConversionError("as_integer_ratio()")

    def is_integer(self) -> bool:
        """Whether the value is a whole number."""
        return float(value(self)).is_integer()

    def __complex__(self) -> complex:
        alive(self)
        raise ConversionError("complex()")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ConversionError("pickling")  # the copy would belong to no run: a silent constant

    def __copy__(self) -> DualNumber:
        return self

    def __deepcopy__(self, memo: Any) -> DualNumber:
        return self

    def __hash__(self) -> int:
        raise HashError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.x!r})"

    def __str__(self) -> str:
        return str(value(self))  # as in an f-string: of the text, a program may use the length

    def __format__(self, spec: str) -> str:
        return format(value(self), spec)


numbers.Real.register(DualNumber)


def value(x: Any) -> Any:
    """The plain number inside a dual number, at any depth of nesting; anything else unchanged.

    >>> value(2.5)
    2.5
    """
    while isinstance(x, DualNumber):
        x = x.x
    return x


def alive(x: Any) -> Any:
    """The same number; LeakError if it is left over from a derivative call that has ended."""
    u = x
    while isinstance(u, DualNumber):
        if u.run.over:
            raise LeakError
        u = u.x
    return x
