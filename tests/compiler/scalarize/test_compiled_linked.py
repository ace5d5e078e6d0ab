"""Compiled functions that recurse over instances of a jitclass which hold others of their own class: trees, chains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import deferred_type, float64, int64, njit, optional
from numba.experimental import jitclass

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")

_link = deferred_type()


@jitclass([("place", int64), ("weight", float64), ("left", optional(_link)), ("right", optional(_link))])
class Link:
    def __init__(self, place, weight, left, right):
        self.place = place
        self.weight = weight
        self.left = left
        self.right = right

    def moved(self):
        self.place += 1
        return 1


_link.define(Link.class_type.instance_type)

W = np.array([0.7, -0.3, 1.2, 0.4])
V = np.array([0.1, -0.2, 0.3, 0.4])


def tree():
    inner = Link(2, 0.5, Link(0, 1.5, None, None), Link(3, 2.0, None, None))
    return Link(-1, 1.0, Link(0, 0.5, inner, Link(1, 3.0, None, None)), None)


@njit
def folded(t, w):
    """Both children are visited; what a node has is read before and after."""
    left, right = t.left, t.right
    if left is None or right is None:
        return w[t.place] * t.weight
    below = math.sin(folded(left, w)) * folded(right, w)
    return below * w[t.place] + t.weight * below**2


@njit
def of_root(t, w):
    return folded(t.left, w)


@njit
def of_a_chain(w, n):
    """Nodes are made here."""
    t = Link(0, 1.0, None, None)
    for i in range(n):
        t = Link(i % 4, 0.5, t, t)
    return folded(t, w)


@njit
def down_the_left(t, w):
    """A loop down a tree whose reverse pass needs only numbers."""
    x = 1.0
    while t is not None:
        x = math.sin(x * w[t.place])
        t = t.left
    return x


@njit
def in_a_loop(t, w):
    x = 1.0
    while t is not None:
        right = t.right
        if right is not None:
            x = x * folded(right, w)
        t = t.left
    return x


@njit
def after_a_method(t, w):
    return w[0] * t.moved()


@njit
def writes(t, w):
    t.place = 2
    return w[t.place]


def slope(f, *args):
    """The derivative in the direction V, by differences."""
    up, down = (f(*[x + h * V if x is W else x for x in args]) for h in (1e-6, -1e-6))
    return (up - down) / 2e-6


def test_a_recursion_over_nodes_has_its_derivatives():
    root = tree()
    value, gradient = dr.value_and_grad(of_root, 1)(root, W)
    assert value == of_root(root, W)
    np.testing.assert_allclose(gradient @ V, slope(of_root, root, W), rtol=1e-8)
    np.testing.assert_allclose(dr.jvp(of_root, (root, W), (None, V))[1], gradient @ V)
    on_tape = dr.grad(lambda w: dr.lift(of_root)(root, w) ** 2)(W)
    np.testing.assert_allclose(on_tape, 2.0 * value * gradient)


@pytest.mark.slow  # half a minute of compilation
def test_nodes_are_made_in_the_function_and_gone_through_in_loops():
    root = tree()
    np.testing.assert_allclose(dr.grad(of_a_chain)(W, 5) @ V, slope(of_a_chain, W, 5), rtol=1e-8)
    left = root.left
    np.testing.assert_allclose(dr.grad(down_the_left, 1)(left, W) @ V, slope(down_the_left, left, W), rtol=1e-8)
    h = 1e-5
    differences = (dr.grad(of_root, 1)(root, W + h * V) - dr.grad(of_root, 1)(root, W - h * V)) / (2 * h)
    np.testing.assert_allclose(dr.hessian(of_root, 1)(root, W) @ V, differences, rtol=1e-7)


@njit
def first_letters(s, w):
    x = 1.0
    while len(s) > 1:
        x = x * shorter(s, w)
        s = s[1:]
    return x


@njit
def shorter(s, w):
    return math.sin(shorter(s[1:], w) * w[len(s) - 1]) if len(s) > 0 else 1.0


@pytest.mark.parametrize(
    ("f", "first", "said"),
    [
        (
            in_a_loop,
            tree,
            r"the value of \w+ at this place cannot .*: it is needed in the reverse sweep, and nothing of numba",
        ),
        (after_a_method, tree, r"t\.moved\(\)`: the method \.moved of a node cannot .*: it might change nodes"),
        (writes, tree, r"t\.place = 2`: an assignment to an attribute cannot"),
        (first_letters, lambda: "abcd", r"the value of s at this place cannot .* nothing of numba type unicode_type"),
    ],
)
def test_what_would_need_nodes_to_be_recorded_or_changed_is_refused(f, first, said):
    with pytest.raises(dr.UnsupportedError, match=said):
        dr.grad(f, 1)(first(), W)


def test_nodes_have_no_gradient():
    with pytest.raises(dr.ArgumentError, match="holds no real scalar"):
        dr.grad(of_root)(tree(), W)
