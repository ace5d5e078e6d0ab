"""dualrev.interop: each bridge with the library itself, where it is installed, against differences and closed forms."""

import importlib
import math
import re
import sys
from types import ModuleType

import numpy as np
import pytest
from numba import cfunc, njit, types
from scipy import LowLevelCallable, integrate

import dualrev as dr
from dualrev.errors import BridgeError
from dualrev.interop.jacobian_products import Products

ROOT = "not installed: pip install "
X, Y = np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.0, -1.0])


def plain(x, y, scale):
    """A branch and a loop: what tracing libraries cannot follow."""
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            total += np.sin(x[i]) * x[i] * y[i] * scale
        else:
            total += x[i] * x[i] * x[0]
    return total


def plain_vector(x, scale):
    return np.sin(x) * x[0] * scale


@njit
def weighed(x):
    return np.sum(vector(x, 2.0) * np.array([1.0, -1.0, 2.0]))


number, vector = njit(plain), njit(plain_vector)
W = np.array([1.0, -1.0, 2.0])  # of `weighed`
BOTH = pytest.mark.parametrize(("f", "v"), [(number, vector), (plain, plain_vector)], ids=["numba", "tape"])


def library(name):
    """A module, or a skip that says why; Ipopt's own library may be missing beside cyipopt."""
    return pytest.importorskip(name, reason=f"{name} is {ROOT}{name}", exc_type=ImportError)


