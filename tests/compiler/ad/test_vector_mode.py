"""Several directions at a time, from core to core, by the reference evaluator: nothing is compiled but f itself."""

import inspect
import math

import numba
import numpy as np
import pytest
from numba import njit
from numba.core import types
from programs.constructs.collected import CASES
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ad.reverse.joint import joint
from dualrev.compiler.ad.vector_mode import Lanes
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.driver.context import Front
from dualrev.compiler.ir.core import traverse
from dualrev.compiler.ir.core.interpret import Tape
from dualrev.compiler.ir.core.verify import check

SCALAR = [c for c in CASES if c.argnums and isinstance(twin(c.function)(*c.arguments()), float)]
EACH = [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if k % 10 != 2 else []) for k, c in enumerate(SCALAR)]
WIDTH = 3


class Second:
    """The gradient of the slope of a numba function, in core, and in lanes; checked."""

    def __init__(self, f, args):
        self.defaults = tuple(p.default for p in inspect.signature(f.py_func).parameters.values())[len(args) :]
        front = Front()
        core = front.entered(f, (*map(numba.typeof, args), *map(types.Omitted, self.defaults)))
        moving = [x for p in core.parameters[: len(args)] for x in traverse.leaves(p) if carries(x)]
        self.slope = front.forward.slope(core, moving)
        self.count, self.program = len(core.parameters), front.program
        self.arguments = [x for p in self.slope.parameters[: self.count] for x in traverse.leaves(p)]
        moving = [x for x in self.arguments if carries(x)]
        self.tangents = [x for p in self.slope.parameters[self.count :] for x in traverse.leaves(p)]
        self.joint = joint(front.reverse, self.slope, moving, self.arguments)
        lanes = Lanes(front.program, front.memory, WIDTH)
        self.laned = lanes.function(self.joint.function, self.tangents, self.joint.shadows.values())
        for g in [self.joint.function, *self.program.made_functions()]:
            check(g)
        if self.laned is not None:
            check(self.laned.function)

    def run(self, f, lanes, args, tangents):
        """Return the gradients, numbers and arrays, and the final values of the arguments."""
        tape, given = Tape(), dict(zip(self.arguments, leaves_of((*args, *self.defaults)), strict=True))
        shadows = {
            d: [np.zeros_like(given[x] if x in given else tangents[0][self.tangents.index(x)]) for _ in lanes(d)]
            for x, d in self.joint.shadows.items()
        }
        finals = [np.zeros_like(given[x]) for x in self.joint.finals]
        ts = [t[k] for k in range(len(self.tangents)) for t in tangents]
        every = [d for some in shadows.values() for d in some]
        back = self.program.run(f, (*args, *self.defaults, *ts, *every, *finals), tape)
        assert not tape.numbers
        assert not tape.arrays
        back = back if len(tangents) > 1 else (back,)
        arrays = [shadows[d] for x, d in self.joint.shadows.items() if x in given]
        made = [flat([*back[k], *(some[k % len(some)] for some in arrays)]) for k in range(len(tangents))]
        return made, flat(leaves_of(args))


def leaves_of(x):
    return [leaf for part in x for leaf in leaves_of(part)] if isinstance(x, tuple) else [x]


def flat(some):
    real = [np.ravel(np.asarray(x, float)) for x in some if isinstance(x, (float, np.floating, np.ndarray))]
    return np.concatenate([np.zeros(0), *real])


def directions(second, args):
    """As many directions as there are lanes."""
    random = np.random.default_rng(1)
    given = dict(zip(second.arguments, leaves_of((*args, *second.defaults)), strict=True))
    like = [given[x] for x in second.arguments if carries(x)][: len(second.tangents)]

    def one(x):
        return random.standard_normal(x.shape).astype(x.dtype) if isinstance(x, np.ndarray) else random.normal()

    return [[one(x) for x in like] for _ in range(WIDTH)]


def copies(tangents):
    return [[x.copy() if isinstance(x, np.ndarray) else x for x in t] for t in tangents]


@pytest.mark.parametrize("case", EACH)
def test_lanes_of_the_gradient_of_a_slope_are_the_gradients_one_by_one(case):
    """`run(lanes(reverse(slope))) = [run(reverse(slope)) for each direction]`, to the last bit."""
    compare(case.function, case.arguments)


def compare(f, arguments):
    second = Second(f, arguments())
    assert second.laned is not None
    ts = directions(second, arguments())
    expected = [second.run(second.joint.function, lambda d: (d,), arguments(), [t]) for t in copies(ts)]
    made, left = second.run(second.laned.function, second.laned.parameters.get, arguments(), copies(ts))
    for found, (one, _) in zip(made, expected, strict=True):
        assert_same(found, one[0], rtol=0.0)
    assert_same(left, expected[0][1], rtol=0.0)


@dr.checkpoint
@njit
def step(x, a):
    for i in range(len(x)):
        x[i] = math.sin(x[i] * a) + x[i - 1] * x[i]


@njit
def steps(x, a):
    y = x * 1.0
    for _ in range(3):
        step(y, a)
    return np.sum(y * x) * a


def test_checkpoints_in_lanes():
    """Checkpoints keep copies of the tangents of every lane."""
    compare(steps, lambda: (np.array([0.3, 0.5, 0.7]), 0.9))


@dr.custom_jvp
@njit
def square(x):
    return x * x


@square.defjvp
@njit
def square_rule(primals, tangents):
    return primals[0] * primals[0], 2.0 * primals[0] * tangents[0]


@njit
def by_rule(x):
    return square(x[0]) * x[1]


def test_a_function_with_a_rule_has_lanes():
    x = np.array([0.3, 0.5])
    assert Second(by_rule, (x,)).laned is not None
    assert_same(dr.hessian(by_rule)(x), np.array([[2.0 * x[1], 2.0 * x[0]], [2.0 * x[0], 0.0]]), rtol=1e-14)
