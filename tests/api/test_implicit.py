"""Derivatives of solutions, dualrev.implicit, and the solvers of dualrev.scipy: closed forms and differences."""

import doctest
import gc
import math
import weakref
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from scipy import integrate as of_scipy
from scipy import sparse as sparse_of_scipy
from support.oracle import assert_same, check_order_2, check_vjp

import dualrev as dr
from dualrev import math as dm
from dualrev import numpy as dnp
from dualrev.errors import CustomRuleError, SolutionError, UnsupportedError
from dualrev.implicit import attach, custom_fixed_point, custom_linear_solve, custom_root
from dualrev.scipy import integrate, optimize, sparse
from dualrev.scipy.sparse import linalg
from stages import STAGES

DOCS = Path(__file__).parents[2] / "docs"


def newton(f, x, steps=60):
    """A root of a function of numbers, with differences for its slope: nothing that could be differentiated."""
    for _ in range(steps):
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        x = float(x - f(x) / slope)
    return x


@custom_root(lambda x, a: x * x * x - a)
def cube_root(start, a):
    assert type(a) is float
    return newton(lambda x: x**3 - a, start)


# The theorem


def test_derivatives_of_a_root_to_the_third_order_in_both_modes():
    slope = dr.grad(cube_root, 1)
    assert_same(cube_root(1.0, 8.0), 2.0, rtol=1e-12)
    assert_same(slope(1.0, 8.0), 1 / 12, rtol=1e-10)
    assert_same(dr.grad(slope, 1)(1.0, 8.0), -2 / 9 * 8 ** (-5 / 3), rtol=1e-10)
    assert_same(dr.grad(dr.grad(slope, 1), 1)(1.0, 8.0), 10 / 27 * 8 ** (-8 / 3), rtol=1e-10)
    assert_same(dr.jvp(lambda a: cube_root(1.0, a), (8.0,), (3.0,))[1], 0.25, rtol=1e-10)
    assert_same(dr.jvp(slope, (1.0, 8.0), (0.0, 1.0))[1], -2 / 9 * 8 ** (-5 / 3), rtol=1e-10)
    assert_same(dr.hvp(lambda a: cube_root(1.0, a))(8.0, 1.0), -2 / 9 * 8 ** (-5 / 3), rtol=1e-10)


@pytest.mark.parametrize("name", ["tape", "staged"])
def test_in_stages_of_the_paper(name):
    f = dr.grad(lambda a: cube_root(1.0, a) * attach(lambda x: [a * x[0] - 1.0], [0.125])[0], engine=STAGES[name])
    assert_same(f(8.0), 1 / 96 - 2.0 / 64, rtol=1e-10)


def test_the_value_is_that_of_the_solver_and_the_start_is_a_constant():
    assert dr.value_and_grad(cube_root, (0, 1))(1.0, 8.0)[0] == cube_root.__wrapped__(1.0, 8.0)
    assert dr.grad(cube_root, (0, 1))(1.0, 8.0)[0] == 0.0
    assert dr.grad(lambda a: cube_root(a, 8.0))(1.0) == 0.0


def system(x, p):
    u, v = x["u"], x["v"]
    return [u[0] * u[1] - p["a"], u[0] - u[1] * p["b"][0] * v, v * v * v - p["b"][1] * u[0]]


@custom_root(system)
def nested(start, p):
    a, (b, c) = p["a"], p["b"]

    def parts(v):
        first = math.sqrt(a * b * v)
        return first, a / first

    v = newton(lambda v: v**3 - c * parts(v)[0], start["v"])
    return {"u": np.array(parts(v)), "v": v}


START = {"u": np.ones(2), "v": 1.0}
PARAMETERS = {"a": 2.0, "b": np.array([0.7, 1.3]), "n": 3}


def test_nested_data_against_differences():
    def total(p):
        x = nested(START, p)
        return x["u"][0] * x["v"] + np.sum(np.sin(x["u"]))

    check_vjp(dr.vjp, total, PARAMETERS)
    check_order_2(dr.vjp, total, PARAMETERS, rtol=1e-4)
    jacobian = dr.jacobian(nested, 1)(START, PARAMETERS)
    assert jacobian["u"]["b"].shape == (2, 2)
    assert jacobian["v"]["n"] is None


def test_numbers_that_the_residual_reads_from_a_function_around_it():
    def of_closure(a):
        @custom_root(lambda x: x * x - a)
        def root(start):
            return newton(lambda x: x * x - dr.value(a), start)

        return root(1.0) + attach(lambda x: dm.exp(x) - a, math.log(dr.value(a)))

    assert_same(dr.grad(of_closure)(4.0), 0.25 + 0.25, rtol=1e-10)
    assert_same(dr.grad(dr.grad(of_closure))(4.0), -1 / 32 - 1 / 16, rtol=1e-10)
    # an inner derivative, by the argument, of what an outer one reads
    assert_same(
        dr.grad(lambda b: dr.grad(lambda a: attach(lambda x: x * a - b * b, dr.value(b) ** 2 / dr.value(a)))(2.0))(3.0),
        -6.0 / 4.0,
        rtol=1e-10,
    )


def test_the_steps_of_a_solver_are_not_differentiated_and_too_few_of_them_refused():
    def f(a, steps, tol):
        @custom_root(lambda x: x * x - a, tol=tol)
        def root(x):
            for _ in range(steps):
                x = 0.5 * (x + a / x)
            return x

        return root(1.0)

    assert_same(dr.grad(lambda a: f(a, 8, 1e-12))(2.5), 0.5 / math.sqrt(2.5), rtol=1e-12)
    with pytest.raises(SolutionError, match=r"would move it by 2\.1e-05, and tol=1e-06 allows 2\.6e-06"):
        dr.grad(lambda a: f(a, 3, 1e-6))(2.5)
    assert dr.grad(lambda a: f(a, 3, None))(2.5) == 0.5 / f(2.5, 3, None)


