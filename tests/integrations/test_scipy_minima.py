"""Minima, fits and linear programs of dualrev.scipy.optimize: derivatives by the optimality conditions."""

import numpy as np
import pytest
import scipy.optimize
from numba import njit
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.scipy import optimize

P = np.array([1.3, 0.4])
TIGHT = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
WEIGHTS = np.array([1.0, 2.0])


def valley(x, p):
    return (1 - p[0] * x[0]) ** 2 + 5 * (x[1] - p[1] * x[0] ** 2) ** 2 + 0.1 * np.sum(x**2)


slope = dr.grad(valley)


@njit
def compiled(x, p):
    return (1 - p[0] * x[0]) ** 2 + 5 * (x[1] - p[1] * x[0] ** 2) ** 2 + 0.1 * np.sum(x**2)


def lowest(p, **options):
    return optimize.minimize(valley, np.zeros(2), (p,), **{"tol": 1e-12, "jac": slope} | options)


#: Functions of p; with a gradient, SciPy's minimum has the digits that differences need.
MINIMA = {
    "BFGS": lambda p: lowest(p, tol=1e-9).x @ WEIGHTS,
    "its value": lambda p: lowest(p, tol=1e-9).fun,
    "its gradient": lambda p: lowest(p, bounds=[(0.0, 0.3), (None, None)]).jac[0],
    "Newton-CG": lambda p: lowest(p, method="Newton-CG", hess=dr.hessian(valley)).x @ WEIGHTS,
    "captured": lambda p: (
        optimize.minimize(lambda x: dr.value_and_grad(valley)(x, p), np.zeros(2), jac=True, tol=1e-9).x @ WEIGHTS
    ),
    "a numba function": lambda p: optimize.minimize(compiled, np.zeros(2), (p,), jac=slope, tol=1e-9).x @ WEIGHTS,
    "a bound": lambda p: lowest(p, bounds=[(0.0, 0.3), (None, None)]).x @ WEIGHTS,
    "a traced bound": lambda p: lowest(p, bounds=[(0.0, 0.7 * p[1]), (None, None)]).x @ WEIGHTS,
    "a Bounds object": lambda p: (
        lowest(p, bounds=scipy.optimize.Bounds([0.0, -np.inf], [0.3, np.inf]), method="L-BFGS-B").x @ WEIGHTS
    ),
    "all at bounds": lambda p: lowest(p, bounds=[(0.0, 0.3 * p[0]), (-1.0, -p[1])]).x @ WEIGHTS,
    "no active bound": lambda p: lowest(p, bounds=[(-5.0, 5.0), (None, 9.0)]).x @ WEIGHTS,
    "an inequality": lambda p: (
        lowest(p, constraints={"type": "ineq", "fun": lambda x: np.sin(0.2 * p[1]) - x[0] - x[1] ** 2}).x @ WEIGHTS
    ),
    "an equation": lambda p: (
        lowest(p, constraints=[{"type": "eq", "fun": lambda x, r: x[0] + x[1] - r, "args": (p[1],)}]).x @ WEIGHTS
    ),
    "an inactive inequality": lambda p: (
        lowest(p, constraints={"type": "ineq", "fun": lambda x: 10.0 - x[0]}, method="SLSQP").x @ WEIGHTS
    ),
    "a linear constraint": lambda p: (
        lowest(p, constraints=scipy.optimize.LinearConstraint([[1.0, 1.0]], -np.inf, 0.2), method="SLSQP").x @ WEIGHTS
    ),
    "a traced linear constraint": lambda p: (
        lowest(p, constraints=scipy.optimize.LinearConstraint(p, -np.inf, 0.2 * p[:1]), method="SLSQP").x @ WEIGHTS
    ),
    "a nonlinear constraint": lambda p: (
        lowest(
            p,
            constraints=scipy.optimize.NonlinearConstraint(
                lambda x: x[0] + p[0] * x[1], 0.1, 0.3, lambda x: np.array([[1.0, dr.value(p[0])]])
            ),
            method="SLSQP",
        ).x
        @ WEIGHTS
    ),
}


