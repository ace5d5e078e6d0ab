"""The example and the benchmark that launch kernels, at small sizes; test_cuda.py runs this in the simulator."""

import dataclasses
import math
import types

import numba
import numpy as np
import pytest
from numba import cuda

from bench import kernels
from bench.programs.kernel_programs import PROGRAMS
from examples import cuda_wave


def waves_on_a_processor(source, steps):
    """Return the traces by NumPy."""
    n = source.shape[0]
    u, before, traces = np.zeros((n, n)), np.zeros((n, n)), np.zeros((steps, 2, n))
    for k in range(steps):
        inner = u[1:-1, 1:-1]
        curvature = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner
        before[1:-1, 1:-1] = (
            2.0 * inner - before[1:-1, 1:-1] + 0.4 * curvature + cuda_wave.pulse(k) * source[1:-1, 1:-1]
        )
        u, before = before, u
        traces[k] = u[1], u[:, 1]
    return traces


def test_the_objective_of_the_wave_and_its_gradient():
    n, steps = 6, 7
    truth, measured = cuda_wave.problem(n, steps, noise=0.0)
    np.testing.assert_allclose(measured, waves_on_a_processor(truth, steps), rtol=1e-12, atol=1e-14)
    rng = np.random.default_rng(3)
    source, along = rng.standard_normal((2, n, n))

    def expected(s):
        return np.sum((waves_on_a_processor(s, steps) - measured) ** 2) + cuda_wave.PENALTY * np.sum(s**2)

    value, gradient = cuda_wave.objective(steps, measured)(source.ravel())
    assert math.isclose(value, expected(source), rel_tol=1e-12)
    slope = (expected(source + 1e-4 * along) - expected(source - 1e-4 * along)) / 2e-4  # the objective is quadratic
    assert math.isclose(gradient @ along.ravel(), slope, rel_tol=1e-8)


INSTALLED = ["dualrev", *(name for name in kernels.PEERS if not kernels.absent(name, is_check=True))]


@pytest.mark.parametrize("dtype", kernels.TOLERANCES)
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_timed_adjoints_agree_with_differences_and_have_a_row(program, dtype):
    """Those of Warp and of JAX, too, where they are installed (make peers)."""
    found = kernels.check(program, dtype, INSTALLED)
    assert [*found] == INSTALLED
    for name, difference in found.items():
        assert not isinstance(difference, str), (name, difference)
        assert difference < kernels.TOLERANCES[dtype], name
    made = kernels.row(program, dtype, program.tiny, seconds=0.0, names=INSTALLED, threads=kernels.FEW)
    assert [*made.seconds] == INSTALLED
    assert (made.notes, made.wrong) == ([], False)
    cells = made.line.strip("| ").split(" | ")
    assert cells[:2] == [program.name, dtype]
    assert len(cells) == len(kernels.TITLES)
    assert cells.count("-") == 3 * ("Warp" not in INSTALLED) + 2 * ("JAX" not in INSTALLED)


def test_the_tape_of_the_largest_n_body_is_long_enough():
    """As many tiles, but smaller ones, and one block only."""
    (program,) = (x for x in PROGRAMS if x.tape != 64)
    size = program.sizes["large"] * kernels.FEW // kernels.THREADS
    problem = kernels.Problem.of(program, size, np.float64, kernels.FEW)
    problem = dataclasses.replace(problem, grid=(1, kernels.FEW))
    assert isinstance(kernels.prepare("dualrev", problem), kernels.Prepared)
    short = dataclasses.replace(problem, program=dataclasses.replace(program, tape=program.tape - 1))
    assert f"needs {program.tape} words of tape" in kernels.prepare("dualrev", short)


def test_cotangents_are_set_again_before_an_adjoint_is_timed(monkeypatch):
    arrays, to_device = [], cuda.to_device
    monkeypatch.setattr(kernels.cuda, "to_device", lambda x: arrays.append(to_device(x)) or arrays[-1])
    problem = kernels.Problem.of(PROGRAMS[-1], 2, np.float64, 2)
    prepared = kernels.by_dualrev(problem)
    shadow = arrays[2 + problem.program.result]
    np.testing.assert_array_equal(shadow.copy_to_host(), np.zeros((2, 4, 4)))
    prepared.renew()
    np.testing.assert_array_equal(shadow.copy_to_host(), problem.ct)
    calls = []
    kernels._median(lambda: calls.append("launch"), 0.0, lambda: calls.append("renew"))
    assert calls == ["renew", "launch"] * (len(calls) // 2)


def answer(**changed):
    """Return an answer of a library that does nothing."""
    return kernels.Prepared(**{"result": np.ones(2), "gradients": [np.ones(3)], **changed}, primal=int, adjoint=int)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (answer(gradients=[np.array([1.0, 1.0, 1.1])]), "its answer differs from that of dualrev by 1e-01"),
        (answer(result=np.array([1.0, np.nan])), "its answer differs from that of dualrev by nan"),
        (answer(gradients=[np.ones(4)]), "its answer differs from that of dualrev by inf"),
        ("MemoryError: too large", "MemoryError: too large"),
    ],
)
def test_a_library_whose_answer_is_wrong_has_no_times(wrong, why, monkeypatch):
    monkeypatch.setattr(kernels, "prepare", lambda name, problem: wrong if name == "JAX" else answer())
    made = kernels.row(PROGRAMS[0], "float64", 2, seconds=0.0, names=["dualrev", "Warp", "JAX"], threads=2)
    assert [*made.seconds] == ["dualrev", "Warp"]
    assert made.notes == [f"saxpy, float64, JAX: {why}"]
    assert made.wrong
    assert made.line.endswith(" | - | - |")