def test_a_linear_solver_of_the_user_and_systems_without_a_matrix():
    calls = []

    def solve(matvec, b):
        calls.append(b)
        matrix = np.stack([matvec(unit) for unit in np.eye(3)], axis=1)
        return np.linalg.solve(matrix, b)

    a = np.array([[3.0, 1.0, 0.0], [0.5, 2.0, 0.3], [0.0, 1.0, 4.0]])

    def with_solver(p, solve):
        x = np.linalg.solve(a, dr.value(p))
        return attach(lambda x: a @ x + 0.0 * x**3 - p, x, solve=solve)

    p = np.array([1.0, 2.0, 3.0])

    def by_argument(p):
        x = attach(lambda x, p: a @ x + 0.0 * x**3 - p, np.linalg.solve(a, dr.value(p)), p, solve=solve)
        return np.sum(x**3)

    for f in [lambda p: np.sum(with_solver(p, solve) ** 3), by_argument]:
        assert_same(dr.grad(f)(p), dr.grad(lambda p: np.sum(with_solver(p, None) ** 3))(p), rtol=1e-12)
        check_vjp(dr.vjp, f, p)
        check_order_2(dr.vjp, f, p)
    assert calls
    with pytest.raises(SolutionError, match="gave no solution of the linear system"):
        dr.grad(lambda p: np.sum(attach(lambda x: x - p, dr.value(p) + 1e-9, solve=lambda f, b: b * np.nan)))(p)


def test_a_linear_solver_of_scipy_which_tries_the_product_of_integers():
    a = np.array([[3.0, 1.0], [0.5, 2.0]])

    def solve(matvec, b):
        return sparse_of_scipy.linalg.gmres(
            sparse_of_scipy.linalg.LinearOperator((2, 2), matvec=matvec), b, rtol=1e-13, atol=0.0
        )[0]

    def solution(p):
        return attach(lambda x, p: a @ x - p, np.linalg.solve(a, dr.value(p)), p, solve=solve)

    assert_same(dr.jacrev(solution)(np.ones(2)), np.linalg.inv(a), rtol=1e-9)


def test_fixed_points():
    @custom_fixed_point(lambda x, a: {"u": a * np.cos(x["v"]), "v": np.tanh(x["u"])}, has_aux=True)
    def settled(x, a, *, limit):
        for _ in range(limit):
            x = {"u": a * np.cos(x["v"]), "v": np.tanh(x["u"])}
        return x, limit

    start, a = {"u": np.ones(2), "v": np.ones(2)}, np.array([0.5, 0.9])

    def total(a):
        x, steps = settled(start, a, limit=200)
        assert steps == 200
        return np.sum(x["u"] * x["v"])

    check_vjp(dr.vjp, total, a)
    check_order_2(dr.vjp, total, a)
    with pytest.raises(CustomRuleError, match="by position"):
        dr.grad(lambda n: settled(start, a, limit=n)[0]["u"][0])(3.0)


def test_linear_systems_by_a_product():
    a = np.array([[3.0, 1.0], [0.5, 2.0]])
    transposed = []

    def solve(matvec, b):
        return np.linalg.solve(np.stack([matvec(unit) for unit in np.eye(2)], axis=1), b)

    def solve_transposed(vecmat, b):
        transposed.append(b)
        return solve(vecmat, b)

    def f(p, options):
        return np.sum(custom_linear_solve(lambda x: a @ x + p[0] * x, p * p, solve, **options) ** 2)

    p = np.array([0.3, 1.2])
    expected = dr.grad(lambda p: np.sum(np.linalg.solve(a + p[0] * np.eye(2), p * p) ** 2))(p)
    for options in [{}, {"transpose_solve": solve_transposed}]:
        assert_same(dr.grad(lambda p, o=options: f(p, o))(p), expected, rtol=1e-12)

    def by_argument(p):
        return np.sum(custom_linear_solve(lambda x, p: a @ x + p[0] * x, p * p, solve, args=(p,)) ** 2)

    assert_same(dr.grad(by_argument)(p), expected, rtol=1e-12)
    check_order_2(dr.vjp, lambda p: f(p, {}), p)
    assert transposed
    a[1, 0] = 1.0
    expected = dr.grad(lambda p: np.sum(np.linalg.solve(a + p[0] * np.eye(2), p * p) ** 2))(p)
    assert_same(dr.grad(lambda p: f(p, {"symmetric": True}))(p), expected, rtol=1e-12)
    with pytest.raises(SolutionError, match="differs from b by"):
        dr.grad(lambda p: custom_linear_solve(lambda x: a @ x, p, lambda f, b: 0.9 * b)[0])(p)


# What is refused


@pytest.mark.parametrize(
    ("residual", "x", "why"),
    [
        (lambda a: lambda x: x * x - a, 1.5, "Newton's method would move it by 8.3e-02, and tol=1e-06 allows 2.5e-06"),
        (lambda a: lambda x: (x - a) ** 2, 2.0, "its Jacobian is singular there"),
        (lambda a: lambda x: [x, a], 2.0, "it has 1 unknowns and 2 equations"),
        (lambda a: lambda x: a * np.inf - x, 2.0, "its value there is not finite"),
        (lambda a: lambda x: x * x - a, 2, "x holds no unknown: floats are, ints are constants"),
    ],
)
def test_what_is_no_solution_is_an_error_that_names_the_line(residual, x, why):
    with pytest.raises(SolutionError) as caught:
        dr.grad(lambda a: attach(residual(a), x))(2.0)
    assert f"{why}. " in str(caught.value)
    assert f"{__file__}:" in str(caught.value)


def test_a_residual_may_write_to_its_arguments():
    def residual(x, p):
        x[:] = x * x
        p /= p.sum()
        return x - p

    def solution(p):
        p = p * 1.0
        return np.sum(attach(residual, np.sqrt(dr.value(p) / dr.value(p).sum()), p) * p)

    def expected(p):
        return np.sum(np.sqrt(p / np.sum(p)) * p)

    p = np.array([1.0, 3.0])
    assert_same(solution(p), expected(p), rtol=1e-14)
    assert_same(dr.grad(solution)(p), dr.grad(expected)(p), rtol=1e-12)
    assert_same(dr.hessian(solution)(p), dr.hessian(expected)(p), rtol=1e-12)


