"""Initial value problems in numba code: SciPy's steps and values, and derivatives against differences."""

import math

import numpy as np
import pytest
import scipy.integrate
from numba import njit
from scipy.integrate._ivp import radau as of_scipy

import dualrev as dr
from dualrev import ode
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.ode import checkpointed
from dualrev.ode.banded import factor, solve_factored
from dualrev.ode.radau import _BASIS, _COMPLEX, _INVERSE, _REAL
from dualrev.scipy import integrate
from dualrev.scipy.compiled_ivp import is_compiled, with_time_first

SOLVERS = {"RK23": ode.rk23, "RK45": ode.rk45, "DOP853": ode.dop853, "Radau": ode.radau}


@njit
def predation(t, y, a, b, c, d):
    """Lotka and Volterra's equations."""
    return np.array([a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]])


@njit
def kinetics(t, y, a, b, c):
    """Robertson's stiff reactions."""
    return np.array([-a * y[0] + b * y[1] * y[2], a * y[0] - b * y[1] * y[2] - c * y[1] ** 2, c * y[1] ** 2])


@njit
def diffusion(t, y, a, b, alpha):
    """The Brusselator in one dimension, with u and v side by side: a Jacobian with two diagonals on each side."""
    n = len(y) // 2
    made = np.empty(2 * n)
    for i in range(n):
        u, v = y[2 * i], y[2 * i + 1]
        left_u, left_v = (y[2 * i - 2], y[2 * i - 1]) if i > 0 else (a, b / a)
        right_u, right_v = (y[2 * i + 2], y[2 * i + 3]) if i < n - 1 else (a, b / a)
        rate = alpha * (n + 1) ** 2
        made[2 * i] = a + u * u * v - (b + 1.0) * u + rate * (left_u - 2.0 * u + right_u)
        made[2 * i + 1] = b * u - u * u * v + rate * (left_v - 2.0 * v + right_v)
    return made


PREDATION, KINETICS, EXPLOSION, DECAY, COUPLED, SHORT = range(6)


@njit
def problem(t, y, kind, p):
    """Several right-hand sides in one function: numba compiles a solver for each function that it is given."""
    if kind == PREDATION:
        return predation(t, y, p[0], p[1], p[2], p[3])
    if kind == KINETICS:
        return kinetics(t, y, p[0], p[1], p[2])
    if kind == EXPLOSION:
        return p[0] * y * y
    if kind == COUPLED:
        return np.array([-p[0] * y[0] + y[2], -y[1], -y[2]])
    return -y[:1] if kind == SHORT else -p[0] * y


RATES, START = np.array([0.54, 0.027, 0.8, 0.024]), np.array([34.6, 5.84])
CELLS = np.linspace(0.5, 3.0, 16)


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize(("first", "last"), [(0.0, 6.0), (6.0, 0.0), (2.0, 2.0)])
@pytest.mark.parametrize("chosen", [False, True])
def test_steps_and_values_are_scipy_s(method, first, last, chosen):
    t_eval = np.linspace(first, last, 7 if first != last else 1) if chosen else None
    known = {"rtol": 1e-6, "atol": np.array([1e-7, 1e-8]) if chosen else 1e-7}
    args = PREDATION, RATES
    found = SOLVERS[method](problem, (first, last), START, t_eval, args, **known)
    expected = scipy.integrate.solve_ivp(problem, (first, last), START, method, t_eval, args=args, **known)
    assert found.status == expected.status == 0
    if chosen and first == last:  # SciPy's result has lists then
        np.testing.assert_array_equal(found.y, START[:, None])
        return
    assert found.y.shape == expected.y.shape
    np.testing.assert_allclose(found.t, expected.t, rtol=1e-6)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-6)
    assert found.nfev == pytest.approx(expected.nfev, rel=0.03, abs=8)


def test_options_mean_what_they_mean_to_scipy():
    defaults = {"rtol": 1e-3, "atol": 1e-6, "max_step": np.inf, "first_step": 0.0}
    args = PREDATION, RATES
    for known in ({"max_step": 0.1}, {"first_step": 1e-3}, {"rtol": 1e-10, "atol": 1e-12}):
        found = ode.rk45(problem, (0.0, 3.0), START, None, args, **(defaults | known))
        expected = scipy.integrate.solve_ivp(problem, (0.0, 3.0), START, args=args, **known)
        assert found.y.shape == expected.y.shape
        np.testing.assert_allclose(found.y, expected.y, rtol=1e-9)


