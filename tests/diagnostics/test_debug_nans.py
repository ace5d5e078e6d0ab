"""`debug_nans`: the line that makes a derivative NaN, and programs that are no error.

Each program has one line that makes NaN or infinity, which ends with `# here`.
"""

import inspect
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import njit

import dualrev as dr
from dualrev import math as dm
from dualrev import numpy as dnp
from dualrev.errors import NonFiniteError
from dualrev.scipy.special import logsumexp

# Scalars on the tape


def root_at_zero(x):
    y = x * x
    return 3.0 * dm.sqrt(y)  # here


def power_at_zero(x):
    return 1.0 + x**0.5  # here


def power_of_a_vanishing_base(x):
    base = x - x
    return (
        base**0.3 + x  # here
    )


def curvature_of_a_power(x):
    y = x + 0.0
    return y**1.5  # here


def angle_of_no_vector(x):
    a = 2.0 * x
    return dm.atan2(a, 3.0 * x)  # here


def angle_between_equal_vectors(x):
    cosine = x / 1.0
    return dm.acos(cosine)  # here


def loop_over_roots(x):
    total = 0.0
    for k in range(4):
        scale = k * 1.0
        total = total + dm.sqrt(scale * x)  # here
    return total


def heston(maturity):
    """The variance is truncated at 0 before the root is taken."""
    n = 4
    dt = maturity / n
    v, s = 0.04, 0.0
    for z in (-3.0, 2.0, -1.0, 1.0):
        diffusion = dm.sqrt(max(v, 0.0) * dt)  # here
        s = s + diffusion * z
        v = v - 0.2 * v * dt + 0.9 * diffusion * z
    return s


def scale_of(x):
    return dm.sqrt(abs(x) * 2.0)  # here


def callee(x):
    y = scale_of(x) + 1.0
    return y * y


def overflow_of_products(x):
    y = x
    for _ in range(2):
        y = y * 1e200  # here
    return y * y


# Arrays on the tape


def norm_at_zero(x):
    y = 2.0 * x
    return np.linalg.norm(y)  # here


def normalized(x):
    n = np.sqrt(np.sum(x * x) + 0.0)
    return np.sum(x / n)  # here


def masked_after_the_fact(x):
    y = np.log(x)  # here
    return np.sum(y * (x > 0.0))


def entropy(p):
    terms = p * np.log(p)  # here
    return -np.sum(terms)


def root_of_one_element(x):
    y = x[1:] * 1.0
    z = np.sqrt(y)  # here
    return z @ np.ones(3)


def exponential_overflow(x):
    y = 500.0 * x
    e = np.exp(y)  # here
    return np.sum(e / (1.0 + e))


def all_masked(x):
    s = np.where(x > 9.0, x, -np.inf)
    top = np.max(s)
    e = np.exp(s - top)  # here
    return top + np.log(np.sum(e))


def all_masked_in_scipys(x):
    s = np.where(x > 9.0, x, -np.inf)
    t = 2.0 * s
    return logsumexp(t) - logsumexp(2.0 * s)  # here


def infinite_band(x):
    """Soft-DTW with a band of inf: the minimum of two infinite costs, which are constants, is NaN."""
    cost = dnp.full((3, 3), np.inf)
    cost[0, 0] = x[0] * x[0]
    for k in range(1, 3):
        a, b = cost[k - 1, k], cost[k, k - 1]
        low = np.minimum(a, b)
        soft = low - np.log(np.exp(low - a) + np.exp(low - b))
        cost[k, k] = x[k] + soft  # here
    return cost[2, 2]


def infinite_matrix(x):
    weights = np.array([[1.0, np.inf], [0.0, 1.0]])
    y = 1.0 * x
    return np.sum(weights @ y)  # here


def deviation_of_equal_numbers(x):
    centered = x - 1.0
    return np.std(centered)  # here


def garch(theta):
    omega, alpha = theta[0], theta[1]
    variance, total = 0.0 * omega, 0.0
    for r in (0.0, 0.0, 0.1):
        variance = omega + alpha * r * r + 0.5 * variance
        v = np.log(variance)  # here
        total = total + v
    return total


def dictionary(p):
    w = p["w"] - p["w"]
    return p["b"] * np.sum(np.cbrt(w))  # here


def checkpointed(x):
    @dr.checkpoint
    def step(y):
        z = np.sum(y * y)
        return np.sqrt(z)  # here

    return step(x) * 2.0


def by_a_rule_of_the_user(x):
    f = dr.custom_vjp(lambda u: u * u)
    f.defvjp(lambda u: (u * u, u), lambda u, g: (g / np.float64(u),))
    y = 3.0 * f(x)  # here
    return y + 1.0


