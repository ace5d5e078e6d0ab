"""Every line of the table of primitives, in every stage; parametrised from the table, so no line is left out."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random

import mpmath
import numpy as np
import pytest
import scipy.special
from support.oracle import ROUND, RTOL, assert_same, check_order_2, differences

import dualrev as dr
from dualrev import math as dm
from dualrev import value
from dualrev.eager.numbers.overload import function
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive
from dualrev.rules.special import digamma, polygamma
from stages import STAGES

inf, nan = math.inf, math.nan
KINDS = ["naive", "sparse", "contrib", "tape"]  # closures with and without dense zeros; lists and arrays of partials
POINTS = 3

every_stage = pytest.mark.parametrize("stage", STAGES)
every_kind = pytest.mark.parametrize("stage", KINDS)
every_primitive = pytest.mark.parametrize("name", PRIMITIVES)


# Points of the domain


def formula(primitive: Primitive, text: str):
    """The text of a line as a function of floats, made here: overload.py's compilation is under test."""
    return eval(f"lambda {', '.join(primitive.parameters)}: {text}", {**FUNCTIONS, "nan": nan, "inf": inf})


def smooth(primitive: Primitive, args: tuple[float, ...]) -> bool:
    return not primitive.kink or abs(formula(primitive, primitive.kink)(*args)) > 0.05


@functools.cache
def points(name: str) -> list[tuple[float, ...]]:
    """Points of the domain away from kinks, the same ones in every run."""
    primitive, rng = PRIMITIVES[name], random.Random(name)
    drawn = (tuple(rng.uniform(*interval) for interval in primitive.domain) for _ in itertools.count())
    return list(itertools.islice((args for args in drawn if smooth(primitive, args)), POINTS))


def positions(name: str) -> list[int]:
    """The arguments that have a derivative."""
    return [k for k, text in enumerate(PRIMITIVES[name].partials) if not text.startswith("nan")]


@functools.cache
def expected(name: str, args: tuple[float, ...]) -> tuple[float, ...]:
    """The partials by differences of the value; NaN for an argument without a derivative."""
    f = formula(PRIMITIVES[name], PRIMITIVES[name].value)
    partials = [nan] * len(args)
    for k in positions(name):
        step = 0.25 * min(1.0, *(abs(args[k] - end) for end in PRIMITIVES[name].domain[k]))
        v = tuple(float(k == j) * step for j in range(len(args)))
        partials[k] = float(differences(f, args, v)[0]) / step
    return tuple(partials)


def with_constants(name: str):
    """Yield arguments with one constant among them: its position, and the arguments with a float or an int there."""
    primitive = PRIMITIVES[name]
    for args in points(name)[:2]:
        for k, (low, high) in enumerate(primitive.domain):
            whole = [n for n in (2, 1, -1, -2, 0) if low <= n <= high and smooth(primitive, replaced(args, k, n))]
            yield from ((k, replaced(args, k, constant)) for constant in [args[k], *whole[:2]])


def replaced(args: tuple, k: int, x) -> tuple:
    return (*args[:k], x, *args[k + 1 :])


def ways(name: str):
    """The ways of writing a primitive: the table's function, the operator, numpy's function."""
    primitive = PRIMITIVES[name]
    found = {"function": function(primitive)}
    if primitive.symbol:
        found["operator"] = getattr(operator, primitive.symbol)
    if primitive.ufunc:
        found["ufunc"] = getattr(np, primitive.ufunc)
    return found


def close(found, name, args):
    """Against differences; steps of 1/8 make errors of the size of the value, not of the partial."""
    by_differences = expected(name, tuple(map(float, args)))
    scale = max(1.0, *(abs(p) for p in by_differences if p == p))
    assert_same(tuple(found), by_differences, rtol=RTOL, floor=RTOL * scale)


# First derivatives


@every_primitive
def test_points_are_in_the_domain(name):
    assert len(points(name)) == POINTS
    for args in points(name):
        assert all(math.isfinite(p) for k, p in enumerate(expected(name, args)) if k in positions(name))