def test_a_solution_that_leaves_the_floats_ends_early():
    more = {"t_eval": None, "args": (EXPLOSION, np.ones(1)), "rtol": 1e-3, "atol": 1e-6}
    for solver in (ode.rk45, ode.radau):
        found = solver(problem, (0.0, 2.0), np.ones(1), **more)
        assert found.status == -1
        assert found.t[-1] == pytest.approx(1.0, abs=1e-3)
        assert solver(problem, (0.0, 2.0), np.array([np.nan]), **more).status == -1
        with pytest.raises(ValueError, match="t_span must hold two numbers, and one of them is NaN"):
            solver(problem, (0.0, np.nan), np.ones(1), **more)


def test_a_stiff_solution_takes_scipy_s_steps():
    known = {"args": (KINETICS, np.array([0.04, 1e4, 3e7])), "rtol": 1e-6, "atol": 1e-10}
    found = ode.radau(problem, (0.0, 1e4), np.array([1.0, 0.0, 0.0]), None, **known)
    expected = scipy.integrate.solve_ivp(problem, (0.0, 1e4), np.array([1.0, 0.0, 0.0]), "Radau", **known)
    assert len(found.t) == pytest.approx(len(expected.t), rel=0.03)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-5)
    assert (found.nfev, found.njev, found.nlu) == pytest.approx((expected.nfev, expected.njev, expected.nlu), rel=0.05)


def test_the_transformation_of_radau_is_hairer_s():
    np.testing.assert_allclose([_REAL, _COMPLEX], [of_scipy.MU_REAL, of_scipy.MU_COMPLEX], rtol=1e-13)
    np.testing.assert_allclose(_BASIS, of_scipy.T, rtol=1e-13)
    np.testing.assert_allclose(_INVERSE, of_scipy.TI, rtol=1e-12)


