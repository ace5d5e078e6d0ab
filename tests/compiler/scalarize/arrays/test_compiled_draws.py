"""Random numbers in numba functions: drawn once, as numba draws them; samples are functions of their parameters.

The derivative is that of differences with the same seed, and the value is that of the function.
"""

import math
import random

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same, differences

import dualrev as dr
from dualrev.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("unoptimized")

A = np.array([0.3, 0.5, -0.2, 0.9])


@njit
def walk(x, a, n):
    """Draws from both generators that do not depend on x, and branches on them."""
    np.random.seed(7)
    random.seed(3)
    s = x
    while np.random.random() < 0.9 and s < 50.0:
        s += 0.1 * x
    for _ in range(n):
        z = np.random.normal(0.0, 0.5)
        if np.random.rand() < 0.5:
            s = s * math.sin(s + z)
        else:
            s += a[np.random.randint(len(a))] * random.random() + a[np.random.choice(3)]
    np.random.shuffle(a)
    w = np.random.randn(2, 2)[1, 0] + np.random.permutation(a)[0] * np.random.randint(1, 9, size=2)[0]
    k = random.randint(0, 3) + np.random.binomial(10, 0.5) + np.random.poisson(3.0)
    return s * w + np.random.choice(a, 3)[1] * s + np.random.gamma(2.0) * x * k


@njit
def samples(x, y):
    """Samples of active parameters, alone and in arrays, by position and by keyword."""
    np.random.seed(7)
    random.seed(3)
    s = np.random.normal(x, y) * np.random.uniform(x, high=y) + np.random.exponential(y) + np.random.lognormal(x, y)
    s += random.gauss(x, y) * random.uniform(x, y) * random.expovariate(x) * np.random.standard_normal()
    v = np.random.normal(x, 1.0, size=(2, 2)) + np.random.exponential(scale=x, size=2)
    return s + v[1, 0] * v[0, 1] * random.normalvariate(x, y)


def test_the_gradient_is_that_of_what_was_drawn():
    value = walk(0.7, A.copy(), 10)
    y, (by_x, by_a) = dr.value_and_grad(walk, (0, 1))(0.7, A.copy(), 10)
    assert y == value
    direction = 0.8, np.array([1.0, -0.5, 0.3, 2.0])
    slope = differences(lambda x, a: walk(x, a.copy(), 10), (0.7, A), direction)
    assert_same(by_x * direction[0] + float(by_a @ direction[1]), float(slope[0]), rtol=1e-7)


def test_samples_are_functions_of_their_parameters():
    y, (by_x, by_y) = dr.value_and_grad(samples, (0, 1))(0.7, 0.4)
    assert_same(y, samples(0.7, 0.4), rtol=1e-14)
    slope = float(differences(samples, (0.7, 0.4), (1.0, 2.0))[0])
    assert_same(by_x + 2.0 * by_y, slope, rtol=1e-7)
    assert_same(dr.jvp(samples, (0.7, 0.4), (1.0, 2.0)), (y, by_x + 2.0 * by_y), rtol=1e-13)


@njit
def seeded(x):
    np.random.seed(3)
    return np.random.normal(x) * np.random.standard_normal()


@njit
def of_generator(x, y, a, rng):
    """Samples of a generator that is an argument: alone, in arrays, in branches, in a call, with ints between them."""
    s = 0.0
    for _ in range(4):
        s += rng.normal(x, y) * rng.random() + rng.uniform(x, high=3.0) * rng.exponential(y)
        if rng.integers(0, 3) == 1:
            s += half_of_them(x * s, rng)
    s += rng.lognormal(x, y) + rng.rayleigh(y) + rng.weibull(2.0 * y) * rng.pareto(3.0 * y) + rng.gamma(2.0) * x
    a += rng.normal(x, y, 4) * rng.exponential(y, size=4) + rng.standard_normal(4) * y
    return s * a.sum() + rng.normal()


@njit
def half_of_them(x, rng):
    return x * rng.standard_normal() if rng.random() < 0.5 else x


def test_samples_of_a_generator_are_functions_of_their_parameters():
    def value(x, y, a):
        return of_generator(x, y, a.copy(), np.random.default_rng(3))

    rng, plain = np.random.default_rng(3), np.random.default_rng(3)
    y, (by_x, by_y, by_a) = dr.value_and_grad(of_generator, (0, 1, 2))(0.7, 0.4, A.copy(), rng)
    assert y == of_generator(0.7, 0.4, A.copy(), plain)
    assert rng.random() == plain.random()  # both have given as many numbers
    d = np.array([1.0, -0.5, 0.3, 2.0])
    slope = float(differences(value, (0.7, 0.4, A), (1.0, 2.0, d))[0])
    assert_same(by_x + 2.0 * by_y + float(by_a @ d), slope, rtol=1e-7)


@njit
def of_shape(a, rng):
    return a * rng.gamma(a, 2.0)