def test_the_ratios_of_a_row():
    made = kernels.Row(PROGRAMS[0], "float32", 1234.5, {"dualrev": (1e-3, 3e-3), "Warp": (1e-3, 2e-3)})
    cells = ["1,234.5", "1,000.0", "3,000.0", "3.00", "1,000.0", "2,000.0", "1.50", "-", "-"]
    assert made.line.strip("| ").split(" | ")[2:] == cells


def test_an_adjoint_that_is_wrong_is_not_timed(monkeypatch, capsys):
    right = kernels.by_dualrev

    def wrong(problem):
        """Return gradients that are all zero, in single precision."""
        made = right(problem)
        zeros = [np.zeros_like(x) for x in made.gradients]
        return made if problem.dtype is np.float64 else dataclasses.replace(made, gradients=zeros)

    monkeypatch.setattr(kernels, "by_dualrev", wrong)
    monkeypatch.setattr(kernels, "PROGRAMS", [dataclasses.replace(PROGRAMS[0], sizes={"one": 2, "other": 3})])
    monkeypatch.setattr(kernels, "reason", lambda is_check: "")
    assert kernels.main(["--no-peers", "--seconds", "0"]) == 1
    printed = capsys.readouterr().out
    assert "saxpy, float64: dualrev agrees with differences" in printed
    assert "saxpy, float32: dualrev DISAGREES with differences" in printed
    for size in ("one", "other"):
        table = printed.partition(f"Size: {size}\n")[2].split("Size:")[0]
        (line,) = (line for line in table.split("\n") if line.startswith("| saxpy | float64"))
        assert line.split(" | ")[3] != "-"
        (line,) = (line for line in table.split("\n") if line.startswith("| saxpy | float32"))
        assert line.split(" | ")[3] == "-"
    assert kernels.main(["--no-peers", "--minutes", "0"]) == 1
    assert "saxpy, float64: left out, as the time is over (--minutes)" in capsys.readouterr().out


@pytest.mark.parametrize(("device", "why"), [("cpu", "it finds no GPU (pip install 'jax[cuda12]')"), ("gpu", "")])
def test_a_peer_is_timed_on_a_gpu_only(device, why, monkeypatch):
    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(kernels.Peer, "load", lambda peer: types.SimpleNamespace(device=lambda: device))
    assert kernels.absent("JAX", is_check=False) == why
    assert kernels.absent("JAX", is_check=True) == ""


def test_times_need_a_gpu(capsys, monkeypatch):
    monkeypatch.setattr(numba.config, "ENABLE_CUDASIM", True)
    assert kernels.main([]) == 2
    assert "numba's simulator, whose times say nothing" in capsys.readouterr().err
    monkeypatch.setattr(kernels, "PROGRAMS", PROGRAMS[:1])
    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: None)
    assert kernels.main(["--check"]) == 0
    printed = capsys.readouterr().out
    assert "saxpy, float32: dualrev agrees with differences" in printed
    assert "Warp is left out: it is not installed (pip install warp-lang)" in printed
    assert "JAX is left out: it is not installed" in printed
    monkeypatch.setattr(kernels, "check", lambda program, dtype, names: {"dualrev": math.nan})
    assert kernels.main([]) == 2
    assert kernels.main(["--check"]) == 1
    assert "saxpy, float64: dualrev DISAGREES" in capsys.readouterr().out
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    assert kernels.main(["--check"]) == 2
    assert "there is no GPU that numba finds" in capsys.readouterr().err


def test_the_wave_keeps_no_state_and_lbfgs_finds_its_sources(capsys):
    def launch(record, source):
        return cuda_wave.waves(record, source, 4)

    _, pullback = cuda_wave.dr.cuda.vjp(launch, np.ones((5, 5)))
    assert all(v is None or v.kept is None for one in pullback.launches for v in one.versions)
    truth, estimate, _ = cuda_wave.found(6, 14, 6)
    assert np.linalg.norm(estimate - truth) < 0.5 * np.linalg.norm(truth)
    assert cuda_wave.main(["--size", "4", "--steps", "2", "--iterations", "1"]) == 0
    assert "16 unknowns, 2 steps\n1 iterations" in capsys.readouterr().out
