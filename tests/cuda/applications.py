"""The example and the benchmark that launch kernels, at small sizes; test_cuda.py runs this in the simulator."""

import math

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


@pytest.mark.parametrize("dtype", kernels.TOLERANCES)
def test_timed_adjoints_agree_with_differences_and_have_a_row(dtype):
    for program in PROGRAMS:
        assert kernels.check(program, dtype) < kernels.TOLERANCES[dtype]
        line = kernels.row(program, dtype, program.tiny, seconds=0.0, threads=4)
        assert line.startswith(f"| {program.name} | {dtype} | ")
        assert len(line.split("|")) == 8


def test_times_need_a_gpu(capsys, monkeypatch):
    monkeypatch.setattr(numba.config, "ENABLE_CUDASIM", True)
    assert kernels.main([]) == 2
    assert "numba's simulator, whose times say nothing" in capsys.readouterr().err
    monkeypatch.setattr(kernels, "PROGRAMS", PROGRAMS[:1])
    assert kernels.main(["--check"]) == 0
    assert "saxpy, float32: agrees with differences" in capsys.readouterr().out
    monkeypatch.setattr(kernels, "check", lambda program, dtype: math.nan)
    assert kernels.main([]) == 2
    assert kernels.main(["--check"]) == 1
    assert "saxpy, float64: DISAGREES" in capsys.readouterr().out
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
