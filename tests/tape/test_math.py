"""dualrev.math against math: the same names, values and exceptions on plain and dual numbers, and right derivatives."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp

from dualrev import math as dm
from dualrev import value
from dualrev.eager.numbers.overload import DualNumber, function
from dualrev.rules.primitives import PRIMITIVES
from stages import STAGES

e, inf, nan = math.e, math.inf, math.nan
MAX, TINY = sys.float_info.max, 5e-324
vjp = STAGES["tape"].vjp

ADDED = {"digamma", "expit", "logaddexp", "maximum", "minimum", "polygamma", "sign"}
LATER = {"sumprod", "fma"} - set(dir(math))  # what the running version of Python lacks
CONSTANTS = {"e", "inf", "nan", "pi", "tau"}
BINARY = {"atan2", "copysign", "fmod", "hypot", "isclose", "log", "nextafter", "pow", "remainder"}
WHOLE = {"comb", "factorial", "gcd", "isqrt", "lcm", "perm"}
OTHERS = {"dist", "fma", "fsum", "ldexp", "prod", "sumprod"}
PUBLIC = {name for name in dir(math) if not name.startswith("_")}
UNARY = PUBLIC - BINARY - WHOLE - OTHERS - CONSTANTS | {"hypot", "log"}

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-9, 171.5, 1e16, -1e300, MAX, -TINY, inf, -inf, nan]
NUMBERS = [*FLOATS, 0, 3, -1, True, 10**400, np.float64(0.5), np.float32(-2.5), np.int64(2), np.bool_(True)]
NUMBERS += [Fraction(1, 3)]
NO_NUMBERS = ["a", None, 1j, [1.0]]


def outcome(f, *args, **kwargs):
    """Return the type of f's error, or its value in a form that tells NaN, signs of zeros and types apart."""
    try:
        return canonical(f(*args, **kwargs))
    except (ArithmeticError, ValueError, TypeError) as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def canonical(y):
    if isinstance(y, tuple):
        return tuple(map(canonical, y))
    return type(y), repr(y)


def of_duals(f):
    """The values of f on dual numbers in the place of floats."""

    def values(*args, **kwargs):
        seen = []

        def run(*duals):
            rest = iter(duals)
            y = f(*rebuilt(args, rest), **kwargs)
            seen.append(tuple(map(value, y)) if isinstance(y, tuple) else value(y))
            return duals[0]

        vjp(run, *[x for x in flattened(args) if type(x) is float], 0.0)
        return seen[0]

    return values


def flattened(args):
    for x in args:
        yield from flattened(x) if isinstance(x, (list, tuple)) else (x,)


def rebuilt(args, rest):
    return type(args)(
        rebuilt(x, rest) if isinstance(x, (list, tuple)) else next(rest) if type(x) is float else x for x in args
    )


# Names


def test_every_name_of_math_is_there():
    assert set(dm.__all__) == PUBLIC | ADDED | LATER
    assert all(hasattr(dm, name) for name in dm.__all__)


def test_constants_are_the_same():
    for name in CONSTANTS:
        assert getattr(dm, name) is getattr(math, name)


def test_functions_of_the_table_are_called_without_a_detour():
    own = {"fabs", "hypot", "log", "pow"}
    for name in set(dm.__all__) & set(PRIMITIVES) - own - {"ceil", "floor", "trunc"}:
        assert getattr(dm, name).__code__.co_filename == function(PRIMITIVES[name]).__code__.co_filename


# Plain numbers


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_one_plain_number(name):
    for x in [*NUMBERS, *NO_NUMBERS]:
        assert outcome(getattr(dm, name), x) == outcome(getattr(math, name), x), x


@pytest.mark.parametrize("name", sorted(BINARY))
def test_functions_of_two_plain_numbers(name):
    with_none = [args for x in NO_NUMBERS for args in [(x, 1.0), (1.0, x), (x, x)]]
    for args in [*itertools.product(NUMBERS, repeat=2), *with_none, (1.0, 2.0, 3.0, "a"), ("a",)]:
        assert outcome(getattr(dm, name), *args) == outcome(getattr(math, name), *args), args


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_functions_of_whole_numbers(name):
    for args in [(), (5,), (5, 2), (12, 18), (-1,), (True, 3), (np.int64(6), 4), (2.0,), (2.0, 1), (4, 2.0), ("a",)]:
        assert outcome(getattr(dm, name), *args) == outcome(getattr(math, name), *args), args


