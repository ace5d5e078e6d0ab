r"""Functions and linear functions: the categories -> and ->+, with None as zero.

A zero is not added to anything: so a pair of cotangents is only as large as what is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualrev.eager.numbers.overload import function
from stages.relatives.elliott.terms import Op

__all__ = ["Functions", "Linear", "Map", "listed", "plus", "zero"]

zero = None
Map = Callable[[Any], Any]


def plus(a: Any, b: Any) -> Any:
    """The sum of two (co)tangents; a loop along the first parts, which is where environments are deep.

    >>> plus(((None, 1.0), 2.0), ((5.0, 1.0), None))
    ((5.0, 2.0), 2.0)
    """
    seconds = []
    while isinstance(a, tuple) and isinstance(b, tuple) and a and b:
        seconds.append(plus(a[1], b[1]))
        a, b = a[0], b[0]
    total = b if a is zero else a if b is zero or a == () else a + b
    for second in reversed(seconds):
        total = (total, second)
    return total


def halves(z: Any) -> Any:
    """The parts of a pair, and of zero."""
    return (zero, zero) if z is zero else z


_BASIC: dict[str, Map] = {
    "id": lambda a: a,
    "exl": lambda a: a[0],
    "exr": lambda a: a[1],
    "apply": lambda a: a[0](a[1]),
}


class Functions:
    """The category ->, with the operations of the table of primitives."""

    def basic(self, name: str) -> Map:
        """id, exl, exr, apply"""
        return _BASIC[name]

    def compose(self, *fs: Map) -> Map:
        """fs[0] . fs[1] . ..."""

        def composed(a: Any) -> Any:
            for f in reversed(fs):
                a = f(a)
            return a

        return composed

    def fork(self, f: Map, g: Map) -> Map:
        r"""f /\ g"""
        return lambda a: (f(a), g(a))

    def const(self, c: Any) -> Map:
        """const c"""
        return lambda a: c

    def op(self, op: Op) -> Map:
        """An operation on balanced pairs."""
        if op.line is None:
            return lambda a: op.value
        compute = function(op.line)
        return lambda a: compute(*listed(a, op.arity))

    def curry(self, f: Map) -> Map:
        """curry f"""
        return lambda a: lambda b: f((a, b))


class Linear(Functions):
    """The category ->+. `step` is called at each application of a basic linear map, to count them."""

    def __init__(self, step: Callable[[], None] | None = None) -> None:
        self.step = step
        self.maps: dict[str, Map] = {
            "id": lambda a: a,
            "exl": self.counted(lambda a: halves(a)[0]),
            "exr": self.counted(lambda a: halves(a)[1]),
            "inl": self.counted(lambda a: (a, zero)),
            "inr": self.counted(lambda a: (zero, a)),
        }

    def counted(self, f: Map) -> Map:
        """The same map; it calls step, if there is one."""
        step = self.step
        if step is None:
            return f

        def map_(a: Any) -> Any:
            step()
            return f(a)

        return map_

    def basic(self, name: str) -> Map:
        """id, exl, exr, inl, inr"""
        return self.maps[name]

    def join(self, f: Map, g: Map) -> Map:
        r"""f \/ g"""

        def joined(z: Any) -> Any:
            a, b = halves(z)
            return plus(f(a), g(b))

        return self.counted(joined)

    def scale(self, p: Any) -> Map:
        """scale p"""
        return self.counted(lambda a: zero if a is zero else a * p)

    def zero(self) -> Map:
        """The zero map."""
        return lambda a: zero


def listed(a: Any, n: int) -> list[Any]:
    """The n parts of balanced pairs.

    >>> listed((1, (2, 3)), 3)
    [1, 2, 3]
    """
    if n <= 1:
        return [a] if n else []
    first, second = a
    return listed(first, n // 2) + listed(second, n - n // 2)
