"""Measure the peak memory of value and gradient at growing sizes, on the tape and compiled."""

from __future__ import annotations

import pytest

from bench.measuring import memory
from bench.peers import PROGRAMS
from bench.peers.program import count_operations

#: A tape holds every operation. Compiled code saves only what the reverse pass needs, so it takes more steps to see it.
SIZES = {"dualrev": (10_000, 20_000, 40_000, 80_000), "compiled": (500_000, 1_000_000, 2_000_000, 4_000_000)}
CASES = [
    pytest.param(program, library, marks=[] if program == "oscillator" else [pytest.mark.full])
    for program in ("oscillator", "garch", "rotate")
    for library in SIZES
]


@pytest.mark.skipif(not memory.AVAILABLE, reason="memory is read from /proc")
@pytest.mark.parametrize(("program", "library"), CASES)
def test_memory(record, quick, program, library):
    """Record the peak memory at each size, which grows with the size."""
    sizes = SIZES[library][:3] if quick else SIZES[library]
    operations = count_operations(PROGRAMS[program], 1000) / 1000
    peaks = [memory.peak_elsewhere(program, library, n) for n in sizes]
    record("memory", program=program, library=library, sizes=sizes, bytes=peaks, operations=operations)
    assert peaks[0] < peaks[-1]  # it is the call's, not that of the set-up