TERMS = [
    [],
    [1, 2],
    [0.1] * 10,
    [1e16, 1.0, -1e16],
    [2.0, 1e-17, -2.0, 1e-17],
    [1e16, 1, 1e-16, -1e16],
    [-0.0],
    [MAX, MAX],
    [MAX, -MAX, 1.0],
    [inf, 1.0],
    [inf, -inf],
    [nan, 1.0],
    [TINY, TINY],
    [0.0, 2.0, 0.0],
    [3.0, 4, True, np.float64(2.5)],
    [Fraction(1, 3), 2.0],
    ["a"],
    [None, 1.0],
]


@pytest.mark.parametrize("name", ["fsum", "prod"])
def test_sums_and_products_of_plain_numbers(name):
    for xs in TERMS:
        for kind in (list, tuple, iter):
            assert outcome(getattr(dm, name), kind(xs)) == outcome(getattr(math, name), kind(xs)), xs
    for x in (1.0, None):
        assert outcome(getattr(dm, name), x) is outcome(getattr(math, name), x) is TypeError


def test_norms_of_plain_numbers():
    for xs in TERMS:
        assert outcome(dm.hypot, *xs) == outcome(math.hypot, *xs), xs
    for xs, ys in itertools.product(TERMS, repeat=2):
        assert outcome(dm.dist, iter(xs), ys) == outcome(math.dist, iter(xs), ys), (xs, ys)
    assert outcome(dm.dist, 1.0, 2.0) is outcome(math.dist, 1.0, 2.0) is TypeError


PAIRS = [(xs, ys) for xs, ys in itertools.product(TERMS, repeat=2) if len(xs) == len(ys)]
PAIRS += [([0.1] * 10, [0.1] * 9), ([1.0], []), ([], [1.0])]
SPECIAL = [0.0, -0.0, 1.0, -2.5, 1e200, -MAX, TINY, inf, -inf, nan]
TRIPLES = [*itertools.product(SPECIAL, repeat=3), (2, 3, 4), (10**400, 1, 1), (0.1, 10, -1.0), ("a", 1.0, 1.0)]
TRIPLES += [(inf, 1.0, "a"), (np.float32(0.5), True, Fraction(1, 3)), (1.0 + 2**-52, 1.0 - 2**-52, -1.0)]


@pytest.mark.skipif("sumprod" in LATER, reason="Python 3.12")
def test_sumprod_of_plain_numbers():
    for xs, ys in PAIRS:
        assert outcome(dm.sumprod, iter(xs), ys) == outcome(math.sumprod, iter(xs), ys), (xs, ys)


@pytest.mark.skipif("fma" in LATER, reason="Python 3.13")
def test_fma_of_plain_numbers():
    for args in TRIPLES:
        assert outcome(dm.fma, *args) == outcome(math.fma, *args), args


def test_what_older_versions_lack_is_exact():
    """Replacements for functions of later Python versions are exact; they are tested in every version."""
    assert dm._exact_sumprod((1e16, 1.0, -1e16), (1.0, 2.0, 1.0)) == 2.0
    assert outcome(dm._exact_sumprod, (2, 3), (4, True)) == (int, "11")
    assert dm._exact_sumprod((), ()) == 0
    assert math.isnan(dm._exact_sumprod((inf, 1.0), (0.0, 1.0)))
    with pytest.raises(ValueError, match="not the same length"):
        dm._exact_sumprod((1.0,), ())
    with pytest.raises(TypeError):
        dm._exact_sumprod((1.0,), (None,))
    assert dm._exact_fma(1.0 + 2**-52, 1.0 - 2**-52, -1.0) == -(2.0**-104)
    assert dm._exact_fma(1e308, 10.0, -inf) == -inf
    assert dm._exact_fma(1e308, 2.0, -1e308) == 1e308
    assert str(dm._exact_fma(-0.0, 1.0, -0.0)) == "-0.0"
    for args, error in [((inf, 0.0, 1.0), ValueError), ((MAX, 2.0, 0.0), OverflowError), (("a", 1, 1), TypeError)]:
        with pytest.raises(error):
            dm._exact_fma(*args)
    if not LATER:
        for args in TRIPLES:
            assert outcome(dm._exact_fma, *args) == outcome(math.fma, *args), args
    if "sumprod" not in LATER:
        for xs, ys in PAIRS:
            assert outcome(dm._exact_sumprod, tuple(xs), tuple(ys)) == outcome(math.sumprod, xs, ys), (xs, ys)


