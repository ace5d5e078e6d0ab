"""Second derivatives of numba functions: products with the Hessian, and the Hessian."""

import math
import pickle

import numba
import numpy as np
import pytest
from numba import njit
from programs import memory
from programs.constructs.collected import CASES
from programs.models import Model, model
from scipy.optimize import least_squares, minimize
from support.oracle import assert_same, direction, flat, rebuild
from support.twin import twin

import dualrev as dr
from dualrev.compiler.bridge import dispatcher
from dualrev.compiler.bridge.check_mode import Checked
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.errors import ArgumentError, OutputError, ScalarError, TangentError, UnsupportedError

pytestmark = pytest.mark.usefixtures("unoptimized")

#: Of a kink, or where the first derivative is infinite, the second one is a matter of taste.
APART = {"kinks.an_infinite_slope"}
SCALAR = [c for c in CASES if c.argnums and c.name not in APART and isinstance(twin(c.function)(*c.arguments()), float)]
#: Their products are compiled for seconds; those of other arrays that are written, and of other dicts, for less.
LONG = {"inplace.overlapping_parts", "opaque.dicts_are_made"}
EACH = [
    pytest.param(c, id=c.name, marks=[pytest.mark.slow] if k % 40 or c.name in LONG else [])
    for k, c in enumerate(SCALAR)
]


@pytest.mark.parametrize("case", EACH)
def test_products_are_the_tape_s(case):
    """Reverse mode of forward mode against forward mode of reverse mode."""
    primals, argnums = case.primals, case.argnums
    v = direction(tuple(primals[k] for k in argnums))
    given = [rebuild(primals[k], flat(t), lambda _: None) for k, t in zip(argnums, v, strict=True)]
    defaults = case.function.py_func.__defaults__ or ()
    missing = defaults[len(defaults) + len(primals) - case.function.py_func.__code__.co_argcount :] if defaults else ()
    found = derivative(case.function, "product", argnums)(*case.arguments(), *missing, *given)
    gradient = dr.grad(twin(case.function), argnums)

    def chosen(*xs):
        whole = list(twin(case.arguments()))
        for k, x in zip(argnums, xs, strict=True):
            whole[k] = x
        return gradient(*whole)

    args = case.arguments()
    expected = np.array(flat(dr.jvp(chosen, tuple(args[k] for k in argnums), tuple(given))[1]))
    single = any(getattr(x, "dtype", None) == np.float32 for x in flat_arrays(primals))
    tolerance = 1e-5 if single else 1e-9
    assert_same(np.array(flat(found)), expected, rtol=tolerance, floor=tolerance * max(1.0, np.abs(expected).max()))


def flat_arrays(x):
    return [leaf for part in x for leaf in flat_arrays(part)] if isinstance(x, tuple) else [x]


@njit
def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


X = np.linspace(0.3, 1.2, 6)


def test_hvp_takes_what_scipy_gives():
    assert_same(dr.hvp(rosenbrock)(X, np.cos(X)), dr.hvp(rosenbrock.py_func)(X, np.cos(X)), rtol=1e-13, floor=1e-12)
    solved = minimize(
        dr.value_and_grad(rosenbrock), np.zeros(6), jac=True, hessp=dr.hvp(rosenbrock), method="trust-ncg"
    )
    assert solved.x == pytest.approx(np.ones(6), rel=1e-3)
    exact = minimize(
        dr.value_and_grad(rosenbrock), np.zeros(6), jac=True, hess=dr.hessian(rosenbrock), method="trust-exact"
    )
    assert exact.x == pytest.approx(np.ones(6), rel=1e-3)