def stored(x):
    y = dnp.zeros(3)
    for k in range(3):
        y[k] = np.sqrt(x[k])  # here
    return np.sum(y)


# Numba functions


@njit
def root(v):
    y = v * 1.0
    return math.sqrt(y)  # here


@njit
def compiled_heston(maturity, n):
    dt = maturity / n
    v, s = 0.04, 0.0
    for _ in range(n):
        s += root(max(v, 0.0) * dt)
        v -= 0.02
    return s


@njit
def compiled_likelihood(theta, returns):
    variance, total = 0.0, 0.0
    for r in returns:
        variance = theta[0] + theta[1] * r * r + 0.5 * variance
        total += math.log(variance)  # here
    return total


@njit
def compiled_norm(x):
    y = x - x
    n = np.linalg.norm(y)  # here
    return n * np.sum(x)


@njit
def compiled_power(x):
    return np.sum(x**1.5)  # here


ONES, ZEROS = np.ones(3), np.zeros(2)


def twice(f):
    return dr.grad(dr.grad(f))


def pushed(f):
    return lambda x: dr.jvp(f, (x,), (np.ones_like(x),))


def pulled(f):
    return lambda *args: dr.vjp(f, *args)[1](1.0)


def product(f):
    return lambda x: dr.hvp(f)(x, np.ones_like(x))


#: The program with the line, the derivative, and its arguments.
PROGRAMS = [
    (root_at_zero, dr.grad(root_at_zero), (0.0,)),
    (power_at_zero, dr.grad(power_at_zero), (0.0,)),
    (power_at_zero, dr.value_and_grad(power_at_zero), (0.0,)),
    (power_of_a_vanishing_base, dr.grad(power_of_a_vanishing_base), (1.0,)),
    (curvature_of_a_power, twice(curvature_of_a_power), (0.0,)),
    (angle_of_no_vector, dr.grad(angle_of_no_vector), (0.0,)),
    (angle_between_equal_vectors, twice(angle_between_equal_vectors), (1.0,)),
    (loop_over_roots, dr.grad(loop_over_roots), (1.0,)),
    (heston, dr.grad(heston), (1.0,)),
    (scale_of, dr.grad(callee), (0.0,)),
    (overflow_of_products, dr.grad(overflow_of_products), (1.0,)),
    (norm_at_zero, dr.grad(norm_at_zero), (ZEROS,)),
    (normalized, dr.grad(normalized), (ZEROS,)),
    (masked_after_the_fact, dr.grad(masked_after_the_fact), (np.array([0.0, 2.0]),)),
    (entropy, pulled(entropy), (np.array([0.0, 1.0]),)),
    (root_of_one_element, dr.grad(root_of_one_element), (np.array([0.0, 1.0, 0.0, 4.0]),)),
    (root_of_one_element, pushed(root_of_one_element), (np.array([0.0, 1.0, 0.0, 4.0]),)),
    (root_of_one_element, dr.jacfwd(root_of_one_element), (np.array([0.0, 1.0, 0.0, 4.0]),)),
    (exponential_overflow, dr.grad(exponential_overflow), (np.array([1.0, 2.0]),)),
    (all_masked, dr.grad(all_masked), (ONES,)),
    (all_masked_in_scipys, dr.grad(all_masked_in_scipys), (ONES,)),
    (infinite_band, dr.grad(infinite_band), (ONES,)),
    (infinite_matrix, dr.grad(infinite_matrix), (np.array([1.0, 0.0]),)),
    (deviation_of_equal_numbers, dr.hessian(deviation_of_equal_numbers), (ONES,)),
    (garch, dr.grad(garch), (np.array([0.0, 0.1]),)),
    (dictionary, dr.grad(dictionary), ({"w": np.ones(2), "b": 1.0},)),
    (checkpointed, dr.grad(checkpointed), (ZEROS,)),
    (by_a_rule_of_the_user, dr.grad(by_a_rule_of_the_user), (0.0,)),
    (stored, dr.vmap(dr.grad(stored)), (np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]),)),
    (stored, product(stored), (np.array([1.0, 0.0, 1.0]),)),
    (root, dr.grad(compiled_heston), (1.0, 4)),
    (compiled_likelihood, dr.value_and_grad(compiled_likelihood), (ZEROS, ONES)),
    (compiled_likelihood, pulled(compiled_likelihood), (ZEROS, ONES)),
    (compiled_norm, dr.grad(compiled_norm), (ONES,)),
    (compiled_norm, dr.vmap(dr.grad(compiled_norm)), (np.ones((2, 3)),)),
    (compiled_power, dr.hessian(compiled_power), (ZEROS,)),
    (compiled_power, product(compiled_power), (ZEROS,)),
]


