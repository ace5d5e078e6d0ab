"""Numbers: rebinding, branches, conditions, arithmetic of floats, ints and bools."""

import math
from math import exp, sin

import numba
import numpy as np
from numba import njit
from support.case import case

F32 = np.float32


@case(0.7, -1.3, 1.9)
@njit
def rebinding(x, y, z):
    """Every name is bound again, to what the old value is needed for; one assignment binds several."""
    x = x * x
    a = b = x * y
    x, y = y * z, x + b
    b = sin(a) * b
    z *= x
    z -= b / y
    z /= a + 3.0
    a **= 2
    a += z
    return a * b + x * y * z


@case(0.73, 3, True)
@case(0.73, 3, False)
@case(-1.23, -4, True)
@njit
def kinds_of_numbers(x, n, flag):
    """An int that becomes a float, ints as factors, a bool as a number, and conversions."""
    s = 0
    s += x * n
    k = n
    k += 2
    s = s * k + flag * x
    t = float(n) * x + np.float64(k) * s
    m = int(10.0 * x) + round(x) + np.int64(3.7 * x)
    u = x if bool(n) else 2.0 * x
    return s * t + m * x * u + n // 2 * x + (n % 3) * s + round(x * 1.0, 1) * x


@case(0.4, 2.0)
@case(1.4, 2.0)
@case(2.4, 2.0)
@case(3.9, 2.0)
@njit
def chain_of_branches(x, y):
    """A name that is bound in every branch, one that is changed in some, and nesting."""
    scale = y
    if x < 1.0:
        z = x * y
    elif x < 2.0:
        z = x / y
        scale = scale * x
    elif x < 3.0:
        if y > 1.0:
            z = x - y
            y = y * z
        else:
            z = y
    else:
        z = sin(x)
        x = z * z
    return z * scale + x * y


@case(-0.4, 0.8)
@case(0.6, 0.8)
@case(0.6, -0.8)
@njit
def conditional_expressions(x, y):
    """Values and parts of values that are chosen, one inside of another."""
    a = x * y if x > 0.0 else y * y
    b = (x if y > 0.0 else a) * (a if x > 0.5 else x if a > 0.3 else 2.0)
    return a + b * (exp(x) if x < 0.0 and y > 0.0 else 1.0)


@case(-0.4, 0.8, True)
@case(0.4, 0.8, False)
@case(0.9, -0.2, True)
@njit
def conditions(x, y, flag):
    """and, or, not on bools; short circuits that guard a square root and a division; chained comparisons."""
    z = 1.0
    if x > 0.0 and math.sqrt(x) > 0.5:
        z *= x
    if x <= 0.0 or 1.0 / x > 2.0:
        z += y * x
    if not flag and not (x < y < 1.0):
        z -= x
    if -1.0 < x <= 0.5 < abs(y) != 3.0:
        z *= y
    inside = 0.0 < x < 1.0 and flag
    if inside or y < 0.0:
        z = z * z
    both = flag and x > 0.0
    return z * x if both == inside else z + y


@case(0.7, 1.6)
@case(2.5, 1.6)
@njit
def powers(x, y):
    """Exponents that are literal and whole, negative, halves, variables and numbers; pow and math.pow."""
    n = 3
    return (
        x**2 + x**-1 * y**0.5 + x**n - y**-2 + x**y + 2.0**x + x**0 + x**1 + y**-0.5 + pow(x, 3) + pow(x, y)
        + math.pow(y, 1.5) + (x * y) ** 5 + x**8
    )  # fmt: skip


@case(-1.5, 3)
@case(-1.5, -2)
@case(1.5, 0)
@njit
def powers_of_a_negative_base(x, n):
    """Whole exponents, as ints and as floats."""
    return x**3 + x**n + x**-3 + x**2.0 + (x - 1.0) ** 3.0 + (-x) ** n


@case(7.3, 2.0)
@case(-7.3, 2.0)
@case(7.3, -2.0)
@case(-7.3, -2.25)
@njit
def remainders(x, y):
    """The remainder, the quotient, both of them, and an angle that is brought home."""
    q, r = divmod(x, y)
    angle = (x + math.pi) % (2 * math.pi) - math.pi
    return (x % y) * x + (x // y) * y + q * r * x + angle * angle + (y % 0.7) * (x % 3)


@case(0.7, -1.6, 1.2)
@case(-0.7, 1.6, 2.2)
@case(2.7, 2.6, 2.5)
@njit
def extremes(x, y, z):
    """Python's max and min of two, three and four; abs; clipping; numpy's maximum."""
    a = max(x, y) * min(x, y, z) + max(x * y, y * z, z * x, 0.0)
    b = min(max(x, -1.0), 1.0) + abs(x * y) + abs(z - 3.0)
    c = np.maximum(x, z) * np.minimum(y, 0.5) + max(0.0, x) + max(x, 0) + min(1, y)
    return a * b + c


@case(0.7, 2.0, 3.0, argnums=(0,))
@case(0.7, 2.0, 3.0, argnums=(2, 0))
@case(0.7, 2.0, 3.0)
@njit
def an_unused_argument(x, y, z):
    """An argument that is not used, and a value that is overwritten before its use."""
    dead = z * x
    dead = exp(z)  # noqa: F841
    w = x * z
    return w * x


@case(0.7, np.array([1.0, 2.0]))
@njit
def a_constant_result(x, a):
    x = x * 2.0
    x = 3.0
    return x * 2.0


@case(0.7, 2)
@njit
def an_argument_as_result(x, n):
    for _ in range(n):
        y = x * x  # noqa: F841 - it is computed and left
    return x


@case(0.8, 1.7, each=True)
@case(F32(0.75), F32(1.625), each=True, name="several_results_float32")
@njit
def several_results(x, y):
    """A tuple of floats, an int and a tuple inside."""
    p = x * y
    q = p + x
    return p, int(10 * y), (q * q, x), p


@case(F32(0.75), F32(-1.25), 3)
@case(F32(0.75), -1.25, 3, name="single_and_double_precision")
@njit
def single_precision(x, y, n):
    """Scalars of float32, alone and beside double precision."""
    s = x
    for k in range(n):
        s = s * x + y / (k + 1)
        s += math.sin(s)
    return s * s + np.float32(y) * x


@numba.jit(nopython=True)
def _softplus(x):
    return math.log1p(exp(x))


@case(0.7, -0.3)
@njit(fastmath=True, error_model="numpy", nogil=True)
def options_of_numba(x, y):
    """Options that carry over, and a callee with another spelling of the decorator."""
    return _softplus(x) * y + x / y


@case(0.7, 4)
@njit("float64(float64, int64)", boundscheck=True)
def an_explicit_signature(x, n):
    out = np.zeros(n)
    for k in range(n):
        out[k] = x**k
    return out[n - 1] + out[1] * out[2]


@case(0.7)
@njit()
def globals_of_all_kinds(x):
    """Numbers, arrays, tuples, functions and modules that are found at the top of the file."""
    s = x * WEIGHTS[0] + SCALE
    for k in range(len(WEIGHTS)):
        s += WEIGHTS[k] * x**k * COUNT
    return s * PAIR[1] + _softplus(s) * math.pi + sin(x) * np.e + MATRIX[1, 0] * x


SCALE, COUNT, PAIR = 1.75, 2, (3, 0.5)
WEIGHTS = np.array([0.5, -1.0, 0.25])
MATRIX = np.arange(4.0).reshape(2, 2).T
