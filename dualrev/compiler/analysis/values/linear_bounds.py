"""Linear forms over whole numbers that are known by bounds, and a proof that one of them is not below 0.

    form   c + k1 * x1 + k2 * x2 + ...       x: a value that a variable has at one place, or that of an operation

Of an x are known forms that it is not below, and forms that it is not above, all of them over older ones. The proof
puts these in the place of the newest x, again and again, until a number is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Form", "Number", "constant", "is_natural", "magnitude", "minus", "plus", "scaled", "single"]


@dataclass(eq=False)
class Number:
    """A whole number; `age` orders these. Its absolute value does not exceed `most`: None if no size is known."""

    age: int
    most: int | None = None
    lower: list[Form] = field(default_factory=list)
    upper: list[Form] = field(default_factory=list)


@dataclass(frozen=True)
class Form:
    """A constant, and numbers with their factors, none of which is 0."""

    constant: int
    factors: dict[Number, int]


def constant(c: int) -> Form:
    """The form that is this constant."""
    return Form(c, {})


def single(x: Number) -> Form:
    """The form that is this number."""
    return Form(0, {x: 1})


def plus(a: Form, b: Form) -> Form:
    """a + b"""
    factors = dict(a.factors)
    for x, k in b.factors.items():
        factors[x] = factors.get(x, 0) + k
    return Form(a.constant + b.constant, {x: k for x, k in factors.items() if k})


def scaled(k: int, a: Form) -> Form:
    """k * a"""
    return Form(k * a.constant, {x: k * factor for x, factor in a.factors.items() if k})


def minus(a: Form, b: Form) -> Form:
    """a - b"""
    return plus(a, scaled(-1, b))


def magnitude(a: Form) -> int | None:
    """What the absolute value of a form does not exceed; None if that is unknown."""
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
    """Whether it is certain that a form is not below 0."""
    if not a.factors:
        return a.constant >= 0
    newest = max(a.factors, key=lambda x: x.age)
    k = a.factors[newest]
    rest = minus(a, Form(0, {newest: k}))
    return any(is_natural(plus(rest, scaled(k, bound))) for bound in (newest.lower if k > 0 else newest.upper))