def test_other_misuse_says_what_is_needed():
    @custom_root(lambda x, a: x - a, has_aux=True)
    def alone(x, a):
        return a

    with pytest.raises(CustomRuleError, match=r"returns \(x, aux\)"):
        alone(1.0, 2.0)
    for misused in (
        lambda: custom_root(3),
        lambda: custom_root(lambda x: x, solve=3),
        lambda: custom_fixed_point(3),
        lambda: attach(3, 1.0),
        lambda: custom_linear_solve(lambda x: x, 1.0, 3),
    ):
        with pytest.raises(TypeError, match=r"expected a function, got 3 \(type int\)"):
            misused()
    with pytest.raises(CustomRuleError, match="its start"):
        custom_root(lambda x: x)(lambda *, start: start)(start=1.0)
    assert dr.grad(lambda a: cube_root(start=1.0, a=a))(8.0) == dr.grad(cube_root, 1)(1.0, 8.0)
    assert attach(lambda x: x - 1.0, 5.0) == 5.0  # nothing is differentiated


# Numba functions


@njit
def circle(x, p, scale):
    return np.array([x[0] * x[0] + x[1] - p[0] * scale, x[0] - x[1] * p[1]])


@custom_root(circle)
@njit
def on_circle(start, p, scale):
    x = start.copy()
    for _ in range(50):
        slope = np.array([[2.0 * x[0], 1.0], [1.0, -p[1]]])
        x = x - np.linalg.solve(slope, np.array([x[0] * x[0] + x[1] - p[0] * scale, x[0] - x[1] * p[1]]))
    return x


@njit
def of_circle(p, scale, start):
    x = on_circle(start, p * p, scale)
    return x[0] * x[1] * x[1]


CIRCLE = np.array([1.7, 1.4]), 1.2, np.ones(2)


def closed(p, scale, start):
    """The same by the formula for quadratic equations."""
    y = (-1.0 + np.sqrt(1.0 + 4.0 * p[1] ** 4 * p[0] ** 2 * scale)) / (2.0 * p[1] ** 4)
    return y * p[1] ** 2 * y * y


@pytest.mark.slow  # the page has a vector, and compiles once
def test_numba_functions_in_numba_functions():
    assert_same(of_circle(*CIRCLE), float(closed(*CIRCLE)), rtol=1e-12)
    assert_same(dr.grad(of_circle, (0, 1))(*CIRCLE), dr.grad(closed, (0, 1))(*CIRCLE), rtol=1e-10)


@pytest.mark.slow
def test_numba_functions_in_numba_functions_in_forward_mode_and_twice():
    tangents = np.array([0.3, -1.0]), 0.5, np.zeros(2)
    assert_same(dr.jvp(of_circle, CIRCLE, tangents)[1], float(dr.jvp(closed, CIRCLE, tangents)[1]), rtol=1e-10)
    d = np.array([1.0, -0.5])
    assert_same(dr.hvp(of_circle)(CIRCLE[0], d, *CIRCLE[1:]), dr.hvp(closed)(CIRCLE[0], d, *CIRCLE[1:]), rtol=1e-9)


@pytest.mark.slow
def test_numba_functions_on_the_tape():
    """On the tape, second derivatives of numba functions equal those of the Python function."""

    def f(p, scale, start):
        x = on_circle(start, p * p, scale)
        return x[0] * x[1] * x[1]

    assert_same(dr.grad(f, (0, 1))(*CIRCLE), dr.grad(closed, (0, 1))(*CIRCLE), rtol=1e-10)
    assert_same(dr.hessian(f)(*CIRCLE), dr.hessian(closed)(*CIRCLE), rtol=1e-9)
    with_plain_solver = custom_root(circle)(lambda start, p, scale: on_circle(start, p, scale))
    assert_same(
        dr.jacobian(with_plain_solver, 1)(np.ones(2), CIRCLE[0], 1.2),
        dr.jacobian(on_circle, 1)(np.ones(2), CIRCLE[0], 1.2),
        rtol=1e-10,
    )


@njit
def _settle(x, a):
    for _ in range(200):
        x = a * math.cos(x)
    return x


@njit
def ridge(x, a, weight):
    return np.sum((x - a) ** 2) + weight * np.sum(x**2)


def test_an_optimum_is_a_root_of_the_gradient():
    def optimum(a, weight):
        return attach(dr.grad(ridge), dr.value(a) / (1.0 + dr.value(weight)), a, weight)[0]

    a = np.array([3.0])
    assert_same(dr.grad(optimum, (0, 1))(a, 2.0), (np.array([1 / 3]), -3.0 / 9.0), rtol=1e-12)
    assert_same(dr.grad(dr.grad(optimum, 1), 1)(a, 2.0), 6.0 / 27.0, rtol=1e-12)


def test_tapes_go_without_the_garbage_collector():
    tapes = []

    def f(a):
        tapes.append(weakref.ref(a.run))
        by_closure = attach(lambda x: x * x - a, math.sqrt(dr.value(a)))
        return by_closure * cube_root(1.0, a) * optimize.brentq(lambda x: x**3 - a, 0.0, 3.0)

    gc.collect()
    gc.disable()
    try:
        dr.grad(f)(2.0)
        assert tapes[0]() is None
    finally:
        gc.enable()


def test_numba_functions_of_numbers_and_what_is_refused():
    @njit
    def residual(x, a):
        return x * x * x - a

    @custom_root(residual)
    @njit
    def root(x, a):
        for _ in range(40):
            x = x - (x * x * x - a) / (3.0 * x * x)
        return x

    @njit
    def f(a, start):
        return root(start, a * a)

    assert_same(dr.grad(f)(8.0, 1.0), 1 / 3, rtol=1e-12)
    assert_same(dr.jvp(f, (8.0, 1.0), (2.0, 0.0))[1], 2 / 3, rtol=1e-12)
    with pytest.raises(SolutionError, match="'residual' has no derivative"):
        dr.grad(f)(8.0, 1e-15)  # 40 steps are too few from there
    settled = custom_fixed_point(njit(lambda x, a: a * math.cos(x)))(_settle)
    y = settled(0.5, 0.8)
    slope = math.cos(y) / (1.0 + 0.8 * math.sin(y))
    assert_same(dr.grad(njit(lambda a, x: settled(x, a)))(0.8, 0.5), slope, rtol=1e-10)
    assert_same(dr.grad(settled, 1)(0.5, 0.8), slope, rtol=1e-10)
    with pytest.raises(CustomRuleError, match="as many parameters as its residual: 2, and not 3"):
        custom_root(residual)(njit(lambda x, a, n: x))
    with pytest.raises(CustomRuleError, match="parameters beside the unknown"):
        custom_root(njit(lambda x: x))(njit(lambda x: x))


