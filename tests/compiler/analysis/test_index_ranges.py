"""Indices that are not below 0: what the analysis says of them is so, and those that may be below 0 stay right."""

import numpy as np
import pytest
from numba import njit
from programs.constructs.collected import CASES
from support.incore import pullback
from support.oracle import assert_same, direction
from support.twin import twin

import dualrev as dr
from dualrev.compiler.analysis.values.index_ranges import Natural
from dualrev.compiler.analysis.values.linear_bounds import Form, Number, constant, is_natural, magnitude, minus, single
from dualrev.compiler.ir.core import interpret
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.nodes import For, Load, Store
from dualrev.tree import flatten_leaves

X = np.linspace(0.5, 2.0, 12)


# Linear forms


def test_a_form_is_proven_by_the_bounds_of_its_numbers():
    """row - column - 1 and 2 d - column - 1, where column < row < d."""
    d = Number(1, 100, [constant(0)])
    row = Number(2, 100, [constant(0)], [minus(single(d), constant(1))])
    column = Number(3, 100, [constant(0)], [minus(single(row), constant(1))])
    assert is_natural(Form(-1, {row: 1, column: -1}))
    assert is_natural(Form(-1, {d: 2, column: -1}))
    assert not is_natural(Form(-2, {row: 1, column: -1}))
    assert not is_natural(Form(0, {column: 1, row: -1}))
    assert magnitude(Form(-1, {d: 2, column: -1})) == 201  # nothing is below 0, so that column makes it smaller only
    assert magnitude(Form(-2, {row: 1, column: -1})) == 202


# Programs


