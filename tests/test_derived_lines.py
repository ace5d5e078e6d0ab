"""Partial derivatives as lines: dualrev/rules/derived.py, and what arrays make of them under two derivatives."""

import numpy as np
import pytest
from oracle import assert_same

import dualrev as dr
from dualrev.eager import engine
from dualrev.eager.lines import function
from dualrev.rules.derived import derived
from dualrev.rules.primitives import PRIMITIVES

DERIVED = {name: made for name, line in PRIMITIVES.items() if (made := derived(line))}


def points(name):
    low, high = PRIMITIVES[name].domain[0]
    return [low + t * (high - low) for t in (0.07, 0.41, 0.66, 0.93)]


def arguments(name, x):
    return [(x, function(PRIMITIVES[name])(x))[j] for j in DERIVED[name].places]


@pytest.mark.parametrize("name", DERIVED)
def test_the_value_is_the_derivative_of_the_first_line(name):
    for x in points(name):
        expected = dr.grad(function(PRIMITIVES[name]))(x)
        assert function(DERIVED[name].line)(*arguments(name, x)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", DERIVED)
def test_its_partials_are_those_of_differences(name):
    for x in points(name):
        dr.check_grads(function(DERIVED[name].line), tuple(arguments(name, x)), order=1)


def test_lines_of_several_arguments_and_of_one_operation_are_not_derived():
    assert {"tanh", "sqrt", "atan"} <= DERIVED.keys()
    assert not {"pow", "atan2", "exp", "log", "neg"} & DERIVED.keys()
    assert derived(DERIVED["tanh"].line) is None


@pytest.mark.parametrize("name", [name for name in DERIVED if hasattr(np, PRIMITIVES[name].ufunc or "-")])
def test_arrays_have_the_derivatives_of_numbers_up_to_order_3(name):
    f = getattr(np, PRIMITIVES[name].ufunc)

    def second(x):
        return np.sum(dr.hvp(lambda x: np.sum(f(x)))(x, np.ones(4)))

    xs = np.array(points(name))
    expected = [dr.grad(dr.grad(dr.grad(function(PRIMITIVES[name]))))(x) for x in xs.tolist()]
    assert_same(dr.grad(second)(xs), np.array(expected), rtol=1e-9)


@pytest.mark.parametrize(
    ("f", "xs", "expected"),
    [
        (np.sqrt, [0.0, 1e-200, np.inf], [-np.inf, -2.5e299, 0.0]),
        (np.tanh, [-np.inf, -400.0, -0.0, 25.0, np.inf, np.nan], [0.0, 0.0, 0.0, -8.0 * np.exp(-50.0), 0.0, np.nan]),
        (np.arctan, [-np.inf, 1e200, 1e-200], [np.nan, 0.0, -2e-200]),  # 0 * inf in the table's text
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
    """What the inner derivative multiplies its cotangent with, the outer one multiplies its tangent with."""

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