def squares(x, p):
    return x * x - p


def square_roots(start, p):
    return np.sqrt(p)


def several(x, p, kind):
    """A singular system, and one with too many equations."""
    return np.array([x[0] + x[1] - p[0], x[0] + x[1] - p[0]]) if kind == 1 else np.append(x - p, x[0])


def solve_several(start, p, kind):
    return np.array([p[0], 0.0]) if kind == 1 else 1.0 * p


JITS = pytest.mark.parametrize("jit", [lambda f: f, njit], ids=["tape", "compiled"])
ZERO, ONE = np.array([1.0, 0.0]), np.ones(2)


def cubes(jit, tol=1e-6):
    solved = custom_root(jit(squares), tol=tol)(jit(square_roots))

    @jit
    def f(p):
        x = solved(np.ones(len(p)), p)
        return np.sum(x * x * x + x)

    return f


@JITS
def test_a_solution_that_does_not_move_smoothly_is_the_same_error_in_both_engines(jit):
    """It was an error of LAPACK, or a division by zero, in compiled code."""
    f, p = cubes(jit), np.array([4.0, 9.0])
    assert_same(dr.grad(f)(p), 1.5 * np.sqrt(p) + 0.5 / np.sqrt(p), rtol=1e-12)
    assert dr.grad(f)(np.ones(0)).shape == (0,)
    for at in (ZERO, np.zeros(1)):
        with pytest.raises(SolutionError, match=r"of 'squares' .*its Jacobian is singular there"):
            dr.grad(f)(at)
    with pytest.raises(SolutionError, match="its value there is not finite"):
        dr.grad(f)(np.array([math.nan, 1.0]))


@JITS
def test_a_number_that_does_not_move_smoothly(jit):
    solved = custom_root(jit(lambda x, p: x * x - p), tol=None)(jit(lambda start, p: p**0.5))

    @jit
    def f(p):
        return solved(1.0, p)

    assert_same(dr.grad(f)(4.0), 0.25, rtol=1e-14)
    for derivative in (
        dr.grad(f),
        lambda p: dr.jvp(f, (p,), (1.0,)),
        lambda p: dr.vmap(dr.grad(f))(np.array([4.0, p])),
    ):
        with pytest.raises(SolutionError, match="its Jacobian is singular there"):
            derivative(0.0)
    infinite = custom_root(jit(lambda x, p: np.sqrt(x) - p))(jit(lambda start, p: p * p))

    @jit
    def g(p):
        return infinite(1.0, p)

    with np.errstate(divide="ignore"):
        assert dr.grad(g)(0.0) == 0.0  # x = p**2 has this derivative, where A is infinite
    steep = custom_root(jit(lambda x, p: np.hypot(x, p)))(jit(lambda start, p: 0.0 * p))

    @jit
    def h(p):
        return steep(1.0, p)

    with pytest.raises(SolutionError, match="its Jacobian there is not finite"):
        dr.grad(h)(0.0)


def scaled(x, p):
    return p * x


@JITS
def test_a_fixed_point_that_does_not_move_smoothly(jit):
    settled = custom_fixed_point(jit(scaled))(jit(lambda start, p: 0.0 * start))

    @jit
    def f(p):
        return settled(1.0, p)

    assert dr.grad(f)(0.5) == 0.0
    with pytest.raises(SolutionError, match=r"of 'scaled' .*its Jacobian is singular there"):
        dr.grad(f)(1.0)


@JITS
@pytest.mark.slow  # second derivatives of a rule compile for half a minute
def test_a_solution_that_does_not_move_smoothly_in_all_modes(jit):
    f, p = cubes(jit, None), np.array([4.0, 9.0])
    assert_same(dr.hessian(f)(p), np.diag(0.75 / np.sqrt(p) - 0.25 / p**1.5), rtol=1e-12)
    solved = custom_root(jit(several))(jit(solve_several))
    for derivative, why in (
        (lambda: dr.jvp(f, (ZERO,), (ONE,)), "singular"),
        (lambda: dr.hvp(f)(ZERO, ONE), "singular"),
        (lambda: dr.hessian(f)(ZERO), "singular"),
        (lambda: dr.vmap(dr.grad(f))(np.stack([ONE, ZERO])), "singular"),
        (lambda: dr.vjp(solved, ONE, ONE, 1)[1](ONE), "singular"),
        (lambda: dr.vjp(solved, ONE, ONE, 2)[1](ONE), "equations"),
    ):
        with pytest.raises(SolutionError, match=why):
            derivative()
    ct = np.array([1.0, math.nan])  # it is not the system's fault
    assert np.isnan(dr.vjp(custom_root(jit(squares))(jit(square_roots)), ONE, p)[1](ct)[1][1])


def test_a_solver_of_linear_systems_that_raises_is_a_solution_error():
    def solve(matvec, b):
        return np.linalg.solve(np.stack([matvec(unit) for unit in np.eye(2)], axis=1), b)

    with pytest.raises(SolutionError, match="`solve` raises LinAlgError: Singular matrix"):
        dr.grad(lambda p: np.sum(attach(lambda x, p: x * x - p, ZERO, p, solve=solve, tol=None)))(ZERO)


# scipy.optimize


