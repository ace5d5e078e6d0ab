"""`solve_bvp` of dualrev.scipy.integrate, against differences of SciPy's solutions with a small tolerance."""

import numpy as np
import pytest
from numba import njit
from scipy import integrate as of_scipy

import dualrev as dr
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.scipy import integrate

AT = np.array([0.13, 0.41, 0.87])


def bratu(k, end, solve=integrate.solve_bvp, **options):
    """y'' + k exp(y) = 0, from 0 to an end where y is 0, too."""
    return solve(
        lambda x, y: np.stack((y[1], -k * np.exp(y[0]))),
        lambda ya, yb: np.array([ya[0], yb[0]]),
        np.linspace(0.0, 1.0, 5) * end,
        np.zeros((2, 5)),
        **options,
    )


def layer(eps, left, solve=integrate.solve_bvp, **options):
    """eps y'' + y' = 0 has a boundary layer at 0; fun and bc return lists."""
    x = np.linspace(0.0, 1.0, 21)
    y = np.stack((x, np.ones(21)))
    return solve(lambda x, y: [y[1], -y[1] / eps], lambda ya, yb: [ya[0] - left, yb[0] - 1.0], x, y, **options)


def string(density, slope, solve=integrate.solve_bvp, **options):
    """y'' + p**2 (1 + density x) y = 0 with an unknown p."""
    x = np.linspace(0.0, 1.0, 9)
    return solve(
        lambda x, y, p: np.vstack((y[1], -(p[0] ** 2) * (1.0 + density * x) * y[0])),
        lambda ya, yb, p: np.array([ya[0], yb[0], ya[1] - slope]),
        x,
        np.stack((np.sin(np.pi * x), np.cos(np.pi * x))),
        p=[3.0],
        **options,
    )


def emden(k, start, solve=integrate.solve_bvp, **options):
    """y'' + 2 y' / x + k y**5 = 0 with a singular term."""
    x = np.linspace(0.0, 1.0, 7)
    return solve(
        lambda x, y: np.vstack((y[1], -k * y[0] ** 5)),
        lambda ya, yb: np.array([ya[1], yb[0] - start]),
        x,
        np.stack((np.ones(7), np.zeros(7))),
        S=np.array([[0.0, 0.0], [0.0, -2.0]]),
        **options,
    )


def turning(k, start, solve=integrate.solve_bvp, **options):
    """A complex problem: y' = i k y."""
    x = np.linspace(0.0, 1.0, 5)
    return solve(lambda x, y: 1j * k * y, lambda ya, yb: ya - start, x, np.ones((1, 5), complex), **options)


@pytest.mark.parametrize(
    ("problem", "given"),
    [(bratu, (1.0, 1.0)), (layer, (0.1, 0.5)), (string, (0.3, 2.0)), (emden, (1.0, 0.8)), (turning, (2.0, 0.7))],
)
def test_both_modes_to_order_2(problem, given):
    def numbers(a, b, solve=integrate.solve_bvp, tol=1e-4):
        made = problem(a, b, solve, tol=tol)
        y = np.ravel(made.sol(AT))
        parts = [np.real(y), np.imag(y)] if problem is turning else [y, np.ravel(made.sol(AT, 1))]
        return np.concatenate([*parts, [] if made.p is None else made.p])

    assert np.array_equal(dr.vjp(numbers, *given)[0], numbers(*given, of_scipy.solve_bvp))
    for k in range(2):
        move = np.eye(2)[k] * 1e-4
        ahead, behind = (numbers(*given + s * move, of_scipy.solve_bvp, 1e-9) for s in (1.0, -1.0))
        found = dr.jvp(lambda a, b: numbers(a, b, tol=1e-8), given, tuple(np.eye(2)[k]))[1]
        # both solutions have an error of the size of their tolerance, larger in the slope of the spline
        assert np.allclose(found, (ahead - behind) / 2e-4, rtol=1e-5, atol=1e-5)
    dr.check_grads(lambda a, b: numbers(a, b, tol=1e-6), given, order=2)


def test_the_result_is_scipys_and_traced():
    def parts(k):
        made = bratu(k, 1.0)
        return made.x, made.y, made.yp, made.sol.c, made.sol(0.3), made.sol([[0.3], [2.0]], nu=2)

    made, tangents = dr.jvp(parts, (1.0,), (1.0,))
    expected = bratu(1.0, 1.0, of_scipy.solve_bvp)
    known = (expected.x, expected.y, expected.yp, expected.sol.c, expected.sol(0.3), expected.sol([[0.3], [2.0]], nu=2))
    for a, b, t in zip(made, known, tangents, strict=True):
        assert np.array_equal(a, b)
        assert np.shape(t) == b.shape
    assert not tangents[0].any()
    plain = bratu(1.0, 1.0)
    assert isinstance(plain.sol, type(expected.sol))
    assert np.array_equal(plain.y, expected.y)
    assert plain.p is None
    assert dr.grad(lambda k: bratu(k, 1.0).rms_residuals[0] + 0.0 * k)(1.0) == 0.0


@njit
def decay(x, y):
    return -2.0 * y


def test_numba_functions_ends_and_starts():
    def last(start, guess):
        x = np.array([0.0, 0.5, 1.0])
        return integrate.solve_bvp(decay, lambda ya, yb: ya - start, x, np.ones((1, 3)) * guess, tol=1e-8).y[0, -1]

    assert np.allclose(dr.grad(last, (0, 1))(1.5, 1.0), (np.exp(-2.0), 0.0), atol=1e-8)


def test_refusals():
    with pytest.raises(SolutionError, match=r"maximum number of mesh nodes"):
        dr.grad(lambda k: bratu(k, 1.0, tol=1e-9, max_nodes=6).y[0, 1])(1.0)
    with pytest.raises(UnsupportedError, match=r"solve_bvp with S .* at .*dualrev.stop_gradient\(S\)"):
        dr.grad(
            lambda s: integrate.solve_bvp(
                lambda x, y: -y, lambda ya, yb: yb - 1.0, [0.0, 1.0], np.ones((1, 2)), S=np.array([[-1.0]]) * s
            ).y[0, 0]
        )(1.0)
    with pytest.raises(UnsupportedError, match=r"integrate of the spline .* Write sol\(x, nu\)"):
        dr.grad(lambda k: bratu(k, 1.0).sol.integrate(0.0, 1.0)[0])(1.0)
    with pytest.raises(UnsupportedError, match="periodic"):
        dr.grad(lambda k: bratu(k, 1.0).sol(0.5, 0, "periodic")[0])(1.0)
