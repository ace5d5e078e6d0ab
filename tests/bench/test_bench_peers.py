"""bench/peers: every version of a program gives the same value and gradient. Peers may be missing; nothing is timed."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys

import numpy as np
import pytest

from bench.measuring.agreement import convert, disagreement, flatten
from bench.peers import LIBRARIES, PROGRAMS
from bench.peers.program import Program, Version, count_operations
from stages import count

VERSIONS = [
    pytest.param(program, version, id=f"{program.name}-{version.name}")
    for program in PROGRAMS.values()
    for version in program.versions
]


def answer(version, size):
    run, read = LIBRARIES[version.library].prepare(version, size)
    return read(run())


def first(program, library):
    return next(version for version in program.versions if version.library == library)


@pytest.fixture(scope="module")
def expected():
    return {
        program.name: (
            answer(first(program, "plain"), program.small)[0],
            answer(first(program, "dualrev"), program.small)[1],
        )
        for program in PROGRAMS.values()
    }


@pytest.fixture(autouse=True)
def as_it_was():
    """The adapters change settings of JAX, in the whole process."""
    jax = sys.modules.get("jax") or (importlib.util.find_spec("jax") and importlib.import_module("jax"))
    before = jax and jax.config.jax_enable_x64
    yield
    if jax:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.filterwarnings("default")  # other libraries' own
@pytest.mark.parametrize(("program", "version"), VERSIONS)
def test_a_version_agrees_with_plain_python_and_the_tape_or_is_refused(expected, program, version):
    library = LIBRARIES[version.library]
    pytest.importorskip(library.module, reason="pip install 'dualrev[peers]'", exc_type=ImportError)
    if version.refused:
        with pytest.raises((ValueError, RuntimeError, NotImplementedError, TypeError)):
            answer(version, program.small)
        return
    value, gradient = expected[program.name]
    found = answer(version, program.small)
    assert disagreement(found, (value, gradient if library.gradient else ())) is None


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_tape_against_central_differences(expected, program):
    version = first(program, "plain")
    f = version.build(np if version.options.get("arrays") else math)
    inputs = version.make(program.small)
    rng = np.random.default_rng(1)
    at = [inputs[k] for k in program.argnums]
    direction = convert(lambda x: rng.normal(size=np.shape(x)) if np.ndim(x) else float(rng.normal()), at)

    def along(t):
        moved = list(inputs)
        for k, x, v in zip(program.argnums, at, direction, strict=True):
            moved[k] = move(x, v, t)
        return f(*moved)

    h = 1e-6
    value, gradient = expected[program.name]
    slope = np.dot(flatten(gradient), flatten(direction))
    assert value == pytest.approx(along(0.0), rel=1e-14)
    scale = np.linalg.norm(flatten(gradient)) * np.linalg.norm(flatten(direction))
    assert slope == pytest.approx((along(h) - along(-h)) / (2 * h), rel=1e-6, abs=1e-7 * scale)


def move(x, direction, t):
    if isinstance(x, (list, tuple)):
        return type(x)(move(y, d, t) for y, d in zip(x, direction, strict=True))
    return x + t * direction


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_every_program_has_a_version_for_each_library_of_its_kind(program):
    libraries = {version.library for version in program.versions}
    arrays = first(program, "plain").options.get("arrays", False)
    assert libraries == set(LIBRARIES) - ({"micrograd"} if arrays else set())


def test_programs_come_from_a_seed():
    for program in PROGRAMS.values():
        assert flatten([program.make(program.small)[k] for k in program.argnums]) == flatten(
            [program.make(program.small)[k] for k in program.argnums]
        )


def test_the_operations_of_a_program_are_those_that_a_tape_writes():
    """The oscillator makes one dual number in every operation, and four of its inputs."""
    program = PROGRAMS["oscillator"]
    f = first(program, "plain").build(math)
    *parameters, steps = program.make(20)
    made = count("tape", lambda *xs: f(*xs, steps), *parameters).created
    # 0.0 + x * x is an operation of a constant and a number, as is each product with a constant
    assert count_operations(program, 20) == made - 4


def test_a_program_has_one_version_of_a_name():
    program = Program("p", "p", "", lambda n: (1.0,), (0,), 1, "", 1, 1)
    program.version("jax", form="scan", symbols="SX")(int)
    assert program.versions == [Version(program, "jax", int, form="scan", options={"symbols": "SX"})]
    with pytest.raises(ValueError, match="two versions jax: scan"):
        program.version("jax", form="scan")(int)