def test_both_are_numba_functions():
    """A damped Newton method that numba compiles."""
    value_and_gradient, hessian, product = dr.value_and_grad(rosenbrock), dr.hessian(rosenbrock), dr.hvp(rosenbrock)

    @njit
    def newton(x, steps):
        for _ in range(steps):
            y, g = value_and_gradient(x)
            h = hessian(x)
            shift = 0.0
            while np.linalg.eigvalsh(h)[0] + shift <= 0.0:
                shift = 2.0 * shift + 1.0
            p = -np.linalg.solve(h + shift * np.eye(len(x)), g)
            scale = 1.0
            while rosenbrock(x + scale * p) > y and scale > 1e-10:
                scale *= 0.5
            x = x + scale * p
        return x, product(x, x)

    x, along = newton(np.zeros(4), 60)
    assert x == pytest.approx(np.ones(4), rel=1e-12)
    assert along == pytest.approx(dr.hessian(rosenbrock)(x) @ x)
    assert isinstance(hessian, numba.core.dispatcher.Dispatcher)
    assert hessian is dr.hessian(rosenbrock)
    assert pickle.loads(pickle.dumps(hessian)) is hessian


def test_the_structure_of_a_hessian_is_that_of_the_argument_twice():
    m = Model(np.arange(6.0).reshape(2, 3) / 5.0, 0.7, 3)
    found, expected = dr.hessian(model)(m, 0.4), dr.hessian(twin(model))(m, 0.4)
    assert type(found) is Model
    assert type(found.weights) is Model
    assert found.count is found.weights.count is None
    assert found.weights.weights.shape == (2, 3, 2, 3)
    assert found.bias.weights.shape == found.weights.bias.shape == (2, 3)
    for one, other in ((found.weights, expected.weights), (found.bias, expected.bias)):
        assert_same(one.weights, other.weights, rtol=1e-12, floor=1e-14)
        assert_same(np.array(one.bias), np.array(other.bias), rtol=1e-12, floor=1e-14)
    both = dr.hessian(model, (1, 0))(m, 0.4, scale=3.0)
    assert both[0][0] == pytest.approx(1.5 * dr.hessian(twin(model), 1)(m, 0.4), rel=1e-12)
    assert_same(both[1].weights[1].weights, 1.5 * found.weights.weights, rtol=1e-12)
    assert_same(both[0][1].weights, both[1].weights[0], rtol=1e-12, floor=1e-14)
    p = Model(np.ones((2, 3)), 0.5, 0)
    along = dr.hvp(model)(m, p, 0.4)
    made = np.sum(found.weights.weights, (2, 3)) + 0.5 * found.weights.bias
    assert_same(along.weights, made, rtol=1e-12, floor=1e-13)


def test_numbers_and_single_precision():
    @njit
    def f(x, a):
        return x**3 * a[0] ** 2

    assert dr.hessian(f)(2.0, X) == pytest.approx(12.0 * X[0] ** 2)
    assert dr.hvp(f)(2.0, 0.5, X) == pytest.approx(6.0 * X[0] ** 2)
    single = dr.hessian(f, 1)(2.0, X.astype(np.float32))
    assert single.dtype == np.float32
    assert single[0, 0] == pytest.approx(16.0)
    assert dr.hessian(f, -1)(2.0, X[::2]).shape == (3, 3)


@njit
def overwrites(a, x):
    for i in range(len(a)):
        a[i] = math.sin(a[i] * x) * a[i - 1]
    return np.sum(a * a)


def test_arguments_are_left_as_the_function_leaves_them():
    left, direct = X.copy(), np.cos(X)
    overwrites(left, 0.7)
    expected = dr.hessian(twin(overwrites))(X.copy(), 0.7)
    products = expected, expected @ direct
    for call, made in zip(
        (dr.hessian(overwrites), lambda a, x: dr.hvp(overwrites)(a, direct, x)), products, strict=True
    ):
        a = X.copy()
        assert_same(call(a, 0.7), made, rtol=1e-10, floor=1e-12)
        assert_same(a, left, rtol=1e-14)
        assert_same(direct, np.cos(X), rtol=0.0)


@njit
def minors(a):
    if len(a) == 1:
        return a[0, 0]
    total = 0.0
    for k in range(len(a)):
        rest = np.empty((len(a) - 1, len(a) - 1))
        for i in range(1, len(a)):
            for j in range(len(a) - 1):
                rest[i - 1, j] = a[i, j if j < k else j + 1]
        total += (1.0 - 2.0 * (k % 2)) * a[0, k] * minors(rest)
    return total