@pytest.mark.parametrize("name", MINIMA)
def test_minima(name):
    dr.check_grads(MINIMA[name], (P,), order=2)


def quartic(x, a):
    return (x - a) ** 2 + 0.1 * x**4


#: Functions that find the x of the lowest quartic(x, 1.3).
SEARCHES = {
    "minimize_scalar": lambda a: optimize.minimize_scalar(lambda x: quartic(x, a)).x,
    "minimize_scalar golden": lambda a: optimize.minimize_scalar(quartic, args=a, method="golden").x,
    "minimize_scalar bounded": lambda a: optimize.minimize_scalar(quartic, args=(a,), bounds=(0.0, 1.0 + a)).x,
    "brent": lambda a: optimize.brent(quartic, (a,)),
    "golden": lambda a: optimize.golden(quartic, (a,), full_output=True)[0],
    "fminbound": lambda a: optimize.fminbound(quartic, 0.0, 3.0, args=(a,)),
    "fmin": lambda a: optimize.fmin(lambda x: quartic(x[0], a), 1.0, disp=0)[0],
    "fmin_bfgs": lambda a: optimize.fmin_bfgs(lambda x: quartic(x[0], a), 1.0, disp=0, full_output=True)[0][0],
    "fmin_cg": lambda a: optimize.fmin_cg(lambda x: quartic(x[0], a), 1.0, disp=0)[0],
    "fmin_ncg": lambda a: optimize.fmin_ncg(
        lambda x: quartic(x[0], a), np.ones(1), dr.grad(lambda x: quartic(x[0], a)), disp=0
    )[0],
    "fmin_l_bfgs_b": lambda a: optimize.fmin_l_bfgs_b(
        lambda x, a: dr.value_and_grad(lambda x: quartic(x[0], a))(x), np.zeros(1), args=(a,), bounds=[(0.0, 9.0)]
    )[0][0],
    "fmin_l_bfgs_b with a gradient": lambda a: optimize.fmin_l_bfgs_b(
        lambda x: quartic(x[0], a), np.zeros(1), dr.grad(lambda x: quartic(x[0], 1.3))
    )[0][0],
    "fmin_powell": lambda a: optimize.fmin_powell(lambda x: quartic(x, a), 1.0, disp=0).sum(),
    "Nelder-Mead": lambda a: optimize.minimize(lambda x: quartic(x[0], a), [1.0], method="Nelder-Mead").x[0],
    "differential_evolution": lambda a: optimize.differential_evolution(
        lambda x: quartic(x[0], a), [(0.0, 3.0)], popsize=5, polish=True, tol=1e-3
    ).x[0],
    "dual_annealing": lambda a: optimize.dual_annealing(lambda x: quartic(x[0], a), [(0.0, 3.0)], maxiter=20).x[0],
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches(name):
    """To the digits of the solvers, which compare values and so find half of them."""
    search, a = SEARCHES[name], 1.3
    x = optimize.brentq(lambda x: 2.0 * (x - a) + 0.4 * x**3, 0.0, 2.0)
    bend = 2.0 + 1.2 * x * x
    first = 2.0 / bend
    second = -2.4 * x * first**2 / bend
    assert_same(float(search(a)), x, rtol=1e-4)
    assert_same(dr.grad(search)(a), first, rtol=1e-4)
    assert_same(dr.jvp(search, (a,), (2.0,))[1], 2.0 * first, rtol=1e-4)
    assert_same(dr.grad(dr.grad(search))(a), second, rtol=1e-3)


def test_a_minimum_at_the_end_of_an_interval():
    def at_end(a):
        return optimize.minimize_scalar(quartic, args=(a,), bounds=(0.0, 0.5 * a), options={"xatol": 1e-8}).x

    assert_same(dr.grad(at_end)(1.3), 0.5, rtol=1e-9)
    assert dr.grad(lambda a: optimize.fminbound(quartic, 0.0, 0.5, args=(a,), xtol=1e-8))(1.3) == 0.0


def test_values_are_those_of_scipy():
    made = []
    dr.grad(lambda p: made.append(lowest(p)) or made[-1].fun)(P)
    expected = scipy.optimize.minimize(valley, np.zeros(2), (P,), tol=1e-12, jac=slope)
    assert_same(dr.value(made[0].x), expected.x, rtol=0.0)
    assert float(dr.value(made[0].fun)) == expected.fun
    assert_same(made[0].hess_inv, expected.hess_inv, rtol=0.0)
    assert type(lowest(P).x) is np.ndarray


@pytest.mark.parametrize(
    ("solve", "reason"),
    [
        (lambda a: optimize.minimize(lambda x: (x[0] - a) ** 4, np.zeros(1)).x[0], "Jacobian is singular|would move"),
        (lambda a: optimize.minimize(lambda x: x[0] + a, np.zeros(1), options={"maxiter": 3}).x[0], "solver says"),
        (lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2, [0.5], bounds=[(1.0, 2.0)]).x[0], "multiplier is 0"),
        (lambda a: optimize.linprog([a, -1.0], [[0.0, 1.0]], [1.0]).x[0] + 0.0 * a, None),
        (lambda a: optimize.linprog([-a, -1.0], [[1.0, 1.0]], [1.0]).x[0], "not unique|multiplier 0"),
        (lambda a: optimize.linprog([-a, -1.0], np.eye(2), [1.0, 0.0]).x[0], "degenerate"),
        (lambda a: optimize.nnls(np.eye(2), [a, 0.0])[0].sum(), "would be without it"),
    ],
)
def test_solutions_without_a_derivative(solve, reason):
    if reason is None:
        assert dr.grad(solve)(1.0) == 0.0
        return
    with pytest.raises(SolutionError, match=reason):
        dr.grad(solve)(1.0)


