"""SciPy's optimizers and solvers take derivatives as they are, and a gradient goes to other processes."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from scipy import special
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, minimize, root
from support.oracle import assert_same, check_order_2, check_vjp

import dualrev as dr
from stages import STAGES


@pytest.mark.parametrize("f", [special.gammaln, special.gamma, special.psi, special.erf, special.expit])
def test_derivatives_by_arrays_are_numpy_s(f):
    """Derivatives of arrays are NumPy arrays in the argument's dtype, for every special function."""
    x = np.array([0.7, 1.5, 2.3])

    def total(x):
        return np.sum(f(x) * x)

    found = [dr.grad(total)(x), dr.jacobian(f)(x), dr.hessian(total)(x), dr.hvp(total)(x, x), *dr.jvp(f, (x,), (x,))]
    assert [type(u) for u in found] == [np.ndarray] * 6
    assert dr.grad(total)(x.astype(np.float32)).dtype == np.float32
    check_vjp(dr.vjp, total, x)
    check_order_2(dr.vjp, total, x)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP"])
def test_minimize_with_value_and_gradient(method):
    found = minimize(dr.value_and_grad(rosenbrock), np.zeros(5), jac=True, method=method, tol=1e-8)
    assert_same(found.x, np.ones(5), rtol=1e-3)


@pytest.mark.parametrize("method", ["trust-ncg", "trust-krylov", "Newton-CG", "trust-constr"])
def test_minimize_with_hessian_vector_products(method):
    found = minimize(dr.value_and_grad(rosenbrock), np.zeros(5), jac=True, hessp=dr.hvp(rosenbrock), method=method)
    assert_same(found.x, np.ones(5), rtol=1e-2)  # where Newton-CG stops


def test_minimize_with_arguments_and_a_hessian():
    def f(x, scale, n):
        return scale * np.sum((x - 2.0) ** n)

    found = minimize(
        dr.value_and_grad(f), np.zeros(2), (3.0, 2), jac=True, hess=dr.hessian(f), hessp=None, method="trust-exact"
    )
    assert_same(found.x, np.full(2, 2.0), rtol=1e-6)
    found = minimize(f, np.zeros(2), (3.0, 2), jac=dr.grad(f), hessp=dr.hvp(f), method="trust-ncg")
    assert_same(found.x, np.full(2, 2.0), rtol=1e-6)


def test_least_squares_and_root():
    t = np.linspace(0.0, 4.0, 9)

    def residuals(p):
        return p[0] * np.exp(-p[1] * t) - 3.0 * np.exp(-0.7 * t)

    assert_same(least_squares(residuals, np.ones(2), jac=dr.jacobian(residuals)).x, np.array([3.0, 0.7]), rtol=1e-6)

    def system(x):
        return np.array([x[0] ** 2 + x[1] - 3.0, x[0] - x[1] + 1.0])

    assert_same(root(system, np.ones(2), jac=dr.jacobian(system)).x, np.array([1.0, 2.0]), rtol=1e-6)


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_solve_ivp_of_a_stiff_equation(method):
    def van_der_pol(t, y):
        return np.array([y[1], 100.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])

    jac = dr.jacobian(van_der_pol, argnums=1)
    assert_same(jac(0.0, np.array([2.0, 0.5])), np.array([[0.0, 1.0], [-201.0, -300.0]]))
    made = solve_ivp(van_der_pol, (0.0, 50.0), [2.0, 0.0], method=method, jac=jac)
    assert made.success
    assert made.nfev < 2000


# Pickles


def square(x, n=2):
    return x**n


@dr.grad
def slope(x):
    return square(x)


@dr.checkpoint
def saved(x):
    return square(x)


@dr.custom_vjp
def by_vjp(x):
    return square(x)


by_vjp.defvjp(lambda x: (square(x), x), lambda x, ct: (2.0 * x * ct,))


@dr.custom_jvp
def by_jvp(x):
    return square(x)


by_jvp.defjvp(lambda primals, tangents: (square(*primals), 2.0 * primals[0] * tangents[0]))

MADE = {
    "grad": dr.grad(square),
    "grad of grad": dr.grad(dr.grad(square)),
    "value_and_grad": dr.value_and_grad(square, argnums=(0,)),
    "jacrev": dr.jacrev(square),
    "jacfwd": dr.jacfwd(square),
    "hessian": dr.hessian(square),
    "through a stage": dr.grad(square, engine=STAGES["staged"]),
    "decorated": slope,
    "checkpoint": dr.grad(saved),
    "checkpoint, not decorated": dr.grad(dr.checkpoint(square)),
    "custom_vjp": dr.grad(by_vjp),
    "custom_jvp": dr.hessian(by_jvp),
    "primitive": None,  # made by the test: other tests go through the table of primitives
}


@pytest.mark.parametrize("f", MADE.values(), ids=MADE)
def test_derivatives_pickle_and_copy(f):
    if f is None:
        globals()["softplus"] = dr.primitive("softplus", "log1p(exp(x))", "1.0 / (1.0 + exp(-x))")
        f = dr.grad(globals()["softplus"])
    expected = f(3.0)
    for protocol in range(4, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(f, protocol))(3.0) == expected
    assert copy.deepcopy(f)(3.0) == copy.copy(f)(3.0) == expected


def test_what_does_not_pickle_is_the_function():
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(dr.grad(lambda x: x))


def test_derivatives_in_processes_that_are_spawned():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        made = [pool.map_async(f, [1.0, 2.0, 3.0]) for f in (MADE["grad"], MADE["through a stage"], slope)]
        for result in made:
            assert result.get(timeout=60) == [2.0, 4.0, 6.0]