@every_primitive
def test_partials_in_the_text(name):
    primitive = PRIMITIVES[name]
    for args in points(name):
        y = formula(primitive, primitive.value)(*args)
        scope = {**dict(zip(primitive.parameters, args, strict=True)), "y": y, "nan": nan, "inf": inf}
        partials = [eval(text, dict(FUNCTIONS), scope) for text in primitive.partials]
        close(map(float, partials), name, args)


@every_primitive
@every_stage
def test_all_arguments_dual(stage, name):
    value_of = formula(PRIMITIVES[name], PRIMITIVES[name].value)
    for f in ways(name).values():
        for args in points(name):
            y, pullback = STAGES[stage].vjp(f, *args)
            assert_same(y, value_of(*args))
            close(pullback(1.0), name, args)
            assert_same(pullback(-2.0), tuple(-2.0 * p for p in pullback(1.0)))


@pytest.mark.parametrize("name", [name for name, line in PRIMITIVES.items() if len(line.partials) == 2])
@every_stage
def test_one_argument_dual(stage, name):
    """A constant on the left or on the right, a float or an int; an operator's reflected method is called here."""
    for k, args in with_constants(name):
        dual = 1 - k
        if dual not in positions(name):
            continue
        for f in ways(name).values():
            y, pullback = STAGES[stage].vjp(lambda x, f=f, k=k, args=args: f(*replaced(args, 1 - k, x)), args[dual])
            assert_same(y, float(formula(PRIMITIVES[name], PRIMITIVES[name].value)(*args)))
            (found,) = pullback(1.0)
            close(replaced(expected(name, tuple(map(float, args))), dual, found), name, args)


@pytest.mark.parametrize("name", [name for name, line in PRIMITIVES.items() if len(line.partials) == 1])
@every_stage
def test_twice_the_same_argument(stage, name):
    """The sum rule: an argument that is used twice receives both contributions."""
    f = function(PRIMITIVES[name])
    for (x,) in points(name):
        (p,) = STAGES[stage].vjp(f, x)[1](1.0)
        assert_same(STAGES[stage].vjp(lambda u: f(u) + f(u), x)[1](1.0), (2.0 * p,))
        assert_same(STAGES[stage].vjp(lambda u: (f(u), f(u)), x)[1]((1.0, -3.0)), (-2.0 * p,))


@pytest.mark.parametrize("name", [name for name, line in PRIMITIVES.items() if len(line.partials) == 2])
@every_stage
def test_the_same_number_on_both_sides(stage, name):
    """op(x, x) where that is smooth: a tie of `maximum` is shared, so that x stays the result."""
    if len(positions(name)) < 2:
        return
    f = function(PRIMITIVES[name])
    y, pullback = STAGES[stage].vjp(f, 1.25, 1.25)
    total = sum(pullback(1.0))
    assert_same(STAGES[stage].vjp(lambda u: f(u, u), 1.25)[1](1.0), (total,), floor=4 * ROUND)
    assert_same(y, formula(PRIMITIVES[name], PRIMITIVES[name].value)(1.25, 1.25))


CONSTANTS = [1.0, 1, True, np.float64(1.0), np.float32(1.0), np.int64(1), np.bool_(True)]


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("name", [name for name, line in PRIMITIVES.items() if len(line.partials) == 2])
@every_kind
def test_kinds_of_constants(stage, name, constant):
    """Any real constant is as good as the float of its value, on both sides."""
    vjp = STAGES[stage].vjp
    for f, k in itertools.product(ways(name).values(), positions(name)):
        x = 2.3
        args = (x, constant) if k == 0 else (constant, x)
        found, pullback = vjp(lambda u, f=f, k=k, args=args: f(*replaced(args, k, u)), x)
        same, same_pullback = vjp(lambda u, f=f, k=k, args=args: f(*replaced(tuple(map(float, args)), k, u)), x)
        assert_same((found, pullback(1.0)), (same, same_pullback(1.0)))