# of broyden1 in SciPy 1.13 with numpy 2
@pytest.mark.filterwarnings("ignore:LowRankMatrix is scipy-internal code:UserWarning")
@pytest.mark.parametrize(
    "solve",
    [
        lambda f, a: optimize.brentq(f, 0.0, 5.0, args=(a,)),
        lambda f, a: optimize.bisect(f, 0.0, 5.0, args=a, xtol=1e-12),
        lambda f, a: optimize.brenth(f, 0.0, 5.0, (a,)),
        lambda f, a: optimize.ridder(f, 0.0, 5.0, (a,)),
        lambda f, a: optimize.toms748(f, 0.0, 5.0, (a,), full_output=True)[1].root,
        lambda f, a: optimize.newton(f, 1.0, args=(a,)),
        lambda f, a: optimize.newton(f, 1.0, args=[a]),
        lambda f, a: optimize.newton(lambda x: f(x, a), np.ones(2), full_output=True).root[1],
        lambda f, a: optimize.newton(lambda x: f(x, a), 1.0, fprime=lambda x: 3.0 * x * x + a),
        lambda f, a: optimize.newton(lambda x: f(x, a), np.array([1.0, 2.0]))[1],
        lambda f, a: optimize.root_scalar(f, (a,), bracket=(0.0, 5.0)).root,
        lambda f, a: optimize.root_scalar(lambda x: (f(x, a), 3.0 * x * x + a), x0=1.0, fprime=True).root,
        lambda f, a: optimize.fsolve(lambda x: f(x, a), 1.0)[0],
        lambda f, a: optimize.root(f, 1.0, args=a, method="broyden1", options={"fatol": 1e-10}).x.sum(),
        lambda f, a: optimize.fsolve(lambda x: (f(x[0], a), x[1] - x[0]), (1, 1))[1],
        lambda f, a: optimize.fixed_point(lambda x: 6.0 / (a + x * x), 1.0),
        lambda f, a: optimize.fixed_point(lambda x, six, a: six / (a + x * x), 1.0, args=[6.0, a]),
    ],
)
def test_roots_of_one_function(solve):
    def f(x, a):
        return x * x * x + a * x - 6.0

    x, a = 1.634365293065606, 1.0  # dx/da = -x / (3 x^2 + a)
    x = optimize.brentq(f, 0.0, 5.0, args=(a,))
    slope = -x / (3.0 * x * x + a)
    bend = -(2.0 * slope + 6.0 * x * slope**2) / (3.0 * x * x + a)
    assert_same(float(solve(f, a)), float(x), rtol=1e-6)
    assert_same(dr.grad(lambda a: solve(f, a))(a), slope, rtol=1e-6)
    assert_same(dr.jvp(lambda a: solve(f, a), (a,), (2.0,))[1], 2.0 * slope, rtol=1e-6)
    assert_same(dr.grad(dr.grad(lambda a: solve(f, a)))(a), bend, rtol=1e-6)


def test_systems_of_equations():
    def f(x, p):
        return np.stack([x[0] ** 2 + x[1] - p["a"], x[0] - x[1] * p["b"][0]])

    def solution(p, **options):
        made = optimize.root(f, np.ones(2), args=(p,), tol=1e-12, **options)
        assert made.success
        return np.sum(made.x**3)

    p = {"a": 3.0, "b": [2.0]}
    check_vjp(dr.vjp, solution, p)
    check_order_2(dr.vjp, solution, p)
    with_slope = dr.grad(lambda p: solution(p, jac=lambda x, p: dr.jacobian(f)(x, p)))(p)
    assert_same(with_slope, dr.grad(solution)(p), rtol=1e-9)
    assert type(optimize.root(f, np.ones(2), args=(p,)).x) is np.ndarray


def test_complex_roots():
    def root(a):
        return optimize.newton(lambda z: z * z + a, 1.0 + 1.0j).imag

    assert_same(dr.grad(root)(2.0), 0.5 / math.sqrt(2.0), rtol=1e-12)
    assert_same(dr.grad(dr.grad(root))(2.0), -0.25 / 2.0**1.5, rtol=1e-9)


def test_solvers_that_do_not_converge():
    with pytest.raises(SolutionError, match="SciPy's solver says: The iteration is not making good progress"):
        dr.grad(lambda a: optimize.root(lambda x: x * x + a, np.ones(1)).x[0])(1.0)
    with pytest.raises(SolutionError, match="SciPy's solver says"):
        dr.grad(lambda a: optimize.root_scalar(lambda x: x**3 - a, x0=5.0, x1=4.0, maxiter=2).root)(1.0)
    with pytest.raises(SolutionError, match="Newton's method would move"):
        dr.grad(lambda a: optimize.newton(lambda x: x**3 - a, 5.0, maxiter=2, disp=False))(1.0)
    assert not optimize.root(lambda x: x * x + 1.0, np.ones(1)).success


# scipy.integrate


def pendulum(t, y, p):
    return np.stack([y[1], -p[0] * np.sin(y[0]) - p[1] * y[1] + 0.1 * np.cos(p[0] * t)])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau"])
def test_initial_value_problems(method):
    options = {"method": method, "rtol": 1e-9, "atol": 1e-10}
    if method in ("RK23", "Radau"):  # which take many steps, or long ones
        options |= {"rtol": 1e-6, "atol": 1e-8}
    p, y0 = np.array([2.0, 0.3]), np.array([1.0, 0.0])
    times = np.array([0.0, 0.4, 1.5, 2.0])

    def solved(p, y0, solve=integrate.solve_ivp, f=pendulum, **more):
        return solve(f, (0.0, 2.0), y0, args=(p,), **{"t_eval": times, **options, **more}).y

    def direction(d):
        """Differences in a direction, of SciPy's own."""
        ahead, behind = (solved(p + s * d, y0 + s * d, of_scipy.solve_ivp) for s in (1e-4, -1e-4))
        return (ahead - behind) / 2e-4

    for d in [np.array([1.0, 0.5])]:
        y, dy = dr.jvp(solved, (p, y0), (d, d))
        assert np.array_equal(y, solved(p, y0, of_scipy.solve_ivp))
        assert_same(dy, direction(d), rtol=1e-4, floor=1e-5)
        of_p, of_y0 = dr.vjp(solved, p, y0)[1](y)
        assert_same(of_p @ d + of_y0 @ d, np.sum(dy * y), rtol=1e-10)
    last = dr.jacobian(lambda p: solved(p, y0, t_eval=None)[:, -1])(p)
    at_2 = dr.jacobian(lambda p: solved(p, y0)[:, -1])(p)
    assert_same(last, at_2, rtol=1e-6)