def bridge(name):
    library(name)
    return __import__(f"dualrev.interop.{name}", fromlist=["function"])


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def equal(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def central(f, x, step=1e-5):
    """The derivative of f by each entry of x, along a last axis."""
    moves = step * np.eye(len(x))
    return np.stack([(np.asarray(f(x + m)) - np.asarray(f(x - m))) / (2.0 * step) for m in moves], axis=-1)


def gradient(x):
    return central(lambda x: plain(x, Y, 2.0), x)


def hessian(x):
    return central(lambda x: dr.grad(plain)(x, Y, 2.0), x)


# ----------------------------------------------------------------------------------------------------------------------
# What all bridges are made of


T, U = np.array([1.0, 0.5, -2.0]), np.array([-1.0, 3.0, 0.25])


@BOTH
def test_products_of_a_number(f, v):
    products = Products(f, (Y, 2.0), ())
    slope = gradient(X)
    equal(products.value(X), plain(X, Y, 2.0))
    near(products.pull(X, 2.0), 2.0 * slope)
    near(products.push(X, T), slope @ T)
    near(products.second(X, 2.0, U), 2.0 * hessian(X) @ U)
    near(products.curved(X), hessian(X))


@pytest.mark.parametrize("v", [pytest.param(vector, id="numba", marks=pytest.mark.slow), plain_vector])
def test_products_of_an_array(v):
    products = Products(v, (2.0,), (3,))
    jacobian = central(lambda x: plain_vector(x, 2.0), X)
    equal(products.value(X), plain_vector(X, 2.0))
    near(products.pull(X, T), T @ jacobian)
    near(products.push(X, T), jacobian @ T)
    near(products.second(X, T, U), central(lambda x: T @ products.jacobian(x) @ U, X))


def test_products_of_a_function_of_a_number():
    products = Products(njit(cubed), (), ())
    assert products.pull(2.0, 3.0) == pytest.approx(3.0 * 12.0)
    assert products.second(np.array(2.0), 1.0, 0.5) == pytest.approx(6.0)
    assert products.pull(2.0, 3.0).shape == ()


def cubed(x):
    return x * x * x


def test_a_result_of_another_shape_than_announced_is_an_error():
    with pytest.raises(BridgeError, match=re.escape("the result of 'plain_vector' at ")) as caught:
        Products(vector, (2.0,), ()).value(X)
    assert "its shape is (3,), where () was announced. Write shape=(3,), or" in str(caught.value)


# ----------------------------------------------------------------------------------------------------------------------
# JAX


@BOTH
def test_jax(f, v):
    jax, made = library("jax"), bridge("jax")
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    scalar, wide = made.function(f, Y, 2.0), made.function(v, 2.0, shape=(3,))
    check_grads(scalar, (X,), order=2, modes=["rev"])
    check_grads(wide, (X,), order=2, modes=["rev"])
    near(
        jax.jit(jax.grad(lambda x: jax.numpy.exp(scalar(x * x))))(X / 2.0),
        central(lambda x: math.exp(plain(x * x, Y, 2.0)), X / 2.0),
    )
    near(jax.jit(jax.jacrev(jax.grad(scalar)))(X), hessian(X))
    many = np.stack([X, 2.0 * X])
    near(jax.vmap(jax.grad(scalar))(many), [gradient(x) for x in many])
    equal(jax.jit(wide)(X), plain_vector(X, 2.0))


def test_jax_wants_doubles():
    jax, made = library("jax"), bridge("jax")
    with pytest.raises(BridgeError, match=r"a JAX array of float32, .* Write jax.config.update"):
        made.function(number, Y, 2.0)(jax.numpy.ones(3, "float32"))


# ----------------------------------------------------------------------------------------------------------------------
# PyTorch


@BOTH
def test_torch(f, v):
    torch, made = library("torch"), bridge("torch")
    x = torch.tensor(X, requires_grad=True)
    scalar, wide = made.function(f, Y, 2.0), made.function(v, 2.0, shape=(3,))
    for function in (scalar, wide):
        assert torch.autograd.gradcheck(function, x)
        assert torch.autograd.gradgradcheck(function, x)
    near(torch.autograd.functional.hessian(scalar, x).numpy(), hessian(X))
    torch.exp(scalar(x * x / 9.0)).backward()
    near(x.grad.numpy(), central(lambda x: math.exp(plain(x * x / 9.0, Y, 2.0)), X))


def test_torch_wants_doubles():
    torch, made = library("torch"), bridge("torch")
    function = made.function(number, Y, 2.0)
    for x, error in (
        (torch.ones(3), r"it is a tensor of torch.float32, .* Write x.double\(\)"),
        (X, "it is ndarray, .* Write torch.tensor"),
        (torch.ones(3, dtype=torch.float64, device="meta"), r"it is a tensor on meta, .* Write x.cpu\(\)"),
    ):
        with pytest.raises(BridgeError, match=error):
            function(x)


# ----------------------------------------------------------------------------------------------------------------------
# PyTensor, PyMC and nutpie


@BOTH
def test_pytensor(f, v):
    pytensor, made = library("pytensor"), bridge("pytensor")
    pt, x = pytensor.tensor, pytensor.tensor.dvector("x")
    scalar, wide = made.function(f, Y, 2.0), made.function(v, 2.0, shape=(3,))
    near(pytensor.function([x], pt.grad(scalar(x), x))(X), gradient(X))
    near(pytensor.function([x], pt.hessian(scalar(x), x))(X), hessian(X))
    rng = np.random.default_rng(0)
    pytensor.gradient.verify_grad(wide, [X], rng=rng)
    pytensor.gradient.verify_grad(lambda x: pt.grad(pt.dot(wide(x), W), x), [X], rng=rng)
    curved = pt.sum(pt.hessian(scalar(x), x))
    with pytest.raises(BridgeError, match="third derivative"):
        pt.grad(curved, x)
    with pytest.raises(BridgeError, match=r"a variable of float32, .* Write x.astype"):
        scalar(pt.fvector())


def test_pytensor_compiles_numba_functions_into_its_graphs():
    pytensor, made = library("pytensor"), bridge("pytensor")
    x = pytensor.tensor.dvector("x")
    y = made.function(number, Y, 2.0)(x)
    compiled = pytensor.function([x], [y, pytensor.tensor.grad(y, x)], mode="NUMBA")  # a warning where it cannot
    value, slope = compiled(X)
    equal(value, plain(X, Y, 2.0))
    near(slope, gradient(X))


@njit
def log_density(b, x, t):
    """Log-density of a regression with errors of 0.5 and a prior of N(0, 10)."""
    total = -0.5 * np.sum(b * b) / 100.0
    for i in range(len(t)):
        r = t[i] - x[i, 0] * b[0] - x[i, 1] * b[1]
        total -= 0.5 * r * r / 0.25
    return total


def regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    t = x @ np.array([1.0, -2.0]) + 0.5 * rng.normal(size=100)
    precision = x.T @ x / 0.25 + np.eye(2) / 100.0
    return x, t, np.linalg.solve(precision, x.T @ t / 0.25), np.sqrt(np.diag(np.linalg.inv(precision)))


def assert_posterior(trace, mean, deviation):
    """The mean to a fifth of a standard deviation, which is itself right to a tenth: it has 2,000 draws."""
    drawn = trace.posterior["b"].values.reshape(-1, 2)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 0.2 * deviation)
    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.1)