@pytest.mark.parametrize(("below", "above"), [(0, 0), (2, 1), (0, 3), (5, 5)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_a_band_matrix_is_solved_as_a_full_one(below, above, dtype):
    n, random = 6, np.random.default_rng(below + 10 * above)
    full = random.normal(size=(n, n)).astype(dtype)
    if dtype is complex:
        full += 1j * random.normal(size=(n, n))
    full[np.subtract.outer(np.arange(n), np.arange(n)) > below] = 0.0
    full[np.subtract.outer(np.arange(n), np.arange(n)) < -above] = 0.0
    band, pivots, x = np.zeros((n, 2 * below + above + 1), dtype), np.zeros(n, np.int64), np.ones(n, dtype)
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            band[i, j - i + below] = full[i, j]
    assert factor(band, below, above, pivots)
    solve_factored(band, below, above, pivots, x)
    np.testing.assert_allclose(full @ x, np.ones(n), atol=1e-10)
    assert not factor(np.zeros_like(band), below, above, pivots)


def differences(f, p, step=1e-5):
    """Return the gradient of f by central differences, with steps relative to p."""
    return np.array(
        [(f(p * (1.0 + step * e)) - f(p * (1.0 - step * e))) / (2.0 * step * p @ e) for e in np.eye(len(p))]
    )


@njit
def hunted(p, y0, t_eval):
    s = ode.rk45(predation, (0.0, 5.0), y0, t_eval, (p[0], p[1], p[2], p[3]), 1e-9, 1e-9)
    return np.sum(s.y[0] * s.y[1])


def test_derivatives_of_an_explicit_method():
    t_eval = np.array([0.0, 1.3, 2.2, 5.0])

    def exact(p):
        options = {"rtol": 1e-12, "atol": 1e-12, "method": "DOP853", "t_eval": t_eval}
        y = scipy.integrate.solve_ivp(predation, (0.0, 5.0), START, args=tuple(p), **options).y
        return np.sum(y[0] * y[1])

    gradient = dr.grad(hunted)(RATES, START, t_eval)
    np.testing.assert_allclose(gradient, differences(exact, RATES), rtol=1e-6)
    np.testing.assert_allclose(dr.jacfwd(hunted)(RATES, START, t_eval), gradient, rtol=1e-10)
    product = dr.hvp(hunted)(RATES, RATES, START, t_eval)
    moved = [dr.grad(hunted)(RATES * (1.0 + h), START, t_eval) for h in (1e-4, -1e-4)]
    np.testing.assert_allclose(product, (moved[0] - moved[1]) / 2e-4, rtol=1e-5)


@njit
def reacted(p, y0, rtol=1e-8, atol=1e-12):
    return ode.radau(kinetics, (0.0, 100.0), y0, None, (p[0], p[1], p[2]), rtol, atol).y[1, -1] * 1e5


def test_the_gradient_of_a_stiff_solution():
    p, y0 = np.array([0.04, 1e4, 3e7]), np.array([1.0, 0.0, 0.0])

    gradient = dr.grad(reacted)(p, y0)
    exact = differences(lambda p: reacted(p, y0, 1e-12, 1e-15), p, 1e-4)
    np.testing.assert_allclose(gradient, exact, rtol=1e-6)
    assert not any(made.library.has_dynamic_globals for made in reacted.overloads.values())  # numba can cache it


@njit
def spread(y0, p):
    s = ode.radau(diffusion, (0.0, 1.0), y0, None, (p[0], p[1], p[2]), 1e-7, 1e-9, band=(2, 2))
    return np.sum(s.y[:, -1] ** 2)


@pytest.mark.slow
def test_a_band_of_the_jacobian_serves_the_gradient_too():
    p = np.array([1.0, 3.0, 0.02])
    full = ode.radau(diffusion, (0.0, 1.0), CELLS, None, tuple(p), 1e-7, 1e-9)
    band = ode.radau(diffusion, (0.0, 1.0), CELLS, None, tuple(p), 1e-7, 1e-9, band=(2, 2))
    assert len(full.t) == len(band.t)
    np.testing.assert_allclose(full.y, band.y, rtol=1e-9)
    by_start, by_p = dr.grad(spread, (0, 1))(CELLS, p)

    def exact(p, y0=CELLS):
        y = scipy.integrate.solve_ivp(diffusion, (0.0, 1.0), y0, "Radau", args=tuple(p), rtol=1e-11, atol=1e-12).y
        return np.sum(y[:, -1] ** 2)

    np.testing.assert_allclose(by_p, differences(exact, p, 1e-4), rtol=1e-5)
    np.testing.assert_allclose(by_start[3], differences(lambda y0: exact(p, y0), CELLS, 1e-4)[3], rtol=1e-5)


@pytest.mark.slow
def test_checkpoints_keep_few_states():
    @njit
    def long(p, y0, t_eval):
        return np.sum(checkpointed.rk45(predation, (0.0, t_eval[-1]), y0, t_eval, (p[0], p[1], p[2], p[3]), 1e-8, 1e-8))

    def kept(last):
        return dr.tape_info(gradient, RATES, START, np.array([0.0, last / 2, last])).bytes

    gradient = dr.grad(long)

    def exact(p):
        options = {"rtol": 1e-12, "atol": 1e-12, "method": "DOP853", "t_eval": [0.0, 10.0, 20.0]}
        return np.sum(scipy.integrate.solve_ivp(predation, (0.0, 20.0), START, args=tuple(p), **options).y)

    np.testing.assert_allclose(
        gradient(RATES, START, np.array([0.0, 10.0, 20.0])), differences(exact, RATES), rtol=1e-5
    )
    assert kept(2000.0) < 10.0 * kept(100.0)  # 20 times as many steps: the root, and 8 bytes for the time of each


# solve_ivp and odeint


@njit
def fell(t, y, g, drag):
    return y[0]


@njit
def turned(t, y, g, drag):
    return y[1]


@njit
def flight(t, y, g, drag):
    return y[1], -g - drag * abs(y[1]) * y[1]


fell.terminal, fell.direction = True, -1


@pytest.mark.parametrize("dense_output", [False, True])
@pytest.mark.parametrize("t_eval", [None, np.linspace(0.0, 3.0, 31)])
def test_events_and_interpolants_are_scipy_s(dense_output, t_eval):
    options = {"events": [turned, fell], "args": (9.81, 0.02), "t_eval": t_eval, "dense_output": dense_output}
    options |= {"rtol": 1e-8, "atol": 1e-8}
    found = integrate.solve_ivp(flight, (0.0, 3.0), np.array([0.0, 10.0]), **options)
    expected = scipy.integrate.solve_ivp(flight, (0.0, 3.0), np.array([0.0, 10.0]), **options)
    assert set(found) == set(expected)
    assert (found.status, found.message, found.success) == (expected.status, expected.message, expected.success)
    assert found.nfev == pytest.approx(expected.nfev, abs=8)
    for name in ("t", "y"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, atol=1e-8)
    for name in ("t_events", "y_events"):
        for one, other in zip(found[name], expected[name], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    if dense_output:
        times = np.linspace(-0.1, 2.1, 23)
        np.testing.assert_allclose(found.sol(times), expected.sol(times), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(found.sol(0.5), expected.sol(0.5), rtol=1e-7)
    else:
        assert found.sol is expected.sol is None


@njit
def always(t, y, g, drag):
    return 0.0 * y[0]


def test_the_derivative_of_an_event_s_time():
    """Where the event's value does not pass 0 with a slope, its time has no derivative, and not 0."""

    def thrown(p, fun=integrate.solve_ivp):
        events = [turned, fell, always]
        known = {"args": (p[0], p[1]), "events": events, "rtol": 1e-10, "atol": 1e-10}
        return fun(flight, (0.0, 5.0), np.array([0.0, 10.0]), **known)

    def landing(p, fun=integrate.solve_ivp):
        s = thrown(p, fun)
        return s.t_events[1][0] + 0.5 * s.t_events[0][0] + s.y_events[1][0][1] - s.y[1, -1] * 0.25

    p = np.array([9.81, 0.02])
    value, gradient = dr.value_and_grad(landing)(p)
    assert value == landing(p) == pytest.approx(landing(p, scipy.integrate.solve_ivp), rel=1e-9)
    np.testing.assert_allclose(gradient, differences(lambda p: landing(p, scipy.integrate.solve_ivp), p), rtol=1e-5)
    np.testing.assert_allclose(thrown(p).t_events[2], thrown(p, scipy.integrate.solve_ivp).t_events[2], rtol=1e-6)
    assert not np.any(np.isfinite(dr.grad(lambda p: thrown(p).t_events[2][1])(p)))


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
@pytest.mark.parametrize("t_eval", [None, np.linspace(0.0, 5.0, 26)])
def test_events_and_interpolants_of_a_python_function(method, t_eval):
    def flight(t, y, g, drag):
        return np.stack([y[1], -g - drag * y[1]])

    def fell(t, y, g, drag):
        return y[0]

    fell.terminal, fell.direction = True, -1
    options = {"events": [turned.py_func, fell], "rtol": 1e-10, "atol": 1e-10, "method": method, "t_eval": t_eval}

    def solved(p, fun=integrate.solve_ivp):
        s = fun(flight, (0.0, 5.0), np.array([0.0, 10.0]), args=(p[0], p[1]), dense_output=True, **options)
        assert s.status == 1
        times = s.t_events[1][0] + 0.5 * s.t_events[0][0]
        return times + s.y_events[1][0][1] - s.y[1, -1] * 0.25 + np.sum(s.sol(np.array([0.3, 0.7]))) + s.sol(1.0)[1]

    p = np.array([9.81, 0.02])
    value, gradient = dr.value_and_grad(solved)(p)
    assert value == pytest.approx(solved(p, scipy.integrate.solve_ivp), rel=1e-15)
    np.testing.assert_allclose(
        gradient, differences(lambda p: solved(p, scipy.integrate.solve_ivp), p, 1e-3), rtol=1e-5
    )
    if method == "RK45":
        curved = dr.hessian(solved)(p)
        moved = [dr.grad(solved)(p * (1.0 + h * np.array([0.0, 1.0]))) for h in (1e-3, -1e-3)]
        np.testing.assert_allclose(curved[1], (moved[0] - moved[1]) / (2e-3 * p[1]), rtol=1e-4)


def decayed(p, fun=integrate.solve_ivp, **more):
    return fun(decay, (0.0, p[1]), [2.0, 1.0], args=(p[0],), rtol=1e-9, atol=1e-9, **more).y[:, -1]


@njit
def decay(t, y, rate):
    return -rate * y[0], -2.0 * rate * y[1]


def test_a_numba_function_is_solved_by_compiled_code_on_the_tape():
    """By args, by the end of t_span, and to second order, for which the Python function is called."""
    p = np.array([0.7, 1.5])
    exact = np.array([[-3.0, -1.4], [-3.0, -1.4]]) * np.exp(-0.7 * 1.5 * np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(dr.jacobian(decayed)(p), exact, rtol=1e-6)
    np.testing.assert_allclose(dr.jacfwd(decayed)(p), exact, rtol=1e-6)
    np.testing.assert_array_equal(dr.value_and_grad(lambda p: decayed(p)[0])(p)[0], decayed(p)[0])
    curved = dr.hessian(lambda p: decayed(p)[0])(p)
    a, t = p
    expected = 2.0 * math.exp(-a * t) * np.array([[t * t, a * t - 1.0], [a * t - 1.0, a * a]])
    np.testing.assert_allclose(curved, expected, rtol=1e-6)


def test_a_function_of_odeint_takes_the_time_second():
    @njit
    def slope(y, t, rate, shift):
        return rate * y + shift * t

    assert with_time_first(slope, True) is slope
    problem = {"fun": with_time_first(slope, False), "args": (0.7, 2.0), "y0": [1.0], "method": "DOP853"}
    assert is_compiled({**problem, "t_span": (0.0, 1.0), "events": None, "vectorized": False})
    np.testing.assert_array_equal(problem["fun"](3.0, np.ones(1), 0.7, 2.0), [6.7])


@pytest.mark.slow
def test_odeint_has_the_compiled_derivative():
    @njit
    def slope(y, t, rate):
        return -rate * y

    t = np.array([0.0, 0.5, 2.0])

    def solved(rate):
        return integrate.odeint(slope, [1.0, 3.0], t, (rate,))

    np.testing.assert_array_equal(solved(0.7), scipy.integrate.odeint(slope, [1.0, 3.0], t, (0.7,)))
    exact = -t[:, None] * np.exp(-0.7 * t[:, None]) * [1.0, 3.0]
    np.testing.assert_allclose(dr.jacobian(solved)(0.7), exact, rtol=1e-5, atol=1e-9)


def test_wrong_input_has_scipy_s_errors():
    for options in (
        {"t_eval": [[0.1]]},
        {"t_eval": [0.5, 2.0]},
        {"t_eval": [0.5, 0.2]},
        {"jac_sparsity": np.eye(3), "method": "Radau"},
        {"method": "Euler"},
        {"max_step": -1.0},
        {"first_step": 0.0},
        {"first_step": 2.0},
        {"atol": -1.0},
        {"atol": [1e-3, 1e-3, 1e-3]},
    ):
        with pytest.raises(ValueError, match=r".") as expected:
            scipy.integrate.solve_ivp(decay, (0.0, 1.0), [2.0, 1.0], args=(0.5,), **options)
        with pytest.raises(ValueError, match=r".") as found:
            integrate.solve_ivp(decay, (0.0, 1.0), [2.0, 1.0], args=(0.5,), **options)
        if "jac_sparsity" not in options:
            assert str(found.value) == str(expected.value)
    with pytest.warns(UserWarning, match="rtol"):
        integrate.solve_ivp(decay, (0.0, 1.0), [2.0, 1.0], args=(0.5,), rtol=1e-20)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_a_function_that_returns_too_few_numbers_is_an_error(method):
    """Numba would read beyond the end."""
    with pytest.raises(ValueError, match=r"fun.* must return as many numbers as y has: return an array of len\(y\)"):
        SOLVERS[method](problem, (0.0, 1.0), np.ones(3), None, (SHORT, np.ones(1)), rtol=1e-3, atol=1e-6)
    with pytest.raises(ValueError, match="must return as many numbers"):
        integrate.solve_ivp(problem, (0.0, 1.0), np.ones(3), method, args=(SHORT, np.ones(1)))


@pytest.mark.parametrize("t_eval", [[-1.0, 0.5], [0.5, 2.0], [0.5, 0.2], [0.5, 0.5]])
def test_times_outside_or_out_of_order_are_an_error(t_eval):
    args = DECAY, np.ones(1)
    with pytest.raises(ValueError, match=r"t_eval must be sorted and lie within t_span: write np\.linspace"):
        ode.rk45(problem, (0.0, 1.0), np.ones(2), np.array(t_eval), args, rtol=1e-3, atol=np.full(2, 1e-6))


def test_a_band_that_leaves_out_elements_is_an_error():
    """The solution would be right, and its derivative wrong."""
    with pytest.raises(ValueError, match=r"outside of band=\(below, above\): make it wider"):
        ode.radau(problem, (0.0, 1.0), np.ones(3), args=(COUPLED, np.ones(1)), band=(0, 1))
    found = ode.radau(problem, (0.0, 1.0), np.ones(3), args=(COUPLED, np.ones(1)), band=(0, 2)).y[:, -1]
    np.testing.assert_allclose(found, np.exp(-1.0) * np.array([2.0, 1.0, 1.0]), rtol=1e-3)


@njit
def falling(t, y, rate):
    return -rate * y[0]


@njit
def two_types(t, y, rate):
    return 1, -rate * y[0]


@njit
def with_list(t, y, rates):
    return -rates[0] * y


@pytest.mark.filterwarnings("ignore::numba.NumbaPendingDeprecationWarning")
@pytest.mark.parametrize(
    ("fun", "y0", "args"),
    [(falling, [1.0], (2.0,)), (two_types, [1.0, 1.0], (2.0,)), (with_list, [1.0, 2.0], ([2.0],))],
)
def test_what_the_compiled_methods_do_not_take_is_solved_by_scipy(fun, y0, args):
    """A number for a vector, numbers of several types, a list among args."""
    found = integrate.solve_ivp(fun, (0.0, 1.0), np.array(y0), args=args)
    np.testing.assert_array_equal(found.y, scipy.integrate.solve_ivp(fun, (0.0, 1.0), np.array(y0), args=args).y)
    if fun is not with_list:
        gradient = dr.grad(lambda rate: integrate.solve_ivp(fun, (0.0, 1.0), np.array(y0), args=(rate,)).y[-1, -1])(2.0)
        assert gradient == pytest.approx({falling: -math.exp(-2.0), two_types: -1.5}[fun], rel=5e-3)


def test_no_time_has_an_interpolant():
    options = {"args": (0.5,), "dense_output": True}
    found = integrate.solve_ivp(decay, (1.0, 1.0), np.ones(2), **options)
    np.testing.assert_array_equal(
        found.sol(1.0), scipy.integrate.solve_ivp(decay, (1.0, 1.0), np.ones(2), **options).sol(1.0)
    )


def test_events_in_numba_code_end_nothing_and_count_both_ways_by_default():
    @njit
    def both(t, y, g, drag):
        return np.array([y[1], y[0] - 3.0])

    found = ode.rk45(flight, (0.0, 2.0), np.array([0.0, 10.0]), None, (9.81, 0.02), 1e-8, 1e-8, events=both)
    assert (found.status, found.t[-1], found.event_index.tolist()) == (0, 2.0, [1, 0, 1])
    np.testing.assert_allclose(found.event_y[0, [0, 2]], 3.0, rtol=1e-9)


def test_a_function_that_returns_a_list_is_refused_at_its_line():
    @njit
    def listed(t, y, rate):
        return [-rate * y[0], -2.0 * rate * y[1]]

    def last(rate):
        return integrate.solve_ivp(listed, (0.0, 1.5), np.array([2.0, 1.0]), args=(rate,)).y[0, -1]

    assert last(0.7) == pytest.approx(2.0 * math.exp(-0.7 * 1.5), rel=1e-3)
    with pytest.raises(UnsupportedError, match=r"test_ode\.py:\d+: `return \[.* Write an array"):
        dr.grad(last)(0.7)


def test_a_solver_that_gives_up_has_no_derivative():
    """By the derivative that is compiled above: with this rate, the solution leaves the floats."""
    p = np.array([-1e4, 1.5])
    assert not integrate.solve_ivp(decay, (0.0, p[1]), [2.0, 1.0], args=(p[0],), rtol=1e-9, atol=1e-9).success
    for transform in (dr.jacobian, dr.jacfwd):
        with pytest.raises(SolutionError, match="Required step size"):
            transform(decayed)(p)