def test_recursion():
    a = np.cos(np.arange(16.0)).reshape(4, 4)
    assert_same(dr.hessian(minors)(a), dr.hessian(twin(minors))(a), rtol=1e-11, floor=1e-12)


@njit
def refuses(a, x):
    total = 0.0
    for i in range(len(a)):
        total += a[i] ** 2 * x
        if total > 100.0:
            raise ValueError("too large")
    return total


def test_an_error_is_that_of_the_function_and_loses_nothing():
    long, gradient = np.full(200_000, 0.1), np.ones(200_000)

    def call():
        with pytest.raises(ValueError, match="too large"):
            dr.hvp(refuses)(long, gradient, 2.0)

    call()
    before = memory.resident()
    for _ in range(100):
        call()
    assert memory.resident() - before < 10.0
    assert_same(dr.hvp(refuses)(X, X, 2.0), 4.0 * X)


def test_errors():
    with pytest.raises(ValueError, match="another shape"):
        dr.hvp(rosenbrock)(X, X[1:])
    with pytest.raises(TangentError):
        dr.hvp(rosenbrock)(X, 1.0)
    with pytest.raises(ArgumentError):
        dr.hessian(rosenbrock)(np.arange(3))

    @njit
    def several(x):
        return x, x * x

    @njit
    def none(x):
        return len(x)

    with pytest.raises(ScalarError):
        dr.hvp(several)(2.0, 1.0)
    with pytest.raises(ScalarError):
        dr.hessian(none)(X)


@njit
def waves(a, x):
    return a * x * x, (x * a[0], len(a))


@njit
def changes(a):
    a[0] *= a[1]
    return a * a


def test_the_hessians_of_all_numbers_that_a_function_returns():
    found, expected = (dr.hessian(f, (1, 0))(X, 0.7) for f in (waves, twin(waves)))
    for one, other in zip(every_leaf(found), every_leaf(expected), strict=True):
        assert np.shape(one) == np.shape(other)
        assert_same(np.asarray(one, float), np.asarray(other, float), rtol=1e-12, floor=1e-14)
    assert found[1][1] is None
    with pytest.raises(UnsupportedError, match="a function of a copy"):
        dr.hessian(changes)(X)


@njit
def cube(x):
    return x[0] * x[1] * x[1]


@pytest.mark.slow
def test_the_hessian_of_a_gradient_is_all_third_derivatives():
    expected = np.array([[[0.0, 0.0], [0.0, 2.0]], [[0.0, 2.0], [2.0, 0.0]]])
    assert_same(dr.hessian(dr.grad(cube))(np.array([0.3, 0.7])), expected, rtol=1e-14)


def test_a_checking_run_compares_what_is_left_of_the_arguments():
    a = X.copy()
    assert_same(
        dispatcher.made(Checked, overwrites, "hvp", 0)(a, X, 0.7), dr.hvp(overwrites)(X.copy(), X, 0.7), rtol=1e-15
    )


def test_the_source_is_a_program_that_people_read():
    source = dr.derivative_source(rosenbrock, X, transform="hvp")
    assert "def hvp_rosenbrock(x, t_x):" in source
    assert "t_x[i]" in source
    assert "d_x[i] +=" in source
    hessian = dr.derivative_source(rosenbrock, X, transform="hessian")
    assert "def hessian_rosenbrock(x):" in hessian
    assert hessian.count("t_x_4[i]") == source.count("t_x[i]")  # there are four directions, ...
    assert hessian.count("** 2") == source.count("** 2")  # and one function


# Jacobians, column by column


@njit
def residuals(p, t):
    made = np.empty(len(t))
    for i in range(len(t)):
        made[i] = p[0] * math.exp(-p[1] * t[i]) - 3.0 * math.exp(-0.7 * t[i])
    return made


