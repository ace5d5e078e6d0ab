"""Time value and gradient of the same functions in dualrev and other libraries, written as users would write them.

A version is timed if its library is installed and its answer agrees. The first call, which compiles or builds, is timed
separately.
"""

from __future__ import annotations

import importlib.util
import time

import pytest

from bench.measuring.agreement import check
from bench.peers import LIBRARIES, PROGRAMS

CASES = [
    pytest.param(program.name, version.name, marks=[] if program.in_quick and version.in_quick else [pytest.mark.full])
    for program in PROGRAMS.values()
    for version in program.versions
]


@pytest.fixture(scope="module")
def expected():
    """The plain function's value and the tape's gradient, by the program's name and size."""
    return {}


def reference(program, size):
    """Return the value of the first plain version, and the gradient of the tape's first version."""
    answers = {}
    for version in program.versions:
        if version.library in ("plain", "dualrev") and version.library not in answers:
            run, read = LIBRARIES[version.library].prepare(version, size)
            answers[version.library] = read(run())
    check((answers["dualrev"][0], ()), (answers["plain"][0], ()), f"the value of dualrev on {program.name}")
    return answers["plain"][0], answers["dualrev"][1]


@pytest.mark.parametrize(("program", "version"), CASES)
def test_peer(timed, record, absent, expected, limits, quick, program, version):
    """Time one version of a program, after a check that its answer agrees."""
    program = PROGRAMS[program]
    (version,) = [candidate for candidate in program.versions if candidate.name == version]
    library = LIBRARIES[version.library]
    labels = {"program": program.name, "version": version.name}
    if importlib.util.find_spec(library.module) is None:
        absent("peers", "not installed", **labels)
    size = program.quick if quick else program.size
    if (program.name, size) not in expected:
        expected[program.name, size] = reference(program, size)
    start = time.perf_counter()
    try:
        run, read = library.prepare(version, size)
        answer = run()
    except Exception as error:
        if not version.refused:
            raise
        message = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        absent("peers", f"refuses: {message}", **labels)
    first_call = time.perf_counter() - start
    assert not version.refused, f"{version.name} takes {program.name} by now: time it"
    value, gradient = expected[program.name, size]
    whose = f"{version.name} on {program.name}"
    check(read(answer), (value, gradient if library.gradient else ()), whose)
    timed(run, "peers", library.calibration, **labels, size=size, first_call=first_call)