@njit
def _pendulum(t, y, p):
    return np.array([y[1], -p[0] * np.sin(y[0]) - p[1] * y[1] + 0.1 * np.cos(p[0] * t)])


@pytest.mark.slow  # numba compiles the gradient for ten seconds; test_ode.py compares others with closed forms
def test_the_derivative_of_a_numba_function_is_that_of_a_python_function():
    def at_2(p, f):
        options = {"args": (p,), "t_eval": [0.0, 0.4, 1.5, 2.0], "rtol": 1e-9, "atol": 1e-10}
        return integrate.solve_ivp(f, (0.0, 2.0), np.array([1.0, 0.0]), **options).y[:, -1]

    by_python, compiled = (dr.jacobian(at_2)(np.array([2.0, 0.3]), f) for f in (pendulum, _pendulum))
    assert_same(compiled, by_python, rtol=1e-8)


def test_the_times_and_the_order_of_initial_value_problems():
    def decayed(rate, end, start=0.0, t_eval=None):
        made = integrate.solve_ivp(
            lambda t, y: -rate * y, (start, end), [2.0], "DOP853", t_eval, rtol=1e-10, atol=1e-12
        )
        return made.y[0, -1]

    expected = 2.0 * math.exp(-1.5 * 0.8)
    assert_same(dr.grad(decayed)(1.5, 0.8), -0.8 * expected, rtol=1e-7)
    assert_same(dr.grad(dr.grad(decayed))(1.5, 0.8), 0.64 * expected, rtol=1e-6)
    assert_same(dr.grad(decayed, (1, 2))(1.5, 0.8, 0.0), (-1.5 * expected, 1.5 * expected), rtol=1e-7)
    assert_same(dr.grad(lambda t: decayed(1.5, 3.0, 0.0, [0.1, t]))(0.8), -1.5 * expected, rtol=1e-5)
    assert_same(dr.grad(lambda rate: decayed(rate, -0.8))(-1.5), 0.8 * expected, rtol=1e-7)  # backwards


def test_the_times_that_are_returned_have_derivatives():
    def slope(t, y, rate):
        assert not isinstance(t, int)
        return -rate * y

    def solved(p, t_eval=None):
        return integrate.solve_ivp(slope, (0, p[1]), [2], t_eval=t_eval, args=(p[0],))

    p = np.array([1.5, 0.8])
    assert_same(dr.jacobian(lambda p: solved(p).t[[0, -1]])(p), np.array([[0.0, 0.0], [0.0, 1.0]]))
    assert_same(dr.jacobian(lambda p: solved(p, [0.0, p[1] / 2.0]).t)(p), np.array([[0.0, 0.0], [0.0, 0.5]]))
    assert len(integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=[]).t) == 0


def test_initial_value_problems_that_are_refused():
    options, why = {"method": "BDF"}, "method='BDF' of numbers that are being differentiated"
    assert integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], **options).success
    with pytest.raises(UnsupportedError, match=why):
        dr.grad(lambda r: integrate.solve_ivp(lambda t, y: -r * y, (0.0, 1.0), [1.0], **options).y[0, -1])(1.0)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_functions_of_several_columns(method):
    def decay(t, y, rate):
        assert y.ndim == 2
        return -rate * y

    def last(rate):
        options = {"args": (rate,), "vectorized": True, "method": method, "rtol": 1e-8, "atol": 1e-10}
        return integrate.solve_ivp(decay, (0.0, 1.0), np.array([1.0, 2.0]), **options).y[1, -1]

    assert_same(dr.grad(last)(0.7), -2.0 * math.exp(-0.7), rtol=1e-6)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_a_function_that_writes_into_the_same_array_each_time(method):
    def last(rate, again):
        slope = dnp.zeros(2)

        def f(t, y):
            slope[0], slope[1] = y[1], -rate * y[0]
            return slope if again else slope.copy()

        return integrate.solve_ivp(f, (0.0, 2.0), np.array([1.0, 0.5]), method=method, rtol=1e-6, atol=1e-8).y[0, -1]

    assert_same(dr.value_and_grad(last)(1.3, True), dr.value_and_grad(last)(1.3, False), rtol=1e-12)


def test_a_stiff_equation_to_the_second_order():
    def last(p):
        made = integrate.solve_ivp(
            lambda t, y: np.stack([-p[0] * (y[0] - np.cos(t)), y[0] - p[1] * y[1] ** 2]),
            (0.0, 0.5),
            np.array([0.0, 1.0]),
            "Radau",
            rtol=1e-5,
            atol=1e-7,
        )
        assert len(made.t) < 60
        return made.y[1, -1]

    def differences(f, p, d):
        return (f(p + d) - f(p - d)) / (2.0 * np.sum(d))

    p = np.array([1000.0, 0.7])
    # differences see how the steps move, too
    d = np.array([1.0, 0.0]), np.array([0.0, 1e-3])
    assert_same(dr.grad(last)(p), np.stack([differences(last, p, x) for x in d]), rtol=5e-3)
    assert_same(dr.hvp(last)(p, d[1] * 1e3), differences(dr.grad(last), p, d[1]), rtol=5e-3)


