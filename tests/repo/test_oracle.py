"""Tests that must fail: an oracle that accepts anything would let all other tests pass."""

from __future__ import annotations

import collections
import dataclasses
import math

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp, differences, direction, flat, inner, jacobian, rebuild

from dualrev import math as dm
from dualrev import value
from stages import STAGES

inf, nan = math.inf, math.nan
Point = collections.namedtuple("Point", "x y")
Other = collections.namedtuple("Other", "x y")


@dataclasses.dataclass
class Box:
    content: object


@dataclasses.dataclass
class Case:
    content: object


SAME = [
    1.0,
    (1.0, [2.0, {"w": nan, "b": inf}], None),
    Point(1.0, -inf),
    Box([1.0, "relu", 3]),
    collections.deque([1.0], maxlen=3),
    np.array([[1.0, nan], [inf, -inf]]),
    np.array([1.0, (2.0, None)], dtype=object),
    (np.float32(1.5), np.array([1.5], np.float32), np.array([1, 2])),
    (),
]


@pytest.mark.parametrize("x", SAME, ids=repr)
def test_data_is_the_same_as_itself(x):
    assert_same(x, x)
    assert_same(x, rebuild(x, flat(x)), types=False)


def test_rounding_is_forgiven():
    assert_same(1.0 + 1e-13, 1.0)
    assert_same((1e6, 1e-11), (1e6, 0.0))  # one rounding of the largest
    assert_same(0.0, -0.0)
    assert_same([1.01, 0.001], [1.0, 0.0], rtol=0.02, floor=0.01)