EXPONENTS = [0, 1, -1, 52, -1074, -1075, 1023, 1024, 2097, -2098, 10**30, -(10**30), True]


def test_ldexp_of_plain_numbers():
    for x, i in itertools.product(NUMBERS, [*EXPONENTS, 2.0, "a", None, np.int64(2)]):
        assert outcome(dm.ldexp, x, i) == outcome(math.ldexp, x, i), (x, i)


def test_keyword_arguments():
    for kwargs in ({"rel_tol": 0.1}, {"abs_tol": 0.2, "rel_tol": 0.0}, {"rel_tol": -1.0}, {"tol": 1.0}):
        for args in [(1.0, 1.05), (1.0, 1.15), (inf, inf), (nan, nan)]:
            assert outcome(dm.isclose, *args, **kwargs) == outcome(math.isclose, *args, **kwargs)
    assert dm.isclose(a=1.0, b=1.0)
    assert outcome(dm.prod, [2.0, 3], start=2.0) == (float, "12.0")
    assert outcome(dm.prod, [], start=7) == (int, "7")
    for kwargs in ({"steps": 3}, {"steps": 0}, {"steps": -1}, {"steps": 10**30}, {"steps": 1.5}, {"step": 1}):
        assert outcome(dm.nextafter, 1.0, 2.0, **kwargs) == outcome(math.nextafter, 1.0, 2.0, **kwargs)
    for f, args, kwargs in [
        ("log", (2.0,), {"base": 2.0}),  # positional only in math
        ("hypot", (), {"x": 2.0}),
        ("fsum", (), {"seq": [1.0]}),
        ("prod", (), {"iterable": [1.0]}),
        ("pow", (), {"x": 2.0, "y": 2.0}),
        ("log", (2.0, 3.0, 4.0), {}),
        ("fabs", (), {}),
        ("sin", (), {}),
    ]:
        assert outcome(getattr(dm, f), *args, **kwargs) is outcome(getattr(math, f), *args, **kwargs) is TypeError


@pytest.mark.parametrize("name", ["fabs", "degrees", "ulp", "frexp", "modf", "isnan", "hypot"])
def test_what_becomes_a_float_by_itself_is_a_number_to_composed_functions(name):
    assert outcome(getattr(dm, name), Decimal("2.5")) == outcome(getattr(math, name), Decimal("2.5"))


# The values of dual numbers


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_one_dual_number(name):
    for x in FLOATS:
        assert outcome(of_duals(getattr(dm, name)), x) == outcome(getattr(math, name), x), x


@pytest.mark.parametrize("name", sorted(BINARY))
def test_functions_of_two_dual_numbers(name):
    ours, theirs = of_duals(getattr(dm, name)), getattr(math, name)
    for args in itertools.product(FLOATS, repeat=2):
        assert outcome(ours, *args) == outcome(theirs, *args), args
    for x, n in itertools.product(FLOATS, [0, 3, -1, True, 10**400, np.float64(0.5), np.int64(2), Fraction(1, 3)]):
        assert outcome(ours, x, n) == outcome(theirs, x, n), (x, n)
        assert outcome(ours, n, x) == outcome(theirs, n, x), (n, x)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_functions_of_whole_numbers_refuse_dual_numbers(name):
    f = of_duals(getattr(dm, name))
    assert outcome(f, 2.0) is TypeError
    assert outcome(f, 2.0, 1) is TypeError
    assert outcome(f, 2, 1.0) is TypeError


def test_sums_of_dual_numbers():
    for xs in TERMS:
        assert outcome(of_duals(dm.fsum), xs) == outcome(math.fsum, xs), xs
    for xs, ys in PAIRS:
        if not has_numpys(xs + ys):
            assert outcome(of_duals(dm.sumprod), xs, ys) == outcome(dm.sumprod, xs, ys), (xs, ys)


def has_numpys(xs):
    """math.prod and sumprod give numpy's type back; dual numbers have floats for values."""
    return any(isinstance(x, np.generic) for x in xs)


