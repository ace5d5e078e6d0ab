"""Forward-mode dual numbers, the witness of these programs: written without the project's code."""

from __future__ import annotations

import math

__all__ = ["Dual"]


def _binary(rule):
    """A method of two dual numbers. A number beside one has the tangent 0; other operands have methods of their own."""

    def method(u, v):
        if isinstance(v, (int, float)):
            v = Dual(v)
        return rule(u, v) if isinstance(v, Dual) else NotImplemented

    return method


class Dual:
    """A number x with a tangent t."""

    def __init__(self, x, t=0.0):
        self.x, self.t = x, t

    __add__ = __radd__ = _binary(lambda u, v: Dual(u.x + v.x, u.t + v.t))
    __sub__ = _binary(lambda u, v: Dual(u.x - v.x, u.t - v.t))
    __rsub__ = _binary(lambda u, v: Dual(v.x - u.x, v.t - u.t))
    __mul__ = __rmul__ = _binary(lambda u, v: Dual(u.x * v.x, u.t * v.x + u.x * v.t))
    __truediv__ = _binary(lambda u, v: Dual(u.x / v.x, (u.t - u.x / v.x * v.t) / v.x))
    __rtruediv__ = _binary(lambda u, v: v / u)
    __pow__ = _binary(lambda u, v: _power(u, v))
    __rpow__ = _binary(lambda u, v: _power(v, u))
    __lt__ = _binary(lambda u, v: u.x < v.x)
    __gt__ = _binary(lambda u, v: u.x > v.x)
    __le__ = _binary(lambda u, v: u.x <= v.x)
    __ge__ = _binary(lambda u, v: u.x >= v.x)
    __eq__ = _binary(lambda u, v: u.x == v.x)
    __hash__ = None

    def __neg__(self):
        return Dual(-self.x, -self.t)

    def __abs__(self):
        return self if self.x >= 0.0 else -self


def _power(u, v):
    """u to the v; with a constant v, u may be negative."""
    t = v.x * u.x ** (v.x - 1) * u.t if v.x else 0.0
    return Dual(u.x**v.x, t + (u.x**v.x * math.log(u.x) * v.t if v.t else 0.0))