@every_stage
def test_remainders_are_three_functions(stage):
    """numpy's `remainder` is Python's %, and `math.remainder` another function: the names must not meet."""
    cases = [(operator.mod, 1.0), (np.remainder, 1.0), (np.mod, 1.0), (dm.fmod, -1.0), (np.fmod, -1.0)]
    for f, y in [*cases, (function(PRIMITIVES["mod"]), 1.0), (dm.remainder, -1.0)]:
        assert STAGES[stage].vjp(f, -1.0, 2.0)[0] == y
    assert STAGES[stage].vjp(dm.remainder, 1.75, 1.0)[0] == -0.25
    assert STAGES[stage].vjp(dm.fmod, 1.75, 1.0)[0] == 0.75


@every_kind
def test_the_larger_of_an_int_is_a_float(stage):
    """An int would be a discrete value to an outer derivative."""
    vjp = STAGES[stage].vjp
    for f in (lambda x: dm.maximum(2, x), lambda x: -dm.minimum(-2, x), lambda x: np.maximum(x, 2)):
        y, pullback = vjp(lambda x, f=f: vjp(f, x)[0], 1.0)
        assert_same((y, pullback(1.0)), (2.0, (0.0,)))


# numpy


def object_loop(name: str) -> bool:
    """Whether numpy's function has a loop over objects: some have none, so they refuse every array of objects."""
    ufunc = PRIMITIVES[name].ufunc
    return any(signature.startswith("O") for signature in getattr(np, ufunc).types)


UFUNCS = [name for name, line in PRIMITIVES.items() if line.ufunc]

#: What numpy's own loop over objects does with these: comparisons and math.floor. Every other one calls our methods.
COMPARED = {"maximum", "minimum", "sign"}
WHOLE = {"floor", "ceil", "trunc"}


def on_array(ufunc, xs, *rest):
    """The function on an array of objects made of the xs, as a list."""
    array = np.empty(len(xs), dtype=object)
    array[:] = xs
    return list(ufunc(array, *rest))


@pytest.mark.parametrize("name", [name for name in UFUNCS if object_loop(name) and len(PRIMITIVES[name].partials) == 1])
@every_stage
def test_ufunc_of_an_array_of_dual_numbers(stage, name):
    ufunc = getattr(np, PRIMITIVES[name].ufunc)
    xs = [x for (x,) in points(name)]
    if name in COMPARED | WHOLE:  # numpy makes plain numbers of them; the derivative is 0, so nothing is lost
        values = []
        STAGES[stage].vjp(lambda xs: (values.extend(on_array(ufunc, xs)), xs)[1], xs)
        assert values == [FUNCTIONS[name](x) for x in xs]
        return
    y, pullback = STAGES[stage].vjp(lambda xs: on_array(ufunc, xs), xs)
    assert_same(y, [formula(PRIMITIVES[name], PRIMITIVES[name].value)(x) for x in xs])
    (found,) = pullback([1.0] * len(xs))
    for x, p in zip(xs, found, strict=True):
        close([p], name, (x,))


@pytest.mark.parametrize("name", [name for name in UFUNCS if len(PRIMITIVES[name].partials) == 2])
@every_stage
def test_ufunc_of_arrays_of_two_arguments(stage, name):
    """Array and array where numpy has a loop over objects; array and dual number always."""
    ufunc, vjp = getattr(np, PRIMITIVES[name].ufunc), STAGES[stage].vjp
    left, right = map(list, zip(*points(name), strict=True))
    ones = [1.0] * POINTS

    def both(left, right):
        array = np.empty(len(right), dtype=object)
        array[:] = right
        return on_array(ufunc, left, array)

    if object_loop(name):
        y, pullback = vjp(both, left, right)
        assert_same(y, [formula(PRIMITIVES[name], PRIMITIVES[name].value)(*args) for args in points(name)])
        for args, *found in zip(points(name), *pullback(ones), strict=True):
            close(found, name, args)
    else:
        with pytest.raises(TypeError):
            vjp(both, left, right)

    for a, b in points(name):
        for f in (lambda a, b: on_array(ufunc, [a], b), lambda a, b: list(ufunc(np.array([1.0]) * a, b))):
            _, pullback = vjp(f, a, b)
            close(pullback([1.0]), name, (a, b))
        _, pullback = vjp(lambda a, b=b: list(ufunc(a, np.array([b, b]))), a)
        close((*pullback([1.0, 0.0]), expected(name, (a, b))[1]), name, (a, b))
        _, pullback = vjp(lambda b, a=a: list(ufunc(np.array([a, a]), b)), b)
        close((expected(name, (a, b))[0], *pullback([0.0, 1.0])), name, (a, b))


