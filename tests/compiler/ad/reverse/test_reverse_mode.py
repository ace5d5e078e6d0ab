"""Reverse mode from core to core, by the reference evaluator: nothing here is compiled but f itself."""

import math

import numba
import numpy as np
import pytest
from numba import njit
from programs.constructs.collected import CASES
from support.incore import gradient, pullback
from support.oracle import assert_same, direction, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import Real
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.traverse import statements
from dualrev.tree import flatten_leaves

EACH = [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if k % 5 != 1 else []) for k, c in enumerate(CASES)]


@pytest.mark.parametrize("case", EACH)
def test_the_pullback_is_that_of_the_tape(case):
    """`run(reverse(core)) = vjp(f)`, and the arguments have the same values as after f."""
    made, program, varied, defaults = pullback(case.function, case.arguments(), range(len(case.primals)))
    y, pull = dr.vjp(twin(case.function), *twin(case.arguments()))
    ct = direction(y, seed=1)
    cts = pull(ct)
    args = case.arguments()
    real = iter(flatten_leaves(case.primals)[0])
    shadows = [np.zeros_like(x) for v, x in zip(varied, real, strict=True) if is_array(v)]
    _, back = program.run(made, (*args, *defaults, *shadows, *flatten_leaves(ct)[0]))
    arrays, numbers = iter(shadows), iter(back)
    found = [next(arrays) if is_array(x) else next(numbers) for x in varied]
    single = any(
        "32" in text for text in (case.name, str([*map(numba.typeof, case.primals)]), str(getattr(y, "dtype", "")))
    )
    tolerance = 1e-5 if single else 1e-11  # seven digits of a float32, of which rounding leaves five
    expected = np.array(flat(cts[: len(case.primals)]), dtype=float)
    found = np.array([x for part in found for x in np.ravel(part)], dtype=float)
    assert_same(found, expected, rtol=tolerance, floor=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


@njit
def powers(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def test_what_is_recorded_is_taken():
    """The text of a pullback, as people read it."""
    made, _, _, _ = pullback(powers, (1.3, 5), [0])
    assert show(made) == SHOWN


SHOWN = """\
def powers_pullback(x: float64, n: int64, ct_0: float64):
    y: float64 = 1.0
    columns saved: array(float64, 1d, C) for range(0, n, 1)
    for u: int64 in range(0, n, 1):
        y_1: float64 = y
        y = mul(y, x)
        saved[u] = y_1
    result: float64 = y
    d_y: float64 = ct_0
    d_x: float64 = 0.0
    take saved for range(0, n, 1)
    _1: int64 = (n - 1)
    for u in range(_1, -1, -1):
        y_1 = saved[u]
        _2: float64 = mul(y_1, d_y)
        d_x = add(d_x, _2)
        d_y = mul(x, d_y)
    return (result, (d_x,))
"""


@njit
def quotients(x, y):
    return math.sin(x / y) + y / 3.0


def test_no_division_waits_for_a_cotangent():
    """In the reverse sweep there are products by reciprocals, of the divisor and of the constant."""
    made, found = gradient(quotients, (0.4, -0.3), (0, 1))
    divisions = [s for s in statements(made.body) if isinstance(s, Real) and s.rule.name == "div"]
    assert all(s.args[0] == Constant(1.0, numba.float64) for s in divisions[2:])
    below = {s.args[1] for s in divisions[2:]}
    assert below == {divisions[0].args[1], Constant(3.0, numba.float64)}
    slope = math.cos(0.4 / -0.3)
    assert_same(np.array(found), np.array([slope / -0.3, -slope * 0.4 / 0.09 + 1 / 3.0]), rtol=1e-14)