def test_a_jacobian_is_made_in_compiled_code():
    p, t = np.array([2.5, 0.6]), np.linspace(0.0, 4.0, 9)
    made, expected = dr.jacfwd(residuals)(p, t), dr.jacrev(twin(residuals))(p, t)
    assert_same(made, expected, rtol=1e-14, floor=1e-15)
    assert_same(dr.jacobian(residuals)(p, t), made, rtol=0.0)
    jacobian = dr.jacfwd(residuals)

    @njit
    def gauss_newton(p, t, steps):
        for _ in range(steps):
            j = jacobian(p, t)
            p = p - np.linalg.solve(j.T @ j, j.T @ residuals(p, t))
        return p

    assert gauss_newton(p, t, 30) == pytest.approx(np.array([3.0, 0.7]), rel=1e-12)
    fitted = least_squares(residuals, p, jac=dr.jacobian(residuals), args=(t,))
    assert fitted.x == pytest.approx(np.array([3.0, 0.7]), rel=1e-6)


@njit
def everything(m, a, x, n):
    a[1] = a[0] * x
    return (m.bias * x, n, a[1:]), m.weights * x, 2.0


@pytest.mark.parametrize("argnums", [pytest.param(0, marks=pytest.mark.slow), (2, 1)])
def test_the_structure_of_a_jacobian(argnums):
    m, a = Model(np.ones((2, 3)), 0.5, 2), np.array([0.3, 0.4])
    left = a.copy()
    found = dr.jacfwd(everything, argnums)(m, left, 0.7, 4)
    expected = dr.jacrev(twin(everything), argnums)(*twin_arguments((m, a.copy(), 0.7, 4)))
    assert_same(left, np.array([0.3, 0.21]))
    pairs = list(zip(every_leaf(found), every_leaf(expected), strict=True))
    assert len(pairs) >= 3
    for one, other in pairs:
        assert np.shape(one) == np.shape(other)
        assert_same(np.asarray(one, float), np.asarray(other, float), rtol=1e-14)


def twin_arguments(args):
    """Arrays that can hold numbers under differentiation."""
    return tuple(dr.numpy.array(x) if isinstance(x, np.ndarray) else x for x in args)


def every_leaf(x):
    return [leaf for part in x for leaf in every_leaf(part)] if isinstance(x, tuple) else [] if x is None else [x]


def test_errors_of_matrices_are_those_of_the_function():
    for transform in (dr.hessian, dr.jacfwd):
        with pytest.raises(ValueError, match="too large"):
            transform(refuses)(np.full(10, 10.0), 2.0)
    before = memory.resident()
    for _ in range(50):
        with pytest.raises(ValueError, match="too large"):
            dr.jacfwd(refuses)(np.full(100_000, 0.1), 2.0)
    assert memory.resident() - before < 10.0

    @njit
    def nothing(x):
        return len(x)

    with pytest.raises(OutputError):
        dr.jacfwd(nothing)(X)


# Functions that call compiled gradients


@njit
def energy(x, a):
    return math.sin(x) * np.sum(a * a * a) + x * x * a[0]


by_number, by_array, by_both = dr.grad(energy), dr.grad(energy, 1), dr.grad(energy, (0, 1))


@njit
def of_gradients(x, a):
    force = by_array(x * 2.0, a)
    u, w = by_both(x, force)
    return np.sum(force * w) + u * u * by_number(u, a)


def plain_of_gradients(x, a):
    f = twin(energy)
    force = dr.grad(f, 1)(x * 2.0, a)
    u, w = dr.grad(f, (0, 1))(x, force)
    return np.sum(force * w) + u * u * dr.grad(f)(u, a)


A = np.array([1.0, 0.5, -0.7])


def test_the_gradient_of_a_function_that_calls_gradients():
    """In both modes."""
    v = (0.4, np.array([0.3, 0.2, 0.1]))
    found, expected = (dr.value_and_grad(f, (0, 1))(0.5, A) for f in (of_gradients, plain_of_gradients))
    assert found[0] == pytest.approx(of_gradients(0.5, A), rel=1e-14)
    assert_same(np.array(flat(found[1])), np.array(flat(expected[1])), rtol=1e-11)
    assert dr.jvp(of_gradients, (0.5, A), v)[1] == pytest.approx(dr.jvp(plain_of_gradients, (0.5, A), v)[1], rel=1e-11)


