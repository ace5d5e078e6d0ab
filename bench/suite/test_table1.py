"""Time the functions of the paper's Table 1, value and gradient, at growing n. The report computes the slope over n."""

from __future__ import annotations

import functools
import importlib.util

import pytest

import dualrev
from bench.measuring.agreement import check
from bench.peers.libraries import walked
from bench.programs.table1 import COLUMNS, ROWS
from bench.suite.test_families import value_and_gradient
from dualrev import tree

VALUES = ("plain", "njit")  # these have no gradient
CASES = [
    pytest.param(row.name, column, k, marks=[] if k in row.quick else [pytest.mark.full])
    for row in ROWS.values()
    for column in COLUMNS
    for k in row.sizes
    if column != "micrograd" or row.paper
]


@pytest.fixture(scope="module")
def gradients():
    """The compiled gradients by the row's name: each is compiled once."""
    return {}


@pytest.mark.parametrize(("name", "column", "k"), CASES)
def test_row(timed, absent, gradients, name, column, k):
    """Time one function of Table 1 in one column at one size, after a check that the values agree."""
    row = ROWS[name]
    primals, args = row.make(k)
    if name not in gradients:
        gradients[name] = dualrev.value_and_grad(row.compiled, row.argnums)
    if column == "njit":
        run = functools.partial(row.compiled, *args)
    elif column == "compiled":
        run = functools.partial(gradients[name], *args)
    elif column == "micrograd":
        if importlib.util.find_spec("micrograd") is None:
            absent("table1", "not installed", row=name, column=column, n=row.count(k))
        run = in_micrograd(row.function, primals)
    else:
        run = value_and_gradient(column, row.function, primals)
    value, gradient = gradients[name](*args)
    check(numbers(column, run(), primals), (value, () if column in VALUES else gradient), f"{column} on {name} at {k}")
    calls = range(row.count(k))

    def repeated():
        """Call the function n times, where n counts calls."""
        for _ in calls:
            run()

    calibration = "compiled" if column in ("njit", "compiled") else "python"
    timed(repeated if row.repeated else run, "table1", calibration, row=name, column=column, n=row.count(k))


def in_micrograd(f, primals):
    """Return a function without arguments that does one forward pass and one reverse pass of micrograd."""
    from micrograd.engine import Value

    scalars, structure = tree.inputs(primals)

    def run():
        """Sum the numbers in the value, and walk back from the sum."""
        values = [Value(x) for x in scalars]
        y = f(*structure.rebuild(values))
        y = y if isinstance(y, Value) else y.x + y.y + y.z
        walked(y.backward)
        return y.data, structure.cotangent([value.grad for value in values])

    return run


def numbers(column, answer, primals):
    """Return the sum of the value's numbers, and the gradient as a flat list (empty without a gradient)."""
    if column == "compiled":
        return answer
    y, gradient = (answer, []) if column in VALUES else answer
    _, structure = tree.inputs(primals)
    return sum(tree.outputs(y)[0]), structure.read(gradient) if gradient else []
