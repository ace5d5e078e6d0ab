"""examples/: each program runs at a small size, and what it computes is held against closed forms and differences."""

import importlib.util
import math

import numpy as np
import pytest

import dualrev as dr

pytest.importorskip("scipy", reason="the examples use it")

from examples import (
    bundle,
    digits,
    garch,
    greeks,
    hares,
    heat,
    hmc,
    investment,
    kalman,
    local_volatility,
    sentiment,
    transfer,
)
from examples.adam import Adam


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


def test_the_local_volatility_is_that_of_the_quotes_both_ways(capsys):
    flat = local_volatility.market_of(np.full((3, 6), 0.15))
    shape = 3, len(local_volatility.LEVELS)
    found = local_volatility.implied(local_volatility.calls(np.full(shape, math.log(0.15)), flat))
    np.testing.assert_allclose(found[1:], 0.15, atol=1e-4)  # Black's formula, but for the grid
    np.testing.assert_allclose(found[0], 0.15, atol=2e-3)  # the first strike is far out for two months
    market = local_volatility.market_of(local_volatility.QUOTES[:3], points=81, steps=4)
    jacobian = dr.jacfwd(local_volatility.residuals)
    at = np.log(0.15) + 0.1 * np.sin(np.arange(float(np.prod(shape))))
    expected = local_volatility.differences(local_volatility.residuals, "3-point")(at, market)
    np.testing.assert_allclose(jacobian(at, market), expected, atol=1e-6 * np.max(np.abs(expected)))
    one, two = (local_volatility.calibrated(market, local_volatility.residuals, way) for way in (jacobian, "2-point"))
    assert math.isclose(one.cost, two.cost, rel_tol=1e-6)
    assert one.calls < two.calls
    np.testing.assert_allclose(one.errors, two.errors, rtol=1e-2)
    misfit = local_volatility.implied(local_volatility.calls(one.logs, market)) - local_volatility.QUOTES[:3]
    assert np.sqrt(np.mean(misfit**2)) < local_volatility.ERROR
    assert local_volatility.main(["--expiries", "3", "--points", "81"]) == 0
    assert "| differences, 3-point |" in capsys.readouterr().out


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
def test_the_local_volatility_is_that_of_jax():
    market = local_volatility.market_of(local_volatility.QUOTES[:3], points=81, steps=4)
    at = np.log(0.15) + 0.1 * np.sin(np.arange(3.0 * len(local_volatility.LEVELS)))
    f, jacobian = local_volatility.by_jax(market)
    np.testing.assert_allclose(f(at, market), local_volatility.residuals(at, market), atol=1e-8)
    ours = dr.jacfwd(local_volatility.residuals)(at, market)
    np.testing.assert_allclose(jacobian(at, market), ours, atol=1e-9 * np.max(np.abs(ours)))


def test_hmc_draws_from_the_density_of_the_investments(capsys):
    _, panel = investment.simulated(4)
    at = investment.start_of(panel) + 0.3 * np.sin(np.arange(21.0))
    slope = dr.grad(investment.log_density)
    moves = 1e-5 * np.eye(21)
    up, down = ([investment.log_density(at + sign * m, panel) for m in moves] for sign in (1.0, -1.0))
    np.testing.assert_allclose(slope(at, panel), (np.array(up) - down) / 2e-5, rtol=1e-6, atol=1e-6)
    draws, gradients = hmc.chain(investment.log_density, at, panel, 600, 4000, 2.5, 1)
    assert gradients >= len(draws)
    # Integration by parts: E[d log p / dx_k] = 0 and E[(x_k - E x_k) d log p / dx_k] = -1. The errors are those of the
    # means of 20 batches, and the largest of 42 is hardly ever more than 5 of them.
    slopes = np.array([slope(x, panel) for x in draws])
    moments = np.concatenate([slopes, (draws - draws.mean(axis=0)) * slopes + 1.0], axis=1)
    batches = moments.reshape(20, -1, 42).mean(axis=1)
    assert np.all(np.abs(batches.mean(axis=0)) < 5.0 * batches.std(axis=0, ddof=1) / math.sqrt(20.0))
    assert abs(np.mean(draws[:, 8]) - math.log(0.2)) < 5.0 * np.std(draws[:, 8])  # the noise, as it was simulated
    assert investment.main(["--simulated", "4", "--ways", "hmc", "--draws", "50", "--warmup", "100"]) == 0
    assert "| dualrev, HMC in njit |" in capsys.readouterr().out


