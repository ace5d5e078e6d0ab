"""The benchmark of parallel loops: it compares before it times."""

import time

import pytest

from bench.parallel import COLUMNS, _compare, measured
from bench.programs.parallel_programs import PROGRAMS


def test_the_columns_of_a_program():
    program = PROGRAMS["Asian option"]
    found = measured(program, program.small, 1, time.perf_counter)
    assert tuple(found) == COLUMNS
    assert all(x > 0.0 for x in found.values())


def test_gradients_that_differ_are_found():
    def gradient(factor):
        return lambda x: (x, (factor * x,))

    _compare(gradient(1.0), gradient(1.0), (2.0,))
    with pytest.raises(AssertionError, match="another one"):
        _compare(gradient(1.0), gradient(2.0), (2.0,))