@every_kind
def test_sum_and_product_over_an_array(stage):
    xs = np.array([[1.0, -2.0], [0.5, 3.0]])
    assert_same(STAGES[stage].vjp(lambda xs: (xs * xs).sum(), xs)[1](1.0), (2 * xs,))
    assert_same(STAGES[stage].vjp(lambda xs: xs.prod(), xs)[1](1.0), (xs.prod() / xs,))
    assert_same(STAGES[stage].vjp(lambda xs: (xs @ xs)[0, 1], xs)[1](1.0), (np.array([[-2.0, 4.0], [0.0, -2.0]]),))


# Second derivatives


@every_primitive
@every_kind
def test_second_derivatives(stage, name):
    f, vjp = function(PRIMITIVES[name]), STAGES[stage].vjp
    for args in points(name)[:2]:
        for k in positions(name):  # in one argument, the other one constant
            check_order_2(vjp, lambda u, f=f, k=k, args=args: f(*replaced(args, k, u)), args[k])
        if len(positions(name)) == 2:
            check_order_2(vjp, f, *args)


@pytest.mark.parametrize("inner", KINDS)
@pytest.mark.parametrize("outer", KINDS)
def test_stages_nest_in_each_other(outer, inner):
    def f(x):
        return dm.sin(x) * x**3

    def derivative(x):
        return STAGES[inner].vjp(f, x)[1](1.0)[0]

    x = 0.7
    second = -math.sin(x) * x**3 + 6 * x**2 * math.cos(x) + 6 * x * math.sin(x)
    assert_same(STAGES[outer].vjp(derivative, x)[1](1.0), (second,))


@every_kind
def test_nested_derivatives_are_not_confused(stage):
    """d/dx (x * d/dy (x + y)) = 1, where confused perturbations give 2 (Siskind and Pearlmutter, 2005)."""
    vjp = STAGES[stage].vjp
    assert_same(vjp(lambda x: x * vjp(lambda y: x + y, 1.0)[1](1.0)[0], 1.0)[1](1.0), (1.0,))


# Kinks and the edge of the domain

EDGES = [(name, args) for name, line in PRIMITIVES.items() for args in line.edges]


@pytest.mark.parametrize(("name", "args"), EDGES)
@every_stage
def test_edges(stage, name, args):
    """The table's partials exactly, also when another argument is constant."""
    partials, vjp = PRIMITIVES[name].edges[args], STAGES[stage].vjp
    exact = {"rtol": 0.0, "floor": 0.0}
    for f in ways(name).values():
        assert_same(vjp(f, *args)[1](1.0), partials, **exact)
        for k, x in enumerate(args):
            others = [replaced(args, k, None)]
            if all(math.isfinite(y) and y == int(y) and math.copysign(1.0, y) > 0 for y in args):
                others.append(tuple(map(int, args)))
            for constants in others if len(args) > 1 else []:
                found = vjp(lambda u, f=f, k=k, constants=constants: f(*replaced(constants, k, u)), x)[1](1.0)
                assert_same(found, (partials[k],), **exact)


@pytest.mark.parametrize("name", [name for name, line in PRIMITIVES.items() if line.kink])
def test_every_kink_has_an_edge_in_the_table(name):
    primitive = PRIMITIVES[name]
    kink = formula(primitive, primitive.kink)
    assert any(kink(*args) == 0.0 for args in primitive.edges)