def line_of(f):
    """The place of the line with `# here` in a program."""
    f = getattr(f, "py_func", f)
    lines, first = inspect.getsourcelines(f)
    (place,) = [k for k, line in enumerate(lines, first) if "# here" in line]
    return f"{__file__}:{place}: `{lines[place - first].strip()}`: "


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("f", "derivative", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", None) or "")
def test_the_line_that_makes_nan_is_named(f, derivative, args):
    with pytest.raises(NonFiniteError) as raised, dr.debug_nans():
        derivative(*args)
    assert str(raised.value).startswith(line_of(f))


def test_all_programs_are_found():
    assert len(PROGRAMS) >= 30
    assert {derivative for _, derivative, _ in PROGRAMS if hasattr(derivative, "derivative_of")}


# The message


def message(derivative, *args):
    with pytest.raises(NonFiniteError) as raised, dr.debug_nans():
        derivative(*args)
    return str(raised.value).partition(": ")[2].partition("`: ")[2].removesuffix(" dr.errors.explain() says more.")


def test_the_message_has_the_operation_the_operands_and_the_cure():
    assert message(dr.grad(root_at_zero), 0.0) == (
        "the derivative through `dm.sqrt(y)` is inf at 0.0.\n"
        "Write np.where(s > 0.0, np.sqrt(s), 0.0), or `np.sqrt(s) if s > 0.0 else 0.0` for a number s."
    )
    with np.errstate(all="ignore"):
        said = message(dr.grad(entropy), np.array([1.0, 2.0, 0.0]))
    assert said.startswith("`np.log(p)` is -inf at 0.0 (index 2).\nWrite np.where(x > 0.0, np.log(x), 0.0)")
    with np.errstate(all="ignore"):
        said = message(dr.grad(normalized), ZEROS)
    assert said.startswith("`x / n` is NaN at 0.0 and 0.0 (index 0).\nWrite np.where(b != 0.0, a / b, 0.0)")
    with np.errstate(all="ignore"):
        said = message(dr.grad(infinite_band), ONES)
    assert said.startswith("`x[k] + soft` is NaN at 1.0 and nan.\nA constant operand is NaN already.")


def test_an_error_of_python_names_the_line_of_the_numba_function():
    said = message(dr.grad(compiled_likelihood), ZEROS, ONES)
    with pytest.raises(ValueError, match=r"math domain error|expected a positive input") as caught:
        math.log(0.0)
    assert said.startswith(
        f"`math.log(variance)` raises ValueError in Python: {caught.value};"
        " the result is inf at index 0.\nWrite np.where(x > 0.0, np.log(x), 0.0)"
    )


@njit
def of_a_cast(x):
    return math.atan2(float(x), x)


def test_a_line_that_is_not_known():
    """The tape refuses float(x), which numba takes."""
    with pytest.raises(NonFiniteError) as raised, dr.debug_nans():
        dr.grad(of_a_cast)(0.0)
    assert str(raised.value).startswith(
        "the derivative of 'of_a_cast' is not finite: the result is NaN. The line is not known, because the tape cannot"
        " run the function: ConversionError: float() of a number that is being differentiated at "
    )


def test_the_error_is_a_floating_point_error_with_an_explanation():
    with pytest.raises(FloatingPointError) as raised, dr.debug_nans():
        dr.grad(root_at_zero)(0.0)
    assert "the first one that makes NaN or infinity of finite operands" in raised.value.explanation


# What is no error


def guarded(x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))


def masked_logsumexp(x):
    s = np.where(np.array([True, False, True]), x, -np.inf)
    top = np.max(s)
    return top + np.log(np.sum(np.exp(s - top)))


def unused(x):
    np.log(x[0])
    return x[1] * 2.0


def outside_of_the_support(x):
    return -np.inf if x < 0.0 else x


def padded(x):
    return np.nansum(np.where(np.isnan(x), 0.0, x))


def of_floors(x):
    """The derivative of sqrt at 0 is infinite, and goes to a number that does not depend on x."""
    return dm.sqrt(np.floor(x)) + x


def half_of_the_masked(x):
    s = np.array([0.0, -np.inf]) + x
    return np.sum(np.exp(s))


FINE = [
    (guarded, np.array([0.0, 4.0])),
    (masked_logsumexp, ONES),
    (unused, np.array([0.0, 1.0])),
    (of_floors, 0.5),
    (half_of_the_masked, 1.0),
    (padded, np.array([1.0, np.nan])),
    (outside_of_the_support, -1.0),
    (lambda x: x * x, math.nan),
    (lambda x: np.sum(np.sqrt(x)), np.array([1.0, np.nan])),
    (lambda x: x - math.inf, 1.0),
    (lambda x: np.max(x), np.array([-np.inf, 1.0])),
    (lambda x: np.sum(x / 2.0), np.array([np.inf, 1.0])),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("f", "x"), FINE)