def test_a_tangent_is_of_the_same_samples():
    value, tangent = dr.jvp(half_of_them, (0.7, np.random.default_rng(5)), (2.0, None))
    assert_same((value, tangent), (half_of_them(0.7, np.random.default_rng(5)), 2.0 * value / 0.7), rtol=1e-14)


def test_other_samples_of_a_generator_are_of_parameters_without_derivatives():
    with pytest.raises(
        UnsupportedError, match=r"rng\.gamma.*a sample of the generator rng.*stop_gradient\(parameter\)"
    ):
        dr.grad(of_shape)(2.0, np.random.default_rng(3))


def test_a_generator_goes_on_and_is_not_run_again():
    with pytest.raises(UnsupportedError, match=r"generator rng.*run more than once.*Write dr\.grad"):
        dr.hessian(of_generator, (0, 1))(0.7, 0.4, A.copy(), np.random.default_rng(3))


def test_what_sets_its_seed_may_run_again():
    y, pullback = dr.vjp(seeded, 0.7)
    assert_same((pullback(1.0)[0], pullback(1.0)[0]), 2 * ((seeded(1.2) - y) / 0.5,), rtol=1e-12)


@njit
def noisy(x):
    return x * x * np.random.normal()


def test_value_and_gradient_are_of_the_same_numbers():
    value, gradient = dr.value_and_grad(noisy)(3.0)
    assert_same(gradient, 2.0 * value / 3.0, rtol=1e-14)
    assert dr.value_and_grad(noisy)(3.0) != (value, gradient)
    value, slope = dr.jvp(noisy, (3.0,), (1.0,))
    assert_same(slope, 2.0 * value / 3.0, rtol=1e-14)


@njit
def sampled(x, n):
    """Second derivatives by parameters, of one number and of several, in a loop."""
    np.random.seed(5)
    s = 0.0
    for _ in range(n):
        z = np.random.normal(x[0], x[1] * x[1])
        s += z * z * x[0]
    return s + np.sum(np.random.exponential(x[1], 3) * x[0])


@njit
def set_seed(k):
    np.random.seed(k)


def test_second_derivatives_are_of_what_was_drawn():
    x, p = np.array([0.7, 1.2]), np.array([1.0, -0.5])
    expected = differences(dr.grad(sampled), (x, 6), (p, None))
    assert_same(dr.hvp(sampled)(x, p, 6), expected, rtol=1e-7)
    assert_same(dr.hessian(sampled)(x, 6) @ p, expected, rtol=1e-7)


def test_a_product_with_the_hessian_draws_once():
    set_seed(3)
    value, following = noisy(3.0), noisy(1.0)
    set_seed(3)
    assert_same(dr.hvp(noisy)(3.0, 2.0), 2.0 * 2.0 * value / 9.0, rtol=1e-14)
    assert noisy(1.0) == following


@dr.checkpoint
@njit
def again(x):
    return noisy(x)


@njit
def calls_again(x):
    return again(x) * x


@pytest.mark.parametrize(
    "derivative",
    [
        lambda: dr.vjp(noisy, 3.0),
        lambda: dr.jacobian(noisy)(3.0),
        lambda: dr.hessian(noisy)(3.0),
        lambda: dr.grad(dr.grad(noisy))(3.0),
        lambda: dr.grad(calls_again)(3.0),
    ],
)
def test_what_runs_a_function_again_is_refused(derivative):
    with pytest.raises(UnsupportedError, match=r"test_compiled_draws.py:\d+.*random numbers.*Write np.random.seed"):
        derivative()


@njit
def drawn_over(x):
    """A draw that replaces a differentiated name, also in a loop."""
    np.random.seed(3)
    s = x * x
    for _ in range(3):
        s += x
        x = np.random.normal()
        s *= x
    return s


def test_a_draw_may_have_the_name_of_what_is_differentiated():
    y, slope = dr.value_and_grad(drawn_over)(0.7)
    assert y == drawn_over(0.7)
    assert_same(slope, float(differences(drawn_over, (0.7,), (1.0,))[0]), rtol=1e-7)


@njit
def arrays_drawn_over(x, w):
    """Drawn arrays that replace a differentiated name, in a loop and in a branch."""
    np.random.seed(3)
    s = 0.0
    for _ in range(3):
        s += np.sum(x * w)
        x = np.random.random(3)
        x[0] *= w[1]
        s *= x[0]
    if w[0] > 0.0:
        x = np.random.standard_normal(3)
    x[1] = w[0] * x[0]
    return s + np.sum(x * w)


def test_an_array_that_is_drawn_has_a_shadow_of_its_own():
    x, w, d = np.array([0.5, -1.0, 2.0]), np.array([0.3, 0.7, 1.1]), np.array([0.3, -0.8, 0.5])
    by_x, by_w = dr.grad(arrays_drawn_over, (0, 1))(x.copy(), w)
    slopes = differences(lambda x, w: arrays_drawn_over(x.copy(), w), (x, w), (d, 2.0 * d))
    assert_same(float(by_x @ d + 2.0 * (by_w @ d)), float(slopes[0]), rtol=1e-7)
