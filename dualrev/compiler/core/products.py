"""Products with tangents: lines like those of the table of primitives, with operands whose zero is a known one.

A tangent of 0 says that nothing moves in its direction: so the product is 0 whatever the other operand is, and nothing
is contributed to that. For a plain product, 0 is a number as any other: 0 * inf is NaN (docs/conventions.md, rules 3
and 4).

    along(a, t)           a * t                                      a is finite
    scaled(a, t)          a * t if t != 0.0 else 0.0                 a may be infinite or NaN
    scaled_first(t, b)    t * b if t != 0.0 else 0.0                 b may be
    scaled_both(t, u)     t * u if t != 0.0 and u != 0.0 else 0.0    either may be

A cotangent to which nothing has contributed is such a zero, too (reached.py). Both operands are known where a product
with a tangent has a tangent, or a cotangent.
"""

from __future__ import annotations

from dualrev.rules.primitives import Primitive

__all__ = ["SCALED", "SCALED_BOTH", "SCALED_FIRST", "has_tangent", "is_known", "scales", "times"]

_DOMAIN = ((-3.0, 3.0), (-3.0, 3.0))
_PARTIALS = ("b", "a")
SCALED = Primitive("scaled", "a * b if b != 0.0 else 0.0", _PARTIALS, _DOMAIN, cheap=True)
SCALED_FIRST = Primitive("scaled_first", "a * b if a != 0.0 else 0.0", _PARTIALS, _DOMAIN, cheap=True)
SCALED_BOTH = Primitive("scaled_both", "a * b if a != 0.0 and b != 0.0 else 0.0", _PARTIALS, _DOMAIN, cheap=True)
_ALONG = Primitive("mul", "a * b", _PARTIALS, _DOMAIN, ufunc="multiply", cheap=True)
_ALONG_BOTH = Primitive("mul", "a * b", _PARTIALS, _DOMAIN, ufunc="multiply", cheap=True)
#: Which operands are tangents, and whether it is asked at run time if they are 0.
_RULES = {
    SCALED: (frozenset({1}), True),
    SCALED_FIRST: (frozenset({0}), True),
    SCALED_BOTH: (frozenset({0, 1}), True),
    _ALONG: (frozenset({1}), False),
    _ALONG_BOTH: (frozenset({0, 1}), False),
}


def scales(rule: Primitive) -> bool:
    """Whether a product with a tangent asks if that is 0."""
    return rule in _RULES and _RULES[rule][1]


def has_tangent(rule: Primitive) -> bool:
    """Whether a line is a product with a tangent."""
    return rule in _RULES


def is_known(rule: Primitive, k: int) -> bool:
    """Whether the k-th operand is a tangent, so that it is known to be 0 where it is."""
    return rule in _RULES and k in _RULES[rule][0]


def times(rule: Primitive, k: int, asks: bool) -> Primitive:
    """The product that the k-th tangent takes part in: of a product with tangents, or of a partial and the tangent."""
    known = _RULES[rule][0] | {k} if rule in _RULES else frozenset({1})
    return next(made for made, found in _RULES.items() if found == (known, asks))
