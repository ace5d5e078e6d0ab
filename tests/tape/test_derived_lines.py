"""Partial derivatives as lines: dualrev/rules/derived.py, and what arrays make of them under two derivatives."""

import re

import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev.eager.numbers.primitive_functions import function
from dualrev.eager.tape import engine
from dualrev.rules.derived import derived
from dualrev.rules.primitives import PRIMITIVES

DERIVED = {
    (name, k): made
    for name, line in PRIMITIVES.items()
    for k in range(len(line.partials))
    if (made := derived(line, k))
}


def points(name):
    """Arguments inside of a line's domain."""
    shares = (0.07, 0.41, 0.66, 0.93), (0.31, 0.87, 0.12, 0.55)
    columns = [
        [low + t * (high - low) for t in ts] for (low, high), ts in zip(PRIMITIVES[name].domain, shares, strict=False)
    ]
    return [*zip(*columns, strict=True)]


def slope(name, k):
    """The k-th partial as the line says it, as a function of the arguments of the first one."""
    line, made = PRIMITIVES[name], DERIVED[name, k]

    def f(*xs):
        known = (*xs, function(line)(*xs))
        return function(made.line)(*[known[j] for j in made.places])

    return f


@pytest.mark.parametrize(("name", "k"), DERIVED)
def test_the_value_is_the_derivative_of_the_first_line(name, k):
    for xs in points(name):
        assert slope(name, k)(*xs) == pytest.approx(dr.grad(function(PRIMITIVES[name]), k)(*xs), rel=1e-14)


@pytest.mark.parametrize(("name", "k"), DERIVED)
def test_its_partials_are_those_of_differences(name, k):
    for xs in points(name):
        dr.check_grads(slope(name, k), xs, order=1)


def test_lines_of_several_arguments_and_of_one_operation_are_derived_where_the_table_has_second_partials():
    names = {name for name, _ in DERIVED}
    assert {"tanh", "sqrt", "atan", "pow", "atan2"} <= names
    assert not {"mul", "exp", "log", "neg", "logaddexp"} & names
    assert derived(DERIVED["tanh", 0].line) is None
    assert all(line.second for name, line in PRIMITIVES.items() if len(line.partials) > 1 and name in names)


def test_second_partials_speak_of_the_value_only_if_the_partials_do():
    """Forward mode has the value at hand where it has written a partial that speaks of it."""
    for (name, k), made in DERIVED.items():
        if PRIMITIVES[name].second and -1 in made.places:
            assert re.search(r"\by\b", PRIMITIVES[name].partials[k]), name


OF_ONE = [
    name for name, _ in DERIVED if len(PRIMITIVES[name].partials) == 1 and hasattr(np, PRIMITIVES[name].ufunc or "-")
]


@pytest.mark.parametrize("name", OF_ONE)
def test_arrays_have_the_derivatives_of_numbers_up_to_order_3(name):
    f = getattr(np, PRIMITIVES[name].ufunc)

    def second(x):
        return np.sum(dr.hvp(lambda x: np.sum(f(x)))(x, np.ones(4)))

    xs = np.ravel(points(name))
    expected = [dr.grad(dr.grad(dr.grad(function(PRIMITIVES[name]))))(x) for x in xs.tolist()]
    assert_same(dr.grad(second)(xs), np.array(expected), rtol=1e-9)


@pytest.mark.parametrize(
    ("f", "xs", "expected"),
    [
        (np.sqrt, [0.0, 1e-200, np.inf], [-np.inf, -2.5e299, 0.0]),
        (np.tanh, [-np.inf, -400.0, -0.0, 25.0, np.inf, np.nan], [0.0, 0.0, 0.0, -8.0 * np.exp(-50.0), 0.0, np.nan]),
        (np.arctan, [-np.inf, 1e200, 1e-200], [0.0, 0.0, -2e-200]),
    ],
)
def test_second_derivatives_at_the_edges_of_the_domain(f, xs, expected):
    found = dr.hvp(lambda x: np.sum(f(x)))(np.array(xs), np.ones(len(xs)))
    assert_same(found + 0.0, np.array(expected), rtol=1e-12)


def test_a_partial_is_one_operation_of_the_outer_derivative():
    def slope(x):
        return engine.linearize(np.tanh, x)[1].pull(np.ones(3))[0]

    blocks = engine.linearize(slope, np.array([0.1, 2.0, -0.3]))[1]._linear.blocks
    assert len(blocks) == 3  # the value, its partial, and the cotangent times that


def test_a_partial_of_two_derivatives_is_computed_once():
    """Both derivatives of a nested derivative share the partial derivative, which is computed once."""

    def slope(x):
        return engine.linearize(np.tanh, x)[1].pull(np.ones(3))[0]

    x = np.array([0.1, 2.0, -0.3])
    value = engine.linearize(slope, x)[1]._linear.blocks[0]
    ((_, partial),) = value._operands
    assert_same(partial._made, 1.0 / np.cosh(x) ** 2, rtol=1e-14)


def test_cotangents_that_are_broadcast_have_ids_of_their_own():
    """The derivative of a sum is the same number everywhere; under another derivative, that is an array of its own."""

    def loss(x):
        return np.sum(x * x / np.sum(x))

    x, p = np.array([1.0, 2.0, 4.0]), np.array([1.0, -1.0, 0.5])
    s, q, ps = np.sum(x), np.sum(x * x), np.sum(p)
    expected = 2.0 * p / s - 2.0 * x * ps / s**2 - 2.0 * (x @ p) / s**2 + 2.0 * q * ps / s**3
    assert_same(dr.hvp(loss)(x, p), expected, rtol=1e-13)
