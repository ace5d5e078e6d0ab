"""bench/compiled.py: its programs, their adjoints by hand, its table. No time is asserted."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher
from support import oracle

import bench.compiled
import dualrev as dr
from bench.programs import compiled_adjoints, compiled_programs
from bench.programs.array_programs import ARRAYS, EVERY
from bench.programs.compiled_programs import PROGRAMS, plain

QUICK = ("rk4", "stencil", "horner")  # of those in array style; numba takes seconds for each of the others
ALL = [*PROGRAMS, *(name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ARRAYS)]
ADJOINTS = [x for x in ALL if EVERY[x if isinstance(x, str) else x.values[0]].adjoint]
SAME = 1e-10  # of an entry: the same sums in another order

compiler = importlib.util.find_spec("dualrev.compiler")
needs_compiler = pytest.mark.skipif(
    compiler is None or compiler.origin is None, reason="there is no compiler of numba functions yet"
)


def on_the_tape(program, args):
    return dr.value_and_grad(plain(program.function), program.argnums)(*args)


def assert_agrees(found, expected):
    oracle.assert_same(found, expected, rtol=SAME, types=False)


# The programs


@pytest.mark.parametrize("name", ALL)
def test_the_tape_against_differences_of_the_numba_function(name):
    program = EVERY[name]

    def vjp(_, *args):
        return dr.vjp(plain(program.function), *args)

    oracle.check_vjp(vjp, program.function, *program.make(program.small))


@pytest.mark.parametrize("name", ADJOINTS)
def test_an_adjoint_by_hand_against_the_tape(name):
    program = EVERY[name]
    args, fresh = program.make(program.small), program.make(program.small)
    value, *cts = program.adjoint(*args)
    assert_agrees((value, tuple(cts)), on_the_tape(program, fresh))
    oracle.assert_same(args, fresh)  # they are as they were


@needs_compiler
@pytest.mark.parametrize("name", ALL)
def test_the_compiled_gradient_against_the_tape_and_the_adjoint(name):
    program = EVERY[name]
    args = program.make(program.small)
    found = dr.value_and_grad(program.function, program.argnums)(*args)
    assert_agrees(found, on_the_tape(program, args))
    if program.adjoint:
        value, *cts = program.adjoint(*args)
        assert_agrees(found, (value, tuple(cts)))
    oracle.assert_same(args, program.make(program.small))


@pytest.mark.parametrize("name", ALL)
def test_the_arguments_to_differentiate_by_are_the_real_ones(name):
    program = EVERY[name]
    args = program.make(program.small)
    assert program.argnums == tuple(k for k, x in enumerate(args) if oracle.flat(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_come_from_a_seed(name):
    program = PROGRAMS[name]
    oracle.assert_same(program.make(program.small), program.make(program.small))


def test_the_particle_takes_both_sides_of_each_branch():
    program = PROGRAMS["particles"]
    stiffness, damping, x, v, steps = program.make(program.small)
    seen = set()
    for _ in range(steps):
        seen |= {("moves back", v < 0.0), ("in the wall", x > 0.75)}
        force = -stiffness * x - (damping if v < 0.0 else 0.5 * damping) * v - 40.0 * max(x - 0.75, 0.0)
        v += 0.01 * force / 1.5
        x += 0.01 * v
    assert len(seen) == 4


def test_newton_saves_more_than_its_first_buffer_holds():
    numbers = np.array([2.0, 1e40, 5.0])
    value, ct = compiled_adjoints.newton_adjoint(numbers)
    assert value == pytest.approx(np.cbrt(numbers).sum(), rel=1e-12)
    np.testing.assert_allclose(ct, np.cbrt(numbers) / (3.0 * numbers), rtol=1e-9)


def test_values_by_hand():
    values = {name: PROGRAMS[name].function(*PROGRAMS[name].make(PROGRAMS[name].small)) for name in ("minors", "dot")}
    (matrix,) = PROGRAMS["minors"].make(PROGRAMS["minors"].small)
    assert values["minors"] == pytest.approx(np.linalg.det(matrix), rel=1e-12)
    assert values["dot"] == pytest.approx(np.dot(*PROGRAMS["dot"].make(PROGRAMS["dot"].small)), rel=1e-12)
    (matrix,) = PROGRAMS["cholesky"].make(5)
    assert compiled_programs.cholesky(matrix) == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-12)
    lower, diagonal, upper, right = PROGRAMS["thomas"].make(6)
    dense = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    assert compiled_programs.thomas(lower, diagonal, upper, right) == pytest.approx(
        np.sum(np.linalg.solve(dense, right) ** 2), rel=1e-12
    )


def test_a_plain_program_is_the_source_without_numba():
    f = plain(compiled_programs.tree)
    assert f.__code__ is compiled_programs.tree.py_func.__code__
    assert f.__globals__["tree"] is f  # so that recursion stays plain
    assert compiled_programs.__dict__["tree"] is compiled_programs.tree


def test_lines_are_counted_with_those_of_helpers():
    assert PROGRAMS["dot"].lines == 6
    assert PROGRAMS["newton"].lines == 6 + 6


# The measures


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_the_memory_of_a_call_is_what_it_saves():
    """The pendulum's adjoint by hand saves two numbers in each step."""
    per_step = bench.measuring.memory.elsewhere("compiled", "resident('pendulum', 4_000_000, 'adjoint')")
    assert per_step == pytest.approx(16.0, rel=0.05)