@pytest.mark.parametrize(("name", "args"), EDGES)
@every_kind
def test_edges_inside_a_second_derivative(stage, name, args):
    """Partials are the table's there too, and do not raise; what they differentiate to is a number or NaN."""
    f, vjp, partials = function(PRIMITIVES[name]), STAGES[stage].vjp, PRIMITIVES[name].edges[args]
    for k in positions(name):
        slope, pullback = vjp(lambda *us, k=k: vjp(f, *us)[1](1.0)[k], *args)
        assert_same(slope, partials[k], rtol=0.0, floor=0.0)
        assert all(type(p) is float for p in pullback(1.0))
        slope, pullback = vjp(lambda u, k=k: vjp(lambda x: f(*replaced(args, k, x)), u)[1](1.0)[0], args[k])
        assert_same(slope, partials[k], rtol=0.0, floor=0.0)
        assert all(type(p) is float for p in pullback(1.0))


@every_stage
def test_infinite_partials_that_are_not_used(stage):
    """0 * inf is NaN, so what the result does not depend on must not be touched."""
    vjp = STAGES[stage].vjp
    assert_same(vjp(lambda x: (dm.sqrt(x), 2.0 * x)[1], 0.0)[1](1.0), (2.0,))
    assert_same(vjp(lambda x: dm.sqrt(x) + 1.0, 0.0)[1](1.0), (inf,))
    assert_same(vjp(lambda x: dm.sqrt(x) - dm.sqrt(x), 0.0)[1](1.0), (nan,))


# Powers


@every_stage
def test_powers_of_negative_bases(stage):
    def slope(f, x):
        return STAGES[stage].vjp(f, x)[1](1.0)[0]

    for three, two, zero in [(3, 2, 0), (3.0, 2.0, 0.0), (np.int64(3), np.float64(2.0), np.float32(0.0))]:
        assert slope(lambda x, n=three: x**n, -2.0) == 12.0
        assert slope(lambda x, n=three: -(x**n), 2.0) == -12.0
        assert slope(lambda x, n=two: x**-n, -2.0) == 0.25
        assert slope(lambda x, n=zero: x**n, -2.0) == 0.0
        assert slope(lambda x, n=zero: x**n, 0.0) == 0.0
        assert slope(lambda x, n=two: pow(x, n), 0.0) == 0.0
        assert slope(lambda x, n=two: n**x, 3.0) == 8.0 * math.log(2.0)
    assert math.isnan(slope(lambda n: (-2.0) ** n, 3.0))
    assert math.isnan(slope(lambda n: (-2) ** n, 3.0))
    assert slope(lambda x: x**1, 0.0) == 1.0
    assert slope(lambda n: 0.0**n, 2.0) == 0.0
    assert slope(lambda n: 1**n, 2.0) == 0.0
    base, exponent = STAGES[stage].vjp(lambda x, n: x**n, -2.0, 3.0)[1](1.0)
    assert base == 12.0
    assert math.isnan(exponent)


@every_stage
def test_second_derivative_of_a_power_of_a_negative_base(stage):
    vjp = STAGES[stage].vjp
    for n in (3, 3.0):
        assert_same(vjp(lambda u, n=n: vjp(lambda x: x**n, u)[1](1.0)[0], -2.0)[1](1.0), (-12.0,))


@every_stage
def test_a_slope_of_zero_by_the_base_has_a_slope_by_the_exponent(stage):
    """d/da a**b is b a**(b - 1): 0 at b = 0, where its derivative by b is 1 / a."""
    vjp = STAGES[stage].vjp
    assert_same(vjp(lambda b: vjp(lambda a: a**b, 2.0)[1](1.0)[0], 0.0)[1](1.0), (0.5,))


@every_stage
def test_second_derivative_of_a_power_at_zero(stage):
    vjp = STAGES[stage].vjp
    for n, second in [(1, 0.0), (2, 2.0), (3, 0.0), (2.0, 2.0)]:
        assert_same(vjp(lambda u, n=n: vjp(lambda x: x**n, u)[1](1.0)[0], 0.0)[1](1.0), (second,))


