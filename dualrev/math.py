"""`math` for numbers that are being differentiated: the functions of the table, on floats and dual numbers alike.

On floats they answer, and raise, as `math` does, with the number of arguments that the table has: log(x), hypot(a, b).
`maximum`, `minimum`, `logaddexp` and `sign` are numpy's.

>>> from dualrev import math
>>> math.sin(math.pi / 2)
1.0
"""

import math as _math
from math import ceil, e, floor, inf, nan, pi, tau, trunc  # of a dual number too: a whole number, of derivative 0
from typing import Any

from dualrev.overload import function, value
from dualrev.primitives import PRIMITIVES

acos = function(PRIMITIVES["acos"])
acosh = function(PRIMITIVES["acosh"])
asin = function(PRIMITIVES["asin"])
asinh = function(PRIMITIVES["asinh"])
atan = function(PRIMITIVES["atan"])
atan2 = function(PRIMITIVES["atan2"])
atanh = function(PRIMITIVES["atanh"])
cbrt = function(PRIMITIVES["cbrt"])
copysign = function(PRIMITIVES["copysign"])
cos = function(PRIMITIVES["cos"])
cosh = function(PRIMITIVES["cosh"])
erf = function(PRIMITIVES["erf"])
erfc = function(PRIMITIVES["erfc"])
exp = function(PRIMITIVES["exp"])
exp2 = function(PRIMITIVES["exp2"])
expm1 = function(PRIMITIVES["expm1"])
fabs = function(PRIMITIVES["abs"])
fmod = function(PRIMITIVES["fmod"])
gamma = function(PRIMITIVES["gamma"])
hypot = function(PRIMITIVES["hypot"])
lgamma = function(PRIMITIVES["lgamma"])
log = function(PRIMITIVES["log"])
log10 = function(PRIMITIVES["log10"])
log1p = function(PRIMITIVES["log1p"])
log2 = function(PRIMITIVES["log2"])
logaddexp = function(PRIMITIVES["logaddexp"])
maximum = function(PRIMITIVES["maximum"])
minimum = function(PRIMITIVES["minimum"])
polygamma = function(PRIMITIVES["polygamma"])
pow = function(PRIMITIVES["pow"])
remainder = function(PRIMITIVES["remainder"])
sign = function(PRIMITIVES["sign"])
sin = function(PRIMITIVES["sin"])
sinh = function(PRIMITIVES["sinh"])
sqrt = function(PRIMITIVES["sqrt"])
tan = function(PRIMITIVES["tan"])
tanh = function(PRIMITIVES["tanh"])


def isfinite(x: Any) -> bool:
    """Whether the value is neither infinite nor NaN."""
    return _math.isfinite(value(x))


def isinf(x: Any) -> bool:
    """Whether the value is infinite."""
    return _math.isinf(value(x))


def isnan(x: Any) -> bool:
    """Whether the value is NaN."""
    return _math.isnan(value(x))


__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "e",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "fmod",
    "gamma",
    "hypot",
    "inf",
    "isfinite",
    "isinf",
    "isnan",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "maximum",
    "minimum",
    "nan",
    "pi",
    "polygamma",
    "pow",
    "remainder",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tau",
    "trunc",
]