def test_fma_of_dual_numbers():
    for args in TRIPLES:
        assert outcome(of_duals(dm.fma), *args) == outcome(dm.fma, *args), args


def test_products_of_dual_numbers():
    for xs in TERMS:
        if not has_numpys(xs):
            assert outcome(of_duals(dm.prod), xs) == outcome(math.prod, xs), xs


def test_norms_of_dual_numbers():
    for xs in [*TERMS, [1e308, 1e308, 1e308], [TINY, TINY, TINY], [0.1, 0.2, 0.3, 0.4, 0.5], [nan, 1.0, inf]]:
        assert outcome(of_duals(dm.hypot), *xs) == outcome(math.hypot, *xs), xs
    for xs, ys in itertools.product(TERMS, repeat=2):
        assert outcome(of_duals(dm.dist), xs, ys) == outcome(math.dist, xs, ys), (xs, ys)


def test_ldexp_of_dual_numbers():
    for x, i in itertools.product(FLOATS, [*EXPONENTS, 2.0, "a", None]):
        assert outcome(of_duals(dm.ldexp), x, i) == outcome(math.ldexp, x, i), (x, i)


def test_keyword_arguments_of_dual_numbers():
    assert of_duals(dm.isclose)(1.0, 1.05, rel_tol=0.1)
    assert not of_duals(dm.isclose)(1.0, 1.05)
    assert of_duals(lambda a, b, c: dm.isclose(a, b, abs_tol=c))(1.0, 1.05, 0.1)
    assert of_duals(dm.prod)([2.0, 3], start=2.0) == 12.0
    assert vjp(lambda x, s: dm.prod([x, 3.0], start=s), 2.0, 5.0)[1](1.0) == (15.0, 6.0)
    for kwargs in ({"steps": 3}, {"steps": 0}, {"steps": -1}, {"step": 1}):
        assert outcome(of_duals(dm.nextafter), 1.0, 2.0, **kwargs) == outcome(math.nextafter, 1.0, 2.0, **kwargs)


def test_what_is_constant_piece_by_piece_is_plain():
    seen = []

    def f(x):
        seen.extend([dm.floor(x), dm.ceil(x), dm.trunc(x), dm.ulp(x), dm.modf(x)[1], dm.frexp(x)[1]])
        seen.extend([dm.isclose(x, 2.5), dm.isnan(x), dm.nextafter(1.0, x)])
        return x

    vjp(f, 2.5)
    assert_same(seen, [2, 3, 2, math.ulp(2.5), 2.0, 2, True, False, math.nextafter(1.0, 2.0)])


@pytest.mark.parametrize("name", ["float32", "float64", "longdouble"])
def test_arguments_of_numpys_types(name):
    """They are differentiated as floats are, and get cotangents of their type."""
    x = getattr(np, name)(2.5)
    for f in (
        lambda x: dm.log(x, 3.0),
        lambda x: dm.hypot(x, 1.0, np.float64(2.0)),
        lambda x: dm.fsum([x, np.float64(0.1), 1]),
        lambda x: dm.sumprod([x, x], np.array([1.0, 2.0])),
        lambda x: dm.dist([x], np.array([1.0])),
        lambda x: dm.prod([np.float64(2.0), x]),
        lambda x: dm.pow(np.float64(2.0), x),
        lambda x: dm.ldexp(x, 3),
        lambda x: dm.degrees(x),
    ):
        y, pullback = vjp(f, x)
        expected, of_float = vjp(f, 2.5)
        assert_same(float(y), expected)
        (found,) = pullback(1.0)
        assert type(found) is type(x)
        assert_same(float(found), of_float(1.0)[0], rtol=1e-6)


# Derivatives