@pytest.mark.parametrize("half", [0.5, np.float64(0.5)])
def test_fractional_powers_of_negative_plain_numbers_are_errors(half):
    for base in (-2.0, np.float64(-2.0), -2):
        with pytest.raises(ValueError, match="a negative base needs a whole exponent"):
            dm.pow(base, half)


@every_stage
@pytest.mark.parametrize("half", [0.5, np.float64(0.5), 1 / 3, -0.5])
def test_fractional_powers_of_negative_bases_are_errors(stage, half):
    """Python would go on with a complex number."""
    vjp = STAGES[stage].vjp
    for f in (
        lambda x: x**half,
        lambda x: pow(x, half),
        lambda x: dm.pow(x, half),
        lambda x: np.power(x, half),
        lambda x: x ** (x + 2.0 + half),
        lambda x: (-2.0) ** (x + 2.0 + half),
        lambda x: (-2) ** (x + 2.0 + half),
        lambda x: np.float64(-2.0) ** (x + 2.0 + half),
    ):
        with pytest.raises(ValueError, match="a negative base needs a whole exponent"):
            vjp(f, -2.0)


@every_kind
def test_power_with_a_modulus_is_not_defined(stage):
    with pytest.raises(TypeError):
        STAGES[stage].vjp(lambda x: pow(x, 2, 3), 2.0)


# What values raise, and what they do not

ERRORS = [
    ("div", (1.0, 0.0), ZeroDivisionError),
    ("div", (0.0, 0.0), ZeroDivisionError),
    ("floordiv", (1.0, 0.0), ZeroDivisionError),
    ("mod", (1.0, 0.0), ZeroDivisionError),
    ("fmod", (1.0, 0.0), ValueError),
    ("fmod", (inf, 1.0), ValueError),
    ("remainder", (1.0, 0.0), ValueError),
    ("pow", (0.0, -1.0), ZeroDivisionError),
    ("pow", (-2.0, 0.5), ValueError),
    ("pow", (10.0, 400.0), OverflowError),
    ("sqrt", (-1.0,), ValueError),
    ("log", (-1.0,), ValueError),
    ("log", (0.0,), ValueError),
    ("log", (-inf,), ValueError),
    ("log1p", (-1.0,), ValueError),
    ("log2", (0.0,), ValueError),
    ("log10", (0.0,), ValueError),
    ("exp", (1000.0,), OverflowError),
    ("exp2", (5000.0,), OverflowError),
    ("expm1", (1000.0,), OverflowError),
    ("sinh", (1000.0,), OverflowError),
    ("cosh", (1000.0,), OverflowError),
    ("sin", (inf,), ValueError),
    ("cos", (-inf,), ValueError),
    ("tan", (inf,), ValueError),
    ("asin", (1.5,), ValueError),
    ("acos", (-1.5,), ValueError),
    ("acosh", (0.5,), ValueError),
    ("atanh", (1.0,), ValueError),
    ("gamma", (0.0,), ValueError),
    ("gamma", (-1.0,), ValueError),
    ("gamma", (200.0,), OverflowError),
    ("lgamma", (0.0,), ValueError),
]


@pytest.mark.parametrize(("name", "args", "error"), ERRORS)
@every_stage
def test_values_raise_what_python_raises(stage, name, args, error):
    vjp = STAGES[stage].vjp
    with pytest.raises(error) as plain:
        FUNCTIONS.get(name, formula(PRIMITIVES[name], PRIMITIVES[name].value))(*args)
    for f in ways(name).values():
        with pytest.raises(plain.type) as found:
            vjp(f, *args)
        assert found.type is plain.type
        if len(args) == 2:
            for k in range(2):
                with pytest.raises(plain.type):
                    vjp(lambda u, f=f, k=k: f(*replaced(args, k, u)), args[k])
        assert_same(vjp(lambda x: x * x, 3.0)[1](1.0), (6.0,))  # the next call knows nothing of it
    with pytest.raises(plain.type):  # a second derivative does not change what the value raises
        vjp(lambda *us: vjp(function(PRIMITIVES[name]), *us)[1](1.0)[0], *args)