@njit
def packed(x):
    """The triangle of a matrix, a column after the other: a product, a division, and three terms more."""
    d, total = 4, 0.0
    for row in range(d):
        entry = x[row] * x[row]
        for column in range(row):
            entry += x[column * (2 * d - column - 1) // 2 + row - column - 1] * x[column]
        total += entry * entry
    return total


@njit
def counted(x):
    total, at = 0.0, 2
    for k in range(4):
        for _ in range(k):
            total = total * x[at] + x[k]
            at += 1
    return total


@njit
def around(x):
    total = 0.0
    for k in range(14):
        total = total * x[(k - 5) % len(x)] + x[k // 2]
    return total


@njit
def down(x):
    total = 0.0
    for k in range(3):
        for j in range(len(x) - 1, k, -1):
            total += x[j] * x[j - 1 - k] * total + x[j]
    return total


@njit
def counted_below(x):
    """It counts from 2 to -6: all of these are elements."""
    total, at = 0.0, 2
    for _ in range(2):
        for k in range(4):
            total = total * x[at] + x[k]
            at -= 1
    return total


@njit
def neighbours(x):
    """The first one has the last one to its left."""
    total = 0.0
    for _ in range(2):
        for k in range(len(x)):
            total = total * x[k - 1] + x[k * k // 8 - k]
    return total


@njit
def downwards_below(x):
    total = 0.0
    for k in range(2):
        for j in range(3, -6, -1):
            total = total * x[j] + x[j - k]
    return total


@njit
def by_argument(x, at):
    total = 0.0
    for k in range(3):
        for j in range(at, at + 4):
            total = total * x[j * 2 // 3] + x[k * at]
    return total


@njit
def swapped(x):
    """An index that changes its sign in every iteration."""
    total, at, other = 0.0, 2, -3
    for _ in range(2):
        for k in range(4):
            at, other = other, at
            total = total * x[at] + x[k]
    return total


@njit
def scattered(x):
    """A number that wraps around at 2**63, as the generators of random numbers do."""
    total, seed = 0.0, 1
    for _ in range(2):
        for k in range(5):
            seed = seed * 6364136223846793005 + 1442695040888963407
            total = total * x[seed >> 61] + x[k]
    return total


@njit
def either(x, flag):
    total = 0.0
    for k in range(2):
        at = 3
        for j in range(4):
            if flag:
                at = j - 2
            total = total * x[at] + x[k]
    return total


@njit
def until(x):
    total, at = 0.0, 0
    while at > -4:
        for _ in range(2):
            total = total * x[at] + x[at - 1]
        at -= 1
    return total


def looked_at(f, args):
    """Return the pullback in core, its program, and the analysis of their indices."""
    made, program, varied, defaults = pullback(f, args, range(len(args)))
    natural = Natural()
    for g in [made, *program.made_functions()]:
        natural.look(g.body)
    return made, program, varied, defaults, natural


ABOVE = [(packed, (X,)), (counted, (X,)), (around, (X,)), (down, (X,))]
BELOW = [
    *[(counted_below, (X,)), (neighbours, (X,)), (downwards_below, (X,)), (by_argument, (X, -3)), (swapped, (X,))],
    *[(either, (X, True)), (until, (X,))],
]


@pytest.mark.parametrize(("f", "args"), ABOVE, ids=[f.__name__ for f, _ in ABOVE])
def test_what_llvm_does_not_see_is_proven(f, args):
    natural = looked_at(f, args)[-1]
    assert natural.indices or natural.counters
    assert "runtime.natural(" in dr.derivative_source(f, *args)


@pytest.mark.parametrize(("f", "args"), ABOVE + BELOW, ids=[f.__name__ for f, _ in ABOVE + BELOW])
def test_gradients_are_right_whatever_the_indices_are(f, args):
    """The tape takes a negative index as numpy does."""
    assert_same(dr.value_and_grad(f)(*args), dr.value_and_grad(f.py_func)(*args), rtol=1e-11)


def checked_run(monkeypatch, natural):
    """Let the evaluator of core assert every index and counter that the analysis calls natural; count them."""
    seen = [0]
    usual = interpret._Run.statement

    def statement(self, s):
        if isinstance(s, (Load, Store)):
            for k, i in enumerate(s.index):
                if (s, k) in natural.indices:
                    seen[0] += 1
                    assert self.expr(i) >= 0, s
        if isinstance(s, For) and s in natural.counters:
            rounds = range(*map(self.atom, (s.start, s.stop, s.step)))
            seen[0] += 1
            assert not rounds or min(rounds) >= 0, s
        usual(self, s)

    monkeypatch.setattr(interpret._Run, "statement", statement)
    return seen


@pytest.mark.parametrize(("f", "args"), ABOVE + BELOW, ids=[f.__name__ for f, _ in ABOVE + BELOW])
def test_what_is_said_is_so(f, args, monkeypatch):
    made, program, varied, _, natural = looked_at(f, args)
    seen = checked_run(monkeypatch, natural)
    program.run(made, (*args, *(np.zeros_like(args[0]) for v in varied if is_array(v)), 1.0))
    assert seen[0] or (f, args) not in ABOVE


@njit
def down_to_the_end(x):
    total = 0.0
    for k in range(2):
        for j in range(3, -4, -1):
            total += x[j] * x[k] * total + x[j]
    return total


def test_nothing_is_said_of_what_may_be_below_0():
    for f in (down_to_the_end, downwards_below, counted_below, swapped, scattered):
        natural = looked_at(f, (X,))[-1]
        assert not {s for s, _ in natural.indices if repr(s.array) in ("x", "d_x")}, f
        assert "j" not in map(repr, (s.target for s in natural.counters))


EACH = [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if k % 19 != 1 else []) for k, c in enumerate(CASES)]


@pytest.mark.parametrize("case", EACH)
def test_what_is_said_of_constructs_is_so(case, monkeypatch):
    made, program, varied, defaults = pullback(case.function, case.arguments(), range(len(case.primals)))
    natural = Natural()
    for g in [made, *program.made_functions()]:
        natural.look(g.body)
    checked_run(monkeypatch, natural)
    y = dr.vjp(twin(case.function), *twin(case.arguments()))[0]
    real = iter(flatten_leaves(case.primals)[0])
    shadows = [np.zeros_like(x) for v, x in zip(varied, real, strict=True) if is_array(v)]
    program.run(made, (*case.arguments(), *defaults, *shadows, *flatten_leaves(direction(y, seed=1))[0]))
