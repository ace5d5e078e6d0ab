"""The list of passes: it is whole and in order, and what can be left out, printed, verified and timed is."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from fuzzing.bisect import OF_TEXT, OPTIONAL, culprit, settings
from fuzzing.running import Discarded, arguments, eager, load
from numba import njit
from programs.generators.generator import program
from support.incore import check_core, gradient
from support.oracle import assert_same, flat

import dualrev as dr
from bench import passes
from dualrev.compiler.driver.emit import STAGES, Module
from dualrev.compiler.driver.passes import LISTS, LOOPS, PASSES, REVERSE
from dualrev.compiler.ir.core.nodes import Pop
from dualrev.compiler.ir.pass_manager import PassManager, Settings

ROOT = Path(__file__).resolve().parents[3]
X = np.array([0.3, -0.7, 1.1, 0.4, 0.9])


@njit
def cubed(x):
    return x * x * x


@njit
def swing(x, v, dt):
    """Loops that are fused, fissioned, directed; elements that go from one iteration to the next; a call.

    Each iteration of the last loop fills an array anew.
    """
    y = np.zeros(v.size)
    for i in range(1, v.size - 1):
        y[i] = v[i - 1] * v[i] + cubed(v[i + 1])
    for i in range(1, v.size):
        y[i] = y[i] + dt * np.sin(y[i - 1])
        v[i] = y[i] * x
    total = 0.0
    for i in range(v.size):
        total += v[i] * y[i] + v[i] * y[i]
    for i in range(v.size):
        for j in range(v.size):
            total += v[i] * y[j]
    z = np.zeros(v.size)
    for _ in range(2):
        for i in range(v.size):
            z[i] = total * v[i]
        for i in range(v.size):
            total += z[i] * dt
    return total + np.sum(v * v)


ARGS = (0.7, X, 0.25)


def test_names_are_the_fields_and_each_is_there_once():
    names = [p.name for p in PASSES]
    assert len(set(names)) == len(names)
    listed = {p.name for passes in LISTS.values() for p in passes}
    assert listed == set(names)
    for p in PASSES:
        assert all((ROOT / "dualrev" / "compiler" / file).exists() for file in p.file.split(", ")), p.file
        assert p.title[0].islower()
        assert not p.title.endswith(".")


@pytest.mark.parametrize(
    "asked", [["read", "lower", "optimise", "forward", "directions"], ["read", "lower", "optimise", "reverse"]]
)
def test_what_a_pass_requires_an_earlier_one_ensures(asked):
    holds = set()
    for p in (p for name in asked for p in LISTS[name]):
        assert holds.issuperset(p.requires), p.name
        holds |= set(p.ensures)


def test_names_of_passes_are_checked():
    with pytest.raises(ValueError, match="no pass 'unheard-of'; the passes are prune-branches, desugar"):
        PassManager(LISTS, settings(["unheard-of"]))
    with pytest.raises(
        ValueError, match="'make-adjoint' cannot be left out; DUALREV_PASSES takes -recognise-accumulation"
    ):
        PassManager(LISTS, settings(["make-adjoint"]))
    with pytest.raises(ValueError, match="as -split-loop, and not 'split-loop'"):
        Settings.of({"DUALREV_PASSES": "split-loop"})
    asked = {"DUALREV_PASSES": " -split-loop, -sink-stores", "DUALREV_VERIFY": "1", "DUALREV_TIMES": "0"}
    assert Settings.of(asked) == Settings(frozenset({"split-loop", "sink-stores"}), verify=True)
    assert not Settings.of({}).watches
    assert Settings.of({"DUALREV_TIMES": "1"}).watches


@pytest.fixture(scope="module", params=[3, pytest.param(6, marks=pytest.mark.slow)], ids="{} programs".format)
def programs(request, tmp_path_factory):
    """Random programs, with their gradients on the tape; and one that meets every pass over loops."""
    folder, made = str(tmp_path_factory.mktemp("programs")), []
    seed = 0
    while len(made) < request.param:
        of = program(seed, 8)
        seed += 1
        try:
            check_core(of, None, folder)
        except (Discarded, dr.errors.UnsupportedError):
            continue
        taped, f = eager(of), load(of.source, folder).f
        made.append((f, lambda of=of: arguments(of), taped.argnums, flat(taped.gradients)))
    back = dr.grad(swing.py_func, argnums=(0, 1, 2))(*(np.copy(x) if np.ndim(x) else x for x in ARGS))
    made.append((swing, lambda: (0.7, X.copy(), 0.25), (0, 1, 2), flat(back)))
    return made


@pytest.mark.parametrize("left_out", [*OPTIONAL, "all of them"])
def test_gradients_are_the_same_without_an_optional_pass(programs, left_out):
    names = OPTIONAL if left_out == "all of them" else [left_out]
    asked = dataclasses.replace(settings(names), verify=True)
    for f, args, numbers, expected in programs:
        found = gradient(f, args(), numbers, PassManager(LISTS, asked))[1]
        assert_same([float(y) for x in found for y in np.ravel(x)], expected, rtol=1e-9, floor=1e-9, types=False)


def test_each_optional_pass_of_reverse_mode_does_something():
    """Else the test above would say nothing of it."""
    whole = _after("elide-zeroing", swing, ARGS, (0, 1, 2), Settings())
    for p in (*REVERSE, *LOOPS):
        if p.optional and p.name != "skip-restoring":  # that is for calls that write, see below
            assert _after("elide-zeroing", swing, ARGS, (0, 1, 2), settings([p.name])) != whole, p.name


def _after(name, f, args, argnums, asked):
    """The program after a pass."""
    found = []
    manager = PassManager(
        LISTS, asked, lambda p, unit: found.append(unit) if p.name in (name, "make-reverse-sweep") else 0
    )
    Module(f, manager).root("value_and_grad", argnums, tuple(map(numba.typeof, args)))
    return "\n".join(unit.shown() for unit in found)


@njit
def scaled(v, a):
    for i in range(v.size):
        v[i] = np.exp(v[i] * a)


@njit
def twice_scaled(v, a):
    scaled(v, a)
    scaled(v, 0.5 * a)
    return v[0] * v[1]


def test_calls_restore_arrays_unless_nobody_reads_them():
    args = (np.array([0.2, 0.3]), 0.7)
    expected = dr.value_and_grad(twice_scaled.py_func, argnums=(0, 1))(args[0].copy(), 0.7)
    for left_out in ([], ["skip-restoring"]):
        found = gradient(twice_scaled, (args[0].copy(), 0.7), (0, 1), PassManager(LISTS, settings(left_out)))[1]
        assert_same([float(y) for x in found for y in np.ravel(x)], flat(expected[1]), rtol=1e-12, types=False)


def test_text_is_compiled_to_the_same_derivative_without_its_optional_passes(monkeypatch):
    expected = dr.value_and_grad(swing, argnums=(0, 1, 2))(0.7, X.copy(), 0.25)
    monkeypatch.setenv("DUALREV_PASSES", ",".join(f"-{name}" for name in [*OPTIONAL, *OF_TEXT]))
    again = njit(swing.py_func)
    plain = dr.derivative_source(again, *ARGS, argnums=(0, 1, 2))
    assert len(plain) > 1.1 * len(dr.derivative_source(swing, *ARGS, argnums=(0, 1, 2), stage="merge-functions"))
    assert_same(dr.value_and_grad(again, argnums=(0, 1, 2))(0.7, X.copy(), 0.25), expected, rtol=1e-12)


def test_jacobians_and_hessians_are_the_same_for_one_direction_at_a_time(monkeypatch):
    x = np.array([0.4, 0.9, 1.3])
    expected = dr.jacfwd(curve)(x), dr.hessian(curved)(x)
    monkeypatch.setenv("DUALREV_PASSES", "-vectorise-directions,-replace-short-arrays")
    found = dr.jacfwd(njit(curve.py_func))(x), dr.hessian(njit(curved.py_func))(x)
    assert_same(found, expected, rtol=1e-13)
    assert "t_x_2" not in dr.derivative_source(njit(curve.py_func), x, transform="jacfwd")


@njit
def curve(x):
    return np.array([x[0] * np.sin(x[1]), x[1] * x[2], x[0] / x[2]])


@njit
def curved(x):
    return x[0] * x[0] * np.sin(x[1]) * x[2]


# What the environment asks for


def test_a_program_is_printed_after_a_pass(monkeypatch, capsys):
    monkeypatch.setenv("DUALREV_PRINT_AFTER", "split-loop,make-adjoint")
    dr.derivative_source(swing, *ARGS, argnums=(0, 1, 2))
    printed = capsys.readouterr().err
    assert printed.count("# after make-adjoint") >= 2  # of swing, and of loops that are fused
    assert "# after split-loop\ndef swing_loop():\n    for i: int64 in range(" in printed


def test_what_a_pass_breaks_is_found_after_it(monkeypatch):
    """A pass that loses what it should pop, one that reads what nobody has assigned, and one that comes too early."""

    def without_pops(s):
        s.reverse_body = tuple(_without(s.reverse_body, Pop))

    def broken(name, run, requires=()):
        passes = [p if p.name != name else dataclasses.replace(p, run=run, requires=requires) for p in REVERSE]
        return PassManager({**LISTS, "reverse": passes}, Settings(verify=True))

    kinds = (numba.float64, numba.float64[::1], numba.float64)
    lost = broken("elide-zeroing", lambda s: setattr(s, "forward_body", ()))
    early = broken("eliminate-common-subexpressions", lambda s: None, ("adjoint",))
    with pytest.raises(AssertionError, match="after elide-zeroing: the tape is not empty after both sweeps: push"):
        Module(recording, broken("elide-zeroing", without_pops)).root("grad", 1, kinds)
    with pytest.raises(AssertionError, match=r"after elide-zeroing: .* is read before it is assigned"):
        Module(recording, lost).root("grad", 1, kinds)
    with pytest.raises(AssertionError, match="eliminate-common-subexpressions requires adjoint"):
        Module(recording, early).root("grad", 1, kinds)
    Module(recording, PassManager(LISTS, Settings(verify=True))).root("grad", 1, kinds)


@njit
def recording(x, v, dt):
    y = x * dt
    for i in range(v.size):
        if y > 3.0:
            break
        y = np.sin(y) * v[i]
    return y


def _without(body, kind):
    for s in body:
        if not isinstance(s, kind):
            blocks = {
                f.name: tuple(_without(getattr(s, f.name), kind)) for f in dataclasses.fields(s) if f.name == "body"
            }
            yield dataclasses.replace(s, **blocks) if blocks else s


def test_seconds_are_told_by_pass_and_for_numba(tmp_path):
    file = tmp_path / "square.py"
    file.write_text("import numba, dualrev as dr\nprint(dr.grad(numba.njit(lambda x: x * x))(3.0))\n")
    environment = {**os.environ, "DUALREV_TIMES": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "6.0\n"
    rows = dict(line.split(maxsplit=1)[::-1] for line in done.stderr.splitlines()[1:])
    assert {"scalarize", "make-adjoint", "emit", "numba: type inference", "numba: lowering", "LLVM", "in all"} <= set(
        rows
    )
    parts = sum(float(v) for k, v in rows.items() if k not in ("in all", "all passes of dualrev"))
    assert parts == pytest.approx(float(rows["in all"]), abs=0.05)


def test_such_a_derivative_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("DUALREV_PASSES", "-split-loop")
    assert dr.grad(njit(cubed.py_func))(2.0) == 12.0
    assert not list(tmp_path.iterdir())
    monkeypatch.delenv("DUALREV_PASSES")
    assert dr.grad(njit(cubed.py_func))(2.0) == 12.0
    assert list(tmp_path.iterdir())


# What people look at


def test_each_pass_is_a_stage():
    for p in PASSES:
        transform = "jvp" if p in LISTS["forward"] else "jacfwd" if p in LISTS["directions"] else "value_and_grad"
        text = dr.derivative_source(recording, *ARGS, argnums=(0, 1, 2), transform=transform, stage=p.name)
        assert "def recording" in text, p.name
    emitted = dr.derivative_source(recording, *ARGS, argnums=(0, 1, 2))
    last = dr.derivative_source(recording, *ARGS, argnums=(0, 1, 2), stage=PASSES[-1].name)
    assert last.partition("\n")[2] == emitted.partition("\n")[2]  # but for the docstring
    assert set(STAGES.values()) <= {p.name for p in PASSES}


def test_the_list_is_printed():
    done = subprocess.run(
        [sys.executable, "-m", "dualrev.compiler.driver"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert all(p.name in done.stdout and p.title in done.stdout for p in PASSES)
    assert done.stdout.index("prune-branches") < done.stdout.index("make-adjoint") < done.stdout.index("emit")


def test_bisection_names_the_pass_that_is_wrong():
    """A pass over core that turns sums into differences, one over loops that drops stores, and none."""

    def no_loops(at, s):
        return (dataclasses.replace(s, body=s.body[:-1]),)

    wrong = {**LISTS, "loops": [dataclasses.replace(p, run=no_loops) if p.name == "sink-stores" else p for p in LOOPS]}
    assert culprit(swing, ARGS, (0, 1, 2), wrong) == "sink-stores"

    def halved(r):
        if r.f is swing:
            r.core = dataclasses.replace(r.core, result=r.core.parameters[0])

    wrong = {
        **LISTS,
        "optimise": [
            dataclasses.replace(p, run=halved) if p.name == "inline-small-functions" else p for p in LISTS["optimise"]
        ],
    }
    assert culprit(swing, ARGS, (0, 1, 2), wrong) == "inline-small-functions"
    assert culprit(recording, (0.7, X, 0.25), (0, 1)) == ""


def test_what_passes_gain_is_told(capsys):
    """bench.passes prints a row for one program with the gain of one pass."""
    passes.main(["--small", "--programs", "dot", "--only", "fuse-sweeps"])
    head, _, row = capsys.readouterr().out.splitlines()
    assert head == "| program | us | fuse-sweeps |"
    assert re.fullmatch(r"\| dot \| [\d,.]+ \| [\d.]+ \|", row)