@pytest.mark.slow
def test_the_hessian_of_a_function_that_calls_gradients():
    """Derivatives of the third order."""
    hessians = (dr.hessian(f, (0, 1))(0.5, A) for f in (of_gradients, plain_of_gradients))
    one, other = (np.array([y for x in every_leaf(h) for y in np.ravel(x)]) for h in hessians)
    assert_same(one, other, rtol=1e-9, floor=1e-9 * np.abs(other).max())


def test_a_gradient_in_a_loop():
    """Gradient descent, differentiated by its step."""
    slope, both = dr.grad(rosenbrock), dr.value_and_grad(rosenbrock)

    @njit
    def descend(step, x, n):
        for k in range(n):
            if k % 3:
                x = x - step * slope(x)
            else:
                y, g = both(x)
                x = x - step * g / (1.0 + y)
        return rosenbrock(x)

    x, step = np.zeros(3), 1e-3
    found = dr.grad(descend, (0, 1))(step, x, 40)
    assert found[0] == pytest.approx((descend(step + 1e-8, x, 40) - descend(step - 1e-8, x, 40)) / 2e-8, rel=1e-5)
    for k in range(3):
        move = 1e-6 * np.eye(3)[k]
        difference = (descend(step, x + move, 40) - descend(step, x - move, 40)) / 2e-6
        assert found[1][k] == pytest.approx(difference, rel=1e-5, abs=1e-8)


def test_a_gradient_that_is_called_divides_as_its_own_function_says():
    @njit
    def quotient(x, y):
        return x / y

    strict, loose = dr.grad(quotient), dr.grad(njit(error_model="numpy")(quotient.py_func))

    @njit(error_model="numpy")
    def raises(x, y):
        return strict(x, y) + 1.0

    @njit
    def follows_ieee(x, y):
        return loose(x, y) + 1.0

    for call in (
        raises,
        dr.value_and_grad(raises),
        lambda x, y: dr.jvp(raises, (x, y), (1.0, 1.0)),
        dr.hessian(raises),
    ):
        with pytest.raises(ZeroDivisionError):
            call(1.0, 0.0)
    assert dr.value_and_grad(follows_ieee)(1.0, 0.0)[0] == follows_ieee(1.0, 0.0) == math.inf
    assert dr.grad(raises, 1)(1.0, 2.0) == dr.grad(follows_ieee, 1)(1.0, 2.0) == -0.25


def test_a_power_with_the_exponent_zero():
    """By the base it has the slope 0, which has a slope by the exponent."""

    @njit
    def power(p):
        return p[0] ** p[1]

    found = dr.hessian(power)(np.array([2.0, 0.0]))
    assert found == pytest.approx(np.array([[0.0, 0.5], [0.5, np.log(2.0) ** 2]]), abs=1e-15)


def test_a_value_that_goes_to_an_argument_of_its_call():
    @njit
    def f(x, y):
        return x * x * y

    both = dr.value_and_grad(f)

    @njit
    def repeated(x, y):
        v = (x, y)
        for _ in range(3):
            v = both(*v)
        return v[0] + v[1]

    def plain(x, y):
        v = (x, y)
        for _ in range(3):
            v = dr.value_and_grad(f.py_func)(*v)
        return v[0] + v[1]

    found, expected = (dr.value_and_grad(g, (0, 1))(0.9, 0.8) for g in (repeated, plain))
    assert found[0] == repeated(0.9, 0.8)
    assert_same(np.array(flat(found)), np.array(flat(expected)), rtol=1e-13)
    assert dr.jvp(repeated, (0.9, 0.8), (1.0, 0.5))[1] == pytest.approx(found[1][0] + 0.5 * found[1][1], rel=1e-13)