SAMPLER = {"draws": 1000, "tune": 400, "chains": 2, "cores": 1, "seed": 1, "progress_bar": False}


@pytest.mark.filterwarnings("ignore")  # ArviZ announces its next version
def test_nutpie():
    nutpie, made = library("nutpie"), bridge("nutpie")
    x, t, *expected = regression()
    model = made.model(log_density, 2, x, t, name="b", start=lambda seed: np.zeros(2))
    assert_posterior(nutpie.sample(model, **SAMPLER), *expected)
    with pytest.raises(BridgeError, match=r"the result of 'plain_vector' .* \(3,\), where \(\) was announced"):
        made.model(vector, 3, 2.0, start=lambda seed: np.zeros(3))
    with pytest.raises(BridgeError, match=r"the slope of 'log_density' by b\[1\] is 0 there, .* Write another start"):
        made.model(log_density, 2, x * [1.0, 0.0], t, name="b", start=lambda seed: np.zeros(2))


@pytest.mark.slow  # PyMC and PyTensor compile for half a minute
@pytest.mark.filterwarnings("ignore")
def test_pymc_and_its_compiled_log_density_in_nutpie():
    pm, nutpie, made = library("pymc"), library("nutpie"), bridge("pytensor")
    x, t, *expected = regression()
    with pm.Model() as model:
        b = pm.Flat("b", shape=2)
        pm.Potential("density", made.function(log_density, x, t)(b))
        by_pymc = pm.sample(draws=1000, tune=400, chains=2, cores=1, progressbar=False, random_seed=1)
    assert_posterior(by_pymc, *expected)
    assert_posterior(nutpie.sample(nutpie.compile_pymc_model(model), **SAMPLER), *expected)


# ----------------------------------------------------------------------------------------------------------------------
# CasADi and Ipopt


@BOTH
def test_casadi(f, v):
    ca, made = library("casadi"), bridge("casadi")
    x = ca.MX.sym("x", 3)
    scalar, wide = made.function(f, 3, Y, 2.0), made.function(v, 3, 2.0, shape=(3,))

    def at(expression):
        return np.array(ca.Function("made", [x], [expression])(X)).squeeze()

    equal(np.array(wide(X)).ravel(), plain_vector(X, 2.0))
    near(at(ca.gradient(scalar(x), x)), gradient(X))
    near(at(ca.hessian(scalar(x), x)[0]), hessian(X))
    near(at(ca.jacobian(wide(x), x)), central(lambda x: plain_vector(x, 2.0), X))
    near(at(ca.hessian(ca.dot(wide(x), ca.DM(W)), x)[0]), central(lambda x: dr.grad(weighed)(x), X))


def test_casadi_takes_vectors():
    made = bridge("casadi")
    with pytest.raises(BridgeError, match=r"of shape \(3, 3\) .*CasADi takes vectors here"):
        made.function(plain, 3, Y, 2.0, shape=(3, 3))


def plain_valley(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def plain_limits(x):
    return np.array([x[0] ** 2 + x[1] ** 2, x[1] * x[2]])


VALLEY = pytest.mark.parametrize(
    ("f", "c"), [(njit(plain_valley), njit(plain_limits)), (plain_valley, plain_limits)], ids=["numba", "tape"]
)
START, HIGHEST = np.array([0.0, 0.5, 0.2]), np.array([1.0, 0.3])


def constrained():
    from scipy.optimize import NonlinearConstraint, minimize

    limits = NonlinearConstraint(plain_limits, -np.inf, HIGHEST)
    return minimize(plain_valley, START, method="SLSQP", constraints=limits, options={"ftol": 1e-14, "maxiter": 500}).x


@VALLEY
def test_casadi_solves_by_ipopt_with_exact_hessians(f, c):
    ca, made = library("casadi"), bridge("casadi")
    x, objective, limits = ca.MX.sym("x", 3), made.function(f, 3), made.function(c, 3, shape=(2,))
    quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0}
    solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": objective(x), "g": limits(x)}, quiet)
    found = solver(x0=START, lbg=-np.inf, ubg=HIGHEST)
    assert solver.stats()["success"]
    np.testing.assert_allclose(np.array(found["x"]).ravel(), constrained(), atol=1e-5)


