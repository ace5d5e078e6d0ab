"""Functions of complex numbers, which are pairs of real ones here: as numba computes them, by cases.

What needs no cases is written as arithmetic where it stands (compiler/scalarize/complex/arithmetic.py). Where a formula
would have another derivative than the function, as |b| has on the cut of the root, it is written in another way.
"""

from __future__ import annotations

import math

from dualrev.rules.library.njit_internal import inner

__all__ = [
    "complex_power",
    "complex_quotient",
    "complex_quotient_of_elements",
    "complex_sqrt",
    "complex_tanh",
    "complex_whole_power",
]

_LARGE = 7e307  # whose sum with its own modulus overflows
_FLAT = 300.0  # from where on 1 / cosh(x)**2 is 4 exp(-2 x), and cosh(x) may overflow


@inner
def complex_quotient(a, b, c, d):  # type: ignore[no-untyped-def]
    """(a + b j) / (c + d j), scaled by the larger part of the divisor: Smith's algorithm."""
    if c == 0.0 and d == 0.0:
        raise ZeroDivisionError("complex division by zero")
    return complex_quotient_of_elements(a, b, c, d)


@inner(error_model="numpy")
def complex_quotient_of_elements(a, b, c, d):  # type: ignore[no-untyped-def]
    """The same of elements of arrays, where the divisor may be zero."""
    if abs(c) >= abs(d):
        if c == 0.0:
            return a / abs(c), b / abs(c)
        ratio = d / c
        scale = c + d * ratio
        return (a + b * ratio) / scale, (b - a * ratio) / scale
    ratio = c / d
    scale = c * ratio + d
    return (a * ratio + b) / scale, (b * ratio - a) / scale


@inner(error_model="numpy")
def complex_sqrt(a, b):  # type: ignore[no-untyped-def]
    """The root with the positive real part: algorithm 312 of the ACM, scaled where it would overflow.

    On the cut, the derivative is that of the side that the sign of b says.
    """
    if a == 0.0 and b == 0.0:
        return math.sqrt(a), math.sqrt(b)
    scale = 1.0
    if abs(a) >= _LARGE or abs(b) >= _LARGE:
        a, b, scale = a * 0.25, b * 0.25, 2.0
    side = math.copysign(1.0, b)
    if a >= 0.0:
        t = math.sqrt((a + math.hypot(a, b)) * 0.5)
        return t * scale, b / (2.0 * t) * scale
    t = math.sqrt((math.hypot(a, b) - a) * 0.5)
    return side * b / (2.0 * t) * scale, side * t * scale


@inner
def complex_tanh(a, b):  # type: ignore[no-untyped-def]
    """Tanh(a + b j)."""
    if abs(a) > _FLAT:
        return math.tanh(a), 4.0 * math.sin(b) * math.cos(b) * math.exp(-2.0 * abs(a))
    s, t, c = math.tanh(a), math.tan(b), 1.0 / math.cosh(a)
    scale = 1.0 + s * t * (s * t)
    return s * (1.0 + t * t) / scale, t / scale * c * c


@inner
def complex_power(a, b, c, d):  # type: ignore[no-untyped-def]
    """(a + b j) ** (c + d j), by the modulus and the angle."""
    if c == 0.0 and d == 0.0 and a == 0.0 and b == 0.0:
        return 1.0, 0.0
    if a == 0.0 and b == 0.0:
        if d != 0.0 or c < 0.0:
            undefined = (a + b + c + d) * math.nan
            return undefined, undefined
        return a**c, b**c
    size, angle = math.hypot(a, b), math.atan2(b, a)
    length = size**c * math.exp(-angle * d)
    phase = angle * c + d * math.log(size)
    return length * math.cos(phase), length * math.sin(phase)


@inner
def complex_whole_power(a, b, n):  # type: ignore[no-untyped-def]
    """(a + b j) ** n, by multiplications."""
    x, y = 1.0, 0.0
    for _ in range(abs(n)):
        x, y = x * a - y * b, x * b + y * a
    if n < 0:
        if x == 0.0 and y == 0.0:
            undefined = (a + b) * math.nan
            return undefined, undefined
        x, y = complex_quotient_of_elements(1.0, 0.0, x, y)
    return x, y
