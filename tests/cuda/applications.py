"""The example and the benchmark that launch kernels, at small sizes; test_cuda.py runs this in the simulator."""

import math

import numpy as np

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


def test_the_wave_keeps_no_state_and_lbfgs_finds_its_sources(capsys):
    def launch(record, source):
        return cuda_wave.waves(record, source, 4)

    _, pullback = cuda_wave.dr.cuda.vjp(launch, np.ones((5, 5)))
    assert all(v is None or v.kept is None for one in pullback.launches for v in one.versions)
    truth, estimate, _ = cuda_wave.found(6, 14, 6)
    assert np.linalg.norm(estimate - truth) < 0.5 * np.linalg.norm(truth)
    assert cuda_wave.main(["--size", "4", "--steps", "2", "--iterations", "1"]) == 0
    assert "16 unknowns, 2 steps\n1 iterations" in capsys.readouterr().out
