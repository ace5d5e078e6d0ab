"""Special functions that numba does not have itself: polygamma, and rules for those of SciPy that numba code can call.

Numba code calls SciPy's functions by numba-scipy, which overloads `scipy.special.erf` and the like, or by the addresses
in `scipy.special.cython_special`. Either way the value is computed by what the user's code calls; the rules are here.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from types import FunctionType
from typing import Any

from numba import njit

from dualrev.rules import special
from dualrev.rules.library.opaque import define

__all__ = ["SLOPES", "polygamma", "with_slope"]

#: Its code on floats, where the helper function is compiled, too.
polygamma = njit(
    FunctionType(special.polygamma.__code__, {**vars(special), "_power": njit(special._power)}, "polygamma")
)


@njit
def polygamma_fwd(n, x):
    """The value, and what the rule is of."""
    return polygamma(n, x), (n, x)


@njit
def polygamma_bwd(residuals, ct):
    """Of the order, which is a constant, there is none."""
    n, x = residuals
    return None, ct * polygamma(n + 1.0, x)


@njit
def polygamma_push(primals, y, tangents):
    """The next order."""
    return polygamma(primals[0] + 1.0, primals[1]) * tangents[1]


define(polygamma, polygamma_fwd, polygamma_bwd, polygamma_push)


@njit
def _erf(x, y):
    return 1.1283791670955126 * math.exp(-x * x)


@njit
def _erfc(x, y):
    return -1.1283791670955126 * math.exp(-x * x)


@njit(error_model="numpy")
def _expit(x, y):
    e = math.exp(-abs(x))
    return e / (1.0 + e) / (1.0 + e)


@njit
def _gamma(x, y):
    return y * polygamma(0.0, x)


@njit
def _gammaln(x, y):
    return polygamma(0.0, x)


@njit
def _psi(x, y):
    return polygamma(1.0, x)


#: dy/dx of y = f(x), by the name of f in scipy.special.
SLOPES = {"erf": _erf, "erfc": _erfc, "expit": _expit, "gamma": _gamma, "gammaln": _gammaln, "psi": _psi}


def with_slope(f: Any, slope: Any) -> Any:
    """A numba function that calls f, which numba can call, and has a rule by its derivative slope(x, y).

    >>> sine = with_slope(njit(lambda x: math.sin(x)), njit(lambda x, y: math.cos(x)))
    >>> sine(0.0)
    0.0
    """

    @njit
    def value(x):
        return f(x)

    @njit
    def fwd(x):
        y = value(x)
        return y, (x, y)

    @njit
    def bwd(residuals, ct):
        x, y = residuals
        return (ct * slope(x, y),)

    @njit
    def push(primals, y, tangents):
        return slope(primals[0], y) * tangents[0]

    define(value, fwd, bwd, push)
    return value