def test_what_is_no_error(f, x):
    """The derivative is what it is without `debug_nans`."""
    gradient, tangent = (dr.grad(f), pushed(f)) if f is not outside_of_the_support else (pushed(f), pushed(f))
    for derivative in (gradient, tangent):
        expected = outcome(derivative, x)
        with dr.debug_nans():
            assert outcome(derivative, x) == expected


def outcome(derivative, x):
    try:
        return repr(derivative(x))
    except dr.DualrevError as error:
        return type(error).__name__


def test_a_gradient_that_is_infinite_is_no_error_where_the_second_derivative_is_finite():
    def f(x):
        return np.sqrt(x[0]) + x[1] ** 2

    x, still = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    with dr.debug_nans():
        assert dr.hvp(f)(x, still).tolist() == [0.0, 2.0]
        with pytest.raises(NonFiniteError):
            dr.jvp(dr.grad(f), (x,), (still,))


def test_a_numba_function_of_nan_is_no_error():
    x = np.array([1.0, np.nan])
    with dr.debug_nans():
        assert np.isnan(dr.grad(compiled_power)(x)).tolist() == [False, True]


def test_arguments_that_are_constants_and_nan_are_no_error():
    with dr.debug_nans():
        assert math.isnan(dr.grad(lambda w, data: np.sum(w * data))(2.0, np.array([1.0, np.nan])))
        assert math.isnan(dr.grad(lambda w, data: w * np.min(data))(2.0, np.array([1.0, np.nan])))
        with pytest.raises(NonFiniteError, match="A constant operand is NaN already"):
            dr.grad(lambda w: w * math.nan)(2.0)
        assert math.isnan(
            dr.grad(lambda w, names: w * math.nan * len(names))(2.0, {1.0, 2.0})
        )  # a set is not looked into


# The context


def nan_is_found():
    try:
        dr.grad(root_at_zero)(0.0)
    except NonFiniteError:
        return True
    return False


made_outside_of_a_context = dr.grad(compiled_heston)


def compiled_nan_is_found():
    try:
        made_outside_of_a_context(1.0, 4)
    except NonFiniteError:
        return True
    return False


def test_contexts_nest_and_end_with_an_exception():
    assert not nan_is_found()
    with dr.debug_nans():
        with dr.debug_nans():
            assert nan_is_found()
        assert nan_is_found()
        with dr.debug_nans(False):
            assert not nan_is_found()
            assert not compiled_nan_is_found()
        assert nan_is_found()
        assert compiled_nan_is_found()
    with pytest.raises(KeyError), dr.debug_nans():
        dr.grad(lambda x: {}[x.missing] if False else {}["missing"])(1.0)
    assert not nan_is_found()
    assert not compiled_nan_is_found()
    assert "__call__" not in vars(type(dr.grad(compiled_heston)))


def test_it_is_a_decorator():
    assert dr.debug_nans()(nan_is_found)()
    assert not nan_is_found()


def test_the_context_belongs_to_the_thread():
    found = []
    with dr.debug_nans():
        thread = threading.Thread(target=lambda: found.extend([nan_is_found(), compiled_nan_is_found()]))
        thread.start()
        thread.join()
        assert nan_is_found()
    inherited = bool(getattr(sys.flags, "thread_inherit_context", False))  # in free-threaded Python
    assert found == [inherited, inherited]
    assert not nan_is_found()


def test_a_nested_derivative_of_constants_is_checked_by_itself():
    with pytest.raises(NonFiniteError), dr.debug_nans():
        dr.grad(lambda x: x * dr.grad(dm.sqrt)(0.0))(1.0)


def test_values_and_derivatives_are_unchanged():
    """Arrays, numbers, storing, products, in both modes and to order 2."""

    def f(x):
        y = dnp.zeros(3)
        for k in range(3):
            y[k] = x[k] * x[k - 1] + np.sin(x[k])
        return np.sum(y[::-1] * np.exp(x)) + np.linalg.norm(np.outer(y, x) @ y) + x[0] / y[1]

    x = np.array([0.3, 0.7, 1.1])
    for derivative in (dr.value_and_grad(f), dr.hessian(f), dr.jacfwd(f), product(f), pushed(f)):
        expected = derivative(x)
        with dr.debug_nans():
            found = derivative(x)
        for u, v in zip(dr.tree.leaves((found,)), dr.tree.leaves((expected,)), strict=True):
            np.testing.assert_allclose(u, v, rtol=1e-14)


def test_the_environment_turns_it_on():
    code = "import dualrev as dr; dr.grad(dr.math.sqrt)(0.0)"
    env = {**os.environ, "DUALREV_DEBUG_NANS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert "NonFiniteError: <string>:1: " in done.stderr
    assert " is inf at 0.0." in done.stderr