@pytest.mark.skipif(importlib.util.find_spec("pymc") is None, reason="pymc is not installed")
@pytest.mark.filterwarnings("ignore")
def test_the_density_of_the_investments_is_that_of_pymc():
    _, panel = investment.simulated(4)
    at = investment.start_of(panel) + 0.3 * np.sin(np.arange(21.0))
    from pytensor.compile.mode import Mode

    uncompiled = Mode(linker="py", optimizer="fast_compile")  # C++ takes minutes
    theirs = investment.pymc_model(panel).logp_dlogp_function(ravel_inputs=True, mode=uncompiled)
    theirs.set_extra_values({})
    np.testing.assert_allclose(theirs(at)[1], dr.grad(investment.log_density)(at, panel), rtol=1e-9, atol=1e-9)


@pytest.mark.slow  # PyTensor compiles for minutes
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("pymc", "nutpie")), reason="pymc or nutpie is not installed"
)
@pytest.mark.filterwarnings("ignore")
def test_all_ways_to_sample_the_investments_agree():
    _, panel = investment.simulated(4)
    size = investment.Size(2, 500, 1000)
    runs = {
        name: way(panel, size)
        for name, (_, libraries, way) in investment.WAYS.items()
        if all(importlib.util.find_spec(library) for library in libraries)
    }
    means = {name: run.draws.mean(axis=(0, 1)) for name, run in runs.items()}
    errors = {name: investment.quality(run.draws)[1] for name, run in runs.items()}
    for name in runs:
        assert np.max(np.abs(means[name] - means["hmc"]) / np.hypot(errors[name], errors["hmc"])) < 5.0


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


def test_the_flight_is_symplectic_and_its_jacobian_is_that_of_differences():
    places, speeds, masses = transfer.departure()
    push = 1e-5 * np.sin(np.arange(36.0)).reshape(12, 3)
    data = places, speeds, masses, 4.0
    there = transfer.flown(push, *data)
    back = transfer.flown(push[::-1].copy(), there[0], -there[1], masses, 4.0)  # the method is its own inverse
    np.testing.assert_allclose(back[0], places, rtol=1e-10, atol=1e-10)
    slope, direction = dr.jacobian(transfer.miss)(push, *data), np.cos(np.arange(36.0)).reshape(12, 3)
    up, down = (transfer.miss(push + h * direction, *data) for h in (1e-8, -1e-8))
    np.testing.assert_allclose(np.sum(slope * direction, axis=(1, 2)), (up - down) / 2e-8, rtol=1e-5)


def test_the_craft_reaches_mars_with_the_least_energy(capsys):
    data, jacobian = (*transfer.departure(), 1.0), dr.jacobian(transfer.miss)
    push, _ = transfer.least_energy(jacobian, 300, data)
    places, speeds = transfer.flown(push, *data)
    assert math.isclose(np.linalg.norm(places[-1] - places[transfer.MARS]), transfer.CLEAR, rel_tol=1e-6)
    np.testing.assert_allclose(speeds[-1], speeds[transfer.MARS], atol=1e-11)
    rows = jacobian(push, *data).reshape(6, -1)  # at the least, the energy's gradient is a sum of these
    multipliers = np.linalg.lstsq(rows.T, push.ravel(), rcond=None)[0]
    np.testing.assert_allclose(rows.T @ multipliers, push.ravel(), atol=1e-6 * np.max(np.abs(push)))
    with pytest.raises(SystemExit):
        transfer.main(["--days", "1"])
    assert "no flight of 1 days" in capsys.readouterr().err


def test_hares_and_lynxes_are_fitted_by_a_loop():
    logs = np.log(hares.pelts())
    found = {name: hares.fit(*way, logs) for name, way in hares.ways().items() if "loop" in name}
    ours, theirs = found["dualrev, a compiled loop"], found["differences, a compiled loop"]
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-6)
    np.testing.assert_allclose(ours.errors, theirs.errors, rtol=1e-5)
    assert np.all(ours.values > 5.0 * ours.errors)
    x, y = hares.by_loop(hares.START, np.zeros((2, 9)), 200).reshape(2, -1)
    a, b, c, d = np.exp(hares.START[:4])
    kept = a * y - b * np.exp(y) + c * x - d * np.exp(x)  # what Lotka's and Volterra's equations keep
    np.testing.assert_allclose(kept, kept[0], rtol=1e-8)


@pytest.mark.slow  # docs/ode.md has the gradient of the same equations, and test_ode.py that of the same method
def test_adaptive_steps_have_the_slopes_of_the_loop():
    few = np.log(hares.pelts())[:, :5]
    np.testing.assert_allclose(hares.by_rk45(hares.START, few), hares.by_loop(hares.START, few, hares.STEPS), rtol=1e-5)
    slope = dr.jacobian(hares.by_rk45)(hares.START, few)
    expected = dr.jacobian(hares.by_loop)(hares.START, few, hares.STEPS)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-5)


