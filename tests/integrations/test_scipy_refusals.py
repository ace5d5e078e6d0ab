"""Refusals of dualrev.scipy: the message names the user's line, and its cure has a right derivative."""

import numpy as np
import pytest

import dualrev as dr
from dualrev.errors import UnsupportedError
from dualrev.scipy import integrate, linalg, sparse, special

V, M = np.array([1.5, 2.0, 3.0]), np.array([[2.0, 0.3], [0.4, 1.0], [0.2, 0.7]])
A = np.array([[3.0, 0.2, 0.1], [0.1, 2.0, 0.3], [0.2, 0.1, 4.0]])
PLACES = [0, 1, 2], [0, 2, 1]

#: The function, words of the message, the function with the cure, and where.
REFUSED = {
    "qr of a tall matrix": (
        lambda m: linalg.qr(m)[1][0, 1],
        "mode='economic'",
        lambda m: linalg.qr(m, mode="economic")[1][0, 1],
        M,
    ),
    "solve of a kind of matrix": (
        lambda x: linalg.solve(A * x[0], x, assume_a="tridiagonal")[0],
        "it without",
        lambda x: linalg.solve(A * x[0], x)[0] + linalg.solve(A * x[1], x)[1],
        V,
    ),
    "several triangular systems": (
        lambda x: linalg.solve_triangular(np.stack([A, A]) * x[0], np.stack([x, x]))[0, 0],
        "a loop over them",
        lambda x: sum(linalg.solve_triangular(a * x[0], x)[1] for a in (A, 2.0 * A)),
        V,
    ),
    "polygamma by its order": (
        lambda x: special.polygamma(x[0], x).sum(),
        "dualrev.value(n), which is a whole number",
        lambda x: special.polygamma(round(dr.value(x[1])), x).sum(),
        V,
    ),
    "zeta by its first argument": (
        lambda x: special.zeta(x[1], x[0]),
        "dualrev.value(x), if it is a constant",
        lambda x: special.zeta(round(dr.value(x[1])), x[0]),
        V,
    ),
    "ode by its first state": (
        lambda x: integrate.ode(lambda t, y: -y).set_initial_value(x).integrate(1.0)[0],
        "integrate.solve_ivp(f, (t0, t1), y0, method='DOP853', args=args)",
        lambda x: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x, method="DOP853").y[0, -1],
        V,
    ),
    "ode by a number of the right-hand side": (
        lambda x: integrate.ode(lambda t, y: -x * y).set_initial_value(V).integrate(1.0)[0],
        "integrate.solve_ivp(f, (t0, t1), y0, method='DOP853', args=args)",
        lambda x: integrate.solve_ivp(lambda t, y: -x * y, (0.0, 1.0), V, method="DOP853", rtol=1e-9).y[0, -1],
        V,
    ),
    "a sparse matrix by a matrix": (
        lambda x: (sparse.csr_array((x, PLACES), shape=(3, 3)) @ A).sum(),
        "one for every column",
        lambda x: sum((sparse.csr_array((x, PLACES), shape=(3, 3)) @ a).sum() for a in A.T),
        V,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_line_and_a_cure(name):
    f, words, cured, x = REFUSED[name]
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(f)(x)
    assert words in str(refused.value)
    assert "test_scipy_refusals.py:" in str(refused.value)
    dr.check_grads(cured, (x,), order=1)