T = np.linspace(0.0, 2.0, 7)
Y = 2.0 * np.exp(-0.7 * T) + 0.002 * np.sin(9.0 * T)  # solvers converge fast to small residuals
SIGMA = 0.1 + 0.05 * T


def decay(t, a, b):
    return a * np.exp(-b * t)


def slopes(t, a, b):
    return np.stack([np.exp(-b * t), -a * t * np.exp(-b * t)], axis=1)


def fitted(t=T, y=Y, sigma=None, **options):
    return optimize.curve_fit(decay, t, y, sigma=sigma, **{"jac": slopes, "ftol": 1e-15, "xtol": 1e-15} | options)


FITS = {
    "popt by y": (lambda y: fitted(y=y)[0] @ WEIGHTS, Y, 2),
    "popt by x": (lambda t: fitted(t)[0] @ WEIGHTS, T, 2),
    "popt by sigma": (lambda s: fitted(sigma=s)[0] @ WEIGHTS, SIGMA, 2),
    "popt by a matrix": (lambda s: fitted(sigma=np.diag(s) + 0.01)[0] @ WEIGHTS, SIGMA, 1),
    "popt with bounds": (lambda y: fitted(y=y, bounds=(0.0, [5.0, 0.5]), gtol=1e-15)[0] @ WEIGHTS, Y, 2),
    "popt by a captured number": (
        lambda c: (
            optimize.curve_fit(lambda t, a, b: decay(t, a, b) + c[0], T, Y, jac=slopes, ftol=1e-15, xtol=1e-15)[0]
            @ WEIGHTS
        ),
        np.array([0.1]),
        2,
    ),
    "pcov": (lambda y: np.sum(fitted(y=y)[1]), Y, 2),
    "the residuals": (lambda y: fitted(y=y, full_output=True)[2]["fvec"] @ np.arange(7.0), Y, 2),
    "pcov by sigma": (lambda s: np.sum(fitted(sigma=s, absolute_sigma=True, full_output=True)[1]), SIGMA, 1),
}


@pytest.mark.parametrize("name", FITS)
def test_curve_fit(name):
    f, x, order = FITS[name]
    dr.check_grads(f, (x,), order=order)


