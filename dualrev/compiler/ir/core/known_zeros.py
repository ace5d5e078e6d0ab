"""Marks of known zeros: products with tangents and cotangents, as primitives that keep the sign of a zero.

A known zero takes no part, and a zero that was computed does: 0 times an infinite partial is 0 for the one, and NaN for
the other (docs/conventions.md, rules 3 and 4). In a function whose derivative has such partials, and is differentiated
once more, tangents and cotangents say which zero it is by the sign: -0.0 is known, 0.0 is computed.

IEEE arithmetic keeps these marks in sums: -0.0 is the neutral element of its addition, and no other sum is -0.0. So
what begins as -0.0 and gets contributions stays a known zero as long as all of these are. Products need lines of their
own; of a difference, the second term is one with -1:

    known(t)           -0.0 where t is 0, else t: of a tangent that is given
    along(a, t)        -0.0 where t is -0.0, else a * t + 0.0, which is never -0.0
    along_both(t, u)   -0.0 where t or u is -0.0, else t * u + 0.0: of a tangent and a cotangent
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dualrev.rules.primitives import Primitive

__all__ = ["ALONG", "ALONG_BOTH", "KNOWN", "MARKING", "PRODUCTS", "marked", "times"]

_DOMAIN = ((-3.0, 3.0), (-3.0, 3.0))
KNOWN = Primitive("known", "x", ("1.0",), _DOMAIN[:1], cheap=True)
ALONG = Primitive("along", "a * b", ("b", "a"), _DOMAIN, cheap=True)
ALONG_BOTH = Primitive("along_both", "a * b", ("b", "a"), _DOMAIN, cheap=True)
PRODUCTS = (ALONG, ALONG_BOTH)
MARKING = (KNOWN, *PRODUCTS)


def marked(rule: Primitive, args: Sequence[float]) -> float:
    """Evaluate a primitive that marks known zeros."""
    if rule is KNOWN:
        return args[0] if args[0] != 0.0 else -0.0
    looked = args if rule is ALONG_BOTH else args[1:]
    return -0.0 if any(_is_known(t) for t in looked) else args[0] * args[1] + 0.0


def _is_known(t: float) -> bool:
    return t == 0.0 and math.copysign(1.0, t) < 0.0


def times(rule: Primitive, k: int) -> Primitive:
    """The product rule of a partial of a marked product: the other factor, times a tangent or a cotangent."""
    return ALONG if rule is ALONG and k == 1 else ALONG_BOTH