SPECIAL = (nan, inf, -inf, 0.0, -0.0, 1.0, -2.5)


@every_primitive
@every_kind
def test_special_values(stage, name):
    """A dual number's value is, or raises, what the function gives for the plain number: NaN and infinities too."""
    plain = formula(PRIMITIVES[name], PRIMITIVES[name].value)
    for args in itertools.product(SPECIAL, repeat=len(PRIMITIVES[name].partials)):
        try:
            y = plain(*args)
        except (ArithmeticError, ValueError) as error:
            with pytest.raises(type(error)):
                STAGES[stage].vjp(function(PRIMITIVES[name]), *args)
            continue
        found, pullback = STAGES[stage].vjp(function(PRIMITIVES[name]), *args)
        assert_same(found, float(y))
        assert math.copysign(1.0, found) == math.copysign(1.0, y) or math.isnan(y)
        assert all(type(p) is float for p in pullback(1.0)), "partials never raise"


IEEE_NAN = set(UFUNCS) - {"hypot", "pow", "copysign"}  # hypot(inf, nan) is inf, 1**nan and nan**0 are 1


@pytest.mark.parametrize("name", sorted(IEEE_NAN))
def test_values_at_nan_are_nan(name):
    n = len(PRIMITIVES[name].partials)
    plain = formula(PRIMITIVES[name], PRIMITIVES[name].value)
    for k in range(n):
        assert math.isnan(plain(*replaced((1.5,) * n, k, nan)))


@pytest.mark.parametrize("name", UFUNCS)
def test_values_are_numpys(name):
    """NaN and infinities included; where Python raises, numpy only warns."""
    ufunc, plain = getattr(np, PRIMITIVES[name].ufunc), formula(PRIMITIVES[name], PRIMITIVES[name].value)
    for args in [*points(name), *itertools.product(SPECIAL, repeat=len(PRIMITIVES[name].partials))]:
        try:
            y = float(plain(*args))
        except (ArithmeticError, ValueError):
            continue
        with np.errstate(all="ignore"):
            assert_same(y, float(ufunc(*args)), rtol=1e-14)


# Functions that the library adds


PLAIN = {"ceil", "floor", "trunc", "isfinite", "isinf", "isnan"}


def test_math_has_the_functions_of_the_table():
    for name in set(dm.__all__) & set(PRIMITIVES) - PLAIN:
        args = points(name)[0]
        assert_same(getattr(dm, name)(*args), formula(PRIMITIVES[name], PRIMITIVES[name].value)(*args))


def test_what_is_constant_piece_by_piece_is_plain_in_math():
    for name in PLAIN:
        expected = getattr(math, name)(-1.5)
        seen = []
        STAGES["tape"].vjp(lambda x, name=name, seen=seen: seen.append(getattr(dm, name)(x)) or x, -1.5)
        assert_same((seen[0], getattr(dm, name)(-1.5)), (expected, expected))
    assert dm.isnan(math.nan)
    assert dm.isinf(-math.inf)
    assert not dm.isfinite(math.inf)


@every_stage
def test_primitives_of_three_arguments(stage):
    fma = function(Primitive("fma", "a * b + c", ("b", "a", "1.0"), ((-3.0, 3.0),) * 3))
    assert_same(STAGES[stage].vjp(fma, 2.0, 3.0, 5.0)[1](1.0), (3.0, 2.0, 1.0))
    assert_same(STAGES[stage].vjp(lambda b: fma(2.0, b, 5), 3.0)[1](1.0), (2.0,))
    assert fma(2.0, 3.0, 5.0) == 11.0


def test_a_line_needs_a_partial_for_every_argument():
    with pytest.raises(ValueError, match="one partial and one interval"):
        Primitive("bad", "a + b", ("1.0",), ((0.0, 1.0), (0.0, 1.0)))