def test_the_network_reads_digits(capsys):
    assert digits.main(["--generated", "400", "--hidden", "12", "--epochs", "2"]) == 0
    assert "dualrev, tape" in capsys.readouterr().out
    data, unseen = digits.split(digits.generated(400))
    params = digits.initial(12)
    vector, unravel = dr.tree.ravel(params)
    direction = np.sin(np.arange(vector.size))
    up, down = (digits.loss(unravel(vector + h * direction), *data) for h in (1e-5, -1e-5))
    gradient = dr.tree.ravel(dr.grad(digits.loss)(params, *data))[0]
    assert math.isclose(gradient @ direction, (up - down) / 2e-5, rel_tol=1e-8)
    learned, losses = digits.trained(params, data, 40)
    assert losses[-1] < 0.2 * losses[0]
    assert digits.right(learned, unseen) > 0.9


@pytest.mark.parametrize(("library", "way"), [("torch", digits.by_torch), ("jax", digits.by_jax)])
def test_the_network_has_the_gradient_of_other_libraries(library, way):
    pytest.importorskip(library)
    data, params = digits.generated(100), digits.initial(7)
    theirs, _ = dr.tree.ravel(way(params, *data)())
    np.testing.assert_allclose(dr.tree.ravel(dr.grad(digits.loss)(params, *data))[0], theirs, atol=1e-13)


def test_the_network_over_trees_learns_with_its_parameters_in_dicts():
    data, params = sentiment.Data(12, 6), sentiment.initial(5, 6)
    slope = sentiment.on_tape(data)
    _, gradient = slope(params, data.trees[0])
    assert list(gradient) == list(params)
    vector, unravel = dr.tree.ravel(params)
    direction = np.sin(np.arange(vector.size))
    up, down = (slope(unravel(vector + h * direction), data.trees[0])[0] for h in (1e-6, -1e-6))
    assert math.isclose(dr.tree.ravel(gradient)[0] @ direction, (up - down) / 2e-6, rel_tol=1e-6)
    _, losses, shares = sentiment.trained(slope, params, data, 3)
    assert losses[2] < losses[0]
    assert 0.0 < shares[-1] <= 1.0


@pytest.mark.slow
def test_the_trees_are_compiled_and_have_the_gradient_of_other_libraries():
    data, params = sentiment.Data(3, 6), sentiment.initial(5, 6)
    tape = sentiment.on_tape(data)
    exact = [dr.tree.ravel(tape(params, tree))[0] for tree in data.trees]
    ways = {"numba": sentiment.compiled, "torch": sentiment.by_torch, "jax": sentiment.by_jax}
    for way in (way for library, way in ways.items() if importlib.util.find_spec(library)):
        slope = way(data)
        found = [dr.tree.ravel(slope(params, tree))[0] for tree in data.trees]
        np.testing.assert_allclose(np.array(found), np.array(exact), atol=1e-12)


def test_adam_is_that_of_its_paper():
    """The first step is by the rate, against the sign of the gradient; the second by the averages."""
    adam, p = Adam(0.1), {"x": np.array([1.0, -2.0]), "n": 3}
    p = adam.step(p, {"x": np.array([5.0, -0.01]), "n": None})
    np.testing.assert_allclose(p["x"], [0.9, -1.9], rtol=1e-5)
    p = adam.step(p, {"x": np.array([0.0, 0.0]), "n": None})
    mean, square = 0.9 * 0.1 / 0.19, 0.999 * 0.001 / (1.0 - 0.999**2)
    np.testing.assert_allclose(
        p["x"], np.array([0.9, -1.9]) + 0.1 * mean / math.sqrt(square) * np.array([-1, 1]), rtol=1e-5
    )


@pytest.mark.parametrize(
    ("main", "given", "said"),
    [
        (bundle.main, ["--file", "/nowhere/problem.txt"], "No such file"),
        (bundle.main, ["--file", __file__], "not an uncompressed problem in BAL's format"),
        (bundle.main, ["--points", "-5"], "-5 is too small"),
        (greeks.main, ["--paths", "many"], "not an integer"),
        (kalman.main, ["--simulated", "20", "--picture", "/nowhere/at/all.png"], "does not exist"),
        (hares.main, ["--years", "22"], "invalid choice"),
    ],
)
def test_what_a_program_cannot_do_is_an_error_that_says_so(main, given, said, capsys):
    with pytest.raises(SystemExit):
        main(given)
    assert said in capsys.readouterr().err


def test_a_problem_with_observations_of_what_is_not_there_is_refused(tmp_path):
    bundle.made(2, 10, tmp_path / "problem.txt")
    lines = (tmp_path / "problem.txt").read_text().splitlines()
    (tmp_path / "wrong.txt").write_text("\n".join([lines[0], "2" + lines[1][1:], *lines[2:]]))
    with pytest.raises(ValueError, match="cameras or points that do not exist"):
        bundle.read(tmp_path / "wrong.txt")
