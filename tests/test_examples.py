"""examples/: each program runs at a small size, and what it computes is held against closed forms and differences."""

import importlib.util
import math

import numpy as np
import pytest

import dualrev as dr

pytest.importorskip("scipy", reason="the examples use it")

from examples import bundle, garch, greeks, heat, kalman


def test_garch_has_the_slopes_of_its_likelihood_and_finds_the_model(capsys):
    returns = garch.simulated(3000)
    data = returns, garch.earlier_variance(returns)
    p, classic, robust = garch.fit(returns)
    free = np.abs(p - garch.LOW) > 1e-6
    assert np.max(np.abs(dr.grad(garch.loss)(p, *data)[free])) < 1e-6
    assert np.all(robust[free] > 0.0)
    assert np.all(np.abs(p - [0.05, 0.02, 0.03, 0.12, 0.88])[free] < 5.0 * classic[free])
    assert garch.main(["--simulated", "3000"]) == 0
    assert "| beta | dualrev |" in capsys.readouterr().out


@pytest.mark.skipif(importlib.util.find_spec("arch") is None, reason="arch is not installed")
def test_garch_is_that_of_arch():
    returns = garch.sp500()
    for ours, theirs in zip(garch.fit(returns), garch.by_arch(returns)(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-6)


def test_kalmans_likelihood_is_that_of_one_normal_distribution(capsys):
    y, logs = kalman.simulated(30), np.log([15000.0, 1500.0])
    times = np.arange(30)
    covariance = 15000.0 * np.eye(30) + 1500.0 * np.minimum.outer(times, times) + kalman.VAGUE
    _, log_det = np.linalg.slogdet(2.0 * math.pi * covariance)
    pulled = np.linalg.solve(covariance, y)
    assert math.isclose(kalman.log_likelihood(logs, y, 0), -0.5 * (log_det + y @ pulled), rel_tol=1e-10)
    np.testing.assert_allclose(dr.grad(kalman.log_likelihood, 1)(logs, y, 0), -pulled, rtol=1e-7)  # the smoother
    assert kalman.main(["--simulated", "60"]) == 0
    assert "| dualrev |" in capsys.readouterr().out


@pytest.mark.skipif(importlib.util.find_spec("statsmodels") is None, reason="statsmodels is not installed")
def test_kalman_is_that_of_statsmodels():
    for ours, theirs in zip(kalman.fit(kalman.nile()), kalman.by_statsmodels(kalman.nile()), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_the_greeks_are_those_of_differences():
    draws = np.random.default_rng(1).normal(size=(50, 12, 2))
    p, args = np.array(list(greeks.HESTON.values())), (greeks.STRIKE, greeks.BARRIER, greeks.YEARS, draws)
    differences = greeks.differences(greeks.barrier_call, p, args, 1e-6)
    np.testing.assert_allclose(dr.grad(greeks.barrier_call)(p, *args), differences, rtol=1e-5, atol=1e-6)
    q, args = np.array(list(greeks.ASIAN.values())), (greeks.STRIKE, greeks.YEARS, draws[:, :, 0].copy())
    np.testing.assert_allclose(dr.grad(greeks.asian)(q, *args), greeks.differences(greeks.asian, q, args), rtol=1e-6)
    assert math.isclose(greeks.gamma(q, *args), greeks.second_difference(greeks.asian, q, args, 1e-4), rel_tol=1e-4)


def test_bundle_adjustment_finds_the_least_squares_both_ways(tmp_path):
    bundle.made(5, 60, tmp_path / "problem.txt")
    problem = bundle.read(tmp_path / "problem.txt")
    found = {way: bundle.solved(problem, way)[0] for way in ("dualrev", "differences")}
    assert all(result.success for result in found.values())
    assert math.isclose(found["dualrev"].cost, found["differences"].cost, rel_tol=1e-3)
    exact = dr.sparse_jacobian(bundle.residuals)(*problem)
    assert not set(zip(*exact.nonzero(), strict=True)) - set(zip(*bundle.pattern(*problem[:4]).nonzero(), strict=True))
    (tmp_path / "short.txt").write_text((tmp_path / "problem.txt").read_text().rsplit("\n", 2)[0])
    with pytest.raises(ValueError, match="has 224 parameters"):
        bundle.read(tmp_path / "short.txt")


@pytest.mark.slow
def test_the_plates_gradient_is_that_of_differences():
    truth, start, measured = heat.problem(6, 9)
    logs, args = np.full_like(truth, -1.0), (start, measured, 9)
    value, gradient = dr.value_and_grad(heat.with_checkpoints)(logs, *args)
    assert math.isclose(value, heat.without(logs, *args), rel_tol=1e-12)
    direction = np.sin(np.arange(36.0)).reshape(6, 6)
    up, down = (heat.without(logs + h * direction, *args) for h in (1e-5, -1e-5))
    assert math.isclose(np.sum(gradient * direction), (up - down) / 2e-5, rel_tol=1e-7)
    truth, estimate, result = heat.found(6, 9, 200)
    assert np.std(estimate - truth) < 0.3 * np.std(truth)
    assert np.max(np.abs(result.jac)) < 1e-3