@every_kind
def test_values_are_taken_out(stage):
    seen = []
    STAGES[stage].vjp(lambda x: (seen.append(value(x * x)), x)[1], 3.0)
    assert_same(seen, [9.0])


# polygamma

ARGUMENTS = [1e-3, 0.1, 0.5, 1.0, 1.4616321449683622, 2.0, 3.7, 10.0, 25.5, 1e3, 1e8]
NEGATIVE = [-0.5, -1.3, -2.25, -7.9, -20.4, -100.6]


@pytest.mark.parametrize("x", [*ARGUMENTS, *NEGATIVE, -1e9 - 0.25])
def test_digamma(x):
    # the sum of the recurrence cancels at a zero of digamma: the floor is some roundings of its terms
    assert_same(digamma(x), float(mpmath.digamma(x)), rtol=1e-12, floor=1e-14 * max(1.0, abs(math.log(abs(x)))))
    assert polygamma(0, x) == digamma(x)


@pytest.mark.parametrize("x", ARGUMENTS)
@pytest.mark.parametrize("order", range(1, 6))
def test_polygamma(order, x):
    assert_same(polygamma(order, x), float(scipy.special.polygamma(order, x)), rtol=1e-12, floor=0.0)


@pytest.mark.parametrize("x", NEGATIVE)
@pytest.mark.parametrize("order", range(1, 6))
def test_polygamma_of_negative_numbers(order, x):
    """scipy has no negative arguments here; reflection, A&S 6.4.7, gives them from positive ones."""
    # (-1)^n psi_n(1 - x) - psi_n(x) = pi d^n/dx^n cot(pi x), and the derivatives of cot are polynomials p(cot)
    cot = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        cot = cot.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
    # tan is computed at x less its nearest whole number, for the digits of pi*x
    at = cot(1.0 / math.tan(math.pi * (x - round(x)))) * math.pi ** (order + 1)
    reference = (-1.0) ** order * float(scipy.special.polygamma(order, 1.0 - x)) - at
    assert_same(polygamma(order, x), float(reference), rtol=1e-12, floor=1e-14 * abs(at))


def test_polygamma_at_poles_and_outside():
    """At a pole it is the limit: of an even order the sides differ, and the sign of a zero says which one is meant."""
    for order, x in itertools.product((1, 3), [0.0, -0.0, -1.0, -5.0]):
        assert polygamma(order, x) == inf
    for order in (0, 2):
        assert (polygamma(order, 0.0), polygamma(order, -0.0)) == (-inf, inf)
        assert math.isnan(polygamma(order, -1.0))
    for order, x in [(0.5, 1.0), (-1, 1.0), (0, nan), (1, nan), (0, -inf), (1, -2e5 - 0.5)]:
        assert math.isnan(polygamma(order, x))
    assert polygamma(0, inf) == inf
    assert polygamma(1, inf) == polygamma(2, inf) == 0.0


@every_kind
def test_derivatives_of_lgamma(stage):
    vjp = STAGES[stage].vjp
    for x in (0.3, 2.5, -1.5):
        assert_same(vjp(dm.lgamma, x)[1](1.0), (float(scipy.special.digamma(x)),), floor=1e-14)
        for order in (0, 1, 2):
            (found,) = vjp(lambda u, order=order: dm.polygamma(order, u), x)[1](1.0)
            assert_same(found, polygamma(order + 1, x))
    (second,) = vjp(lambda u: vjp(dm.lgamma, u)[1](1.0)[0], 2.5)[1](1.0)
    assert_same(second, float(scipy.special.polygamma(1, 2.5)))


def test_the_exponent_of_a_negative_base_has_no_derivative_of_any_order():
    """The second one was 0: `nan * a` does not depend on the exponent."""
    hessian = dr.hessian(lambda p: p[0] ** p[1])(np.array([-2.0, 3.0]))
    np.testing.assert_array_equal(hessian, [[-12.0, np.nan], [np.nan, np.nan]])
