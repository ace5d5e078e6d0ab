"""The functions of dualrev.rules.primitives that numba has: as math's on numbers, as numpy's on numbers and on arrays.

One function holds many; every row of the result is compared alone. `NOT_IN_NUMBA` names the others.
"""

import math
import operator

import numpy as np
from numba import njit
from support.case import case

#: Lines of the table that numba compiles under no name.
NOT_IN_NUMBA = {"expit", "remainder", "digamma", "polygamma"}

MIDDLE = np.array([-0.65, 0.3, 0.85])  # inside of (-1, 1)
POSITIVE = np.array([0.3, 1.4, 3.1])
POINTS = np.array([-2.3, 0.4, 1.7])
DIVISORS = np.array([0.7, 1.3, -2.2])
single = np.float32


@case(MIDDLE, each=True, forward=True)
@case(MIDDLE.astype(single), each=True, name="math_single")
@njit
def math_between_minus_one_and_one(xs):
    out = np.empty((20, len(xs)))
    for i in range(len(xs)):
        x = xs[i]
        out[0, i] = math.sin(x)
        out[1, i] = math.cos(x)
        out[2, i] = math.tan(x)
        out[3, i] = math.asin(x)
        out[4, i] = math.acos(x)
        out[5, i] = math.atan(x)
        out[6, i] = math.sinh(x)
        out[7, i] = math.cosh(x)
        out[8, i] = math.tanh(x)
        out[9, i] = math.asinh(x)
        out[10, i] = math.atanh(x)
        out[11, i] = math.exp(x)
        out[12, i] = math.exp2(x)
        out[13, i] = math.expm1(x)
        out[14, i] = math.log1p(x)
        out[15, i] = math.erf(x)
        out[16, i] = math.erfc(x)
        out[17, i] = math.fabs(x)
        out[18, i] = math.degrees(x)
        out[19, i] = math.radians(x)
    return out


@case(POSITIVE, DIVISORS, each=True, forward=True)
@njit
def math_of_positive_numbers(xs, ys):
    out = np.empty((15, len(xs)))
    for i in range(len(xs)):
        x, y = xs[i], ys[i]
        out[0, i] = math.sqrt(x)
        out[1, i] = math.log(x)
        out[2, i] = math.log2(x)
        out[3, i] = math.log10(x)
        out[4, i] = math.acosh(x + 1)
        out[5, i] = math.gamma(x)
        out[6, i] = math.lgamma(x)
        out[7, i] = math.pow(x, y)
        out[8, i] = math.atan2(x, y)
        out[9, i] = math.hypot(x, y)
        out[10, i] = math.copysign(x, y)
        out[11, i] = math.floor(x) * x
        out[12, i] = math.ceil(x) * x
        out[13, i] = math.trunc(x) * x
        out[14, i] = math.ldexp(x, i) if math.isfinite(x) and not math.isnan(y) and not math.isinf(y) else 0.0
    return out


@case(POINTS, DIVISORS, each=True, forward=True)
@njit
def operators(xs, ys):
    out = np.empty((12, len(xs)))
    for i in range(len(xs)):
        x, y = xs[i], ys[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x / y
        out[4, i] = abs(x) ** y
        out[5, i] = -x
        out[6, i] = +x
        out[7, i] = abs(x)
        out[8, i] = x // y * y
        out[9, i] = x % y
        out[10, i] = round(x) * x
        out[11, i] = 1.5 - x / 2.0
    return out


@case(MIDDLE, each=True)
@case(MIDDLE.astype(single), each=True, name="numpy_single")
@case(0.35, each=True, name="numpy_of_a_number")
@njit
def numpy_between_minus_one_and_one(x):
    return (
        (np.sin(x), np.cos(x), np.tan(x), np.arcsin(x), np.arccos(x), np.arctan(x)),
        (np.sinh(x), np.cosh(x), np.tanh(x), np.arcsinh(x), np.arctanh(x), np.cbrt(x)),
        (np.exp(x), np.exp2(x), np.expm1(x), np.log1p(x), np.absolute(x), np.abs(x)),
        (np.negative(x), np.positive(x), np.square(x), np.sign(x) * x, np.rint(x) * x),
        (np.floor(x) * x, np.ceil(x) * x, np.trunc(x) * x),
    )


@case(POSITIVE, DIVISORS, each=True)
@case(1.3, 0.7, each=True, name="numpy_of_two_numbers")
@njit
def numpy_of_two(x, y):
    return (
        (np.sqrt(x), np.log(x), np.log2(x), np.log10(x), np.arccosh(x + 1)),
        (np.add(x, y), np.subtract(x, y), np.multiply(x, y), np.divide(x, y), np.true_divide(x, y)),
        (np.power(x, y), np.arctan2(x, y), np.hypot(x, y), np.fmod(x, y), np.remainder(x, y)),
        (np.floor_divide(x, y) * x, np.maximum(x, y), np.minimum(x, y), np.copysign(x, y), np.logaddexp(x, y)),
    )


@case(1.3, np.array([0.7, -0.4, 1.2, 0.3]), 3)
@njit
def functions_of_the_module_operator(x, a, k):
    """Functions of `operator`: in place they change an array but not a number; others are operators by another name."""
    s = operator.iadd(operator.imul(x, 0.5), operator.isub(x, 2.0))
    s = s + operator.itruediv(x, s) * x + operator.ipow(x, 2)
    b, m = a * 2.0, operator.xor(operator.lshift(k, 2), operator.and_(k, 2))
    c = operator.iadd(b, a)
    operator.imul(b[1:], x)
    operator.setitem(c, 0, s * c[1])
    rest = [x, s, x * s]
    operator.delitem(rest, 1)
    if operator.contains((1.0, x), x) and operator.is_not(x, None):
        s += rest[1] * operator.rshift(m, 1) * operator.iadd(k, 1) * k
    return s * np.sum(b * c) * operator.or_(m, 1) * operator.invert(k)


@case(1.3, np.array([0.7, -0.4, 1.2, 0.3]), 6)
@njit
def functions_of_the_module_operator_in_place(x, a, k):
    """Of ints and bits; of lists, where the name stays; and of several arguments of map."""
    n = operator.ior(operator.ilshift(k, 2), 1)
    n = operator.iand(operator.ixor(n, 5), operator.irshift(255, 1))
    flags = a > 0.0
    operator.iand(flags, a < 1.0)
    ys = [x, x * x]
    ys = operator.iadd(ys, [x * a[0], a[1]])
    s = ys[2] * ys[3] + n * x
    for y in map(operator.mul, a, a * x):
        s += y * y
    for y in map(math.hypot, ys, a):
        s *= y
    for y in list(filter(lambda t: t > 0.0, list(map(math.sin, map(operator.mul, a, a * x))))):
        s -= y
    return s * np.sum(np.where(flags, a, x))


@case(1.3, np.array([0.7, -0.4, 1.2]))
@njit
def names_of_builtin_functions(x, a):
    """Loops that stand for map and [y] * n call the builtin functions, whatever has their names."""

    def zip(u, v):
        return u - v

    def range(k):
        return k * 2.0

    len = x * x
    s = zip(x, 2.0) + range(x) * len
    for y in map(operator.mul, a, a * x):
        s += y
    ys = [x * 2.0] * 3
    for y in ys:
        s *= y
    for i in np.ndindex(3):
        s += a[i] * len
    return s
