"""Times of the stages on the paper's programs: value and gradient, by pytest-benchmark. `make bench` runs it.

Compare within one run only: machines differ, and so does one machine from one hour to the next. A stage that takes more
than LIMIT steps on a program is skipped, and says so.
"""

import pytest

from dualrev import tree
from stages import STAGES, LimitReached, count
from stages.programs import PROGRAMS

LIMIT = 300_000


@pytest.mark.parametrize("stage", ["plain", *STAGES])
@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(benchmark, name, stage):
    program = PROGRAMS[name]
    primals = program.make(program.size, 0)
    benchmark.group = name
    if stage == "plain":
        benchmark(program.function, *primals)
        return
    try:
        count(stage, program.function, *primals, limit=LIMIT)
    except LimitReached as reached:
        pytest.skip(f"{stage} on {name}: {reached}")
    vjp = STAGES[stage].vjp

    def value_and_gradient():
        y, pullback = vjp(program.function, *primals)
        scalars, structure = tree.outputs(y)
        return pullback(structure.cotangent([1.0] * len(scalars)))

    benchmark(value_and_gradient)
