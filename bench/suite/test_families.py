"""Time the stages on programs of growing size, until a call takes too long. `python -m bench.reporting` fits laws."""

from __future__ import annotations

import pytest

import dualrev
from bench.programs.families import ENGINES, FAMILIES
from dualrev import tree
from stages import STAGES
from stages.programs import PROGRAMS

CASES = [
    pytest.param(family.name, engine, n, marks=[] if n in family.quick else [pytest.mark.full])
    for family in FAMILIES.values()
    for engine in ENGINES
    for n in family.sizes
]


def value_and_gradient(engine, f, primals):
    """Return a function without arguments that does one forward pass and one pullback."""
    if engine == "plain":
        return lambda: f(*primals)
    vjp = dualrev.vjp if engine == "dualrev" else STAGES[engine].vjp

    def run():
        """One forward pass, and one pullback of ones."""
        y, pullback = vjp(f, *primals)
        scalars, structure = tree.outputs(y)
        return y, pullback(structure.cotangent([1.0] * len(scalars)))

    return run


@pytest.mark.parametrize(("family", "engine", "n"), CASES)
def test_family(timed, absent, ladder, limits, family, engine, n):
    """Time value and gradient by one stage at size n, unless the sizes before predict too long a call."""
    labels = {"family": family, "engine": engine, "n": n}
    expected = ladder.expected((family, engine), n)
    if expected > limits["longest"]:
        absent("families", f"cut off: a call would take {expected:.1g} s or more", **labels)
    program = PROGRAMS[FAMILIES[family].program]
    run = value_and_gradient(engine, program.function, program.make(n, 0))
    run()
    ladder.climb((family, engine), n, timed(run, "families", **labels))
