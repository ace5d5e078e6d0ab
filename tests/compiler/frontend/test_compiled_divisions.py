"""Where a numba function raises ZeroDivisionError, its derivative raises it, in the same words; elsewhere not."""

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")


@njit
def quotient(x, y):
    return x * (1.0 / y)


@njit
def whole_quotient(x, y):
    return x * (7.0 // y)


@njit
def whole_quotient_of_ints(x, k):
    return x * (7 // k)


@njit
def remainder(x, y):
    return x % y


@njit
def remainder_of_ints(x, k):
    return x * (7 % k)


@njit
def both(x, y):
    return divmod(x, y)[1]


@njit
def power_of_an_int(x, k):
    return x * k**-1


@njit
def whole_power(x, k):
    return (x - 0.7) ** k


@njit
def constant_power(x, y):
    return x * y**-2


@njit
def square(x, y):
    return x * y**2


@njit
def piecewise(x, at, y):
    return np.interp(x, at, y)


KNOTS = np.array([0.2, 0.5, 0.5]), np.array([0.2, 0.2, 0.5]), np.array([0.3, 0.3, 0.3])


@pytest.mark.parametrize("x", [0.1, 0.2, 0.3, 0.5, 0.7, np.nan])
def test_knots_that_coincide_are_no_division(x):
    """Neither in compiled code nor on the tape: the piece has no width, and no number is in it.

    At NaN, which has no piece, the slope by x is that of the last piece.
    """
    y = np.array([0.1, 0.4, 0.9])
    for at in (*KNOTS, np.array([0.2, 0.5, 0.9])):
        found = dr.value_and_grad(piecewise, (0, 1, 2))(x, at, y)
        assert_same(found[0], piecewise(x, at, y), rtol=1e-14)
        assert_same(found, dr.value_and_grad(lambda *xs: dr.numpy.interp(*xs), (0, 1, 2))(x, at, y), types=False)


@pytest.mark.parametrize(
    ("f", "y"),
    [
        *[(quotient, 0.0), (quotient, 0), (whole_quotient, 0.0), (whole_quotient_of_ints, 0), (remainder, 0.0)],
        *[(remainder_of_ints, 0), (both, 0.0), (power_of_an_int, 0), (whole_power, -1), (constant_power, 0.0)],
    ],
)
def test_the_derivative_raises_what_the_function_raises(f, y):
    with pytest.raises(ZeroDivisionError) as expected:
        f(0.7, y)
    for derivative in (
        dr.value_and_grad(f),
        lambda x, y: dr.jvp(f, (x, y), (1.0, None if isinstance(y, int) else 0.0)),
    ):
        with pytest.raises(ZeroDivisionError) as found:
            derivative(0.7, y)
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(("f", "y"), [(whole_power, 2), (square, 0.0), (whole_power, 0), (constant_power, 2.0)])
def test_nothing_is_raised_where_the_function_raises_nothing(f, y):
    assert dr.value_and_grad(f)(0.7, y)[0] == f(0.7, y)


def test_whole_arrays_are_divided_without_an_error():
    @njit
    def f(x, a):
        return x * np.sum(np.minimum(1.0 / a, 9.0)) + np.sum(a // a[1] > 0.0) + np.sum(a % a[1] > 0.0)

    a = np.array([1.0, 0.0])
    assert dr.value_and_grad(f)(0.7, a) == (f(0.7, a), 10.0)


def test_a_power_that_a_choice_does_not_take_raises_all_the_same():
    """Numba computes the power of every element, and `np.where` takes some of them."""

    @njit
    def f(a, d, k):
        return np.sum(np.where(d > 0.3, a ** (-1), a)) + np.sum(np.select([d > 0.4], [2.0 * a**k], 0.5))

    a, d = np.array([1.0, 0.0]), np.array([0.5, 0.1])
    derivative = dr.value_and_grad(f)
    for k in (-1, 2):
        with pytest.raises(ZeroDivisionError):
            f(a, d, k)
        with pytest.raises(ZeroDivisionError):
            derivative(a, d, k)
    a[1] = 0.3
    assert_same(derivative(a, d, -1), (f(a, d, -1), np.array([-3.0, 1.0])), rtol=1e-14, types=False)


def value_then_derivative(reciprocal, derivative):
    @njit(error_model="numpy")
    def f(x):
        return reciprocal(x) + derivative(x)

    return f


def derivative_then_value(reciprocal, derivative):
    @njit(error_model="numpy")
    def f(x):
        return derivative(x) + reciprocal(x)

    return f


@pytest.mark.parametrize("make", [value_then_derivative, derivative_then_value])
def test_what_is_called_beside_a_derivative_has_the_caller_s_error_model(make):
    """The function of the derivative, and what that calls, are compiled by themselves; nothing else is."""
    reciprocal, cube = njit(lambda x: 1.0 / x), njit(lambda x: x * x * x)
    f = make(reciprocal, dr.grad(cube))
    assert dr.value_and_grad(f)(0.0) == (np.inf, -np.inf)
    assert dr.jvp(f, (0.0,), (1.0,)) == (np.inf, -np.inf)
    assert f(0.0) == np.inf
    raises = make(njit(lambda x: x), dr.grad(njit(lambda x: 1.0 / x)))
    for call in (raises, dr.value_and_grad(raises), lambda x: dr.jvp(raises, (x,), (1.0,))):
        with pytest.raises(ZeroDivisionError):
            call(0.0)