@VALLEY
def test_ipopt(f, c):
    made = bridge("cyipopt")
    problem = made.Problem(f, START, c, low=-np.inf, high=HIGHEST)
    x, said = problem.solve(print_level=0, sb="yes", tol=1e-10)
    assert said["status"] == 0
    np.testing.assert_allclose(x, constrained(), atol=1e-5)
    rows, columns = problem.hessianstructure()
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]
    lower = np.zeros((3, 3))
    lower[rows, columns] = problem.hessian(x, np.array([2.0, -1.0]), 0.5)

    def slope(x):
        return 0.5 * dr.grad(plain_valley)(x) + np.array([2.0, -1.0]) @ dr.jacobian(plain_limits)(x)

    near(lower, np.tril(central(slope, x)))
    dense = np.zeros((2, 3))
    dense[problem.jacobianstructure()] = problem.jacobian(x)
    near(dense, central(plain_limits, x))


def test_ipopt_without_constraints_and_within_bounds():
    made = bridge("cyipopt")
    x, said = made.Problem(njit(plain_valley), np.zeros(200)).solve(print_level=0, sb="yes")
    np.testing.assert_allclose(x, 1.0, atol=1e-6)
    assert said["status"] == 0
    x, _ = made.Problem(plain_valley, np.zeros(2), bounds=(0.0, [0.5, 3.0])).solve(print_level=0, sb="yes")
    np.testing.assert_allclose(x, [0.5, 0.25], atol=1e-6)


def test_ipopt_is_not_given_entries_that_it_does_not_know(monkeypatch):
    """Entries of a Jacobian that Ipopt does not know are an error: Ipopt asks for their positions only at the start."""
    monkeypatch.setitem(sys.modules, "cyipopt", ModuleType("cyipopt"))
    monkeypatch.delitem(sys.modules, "dualrev.interop.cyipopt", raising=False)
    made = importlib.import_module("dualrev.interop.cyipopt")

    def branching(x):
        return x[0] * x[1] if x[0] > 2.0 else x[0] ** 2

    problem = made.Problem(branching, np.ones(2), lambda x: np.array([branching(x)]))
    assert problem.jacobian(np.ones(2)).tolist() == [2.0]
    with pytest.raises(
        BridgeError, match=r"the Jacobian at another point .*2 entries, where Ipopt knows 1.*Write Prob"
    ):
        problem.jacobian(np.array([3.0, 1.0]))
    with pytest.raises(BridgeError, match=r"the Hessian at another point"):
        problem.hessian(np.array([3.0, 1.0]), np.ones(1), 1.0)


def test_ipopt_says_which_shape_is_wrong():
    made = bridge("cyipopt")
    with pytest.raises(BridgeError, match=r"start of shape \(2, 2\) .*Write x.ravel"):
        made.Problem(plain_valley, np.zeros((2, 2)))
    with pytest.raises(BridgeError, match="the result of 'plain_limits'"):
        made.Problem(plain_limits, START)
    with pytest.raises(BridgeError, match="the result of 'plain_valley'"):
        made.Problem(plain_valley, START, plain_valley)


# ----------------------------------------------------------------------------------------------------------------------
# SciPy


@njit
def wave(x, a):
    return math.sin(a * x) if x < 1.0 else x * a * a


def test_scipy_integrates_a_compiled_gradient_without_python():
    slope = dr.grad(wave, 1)

    @cfunc(types.float64(types.intc, types.CPointer(types.float64)))
    def integrand(n, args):
        return slope(args[0], args[1])

    found, _ = integrate.quad(LowLevelCallable(integrand.ctypes), 0.0, 2.0, args=(1.5,), points=[1.0])
    near([found], central(lambda a: (1.0 - math.cos(a[0])) / a[0] + 1.5 * a[0] ** 2, np.array([1.5])))