def test_every_run_has_its_turns(monkeypatch):
    monkeypatch.setattr(bench.compiled, "TURN", 1e-5)
    result = bench.compiled.Result(PROGRAMS["dot"], *(bench.compiled.Cell() for _ in range(3)))
    bench.compiled.measure(result, {"primal": lambda: 0, "gradient": lambda: math.fsum(range(99))}, 1e-3)
    assert len(result.primal.seconds) == len(result.gradient.seconds) >= 2
    assert result.ratio("gradient", "primal") > 1.0
    assert result.ratio("gradient", "adjoint") is None
    assert not result.adjoint.seconds


def test_the_worst_and_the_median():
    assert bench.compiled.worst([("a", 1.0), ("b", 5.0), ("c", None), ("d", 2.0)]) == (2.0, 5.0, "b")
    assert bench.compiled.worst([("c", None)]) is None


def test_in_a_new_process(capsys):
    assert bench.compiled.attempt("LONG") == bench.compiled.LONG
    assert bench.compiled.attempt("no_such_name") is None
    assert "AttributeError" in capsys.readouterr().err


# The table


@pytest.fixture
def script(monkeypatch):
    """The script with small programs and a made-up compiler: gradients are the adjoints by hand, times a factor."""

    def value_and_grad(f, argnums):
        if not isinstance(f, CPUDispatcher):
            return dr.value_and_grad(f, argnums)
        (program,) = [program for program in PROGRAMS.values() if program.function is f]
        if program.adjoint is None:
            raise TypeError("not this [one]\nand more lines")

        def answer(*args):
            value, *cts = program.adjoint(*args)
            return made.off * value, tuple(cts)

        return answer

    made = SimpleNamespace(main=bench.compiled.main, off=1.0)
    small = {name: dataclasses.replace(PROGRAMS[name], size=PROGRAMS[name].small) for name in ("dot", "kalman", "tree")}
    pretended = SimpleNamespace(
        value_and_grad=value_and_grad,
        grad=lambda f, argnums: dr.grad(f, argnums) if isinstance(argnums, tuple) else lambda x: 3.0 * x * x,
        jvp=dr.jvp,
        __version__=dr.__version__,
    )
    monkeypatch.setattr(bench.compiled, "dualrev", pretended)
    monkeypatch.setattr(bench.compiled, "PROGRAMS", small)
    monkeypatch.setattr(bench.compiled, "TURN", 1e-5)
    return made


QUICK = ["--budget", "0", "--times-only", "--fresh-pages"]


