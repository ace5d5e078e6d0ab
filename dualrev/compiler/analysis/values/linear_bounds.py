"""Linear forms over bounded integers, and a proof procedure for nonnegativity.

    form   c + k1 * x1 + k2 * x2 + ...       x: a value that a variable has at one place, or that of an operation

Of an x are known forms that it is not below, and forms that it is not above, all of them over older ones. The proof
puts these in the place of the newest x, again and again, until a number is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    *["Form", "Number", "constant", "is_natural", "least", "magnitude", "minus", "plus", "scaled", "single"],
    "substituted",
]


@dataclass(eq=False)
class Number:
    """A symbolic integer; `age` orders these. Its absolute value is at most `most`; None if no bound is known."""

    age: int
    most: int | None = None
    lower: list[Form] = field(default_factory=list)
    upper: list[Form] = field(default_factory=list)


@dataclass(frozen=True)
class Form:
    """A linear form: a constant, and integers with nonzero coefficients."""

    constant: int
    factors: dict[Number, int]

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.factors.items())))


def constant(c: int) -> Form:
    """The constant form."""
    return Form(c, {})


def single(x: Number) -> Form:
    """The form `1 * x`."""
    return Form(0, {x: 1})


def plus(a: Form, b: Form) -> Form:
    """The form `a + b`."""
    factors = dict(a.factors)
    for x, k in b.factors.items():
        factors[x] = factors.get(x, 0) + k
    return Form(a.constant + b.constant, {x: k for x, k in factors.items() if k})


def scaled(k: int, a: Form) -> Form:
    """The form `k * a`."""
    return Form(k * a.constant, {x: k * factor for x, factor in a.factors.items() if k})


def minus(a: Form, b: Form) -> Form:
    """The form `a - b`."""
    return plus(a, scaled(-1, b))


def substituted(a: Form, names: Mapping[Number, Form]) -> Form:
    """A form with other forms in the place of integers."""
    found = constant(a.constant)
    for x, k in a.factors.items():
        found = plus(found, scaled(k, names.get(x, single(x))))
    return found


def magnitude(a: Form) -> int | None:
    """An upper bound of the absolute value of a form; None if it is unknown."""
    natural = is_natural(a)
    total = abs(a.constant)
    for x, k in a.factors.items():
        if natural and k < 0 and is_natural(single(x)):
            continue  # it makes a smaller
        if x.most is None:
            return None
        total += abs(k) * x.most
    return total


def is_natural(a: Form) -> bool:
    """Whether a form is provably nonnegative."""
    if not a.factors:
        return a.constant >= 0
    newest = max(a.factors, key=lambda x: x.age)
    k = a.factors[newest]
    rest = minus(a, Form(0, {newest: k}))
    return any(is_natural(plus(rest, scaled(k, bound))) for bound in (newest.lower if k > 0 else newest.upper))


def least(a: Form) -> int | None:
    """The greatest number that a form is provably not below; None if none is known."""
    if not a.factors:
        return a.constant
    newest = max(a.factors, key=lambda x: x.age)
    k = a.factors[newest]
    rest = minus(a, Form(0, {newest: k}))
    found = [least(plus(rest, scaled(k, bound))) for bound in (newest.lower if k > 0 else newest.upper)]
    return max((x for x in found if x is not None), default=None)