CHECKS = {
    "log": (dm.log, 2.5, 3.5),
    "log to a constant base": (lambda x: dm.log(x, 10), 2.5),
    "log of a constant": (lambda b: dm.log(7, b), 0.4),
    "hypot of 1": (dm.hypot, -2.5),
    "hypot of 2": (dm.hypot, -2.5, 0.5),
    "hypot of 3": (dm.hypot, -2.5, 0.5, 1.5),
    "hypot of 5": (dm.hypot, 0.5, -2.5, 1.5, 3.5, -1.25),
    "hypot with zeros": (lambda *xs: dm.hypot(*xs), 0.0, 0.0, 2.0, 0.0),
    "hypot with constants": (lambda x, y: dm.hypot(0, x, 1.5, y), 0.25, 3.0),
    "hypot of small numbers": (lambda x, y: dm.hypot(1e-170 * x, 1e-170 * y, 1e-170) * 1e170, 0.5, 2.0),
    "hypot of large numbers": (lambda x, y: dm.hypot(1e300 * x, 1e300 * y, 1e300) * 1e-300, 0.5, 2.0),
    "dist": (dm.dist, [1.0, 2.0, 3.0], [2.5, 0.5, 3.0]),
    "dist of one": (lambda p: dm.dist(p, (1,)), [2.5]),
    "dist to a constant": (lambda p: dm.dist(p, (1, 2.5)), [2.0, 0.0]),
    "prod": (dm.prod, [1.5, -2.0, 0.5, 3.0]),
    "prod with a zero": (dm.prod, [1.5, 0.0, 0.5]),
    "prod with two zeros": (lambda xs: dm.prod(xs) + xs[1] ** 2, [0.0, 1.5, 0.0]),
    "prod with three zeros": (lambda xs: dm.prod(xs) + xs[2] ** 2, [0.0, 0.0, 1.5, 0.0]),
    "prod with a start": (lambda xs, s: dm.prod(xs, start=s), [1.5, 2.0], -0.5),
    "fsum": (dm.fsum, [1.5, -2.0, 0.5]),
    "fsum of squares": (lambda xs: dm.fsum(x * x for x in xs), [1.5, -2.0, 0.5]),
    "fsum with constants": (lambda x: dm.fsum([0.1, x, 10, x * x]), 0.7),
    "sumprod": (dm.sumprod, [1.5, -2.0, 0.5], [0.1, 0.2, 0.3]),
    "sumprod with constants": (lambda p: dm.sumprod(p, (1, 2.5)), [0.7, 0.0]),
    "sumprod of itself": (lambda p: dm.sumprod(p, p), [0.7, -1.5]),
    "fma": (dm.fma, 1.5, -2.0, 0.5),
    "fma with constants": (lambda x: dm.fma(x, 3, x * x), 1.5),
    "degrees": (dm.degrees, 1.5),
    "radians": (dm.radians, 150.0),
    "fabs": (dm.fabs, -1.5),
    "pow": (dm.pow, 1.5, -2.5),
    "pow of constants": (lambda x: dm.pow(2, x) + dm.pow(x, 3), 1.5),
    "modf": (lambda x: dm.modf(x)[0], -2.25),
    "frexp": (lambda x: dm.frexp(x)[0], 6.0),
    "ldexp": (lambda x: dm.ldexp(x * x, -3), 6.0),
    "ldexp far and back": (lambda x: dm.ldexp(dm.ldexp(x * x, 1022), -1022), 1.3),
    "copysign": (lambda x: dm.copysign(x * x, -2), 1.5),
    "nextafter": (lambda x: dm.nextafter(x * x, 5.0), 1.5),
    "remainders": (lambda x, y: dm.fmod(x, y) * dm.remainder(x, y), 7.75, 2.5),
    "erf": (lambda x: dm.erf(x) * dm.erfc(x), 0.7),
    "gamma": (lambda x: dm.gamma(x) + dm.lgamma(x), 2.7),
    "exp2 and cbrt": (lambda x: dm.exp2(x) * dm.cbrt(x), 2.7),
}


@pytest.mark.parametrize("case", CHECKS)
def test_derivatives(case):
    f, *primals = CHECKS[case]
    check_vjp(vjp, f, *primals)


@pytest.mark.parametrize("case", CHECKS)
def test_second_derivatives(case):
    f, *primals = CHECKS[case]
    check_order_2(vjp, f, *primals)