DIFFERENT = {
    "shorter list": ([1.0], [1.0, 2.0]),
    "longer list": ([1.0, 2.0], [1.0]),
    "empty": ([], [1.0]),
    "list for tuple": ([1.0, 2.0], (1.0, 2.0)),
    "tuple for namedtuple": ((1.0, 2.0), Point(1.0, 2.0)),
    "another namedtuple": (Other(1.0, 2.0), Point(1.0, 2.0)),
    "another dataclass": (Case(1.0), Box(1.0)),
    "inside a dataclass": (Box([1.0]), Box([2.0])),
    "missing key": ({"w": 1.0}, {"w": 1.0, "b": 2.0}),
    "additional key": ({"w": 1.0, "b": 2.0}, {"w": 1.0}),
    "another key": ({"w": 1.0}, {"v": 1.0}),
    "dict for OrderedDict": ({"w": 1.0}, collections.OrderedDict(w=1.0)),
    "order of an OrderedDict": (
        collections.OrderedDict(a=1.0, b=1.0),
        collections.OrderedDict(b=1.0, a=1.0),
    ),
    "maxlen of a deque": (collections.deque([1.0], maxlen=2), collections.deque([1.0])),
    "0 for NaN": (0.0, nan),
    "NaN for 0": (nan, 0.0),
    "NaN elsewhere": (np.array([nan, 1.0]), np.array([1.0, nan])),
    "sign of infinity": (inf, -inf),
    "large for infinite": (1e308, inf),
    "infinite for large": (inf, 1e308),
    "None for 0": (None, 0.0),
    "0 for None": (0.0, None),
    "off by 1e-9": (1.0 + 1e-9, 1.0),
    "off by 1e-9 in an array": (np.array([1.0, 2.0 + 2e-9]), np.array([1.0, 2.0])),
    "small, but not 0": ([1e3, 1e-9], [1e3, 0.0]),
    "sign": (-1.0, 1.0),
    "order": ([1.0, 2.0], [2.0, 1.0]),
    "float for float32": (1.0, np.float32(1.0)),
    "float for float64": (1.0, np.float64(1.0)),
    "int for float": (1, 1.0),
    "bool for int": (True, 1),
    "dtype of an array": (np.array([1.0], np.float32), np.array([1.0])),
    "integers for floats": (np.array([1]), np.array([1.0])),
    "objects for floats": (np.array([1.0], dtype=object), np.array([1.0])),
    "shape": (np.array([[1.0]]), np.array([1.0])),
    "shape, without entries": (np.zeros((0, 2)), np.zeros((2, 0))),
    "list for array": ([1.0], np.array([1.0])),
    "number for array": (np.float64(1.0), np.array(1.0)),
    "discrete value": (("relu", 1.0), ("tanh", 1.0)),
    "integers": (np.array([1, 2]), np.array([1, 3])),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_comparer_rejects(name):
    found, expected = DIFFERENT[name]
    with pytest.raises(AssertionError):
        assert_same(found, expected)
    with pytest.raises(AssertionError):
        assert_same(("around", [found]), ("around", [expected]))


@pytest.mark.parametrize("name", ["NaN elsewhere", "sign of infinity", "None for 0", "shape", "shorter list", "sign"])
def test_comparer_rejects_without_types_too(name):
    with pytest.raises(AssertionError):
        assert_same(*DIFFERENT[name], types=False)


def test_comparer_rejects_dual_numbers():
    escaped = []
    STAGES["tape"].vjp(lambda x: escaped.append(x) or x, 1.0)
    with pytest.raises(AssertionError, match="escaped"):
        assert_same(escaped, [1.0])


def test_comparer_names_the_place():
    with pytest.raises(AssertionError, match=r"at \[0\]\['w'\]\.content\[1\]: they differ by 1"):
        assert_same([{"w": Box([0.0, 2.0])}], [{"w": Box([0.0, 1.0])}])


def test_deep_data_needs_no_stack():
    deep = shallow = ()
    for k in range(20_000):
        deep, shallow = (float(k), deep), (float(k + (k == 10)), shallow)
    assert_same(deep, deep)
    with pytest.raises(AssertionError):
        assert_same(shallow, deep)


# Differences


@pytest.mark.parametrize("x", [1e-6, 0.3, 2.0, 1e6])
@pytest.mark.parametrize(
    ("f", "derivative"),
    [(lambda x: x**3, lambda x: 3 * x**2), (math.log, lambda x: 1 / x), (math.sqrt, lambda x: 0.5 / math.sqrt(x))],
    ids=["cube", "log", "sqrt"],
)
def test_differences_at_many_scales(f, derivative, x):
    v = x if x < 0.1 else direction((x,))[0]
    assert_same(differences(f, (x,), (v,)) / v, np.array([derivative(x)]), rtol=1e-9)


def test_differences_in_nested_data():
    def f(p):
        return {"s": p["a"] * p["b"][0], "t": np.array([p["b"][1], 1.0]) * p["a"], "n": 7}

    primals = ({"a": 2.0, "b": (3.0, 5.0), "mode": "x"},)
    v = ({"a": 1.0, "b": (10.0, 100.0), "mode": None},)
    assert_same(differences(f, primals, v), np.array([23.0, 205.0, 1.0]), rtol=1e-9)
    assert_same(jacobian(f, primals), np.array([[3.0, 2.0, 0.0], [5.0, 0.0, 2.0], [1.0, 0.0, 0.0]]), floor=1e-9)
    assert inner(v, v) == 1.0 + 100.0 + 10_000.0


def test_differences_refuse_what_has_no_derivative():
    with pytest.raises(AssertionError):
        differences(lambda x: nan * x, (1.0,), (1.0,))
    with pytest.raises(AssertionError):
        differences(lambda x: math.log(x), (-1.0,), (0.1,))


# Wrong derivatives


def bilinear(x, y):
    return [x * y[0] + dm.sin(y[1]), x - y[1] * y[1]]


PRIMALS = (0.7, [1.3, 0.4])


def changed(change):
    """A vjp of `bilinear` whose cotangents (one of x, two of y) go through `change`."""

    def vjp(f, *primals):
        y, pullback = STAGES["arrays"].vjp(f, *primals)
        return y, lambda ct: change(*pullback(ct))

    return vjp


def test_the_right_derivative_is_accepted():
    for order in check_vjp, check_order_2:
        order(changed(lambda x, y: (x, y)), bilinear, *PRIMALS)


WRONG = {
    "relative error": lambda x, y: (x * 1.001, y),
    "relative error of one entry": lambda x, y: (x, [y[0], y[1] * 1.001]),
    "small relative error": lambda x, y: (x, [y[0], y[1] * (1 + 1e-6)]),
    "transposed": lambda x, y: (x, [y[1], y[0]]),
    "sign": lambda x, y: (x, [y[0], -y[1]]),
    "zero": lambda x, y: (x, [y[0], 0.0]),
    "all zero": lambda x, y: (0.0, [0.0, 0.0]),
    "NaN": lambda x, y: (x, [y[0], nan]),
    "infinite": lambda x, y: (inf, y),
    "None": lambda x, y: (x, [y[0], None]),
    "tuple for list": lambda x, y: (x, tuple(y)),
    "list for tuple": lambda x, y: [x, y],
    "too few": lambda x, y: (x, [y[0]]),
    "too many": lambda x, y: (x, [*y, 0.0]),
    "no tuple of cotangents": lambda x, y: x,
    "dtype": lambda x, y: (np.float64(x), y),
    "flat": lambda x, y: (x, *y),
}


@pytest.mark.parametrize("name", WRONG)
def test_oracle_rejects(name):
    with pytest.raises(AssertionError):
        check_vjp(changed(WRONG[name]), bilinear, *PRIMALS)


@pytest.mark.parametrize("name", ["relative error", "transposed", "sign", "all zero"])
def test_oracle_rejects_by_dot_products_alone(name):
    def wide(x, y):  # too many outputs for the comparison of entries
        return [bilinear(x, y)[k % 2] * (k + 1.0) for k in range(100)]

    check_vjp(STAGES["arrays"].vjp, wide, *PRIMALS)
    with pytest.raises(AssertionError):
        check_vjp(changed(WRONG[name]), wide, *PRIMALS)


def test_oracle_rejects_a_dropped_term():
    def dropped(f, *primals):
        return f(*primals), STAGES["arrays"].vjp(lambda x, y: [x * y[0], x - y[1] * y[1]], *primals)[1]

    with pytest.raises(AssertionError):
        check_vjp(dropped, bilinear, *PRIMALS)


def test_oracle_rejects_a_wrong_value():
    def off(f, *primals):
        y, pullback = STAGES["arrays"].vjp(f, *primals)
        return [y[0] + 1e-9, y[1]], pullback

    with pytest.raises(AssertionError):
        check_vjp(off, bilinear, *PRIMALS)


def test_oracle_rejects_a_cotangent_of_a_discrete_leaf():
    def f(x, n):
        return x * n

    check_vjp(STAGES["arrays"].vjp, f, 2.0, 3)
    with pytest.raises(AssertionError):
        check_vjp(changed(lambda x, n: (x, 0.0)), f, 2.0, 3)


def test_oracle_of_order_2_rejects_a_rule_that_is_not_differentiated():
    def detached(f, *primals):  # right at order 1; nested, the outer call does not see the partials
        plain = rebuild(primals, [value(x) for x in flat(primals)])
        return STAGES["arrays"].vjp(f, *primals)[0], STAGES["arrays"].vjp(f, *plain)[1]

    check_vjp(detached, bilinear, *PRIMALS)
    with pytest.raises(AssertionError):
        check_order_2(detached, bilinear, *PRIMALS)


def test_oracle_of_order_2_rejects_a_relative_error():
    def off(f, *primals):  # the outer call of a nested pair differentiates something else than `bilinear`
        y, pullback = STAGES["arrays"].vjp(f, *primals)
        scale = 1.0 if f is bilinear else 1.001
        return y, lambda ct: rebuild(c := pullback(ct), [scale * z for z in flat(c)])

    check_vjp(off, bilinear, *PRIMALS)
    with pytest.raises(AssertionError):
        check_order_2(off, bilinear, *PRIMALS)
