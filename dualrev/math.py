"""Python's `math` for traced numbers: every name of `math`, for floats and for numbers that are being differentiated.

On plain numbers the functions return and raise what those of `math` do. On traced numbers they have the same values,
and derivatives from the table of primitives (dualrev/rules/primitives.py). Piecewise constant results are plain
numbers: floor(x), ulp(x), the exponent of frexp(x).

`maximum`, `minimum`, `logaddexp` and `sign` are numpy's, `expit`, `digamma` and `polygamma` are scipy's. `sumprod`
(Python 3.12) and `fma` (3.13) are here for every version.

>>> import dualrev as dr
>>> from dualrev import math
>>> dr.grad(lambda x: math.sin(x) * math.pi)(0.0)
3.141592653589793
"""

import functools
import math as _math
import operator
from collections.abc import Iterable
from math import ceil, comb, e, factorial, floor, gcd, inf, isqrt, lcm, nan, perm, pi, prod, tau, trunc
from typing import Any

from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.numbers.primitive_functions import function
from dualrev.rules.primitives import PRIMITIVES

# What is imported from `math` serves dual numbers too: ceil, floor and trunc are plain whole numbers, prod multiplies
# whatever has a product, and the functions of whole numbers raise a TypeError, as for a float.

# The lines of the table

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
digamma = function(PRIMITIVES["digamma"])
erf = function(PRIMITIVES["erf"])
erfc = function(PRIMITIVES["erfc"])
exp = function(PRIMITIVES["exp"])
exp2 = function(PRIMITIVES["exp2"])
expit = function(PRIMITIVES["expit"])
expm1 = function(PRIMITIVES["expm1"])
fmod = function(PRIMITIVES["fmod"])
gamma = function(PRIMITIVES["gamma"])
lgamma = function(PRIMITIVES["lgamma"])
log10 = function(PRIMITIVES["log10"])
log1p = function(PRIMITIVES["log1p"])
log2 = function(PRIMITIVES["log2"])
logaddexp = function(PRIMITIVES["logaddexp"])
maximum = function(PRIMITIVES["maximum"])
minimum = function(PRIMITIVES["minimum"])
polygamma = function(PRIMITIVES["polygamma"])
remainder = function(PRIMITIVES["remainder"])
sign = function(PRIMITIVES["sign"])
sin = function(PRIMITIVES["sin"])
sinh = function(PRIMITIVES["sinh"])
sqrt = function(PRIMITIVES["sqrt"])
tan = function(PRIMITIVES["tan"])
tanh = function(PRIMITIVES["tanh"])

_hypot = function(PRIMITIVES["hypot"])
_log = function(PRIMITIVES["log"])
_pow = function(PRIMITIVES["pow"])


# Lines of the table that `math` calls in another way


def fabs(x: Any, /) -> Any:
    """Absolute value, as a float. The derivative at 0 is 1, as for abs.

    >>> fabs(-2)
    2.0
    """
    return abs(x) if _dual(x) else _math.fabs(x)


def log(x: Any, base: Any = e, /) -> Any:
    """Logarithm, natural or to a base; differentiated with respect to both.

    >>> log(8.0, 2.0)
    3.0
    """
    return _log(x) if base is e else _log(x) / _log(base)


def pow(x: Any, y: Any, /) -> Any:
    """Power x ** y, as a float. ValueError where 0.0 ** -1.0 raises ZeroDivisionError.

    >>> pow(2, 3)
    8.0
    """
    try:
        plain = _math.pow(value(x), value(y))
    except ValueError as error:
        if value(x) < 0.0:  # said in the table's words
            raise ValueError(f"{x} ** {y} is not a real number: a negative base needs a whole exponent") from error
        raise
    return _pow(x, y) if _dual(x, y) else plain


# Distances: the table's hypot, from pair to pair


def hypot(*coordinates: Any) -> Any:
    """Euclidean norm of the coordinates. The derivative at the origin is NaN, with one coordinate too.

    >>> hypot(2.0, 3.0, 6.0)
    7.0
    """
    if len(coordinates) == 2:
        return _hypot(*coordinates)
    if not _dual(*coordinates):
        return _math.hypot(*coordinates)
    # the largest one first: no pair is (0, 0), where hypot has no derivative, unless all are
    first, *rest = sorted(coordinates, key=lambda x: abs(value(x)), reverse=True)
    return _moved(functools.reduce(_hypot, rest or [0.0], first), _math.hypot(*map(value, coordinates)))