def test_a_line_for_every_program_in_the_terminal_and_in_json(script, capsys, tmp_path):
    assert script.main([*QUICK, "--json", str(tmp_path / "times.json")]) == 0
    out, err = capsys.readouterr()
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert lines["dot"][5:7] == ["-", "1.5"]
    assert all(oracle.printed(x) > 0.0 for x in lines["dot"][:5])
    assert lines["tree"][7:] == ["-", "-", "-", "-"]  # no new processes
    assert "Gradient over the primal: median" in out
    assert "(goals: median 2.5, largest 6)" in out
    assert "us more (goal: 1 us)" in out
    assert "tree: timing" in err
    saved = json.loads((tmp_path / "times.json").read_text(encoding="utf-8"))
    assert list(saved["programs"]) == ["dot", "kalman", "tree"]
    assert saved["programs"]["dot"]["gradient"].keys() == {"best", "median", "turns"}
    assert saved["programs"]["tree"]["enzyme"] == 7.9


def test_first_calls_stand_beside_the_first_call_of_the_function_itself(script, capsys, monkeypatch):
    # The last one of tree fails.
    seconds = {"first_call('dot')": 3.0, "first_primal('dot')": 1.5, "first_call('tree')": 5.0}
    monkeypatch.setattr(bench.compiled, "attempt", lambda expression, **_: seconds.get(expression))
    assert script.main(["--first-calls", "--program", "dot", "--program", "tree"]) == 0
    out, err = capsys.readouterr()
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert lines["dot"][-4:] == ["3.00", "3.00", "2.00", "-"]
    assert lines["tree"][-4:] == ["5.00", "5.00", "-", "-"]
    assert "First call over the primal's own: median 2.00, largest 2.00 of dot (goals: median 2, largest 3)." in out
    assert "timing" not in err


def test_why_there_is_no_gradient_is_in_its_row_and_the_rest_goes_on(script, capsys, tmp_path):
    assert script.main([*QUICK, "--json", str(tmp_path / "times.json")]) == 0
    out, _ = capsys.readouterr()
    (line,) = [line for line in out.splitlines() if line.strip().startswith("kalman")]
    assert "TypeError: not this [one]" in line
    assert "and more lines" not in out
    saved = json.loads((tmp_path / "times.json").read_text(encoding="utf-8"))
    assert saved["programs"]["kalman"]["gradient"] == {"absent": "TypeError: not this [one]"}
    assert saved["programs"]["kalman"]["primal"]["best"] > 0.0


def test_a_table_for_github(script, capsys):
    assert script.main([*QUICK, "--markdown"]) == 0
    heading, rule, *lines = capsys.readouterr().out.splitlines()
    assert heading.startswith("| program | lines | primal us | gradient / primal |")
    assert heading.endswith("| Enzyme | no gradient because |")  # and no columns for first calls
    assert {line.count("|") for line in (heading, rule, *lines[:3])} == {9}
    assert lines[1].endswith("| TypeError: not this [one] |")
    assert lines[4].startswith("- Gradient over the primal: median")


def test_products_with_the_hessian_are_compared_and_timed(script, capsys):
    assert script.main([*QUICK, "--second", "--program", "dot", "--markdown"]) == 0
    out, err = capsys.readouterr()
    assert "| product / gradient |" in out
    assert "Hessian-vector product over the gradient: median" in out
    assert "dot: compiling and checking the product with the Hessian" in err


def test_a_wrong_gradient_is_not_timed(script, capsys):
    script.off = 1.001
    assert script.main([*QUICK, "--program", "dot"]) == 1
    out, _ = capsys.readouterr()
    assert "no gradient because" in out
    assert "does not agree" in out
    assert "Gradient over the primal:" not in out


@pytest.mark.parametrize("arguments", [["--program", "none"], ["--json", "no/such/folder/x.json"]])
def test_a_wrong_command_line(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        bench.compiled.main(arguments)
    assert stop.value.code == 2
    assert arguments[1] in capsys.readouterr().err