@pytest.mark.parametrize("tfirst", [False, True])
def test_odeint(tfirst):
    def f(*given):
        t, y, p = (given[0], given[1], given[2]) if tfirst else (given[1], given[0], given[2])
        return y[1], -p[0] * np.sin(y[0]) - p[1] * y[1] + 0.1 * np.cos(p[0] * t)

    def solved(p, y0, t, odeint=integrate.odeint):
        return odeint(f, y0, t, args=(p,), tfirst=tfirst, rtol=1e-10, atol=1e-10)

    given = np.array([2.0, 0.3]), np.array([1.0, 0.0]), np.array([0.0, 0.4, 0.4, 1.5, 2.0])
    y, pull = dr.vjp(solved, *given)
    assert np.array_equal(y, solved(*given, of_scipy.odeint))
    moves = np.array([1.0, 0.5]), np.array([-1.0, 0.2]), np.array([0.3, 0.1, 0.1, 0.2, 0.5])
    ahead, behind = (solved(*(x + s * d for x, d in zip(given, moves, strict=True))) for s in (1e-4, -1e-4))
    assert_same(
        sum(np.sum(a * b) for a, b in zip(pull(y), moves, strict=True)), np.sum(y * (ahead - behind)) / 2e-4, rtol=1e-5
    )
    assert_same(dr.jvp(solved, given, moves)[1], (ahead - behind) / 2e-4, rtol=1e-4, floor=1e-6)


def test_odeint_to_the_second_order_of_one_number_and_backwards():
    def decayed(rate, end, **more):
        made = integrate.odeint(lambda y, t, r: -r * y, 2.0, [0.0, end], (rate,), **more)
        return (made[0] if more else made)[-1, 0]

    for end in (0.8, -0.8):
        expected = 2.0 * math.exp(-1.5 * end)
        assert_same(dr.grad(decayed, (0, 1))(1.5, end), (-end * expected, -1.5 * expected), rtol=1e-6)
        assert_same(dr.grad(dr.grad(decayed))(1.5, end, full_output=True), end * end * expected, rtol=1e-5)
    assert dr.grad(lambda y: integrate.odeint(lambda y, t: y, y, [1.0])[0, 0])(3.0) == 1.0
    with pytest.raises(UnsupportedError, match="an integration over no time, of whose ends"):
        dr.grad(lambda t: integrate.odeint(lambda y, t: y, 1.0, [t, t])[1, 0])(3.0)
    compiled = dr.jacobian(lambda p: integrate.odeint(_pendulum, [1.0, 0.0], [0.0, 2.0], (p,), tfirst=True)[-1])
    by_steps = dr.jacobian(
        lambda p: integrate.solve_ivp(pendulum, (0.0, 2.0), [1.0, 0.0], args=(p,), rtol=1e-9).y[:, -1]
    )
    assert_same(compiled(np.array([2.0, 0.3])), by_steps(np.array([2.0, 0.3])), rtol=1e-4)


def test_odeint_of_a_stiff_equation_and_what_is_refused():
    def last(p):
        y, report = integrate.odeint(
            lambda y, t: -p[0] * (y - p[1] * np.cos(t)), 0.0, [0.0, 0.5, 1.0], full_output=True
        )
        assert 2 in report["mused"]
        return y[-1, 0]

    rate, size = p = np.array([1000.0, 0.7])
    exact = size * rate / (rate * rate + 1.0) * (rate * math.cos(1.0) + math.sin(1.0))
    slope = size * (2.0 * rate * math.cos(1.0) + math.sin(1.0)) / (rate * rate + 1.0) - exact * 2.0 * rate / (
        rate**2 + 1.0
    )
    assert_same(last(p), exact, rtol=1e-6)
    assert_same(dr.grad(last)(p), np.array([slope, exact / size]), rtol=1e-5)
    with pytest.raises(UnsupportedError, match=r"odeint with tcrit .* at .*a call for each piece"):
        dr.grad(lambda a: integrate.odeint(lambda y, t: -a * y, 1.0, [0.0, 1.0], tcrit=[0.5])[-1, 0])(1.0)
    with pytest.raises(SolutionError, match="SciPy's solver says: Excess work"), pytest.warns(of_scipy.ODEintWarning):
        dr.grad(lambda a: integrate.odeint(lambda y, t: -a * y, 1.0, [0.0, 9.0], mxstep=2)[-1, 0])(1.0)
    assert integrate.odeint(lambda y, t: -y, 1.0, [0.0, 1.0], tcrit=[0.5]).shape == (2, 1)


def test_an_integration_that_fails():
    with pytest.raises(SolutionError, match="SciPy's solver says: Required step size"), np.errstate(all="ignore"):
        dr.grad(lambda r: integrate.solve_ivp(lambda t, y: r * y * y, (0.0, 5.0), [1.0]).y[0, -1])(1.0)


# scipy.sparse


ROWS, COLUMNS = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 0, 1, 1, 2, 2])  # two entries at (2, 2)
ENTRIES = np.array([4.0, 1.0, 1.0, 3.0, 0.5, 1.0, 1.5])


def dense(d):
    return np.stack([np.stack([np.sum(d[(i == ROWS) & (j == COLUMNS)]) for j in range(3)]) for i in range(3)])


@pytest.mark.parametrize(
    "solve",
    [
        linalg.spsolve,
        lambda a, b: linalg.splu(a.tocsc()).solve(b),
        lambda a, b: linalg.factorized(a)(b),
        lambda a, b: linalg.splu(a.T.tocsc()).solve(np.stack([b, b], axis=1), "T")[:, 1],
        lambda a, b: linalg.gmres(a, b, rtol=1e-12, M=np.diag([0.25, 0.3, 0.4]), callback=None)[0],
        lambda a, b: linalg.gmres(a, b, rtol=1e-12, M=linalg.LinearOperator((3, 3), lambda v: v / 3.0))[0],
    ],
)
def test_sparse_systems(solve):
    b = np.array([1.0, 2.0, 3.0])

    def f(d, b):
        a = sparse.csr_array((d, (ROWS, COLUMNS)), shape=(3, 3))
        return np.sum(solve(a, b) ** 3)

    def expected(d, b):
        return np.sum(np.linalg.solve(dense(d), b) ** 3)

    assert_same(f(ENTRIES, b), expected(ENTRIES, b), rtol=1e-10)
    assert_same(dr.grad(f, (0, 1))(ENTRIES, b), dr.grad(expected, (0, 1))(ENTRIES, b), rtol=1e-8)
    tangents = np.cos(np.arange(7.0)), np.ones(3)
    assert_same(dr.jvp(f, (ENTRIES, b), tangents)[1], dr.jvp(expected, (ENTRIES, b), tangents)[1], rtol=1e-8)
    assert_same(dr.hessian(f)(ENTRIES, b), dr.hessian(expected)(ENTRIES, b), rtol=1e-7, floor=1e-9)
    assert_same(dr.jacrev(dr.jacrev(f))(ENTRIES, b), dr.jacfwd(dr.jacfwd(f))(ENTRIES, b), rtol=1e-6, floor=1e-9)
    constant = sparse_of_scipy.csc_array(dense(ENTRIES))
    assert_same(dr.grad(lambda b: np.sum(solve(constant, b) ** 3))(b), dr.grad(expected, 1)(ENTRIES, b), rtol=1e-8)