COMPOSED = ["log", "hypot of 3", "dist", "prod with a zero", "fsum", "sumprod", "fma", "frexp", "ldexp", "nextafter"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("case", COMPOSED)
def test_derivatives_in_every_stage(case, stage):
    f, *primals = CHECKS[case]
    y, pullback = STAGES[stage].vjp(f, *primals)
    expected, by_tape = vjp(f, *primals)
    assert_same(y, expected)
    assert_same(pullback(1.0), by_tape(1.0))


@pytest.mark.parametrize("case", COMPOSED)
def test_numbers_of_an_outer_derivative_are_constants_of_an_inner_one(case):
    """d/dt of a derivative with t among the constants, by differences of that derivative."""
    f, *primals = CHECKS[case]

    def slope(t):
        return vjp(lambda s: f(*shifted(primals, s, t)), 0.5)[1](1.0)[0]

    check_vjp(vjp, slope, 0.25)


def shifted(primals, s, t):
    """The primals with multiples of s and t added, so that every argument depends on one of them or on both."""
    count = itertools.count(1)
    return [
        [x + s * t * next(count) * 0.01 for x in p] if isinstance(p, list) else p + (s if k % 2 else t) * s * 0.1
        for k, p in enumerate(primals)
    ]


def test_third_derivatives():
    def derivative(f):
        return lambda x: vjp(f, x)[1](1.0)[0]

    def third(f):
        return functools.reduce(lambda g, _: derivative(g), range(3), f)

    assert_same(third(lambda x: dm.log(x, 2.0))(2.0), 0.25 / math.log(2.0))
    assert_same(third(lambda x: dm.prod([x, x, x, 2.0]))(0.0), 12.0)
    assert_same(third(lambda x: dm.fsum([x * x * x, 0.1, x]))(1.5), 6.0)
    assert_same(third(lambda x: dm.ldexp(dm.fma(x * x, x, 1.0), 3))(1.5), 48.0)
    assert_same(third(lambda x: dm.hypot(x, x, x, x) ** 3)(1.5), 48.0)


def test_products_are_not_divided_by_their_factors():
    assert_same(vjp(dm.prod, [1.5, 0.0, 0.5])[1](1.0), ([0.0, 0.75, 0.0],))
    assert_same(vjp(dm.prod, [1.5, 0.0, 0.0])[1](1.0), ([0.0, 0.0, 0.0],))
    assert_same(vjp(dm.prod, [inf, 2.0, 0.5])[1](1.0), ([1.0, inf, inf],))


def test_the_origin_has_no_direction():
    for n in range(1, 5):
        y, pullback = vjp(dm.hypot, *[0.0] * n)
        assert_same((y, pullback(1.0)), (0.0, (nan,) * n))
    y, pullback = vjp(dm.dist, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert_same((y, pullback(1.0)), (0.0, ([nan] * 3, [nan] * 3)))


def test_derivatives_at_the_ends_of_the_floats():
    def derivative(f, x):
        return vjp(f, x)[1](1.0)[0]

    assert derivative(lambda x: dm.ldexp(x, 1074), TINY) == inf
    assert derivative(lambda x: dm.ldexp(x, 2000), TINY) == inf
    assert derivative(lambda x: dm.ldexp(x, -1074), 1.0) == TINY
    assert derivative(lambda x: dm.ldexp(x, -2000), MAX) == 0.0
    assert derivative(lambda x: dm.frexp(x)[0], MAX) == 2.0**-1023 / 2.0
    assert derivative(lambda x: dm.frexp(x)[0], 0.0) == 1.0
    assert derivative(lambda x: dm.modf(x)[0], 3.0) == 1.0
    assert derivative(lambda x: dm.modf(x)[0], inf) == 0.0
    assert derivative(lambda x: dm.nextafter(x, inf), MAX) == 1.0
    assert derivative(lambda x: dm.nextafter(x, inf), -0.0) == 1.0
    assert derivative(lambda x: dm.fma(x, 2.0, -1e308), 1e308) == 2.0
    assert derivative(lambda x: dm.fma(1e308, x, -1e308), 2.0) == 1e308
    assert_same(vjp(dm.fma, 1e308, 1e308, -inf)[1](1.0), (1e308, 1e308, 1.0))
    assert derivative(lambda x: dm.fsum([x, inf]), 1.0) == 1.0


def test_derivatives_go_on_through_what_is_composed():
    kinds = []

    def f(x):
        made = [dm.log(x, 2), dm.hypot(x, 1, 1), dm.fsum([x]), dm.sumprod([x], [1]), dm.fma(x, 1, 1), dm.prod([x])]
        kinds.extend(isinstance(u, DualNumber) for u in [*made, dm.frexp(x)[0], dm.modf(x)[0], dm.nextafter(x, 9.0)])
        return x

    vjp(f, 2.5)
    assert all(kinds)
