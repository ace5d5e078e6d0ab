"""Forward mode from core to core, by the reference evaluator: nothing here is compiled but f itself."""

import inspect
from dataclasses import replace

import numba
import numpy as np
import pytest
from numba import njit
from numba.core import types
from programs.constructs.collected import CASES
from support.incore import core_of
from support.oracle import assert_same, differences, direction, flat
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.driver.passes import LISTS
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.verify import check
from dualrev.compiler.ir.pass_manager import PassManager
from dualrev.compiler.optimize.dead_code import without_dead_code
from dualrev.tree import flatten_leaves

EACH = [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if k % 3 else []) for k, c in enumerate(CASES)]
LIFTED = {"order.arguments_from_tuples"}  # of what it calls by dr.lift, the tape has first derivatives only
ORDERS = [c for c in CASES if isinstance(twin(c.function)(*c.arguments()), float) and c.name not in LIFTED][::8]


class Core:
    """A numba function in core, with what its calls lead to."""

    def __init__(self, f, args):
        self.defaults = tuple(p.default for p in inspect.signature(f.py_func).parameters.values())[len(args) :]
        self.core, self.program = core_of(f, (*map(numba.typeof, args), *map(types.Omitted, self.defaults)))
        self.forward = Forward(self.program, Memory(self.program), PassManager(LISTS))

    def with_tangents(self, f, wanted):
        """f with tangents for the leaves of its parameters for which `wanted` has one; their tangents are the last."""
        leaves = [x for p in f.parameters for x in traverse.leaves(p)]
        made = self.forward.function(f, [x for x, w in zip(leaves, wanted, strict=True) if w]).function
        for g in [made, *self.program.made_functions()]:
            check(g)
        return made

    def run(self, f, args):
        return self.program.run(f, args)


def moving(f, count=None):
    """Tell for each leaf of the first parameters whether it has a tangent; defaults have none."""
    return [carries(x) and (count is None or k < count) for k, p in enumerate(f.parameters) for x in traverse.leaves(p)]


def real(x):
    """The real leaves of arguments."""
    return flatten_leaves(x)[0]


def close(found, expected, single):
    tolerance = 1e-5 if single else 1e-11
    expected = np.array(flat(expected), dtype=float)
    found = np.array([x for part in leaves_of(found) for x in np.ravel(part)], dtype=float)
    assert_same(found, expected, rtol=tolerance, floor=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def leaves_of(x):
    """List the differentiable leaves of a result."""
    if isinstance(x, tuple):
        return [y for part in x for y in leaves_of(part)]
    return [] if x is None else [x]


def is_single(x):
    numbers = any(isinstance(y, np.float32) for y in x)  # as leaves these are floats
    return numbers or any(getattr(leaf, "dtype", None) == np.float32 for leaf in flatten_leaves(x)[0])


def tangents_for(case, seed):
    """A direction, with the structure of the arguments, and its leaves as the evaluator takes them."""
    args = case.arguments()
    v = direction(args, seed=seed)
    return v, [np.array(t, getattr(x, "dtype", float)) for x, t in zip(real(args), real(v), strict=True)]


@pytest.mark.parametrize("case", EACH)
def test_the_tangent_is_that_of_the_tape(case):
    """`run(forward(core)) = jvp(f)`, also for the final values of the arguments."""
    core = Core(case.function, case.arguments())
    made = core.with_tangents(core.core, moving(core.core, len(case.primals)))
    v, given = tangents_for(case, seed=1)
    _, found = core.run(made, (*case.arguments(), *core.defaults, *given))
    expected = dr.jvp(twin(case.function), twin(case.arguments()), v)[1]
    close(found, expected, is_single(case.primals) or "32" in case.name)


@pytest.mark.parametrize("case", EACH[::9])
def test_the_tangent_needs_no_dead_code(case):
    """`run(dead code eliminated from the tangent alone) = run(forward(core))`: see optimize/dead_code.py."""
    core = Core(case.function, case.arguments())
    made = core.with_tangents(core.core, moving(core.core, len(case.primals)))
    _, given = tangents_for(case, seed=1)
    _, expected = core.run(made, (*case.arguments(), *core.defaults, *map(np.copy, given)))
    less = without_dead_code(replace(made, result=made.result.parts[1]), core.forward.memory)
    check(less)
    assert_same(core.run(less, (*case.arguments(), *core.defaults, *given)), expected, rtol=0.0)


@pytest.mark.parametrize("case", ORDERS, ids=lambda case: case.name)
def test_what_comes_out_goes_in_again(case):
    """`run(forward(forward(core))) = jvp(jvp(f))`, in two directions, with both tangents moving in the second."""
    core = Core(case.function, case.arguments())
    wanted = moving(core.core, len(case.primals))
    once = core.with_tangents(core.core, wanted)
    twice = core.with_tangents(once, [*wanted, *[False] * (len(moving(once)) - len(wanted))])
    (v, u), (w, t) = tangents_for(case, seed=1), tangents_for(case, seed=2)
    args = case.arguments()
    found = core.run(twice, (*args, *core.defaults, *map(np.copy, u), *map(np.copy, t)))
    f = twin(case.function)

    def slope(*xs):
        return dr.jvp(f, xs, v)[1]

    first, second = dr.jvp(slope, twin(case.arguments()), w)
    close(found[0][1], first, is_single(case.primals))
    close(found[1][1], second, is_single(case.primals))


@njit
def powers(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def test_any_order():
    """The fifth derivative of x ** 5, from five times forward mode."""
    core = Core(powers, (1.3, 5))
    f, args = core.core, (1.3, 5)
    for order in range(1, 6):
        count = len(moving(f)) - 1
        f = core.with_tangents(f, [True, False, *[False] * (count - 1)])
        args = (*args, 1.0)
        found = core.run(f, args)
        for _ in range(order):
            found = found[1]
        assert found == pytest.approx(np.prod(np.arange(6 - order, 6)) * 1.3 ** (5 - order), rel=1e-13)


def test_the_stage_forward_shows_it():
    @njit
    def square(x):
        while x < 2.0:  # so it stays a function
            x = x * x
        return x

    @njit
    def f(x):
        return square(np.sin(x))

    assert dr.derivative_source(f, 0.5, stage="forward") == SHOWN


SHOWN = """\
def f(x: float64, t_x: float64):
    _1: float64 = sin(x)
    _2: float64 = cos(x)
    t_1: float64 = mul(_2, t_x)
    (_3: float64, t_3: float64) = square_tangent(_1, t_1)
    return (_3, t_3)

def square_tangent(x: float64, t_x: float64):
    before:
        _1: bool = (x < 2.0)
    while _1:
        _2: float64 = mul(x, t_x)
        _3: float64 = mul(x, t_x)
        t_x = add(_2, _3)
        x = mul(x, x)
    return (x, t_x)
"""


def test_it_is_the_derivative():
    """The tape is not the only witness: differences of f itself."""
    core = Core(powers, (0.7, 6))
    made = core.with_tangents(core.core, [True, False])
    slope = differences(lambda x: powers(x, 6), (0.7,), (1.0,))
    assert core.run(made, (0.7, 6, 1.0))[1] == pytest.approx(float(np.ravel(slope)[0]), rel=1e-8)
