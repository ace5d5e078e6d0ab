"""Times of numba functions, their compiled gradients and adjoints by hand, by pytest-benchmark. `make bench` runs it.

Compare within one run and one group only. `python -m bench.compiled` takes the same times in turns, which is what
ratios should be read from on a machine that others use too. A gradient that is refused is skipped, and says why.
"""

import pytest

import dualrev
from bench.compiled_programs import PROGRAMS


@pytest.mark.parametrize("what", ["primal", "gradient", "adjoint"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(benchmark, name, what):
    program = PROGRAMS[name]
    args = program.make(program.size)
    benchmark.group = name
    if what == "gradient":
        pytest.importorskip("dualrev.compiler", reason="there is no compiler yet")
        run = dualrev.value_and_grad(program.function, program.argnums)
    else:
        run = program.adjoint if what == "adjoint" else program.function
    if run is None:
        pytest.skip(f"there is no adjoint of {name} by hand")
    try:
        run(*args)  # compiles
    except dualrev.errors.UnsupportedError as refused:
        pytest.skip(f"{name}: {refused}")
    benchmark(run, *args)
