r"""Lazy towers of derivatives: a number, and the tower of its derivative, which is made when asked for, and kept.

Paper:   Karczmarczuk 1998, which Krawiec et al. 2022, section 8.6, and Pearlmutter and Siskind 2008, section 6, cite
D[R] =   Tower = (R, Tower)                         x(t) at t = 0, x'(t), x''(t), .., without end

    D[r]          = (r, 0)
    D[op(t1..tn)] = let xi = D[ti] in y where y = (op(x1..xn), x1' * d1op(x1..xn, y) + .. + xn' * dnop(x1..xn, y))

The partial derivatives are those of the table, as text. On towers, the text computes towers, so the rule for the
first derivative is the rule for all of them. y may stand in its own derivative, which is lazy: exp x = y where
y = (.., x' y).

The k-th derivative of a product of two towers has 2^k terms, as nothing collects equal ones (Taylor coefficients do).
What has been computed is kept. In stages/calculus/deltas/tower.py, the same as a program, nothing is kept.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from dualrev.eager.numbers.overload import function
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES

__all__ = ["Tower", "apply", "derivatives", "functions"]


class Tower:
    """A number and its derivatives. `rest` is the tower of the derivative, or None for the derivative of a constant."""

    def __init__(self, value: float, later: Callable[[], Tower | None] | None = None) -> None:
        self.value, self.later = value, later

    @functools.cached_property
    def rest(self) -> Tower | None:
        """The derivative, made at the first use."""
        return self.later() if self.later is not None else None

    def __iter__(self) -> Iterator[float]:
        tower: Tower | None = self
        while tower is not None:
            yield tower.value
            tower = tower.rest
        yield from itertools.repeat(0.0)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _value(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= _value(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _value(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= _value(other))

    def __eq__(self, other: object) -> bool:
        return bool(self.value == _value(other))

    __hash__ = None  # type: ignore[assignment]


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Tower) else x


def apply(op: str, *xs: Any) -> Any:
    """An operation of the table on towers and numbers; a number if all of them are."""
    y = Tower(function(PRIMITIVES[op])(*map(_value, xs)))
    if not any(isinstance(x, Tower) for x in xs):
        return y.value
    y.later = lambda: _chain(op, xs, y)
    return y


def _chain(op: str, xs: tuple[Any, ...], y: Tower) -> Tower | None:
    """x1' * d1op + .. + xn' * dnop; None if no operand has a derivative."""
    line = PRIMITIVES[op]
    names = {**functions, **dict(zip(line.parameters, xs, strict=True)), "y": y}
    total: Tower | None = None
    for x, text in zip(xs, line.partials, strict=True):
        dx = x.rest if isinstance(x, Tower) else None
        if dx is not None:
            p = eval(text, {"__builtins__": {}}, names)  # the table's own text
            term = dx if isinstance(p, float) and p == 1.0 else apply("mul", dx, p)
            total = term if total is None else apply("add", total, term)
    return total


#: The functions of the table, on towers and numbers: functions["sin"], ..
functions: dict[str, Any] = {"inf": float("inf"), "nan": float("nan")}
functions |= {name: functools.partial(apply, "pow" if name == "power" else name) for name in FUNCTIONS}


def _operator(op: str, reflected: bool = False) -> Callable[..., Any]:
    """The method of Tower for an operator; with `reflected`, for a number on its left."""
    return lambda *xs: apply(op, *(xs[::-1] if reflected else xs))


for _line in PRIMITIVES.values():
    if _line.symbol:
        setattr(Tower, f"__{_line.symbol}__", _operator(_line.name))
        if len(_line.partials) == 2:
            setattr(Tower, f"__r{_line.symbol}__", _operator(_line.name, reflected=True))


def derivatives(f: Callable[..., Any], *xs: float, direction: tuple[float, ...] | None = None) -> Iterator[float]:
    """f's value at x, and its derivatives along x + t dx at t = 0, of order 1, 2 and so on, without end.

    `direction` is dx, 1 for each argument by default. f uses operators, and `functions`.

    >>> list(itertools.islice(derivatives(lambda x: x**5, 2.0), 7))
    [32.0, 80.0, 160.0, 240.0, 240.0, 120.0, 0.0]
    >>> exp = functions["exp"]
    >>> list(itertools.islice(derivatives(lambda x: exp(2.0 * x), 0.0), 5))
    [1.0, 2.0, 4.0, 8.0, 16.0]
    """
    dx = direction or (1.0,) * len(xs)
    y = f(*[Tower(x, functools.partial(Tower, d)) for x, d in zip(xs, dx, strict=True)])
    return iter(y if isinstance(y, Tower) else Tower(y))