def test_sparse_arrays_of_every_form_and_operators():
    b = np.array([1.0, 2.0, 3.0])
    as_columns = sparse_of_scipy.csc_array(np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]))

    def f(d):
        made = [
            sparse.csc_array((d, as_columns.indices, as_columns.indptr)),
            sparse.coo_array((d, as_columns.tocoo().coords)),
            sparse.csr_array((d, as_columns.indices, as_columns.indptr), shape=(3, 3)),
        ]
        whole = [linalg.cg(a, b, rtol=1e-12)[0] for a in [*made, made[0].toarray()]]  # the matrix is symmetric
        return np.sum(whole[0] * whole[1] * whole[2] * whole[3] * (made[0].T @ b))

    check_vjp(dr.vjp, f, as_columns.data)
    found = dr.grad(lambda b: np.sum(linalg.bicgstab(as_columns, b, rtol=1e-12)[0]))(b)
    assert_same(found, np.linalg.solve(as_columns.toarray(), np.ones(3)), rtol=1e-9)
    operator = linalg.aslinearoperator(as_columns)
    found = dr.grad(lambda b: np.sum(linalg.minres(operator, b, rtol=1e-12)[0]))(b)
    assert_same(found, np.linalg.solve(as_columns.toarray(), np.ones(3)), rtol=1e-9)
    operator = linalg.LinearOperator((3, 3), matvec=lambda x: as_columns @ x)  # the method says that it is symmetric
    found = dr.grad(lambda b: np.sum(linalg.cg(operator, b, rtol=1e-12)[0]))(b)
    assert_same(found, np.linalg.solve(as_columns.toarray(), np.ones(3)), rtol=1e-9)
    assert sparse.csr_array(np.eye(2)).nnz == 2
    with pytest.raises(SolutionError, match="info=1"):
        dr.grad(lambda b: linalg.gmres(as_columns, b, rtol=1e-14, maxiter=1, restart=1)[0][0])(b)
    with pytest.raises(UnsupportedError, match="complex matrix"):
        dr.grad(lambda b: linalg.spsolve(as_columns * 1j, b)[0])(b)
    with pytest.raises(UnsupportedError, match="several right-hand sides"):
        dr.grad(lambda b: linalg.spsolve(as_columns, np.stack([b, b], axis=1))[0, 0])(b)


def test_factors_are_kept_for_several_systems():
    whole = sparse_of_scipy.csc_array(dense(ENTRIES))
    factors, b = linalg.splu(whole), np.array([1.0, 2.0, 3.0])
    assert (factors.L @ factors.U).shape == factors.shape == (3, 3)
    assert np.array_equal(factors.solve(b), linalg.factorized(whole)(b))
    jacobian = dr.jacobian(lambda b: factors.solve(factors.solve(b, "H")))(b)
    assert_same(jacobian, np.linalg.inv(whole.toarray()) @ np.linalg.inv(whole.toarray().T), rtol=1e-12)
    with pytest.raises(
        UnsupportedError, match=r"splu\(a\)\.L, where a is being differentiated, at .*: SciPy's factors"
    ):
        dr.grad(lambda d: linalg.splu(sparse.coo_array((d, (ROWS, COLUMNS)), shape=(3, 3))).L)(ENTRIES)
    with pytest.raises(UnsupportedError, match="complex matrix"):
        dr.grad(lambda b: np.sum(np.real(linalg.splu(whole * 1j).solve(b))))(b)
    with pytest.raises(UnsupportedError, match="complex right-hand side"):
        dr.grad(lambda b: np.sum(np.real(factors.solve(b * 1j))))(b)
    with pytest.raises(UnsupportedError, match=r"test_implicit\.py:\d+: .*takes plain.*dualrev\.scipy"):
        dr.grad(lambda b: sparse_of_scipy.linalg.splu(whole).solve(b)[0])(b)


def by_diagonals(d):
    return sparse.diags_array([d[:3], d[3], d[4:6]], offsets=[0, -1, 1], shape=(3, 3))


@pytest.mark.parametrize("name", ["bicg", "bicgstab", "cgs", "gcrotmk", "gmres", "lgmres", "tfqmr", "spsolve"])
def test_solvers_of_matrices_by_their_diagonals(name):
    """A diagonal may be a number, and a matrix has every format already."""
    solver, d = getattr(linalg, name), np.array([4.0, 5.0, 6.0, 0.5, 1.0, -0.7])
    b = np.array([1.0, 2.0, 3.0])

    def f(d):
        a = by_diagonals(d).tocsc().asformat("csr")
        x = solver(a, b) if name == "spsolve" else solver(a, b, rtol=1e-12, atol=0.0)[0]
        return np.sum(x**2)

    def expected(d):
        a = np.stack([np.stack([d[0], d[4], 0.0]), np.stack([d[3], d[1], d[5]]), np.stack([0.0, d[3], d[2]])])
        return np.sum(np.linalg.solve(a, b) ** 2)

    assert_same(dr.grad(f)(d), dr.grad(expected)(d), rtol=1e-7)
    assert_same(f(d), expected(d), rtol=1e-9)
    main = dr.jacobian(lambda d: sparse.diags_array(d).toarray())(b)  # one diagonal, without the list around it
    assert_same(main.sum(axis=2), np.eye(3))


def test_the_examples_of_the_page_run():
    found = doctest.testfile(str(DOCS / "implicit.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 12
