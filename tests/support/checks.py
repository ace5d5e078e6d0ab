"""Checks of one function: beside the tape, in both modes, and beside differences in one direction."""

import numpy as np
import pytest

import dualrev as dr
from support.oracle import assert_same, direction, inner
from support.twin import twin

__all__ = ["STEP", "agrees", "check"]

STEP = 1e-6


def agrees(f, *primals, forward=True):
    """value_and_grad by all arguments, what f leaves in them, and jvp."""

    def fresh():
        return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in primals)

    argnums = tuple(range(len(primals)))
    expected = dr.value_and_grad(twin(f), argnums)(*fresh())
    left = fresh()
    f(*left)
    for _ in range(2):
        given = fresh()
        assert_same(dr.value_and_grad(f, argnums)(*given), expected, rtol=1e-10, floor=1e-10)
        assert_same(given, left, rtol=1e-12, floor=1e-12)
    if forward:
        v = direction(primals)
        assert_same(dr.jvp(f, fresh(), v)[1], inner(expected[1], v), rtol=1e-10, floor=1e-10)


def check(f, args, argnums):
    """The value, and the gradient in one direction in both modes."""
    value, gradients = dr.value_and_grad(f, argnums)(*args)
    assert value == f(*args)
    directions = [np.cos(np.arange(1.0, np.size(args[k]) + 1.0)).reshape(np.shape(args[k]))[()] for k in argnums]
    ends = []
    for step in (STEP, -STEP):
        moved = list(args)
        for k, d in zip(argnums, directions, strict=True):
            moved[k] = args[k] + step * d
        ends.append(f(*moved))
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
    assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * STEP), rel=1e-7)
    return gradients