def test_integers_are_floats_for_curve_fit_and_linprog_refuses_whole_numbers():
    popt = dr.grad(lambda y: optimize.curve_fit(lambda t, a: a * t**-1, [1, 2, 4], y)[0][0])(np.ones(3))
    assert_same(popt, np.array([1.0, 0.5, 0.25]) / 1.3125, rtol=1e-7)
    with pytest.raises(UnsupportedError, match="the program without integrality"):
        dr.grad(lambda b: optimize.linprog([-1.0], [[1.0]], [b], integrality=1).x[0])(1.5)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_least_squares(loss):
    def solved(y):
        return optimize.least_squares(
            lambda p, y: decay(T, *p) - y,
            np.ones(2),
            lambda p, y: slopes(T, *p),
            args=(y,),
            loss=loss,
            f_scale=0.002,
            **TIGHT,
        )

    weights = np.arange(7.0)

    def of(made):
        return made.x @ WEIGHTS + made.cost + made.fun @ weights + (np.sum(made.jac**2) if loss == "linear" else 0.0)

    slope = dr.grad(lambda y: of(solved(y)))(Y)
    steps = 1e-5 * np.eye(7)
    expected = [(of(solved(Y + h)) - of(solved(Y - h))) / 2e-5 for h in steps]
    assert_same(slope, np.array(expected), rtol=2e-4)  # SciPy stops at 1e-9 with a loss
    assert_same(dr.jvp(lambda y: of(solved(y)), (Y,), (weights,))[1], float(slope @ weights), rtol=1e-9)


def test_leastsq():
    def solved(y):
        x, covariance, *_ = optimize.leastsq(
            lambda p, y: decay(T, *p) - y, np.ones(2), (y,), lambda p, y: slopes(T, *p), True, xtol=1e-15, ftol=1e-15
        )
        return x @ WEIGHTS + np.sum(covariance)

    dr.check_grads(solved, (Y,), order=2)


def program(c, a, b):
    made = optimize.linprog(c, a, b)
    rest = made.slack @ WEIGHTS + made.lower.residual @ WEIGHTS**2 + made.ineqlin.residual[1]
    return made.x @ WEIGHTS + made.fun + made.ineqlin.marginals[0] ** 2 + rest


def box(c, upper):
    made = optimize.linprog(c, A_eq=[[1.0, 1.0]], b_eq=[2.0 * upper], bounds=[(0.0, None), (None, upper)])
    return made.x @ WEIGHTS + made.upper.marginals[1]


A = np.array([[1.0, 0.2, 0.1], [0.3, 1.0, -0.4], [0.5, 0.1, 2.0], [0.1, 0.9, 0.3]])
B = np.array([1.0, -2.0, 3.0, 0.5])
LINEAR = {
    "linprog": (program, (np.array([-1.0, -1.2]), np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([4.0, 5.0]))),
    "linprog with equations": (box, (np.array([1.0, -1.2]), 1.5)),
    "nnls": (lambda a, b: optimize.nnls(a, b)[0] @ np.arange(1.0, 4.0) + optimize.nnls(a, b)[1], (A, B)),
    "lsq_linear": (
        lambda a, b, u: (lambda r: r.x @ np.arange(1.0, 4.0) + r.cost + r.fun[1])(
            optimize.lsq_linear(a, b, (-10.0, u), method="bvls")
        ),
        (A, B, np.array([0.9, 5.0, 1.3])),
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_problems(name):
    f, args = LINEAR[name]
    dr.check_grads(f, args, order=2)


@pytest.mark.parametrize("name", ["basinhopping", "brute", "direct", "shgo"])
def test_searches_without_a_derivative(name):
    search = getattr(optimize, name)
    where = (np.ones(1),) if name == "basinhopping" else ([(0.0, 3.0)],)
    options = {"niter": 2} if name == "basinhopping" else {}
    with pytest.raises(UnsupportedError, match=r"dualrev\.scipy, started at the point"):
        dr.grad(lambda a: np.sum(search(lambda x: quartic(x[0], a), *where, **options)))(1.3)


def test_an_assignment_is_a_constant():
    costs = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    slope = dr.grad(lambda c: np.sum(c[optimize.linear_sum_assignment(c)]))(costs)
    assert_same(slope, np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), rtol=0.0)
