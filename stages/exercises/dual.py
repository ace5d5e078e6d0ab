"""Forward mode on scalars: a dual number is a pair of a value and a tangent.

>>> y = Forward(3.0, 1.0) * (Forward(3.0, 1.0) + Forward(2.0, 0.0))
>>> y.x, y.d
(15.0, 8.0)
"""

from __future__ import annotations

import math

__all__ = ["Forward", "cos", "exp", "sin"]


class Forward:
    """A dual number: the value x, and the tangent d, the derivative of x in one direction of the inputs."""

    def __init__(self, x, d=0.0):
        self.x, self.d = x, d

    def __repr__(self):
        return f"Forward({self.x!r}, {self.d!r})"

    def __add__(self, other):
        v = lift(other)
        return Forward(self.x + v.x, self.d + v.d)

    def __sub__(self, other):
        return self + -1.0 * lift(other)

    def __mul__(self, other):
        v = lift(other)
        return Forward(self.x * v.x, self.d * v.x + self.x * v.d)

    def __neg__(self):
        return -1.0 * self

    def __rsub__(self, other):
        return lift(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        return self.x < lift(other).x

    def __gt__(self, other):
        return self.x > lift(other).x


def lift(x):
    """Return a dual number: a plain number is a constant, with the tangent 0."""
    return x if isinstance(x, Forward) else Forward(x)


def sin(u):
    """The sine of a number or a dual number."""
    return Forward(math.sin(u.x), math.cos(u.x) * u.d) if isinstance(u, Forward) else math.sin(u)


def cos(u):
    """The cosine of a number or a dual number."""
    return Forward(math.cos(u.x), -math.sin(u.x) * u.d) if isinstance(u, Forward) else math.cos(u)


def exp(u):
    """The exponential of a number or a dual number."""
    return Forward(math.exp(u.x), math.exp(u.x) * u.d) if isinstance(u, Forward) else math.exp(u)
