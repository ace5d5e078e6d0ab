"""Time numba functions, their compiled gradients, and adjoints written by hand.

To see small differences use `python -m bench.compiled`, where the calls take turns.
"""

from __future__ import annotations

import functools

import pytest

import dualrev
from bench.measuring.agreement import check
from bench.programs.compiled_programs import PROGRAMS

QUICK = ("dot", "particles")
CASES = [
    pytest.param(name, what, marks=[] if name in QUICK else [pytest.mark.full])
    for name, program in PROGRAMS.items()
    for what in ("primal", "gradient", "adjoint")
    if what != "adjoint" or program.adjoint
]


@pytest.fixture(scope="module")
def gradients():
    """The compiled gradients by the program's name: each is compiled once."""
    return {}


@pytest.mark.parametrize(("name", "what"), CASES)
def test_program(timed, gradients, name, what):
    """Time a numba function, its gradient or its adjoint by hand, after a check that they agree."""
    program = PROGRAMS[name]
    args = program.make(program.size)
    if name not in gradients:
        gradients[name] = dualrev.value_and_grad(program.function, program.argnums)
    run = {"primal": program.function, "gradient": gradients[name], "adjoint": program.adjoint}[what]
    answer = run(*args)  # compiles
    value, gradient = gradients[name](*args)
    if what == "primal":
        check((answer, ()), (value, ()), f"the gradient of {name}")
    elif what == "adjoint":
        check((value, gradient), (answer[0], answer[1:]), f"the gradient of {name}")
    timed(functools.partial(run, *args), "compiled", "compiled", program=name, what=what)