def dist(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """Euclidean distance of two points of the same length. The derivative is NaN where they are equal.

    >>> dist([0.0, 0.0], [3.0, 4.0])
    5.0
    """
    p, q = tuple(p), tuple(q)
    plain = _math.dist(_values(p), _values(q))
    return _moved(hypot(*map(operator.sub, p, q)), plain) if _dual(*p, *q) else plain


# Sums: rounded once, whatever the derivatives' sum is rounded to


def fsum(seq: Iterable[Any], /) -> Any:
    """Sum that is rounded once. The derivative with respect to each term is 1.

    >>> fsum([1e16, 1.0, -1e16])
    1.0
    """
    xs = tuple(seq)
    plain = _math.fsum(map(value, xs))
    return _moved(sum(xs), plain) if _dual(*xs) else plain


def sumprod(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """Sum of products, in extended precision; p and q have the same length.

    >>> sumprod([1e16, 1.0, -1e16], [1.0, 2.0, 1.0])
    2.0
    """
    p, q = tuple(p), tuple(q)
    plain = _sumprod(_values(p), _values(q))
    return _moved(sum(map(operator.mul, p, q)), plain) if _dual(*p, *q) else plain


def fma(x: Any, y: Any, z: Any, /) -> Any:
    """Fused multiply-add x * y + z, rounded once.

    >>> fma(2.0, 3.0, 1.0)
    7.0
    """
    plain = _fma(value(x), value(y), value(z))
    if not _dual(x, y, z):
        return plain
    product = x * y
    if isinf(product) and isfinite(x) and isfinite(y):  # z may bring it back: only its derivatives, at the value 0
        product = (x - value(x)) * y + value(x) * (y - value(y))
    return _moved(product + z, plain)


# Angles


def degrees(x: Any, /) -> Any:
    """Angle in degrees, from radians.

    >>> degrees(pi)
    180.0
    """
    return x * (180.0 / pi) if _dual(x) else _math.degrees(x)


def radians(x: Any, /) -> Any:
    """Angle in radians, from degrees.

    >>> radians(180.0) == pi
    True
    """
    return x * (pi / 180.0) if _dual(x) else _math.radians(x)


# The parts of a float


def modf(x: Any, /) -> tuple[Any, float]:
    """Fractional part (derivative 1, at an infinity 0) and whole part, a plain float; both have the sign of x.

    >>> modf(2.5)
    (0.5, 2.0)
    """
    plain, whole = _math.modf(value(x))
    if not _dual(x):
        return plain, whole
    return (copysign(0.0, x) if isinf(x) else fmod(x, 1.0)), whole


def frexp(x: Any, /) -> tuple[Any, int]:
    """Mantissa m (derivative 2**-n) and exponent n, a plain int, with x = m * 2**n.

    >>> frexp(6.0)
    (0.75, 3)
    """
    m, n = _math.frexp(value(x))
    return (ldexp(x, -n) if _dual(x) else m), n


def ldexp(x: Any, i: int, /) -> Any:
    """x * 2**i for an int i.

    >>> ldexp(0.75, 3)
    6.0
    """
    plain = _math.ldexp(value(x), i)
    if not _dual(x):
        return plain
    i = max(-2046, min(i, 2046))  # 2**1023 * 2**1023: what is beyond that is 0 or inf, as the derivative is
    return _moved(x * 2.0 ** (i // 2) * 2.0 ** (i - i // 2), plain)


def nextafter(x: Any, y: Any, /, **steps: int | None) -> Any:
    """Next float after x towards y, or `steps` floats further (Python 3.12). The derivatives are 1 and 0.

    >>> nextafter(0.0, 1.0)
    5e-324
    """
    plain = _math.nextafter(value(x), value(y), **steps)
    return plain if isinf(x) or not _dual(x) else _moved(x, plain)


def ulp(x: Any, /) -> float:
    """Value of the last bit of x, a plain float.

    >>> ulp(1.0)
    2.220446049250313e-16
    """
    return _math.ulp(value(x))


# Questions: answered for the values


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> bool:
    """Whether the values are close to each other.

    >>> isclose(1.0, 1.0 + 1e-12)
    True
    """
    return _math.isclose(value(a), value(b), rel_tol=value(rel_tol), abs_tol=value(abs_tol))


def isfinite(x: Any, /) -> bool:
    """Whether the value is neither infinite nor NaN.

    >>> isfinite(inf)
    False
    """
    return _math.isfinite(value(x))


def isinf(x: Any, /) -> bool:
    """Whether the value is infinite.

    >>> isinf(inf)
    True
    """
    return _math.isinf(value(x))


def isnan(x: Any, /) -> bool:
    """Whether the value is NaN.

    >>> isnan(nan)
    True
    """
    return _math.isnan(value(x))


def _dual(*xs: Any) -> bool:
    return any(isinstance(x, DualNumber) for x in xs)


def _values(xs: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(value, xs))


def _moved(x: Any, to: float) -> Any:
    """Return a dual number with the derivative of x and exactly the value `to`; x itself if it is infinite or NaN."""
    plain = value(x)
    return x if plain == to != 0.0 or not _math.isfinite(plain) else to - (plain - x)  # 0.0 may be moved to -0.0


# What older versions of Python lack, in exact arithmetic. Others do without `fractions`, which takes time to import.


def _exact_sumprod(p: tuple[Any, ...], q: tuple[Any, ...]) -> Any:
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    rounded = sum(map(operator.mul, p, q))
    if type(rounded) is not float or not _math.isfinite(rounded):
        return rounded
    from fractions import Fraction

    return float(sum(Fraction(a) * Fraction(b) for a, b in zip(p, q, strict=True)))


def _exact_fma(x: float, y: float, z: float) -> float:
    finite = [_math.isfinite(u) for u in (x, y, z)]  # TypeError for what is no number
    if all(finite):
        from fractions import Fraction

        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        return float(exact) if exact else float(x) * float(y) + float(z)
    made = float(z if finite[0] and finite[1] else x * y + z)
    if _math.isnan(made) and not any(map(_math.isnan, (x, y, z))):
        raise ValueError("invalid operation in fma")
    return made


_sumprod = getattr(_math, "sumprod", _exact_sumprod)
_fma = getattr(_math, "fma", _exact_fma)

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
    "comb",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "digamma",
    "dist",
    "e",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expit",
    "expm1",
    "fabs",
    "factorial",
    "floor",
    "fma",
    "fmod",
    "frexp",
    "fsum",
    "gamma",
    "gcd",
    "hypot",
    "inf",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isqrt",
    "lcm",
    "ldexp",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "maximum",
    "minimum",
    "modf",
    "nan",
    "nextafter",
    "perm",
    "pi",
    "polygamma",
    "pow",
    "prod",
    "radians",
    "remainder",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "sumprod",
    "tan",
    "tanh",
    "tau",
    "trunc",
    "ulp",
]


def __dir__() -> list[str]:
    return __all__
