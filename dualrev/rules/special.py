"""Special functions that neither `math` nor numba has: plain loops over floats, so that numba can compile them too."""

from __future__ import annotations

import math

__all__ = ["digamma", "expit", "polygamma"]

# B_2k of the asymptotic series (Abramowitz and Stegun, 23.2)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def expit(x: float) -> float:
    """1 / (1 + exp(-x)), the logistic function, to the last digits also where it is small.

    >>> expit(0.0), expit(-1000.0)
    (0.5, 0.0)
    """
    if x < 0.0:
        e = math.exp(x)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(-x))


def digamma(x: float) -> float:
    """The derivative of log gamma(x), for real x.

    Source: Abramowitz and Stegun 6.3: the recurrence 6.3.5 until x is large, then the asymptotic series 6.3.18;
    reflection, 6.3.7, for negative x. At the poles -1, -2, ... it is NaN, because the limits of the two sides differ;
    at 0 the sign of the zero says which side is meant.

    >>> round(digamma(1.0), 12)  # minus Euler's constant
    -0.577215664902
    """
    if not x > -math.inf:
        return math.nan
    if x == 0.0 or x == math.inf:
        return x if x > 0.0 else -math.copysign(math.inf, x)
    total = 0.0
    if x < 0.0:
        if x == math.floor(x):
            return math.nan
        total = -math.pi / math.tan(math.pi * (x - math.floor(x + 0.5)))
        x = 1.0 - x
    while x < 9.0:  # two steps at once, by one division
        total -= (x + (x + 1.0)) / (x * (x + 1.0))
        x += 2.0
    y = 1.0 / (x * x)
    series = 691 / 32760 - y * (1 / 12 - y * 3617 / 8160)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * series)))))
    return total + (math.log(x) - 0.5 / x - series)


def polygamma(n: float, x: float) -> float:
    """The n-th derivative of digamma(x), for a whole n >= 0 and real x.

    Source: Abramowitz and Stegun 6.4: the recurrence 6.4.6 until x is large, then the asymptotic series 6.4.11. At the
    poles 0, -1, -2, ... it is the limit: infinity for an odd n; for an even one the two sides differ, so that it is
    NaN, except at 0, whose sign says which side is meant. NaN for an n that is no whole number, and for n > 0 below
    -1e5 (too many steps).

    >>> round(polygamma(1, 1.0), 12)  # pi**2 / 6
    1.644934066848
    """
    if n == 0.0:
        return digamma(x)
    if not x > -1e5 or not 0.0 < n < math.inf or n != math.floor(n):
        return math.nan
    order = int(n)
    if x <= 0.0 and x == math.floor(x):
        return math.inf if order % 2 == 1 else -math.copysign(math.inf, x) if x == 0.0 else math.nan
    if x == math.inf:
        return 0.0
    sign = -1.0 if order % 2 == 0 else 1.0
    factorial = math.gamma(order + 1.0) if order < 171 else math.inf
    total = 0.0
    while x < 16.0 + order:
        total += sign * factorial * _power(1.0 / x, order + 1)
        x += 1.0
    total += sign * (factorial / order * _power(1.0 / x, order) + 0.5 * factorial * _power(1.0 / x, order + 1))
    # (2k + n - 1)! / (2k)! / x^(2k + n), from one k to the next
    power = factorial * (order + 1) / 2 * _power(1.0 / x, order + 2)
    for k in range(1, len(_BERNOULLI) + 1):
        total += sign * _BERNOULLI[k - 1] * power
        power *= (2 * k + order) * (2 * k + order + 1) / ((2 * k + 1) * (2 * k + 2)) / (x * x)
    return total


def _power(x: float, n: int) -> float:
    """x**n by multiplications, because they give an infinity where Python's ** raises."""
    y = 1.0
    for _ in range(n):
        y *= x
    return y
