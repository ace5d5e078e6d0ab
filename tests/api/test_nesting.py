"""Derivatives inside derivatives: to any depth, in any mixture of modes and engines, with outer free variables."""

import itertools

import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev import math as dm
from dualrev import numpy as dnp
from dualrev.errors import LeakError
from stages import STAGES

ENGINES = {"default": None, "staged": STAGES["staged"], "sparse": STAGES["sparse"], "tape": STAGES["tape"]}
ALL = {"default": None, **STAGES}
engines = pytest.mark.parametrize("engine", ALL.values(), ids=ALL)
pairs = pytest.mark.parametrize(("outer", "inner"), list(itertools.product(ENGINES, ENGINES)))


def forward(f, engine=None):
    return lambda x: dr.jvp(f, (x,), (1.0,), engine=engine)[1]


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(ALL, ALL)))
def test_perturbations_are_not_confused(outer, inner):
    outer, inner = ALL[outer], ALL[inner]
    for d_out, d_in in itertools.product((dr.grad, forward), (dr.grad, forward)):
        assert d_out(lambda x, d=d_in: x * d(lambda y: x + y, engine=inner)(1.0), engine=outer)(1.0) == 1.0
        assert d_out(lambda x, d=d_in: x * d(lambda y: x * y, engine=inner)(2.0), engine=outer)(3.0) == 6.0


@pytest.mark.parametrize("modes", list(itertools.product((dr.grad, forward), repeat=4)))
def test_four_derivatives_in_every_mixture(modes):
    def f(x):
        return dm.sin(x) * x**3

    for d in modes:
        f = d(f)
    x = 0.7  # (x^3 sin x)'''' = x^3 sin x - 12 x^2 cos x - 36 x sin x + 24 cos x
    s, c = dm.sin(x), dm.cos(x)
    assert_same(f(x), x**3 * s - 12.0 * x**2 * c - 36.0 * x * s + 24.0 * c, rtol=1e-13, floor=1e-13)


@pytest.mark.parametrize("names", list(itertools.product(ENGINES, repeat=3)), ids="-".join)
def test_free_variables_of_two_outer_derivatives(names):
    a, b, c = (ENGINES[name] for name in names)

    def f(x):
        def g(y):
            return y * dr.grad(lambda z: x * y * z * z, engine=c)(y)  # 2xy^3

        return x * dr.grad(g, engine=b)(x)  # 6x^4

    assert dr.grad(f, engine=a)(2.0) == 192.0


def polynomial(x):
    return np.sum(x**3) * x[0]


def in_place(x):
    z = dnp.zeros(3)
    for k in range(2):
        z[k] = x[k] ** 2
    z[1:] += x * x[0]
    return np.sum(z * z)


@pairs
@pytest.mark.parametrize(
    ("f", "hessian"),
    [(polynomial, [[48.0, 27.0], [27.0, 36.0]]), (in_place, [[150.0, 72.0], [72.0, 132.0]])],
)
def test_second_derivatives_on_arrays_through_two_engines(f, hessian, outer, inner):
    outer, inner = ENGINES[outer], ENGINES[inner]
    x, h = np.array([2.0, 3.0]), np.array(hessian)
    assert_same(dr.jacobian(dr.grad(f, engine=inner), engine=outer)(x), h)
    assert_same(dr.jvp(dr.grad(f, engine=inner), (x,), (x,), engine=outer)[1], h @ x)
    assert_same(dr.grad(lambda u: dr.jvp(f, (u,), (x,), engine=inner)[1], engine=outer)(x), h @ x)
    assert_same(dr.jvp(lambda u: dr.jvp(f, (u,), (x,), engine=inner)[1], (x,), (x,), engine=outer)[1], float(x @ h @ x))


@pairs
def test_an_outer_array_in_an_inner_function(outer, inner):
    outer, inner = ENGINES[outer], ENGINES[inner]
    v = np.array([1.0, 2.0])

    def f(w):
        g = dr.grad(lambda u: np.sum(w @ u * u), engine=inner)(v)  # (w + w^T) v
        return np.sum(g * g)

    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    g = (w + w.T) @ v
    assert_same(dr.grad(f, engine=outer)(w), 2.0 * (np.outer(g, v) + np.outer(v, g)))


@engines
def test_the_product_of_a_hessian_and_a_vector(engine):
    def f(x):
        return 2 * x[0] ** 2 + 3 * x[0] * x[1] + 4 * x[1] ** 2

    assert dr.hvp(f, engine=engine)([3.0, 4.0], [7.0, 8.0]) == [52.0, 85.0]
    assert_same(dr.hvp(f, engine=engine)(np.array([3.0, 4.0]), np.array([7.0, 8.0])), np.array([52.0, 85.0]))


def descend(f, x):
    """Gradient descent with a line search: halve the step until it goes down."""
    step = 1.0
    for _ in range(200):
        y, g = dr.value_and_grad(f)(x)
        if sum(u * u for u in g) < 1e-20:
            break
        while step > 1e-10:
            moved = [u - step * du for u, du in zip(x, g, strict=True)]
            if f(moved) < y:
                break
            step *= 0.5
        x, step = moved, 2.0 * step
    return x


@pytest.mark.parametrize("start", [([1.0, 1.0], [1.0, 1.0]), ([0.5, -2.0], [3.0, 1.0])])
def test_a_saddle_by_nested_gradient_descent(start):
    """min_x max_y of s^2 + t^2 - u^2 - v^2 (Pearlmutter and Siskind 2008, section 8)"""
    x, y = start

    def best_reply(x):
        return descend(lambda y: y[0] ** 2 + y[1] ** 2 - x[0] ** 2 - x[1] ** 2, y)

    def worst(x):
        u, v = best_reply(x)
        return x[0] ** 2 + x[1] ** 2 - u**2 - v**2

    found = descend(worst, x)
    assert_same([*found, *best_reply(found)], [0.0] * 4, floor=1e-6)


@engines
def test_jacobians_inside_a_gradient(engine):
    """the derivative of log |det J|, of a map of two numbers"""

    def log_det(x):
        j = dr.jacobian(lambda x: [x[0] ** 2 * x[1], x[0] + x[1] ** 2], engine=engine)(x)
        return dm.log(j[0][0] * j[1][1] - j[0][1] * j[1][0])

    a, b = 1.5, 0.7  # det = 4ab^2 - a^2
    det = 4.0 * a * b * b - a * a
    expected = [(4.0 * b * b - 2.0 * a) / det, 8.0 * a * b / det]
    assert_same(dr.grad(log_det, engine=engine)([a, b]), expected)


def test_a_derivative_of_a_solution_by_newton_s_method():
    """x(a) of x^3 + a x = 1: x' = -x / (3x^2 + a)"""

    def solve(a):
        x = 1.0
        for _ in range(30):
            y, slope = dr.value_and_grad(lambda x: x**3 + a * x - 1.0)(x)
            x = x - y / slope
        return x

    x = solve(2.0)
    assert_same(dr.grad(solve)(2.0), -x / (3.0 * x * x + 2.0))


def test_gradients_of_gradients_of_structures():
    def loss(p):
        return np.sum(np.sin(p["w"]) * p["b"] ** 2)

    def size(p):
        g = dr.grad(loss)(p)
        return np.sum(g["w"] ** 2) + g["b"] ** 2

    dr.check_grads(size, ({"w": np.array([0.5, 1.5]), "b": 0.7, "n": 3},))


@pytest.mark.parametrize("modes", list(itertools.product((dr.jacfwd, dr.jacrev), repeat=2)))
def test_every_mixture_of_modes_over_a_call_that_is_one_block(modes):
    outer, inner = modes
    cube = dr.checkpoint(lambda x: x * x * x)
    assert outer(inner(cube))(2.0) == 12.0
    assert_same(outer(inner(cube))(np.array([2.0])), np.array([[[12.0]]]))
    assert_same(outer(inner(lambda x: np.sum(cube(x))))(np.array([2.0])), np.array([[12.0]]))


def _written_between(x):
    """Products of z, which is written over later: both derivatives need its values at the time of the products."""
    z = x * 1.0
    y = z * z + np.exp(z) * z  # z = x: the cubes' sum below has derivatives in closed form
    z[0] = 5.0
    z[1:] = z[1:] * z[1:]
    return np.sum(y) + np.sum(z * z)


def test_arrays_that_are_written_to_after_they_were_used_at_both_orders():
    x, v = np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, -0.5])
    e, rest = np.exp(x), np.array([0.0, 1.0, 1.0])  # the function: sum(x^2 + x exp x) + 25 + sum(x[1:]^4)
    gradient = 2.0 * x + e * (1.0 + x) + rest * 4.0 * x**3
    assert_same(dr.grad(_written_between)(x), gradient, rtol=1e-13)
    diagonal = 2.0 + e * (2.0 + x) + rest * 12.0 * x**2
    assert_same(dr.hvp(_written_between)(x, v), diagonal * v, rtol=1e-13)
    assert_same(dr.hessian(_written_between)(x), np.diag(diagonal), rtol=1e-13)


TWICE = {
    "x * x": (lambda x: x * x, 2.0),
    "x + x": (lambda x: x + x, 1.0),
    "x - x": (lambda x: x - x, 0.0),
    "one element": (lambda x: (x * x)[1:2], 2.0),
    "one of them, dot": (lambda x: np.dot(x, x), 2.0),
    "a copy": (lambda x: x * np.copy(x), 2.0),
}


@pytest.mark.parametrize("name", TWICE)
def test_an_operation_on_the_same_array_twice(name):
    f, power = TWICE[name]
    x, v = np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, -0.5])
    some = np.array([0.0, 1.0, 0.0]) if name == "one element" else np.ones(3)
    first = {2.0: 2.0 * x, 1.0: np.full(3, 2.0), 0.0: np.zeros(3)}[power] * some
    second = (2.0 * v if power == 2.0 else np.zeros(3)) * some
    g = lambda x: np.sum(f(x))  # noqa: E731
    assert_same(dr.grad(g)(x), first, rtol=1e-15)
    assert_same(dr.jvp(g, (x,), (v,))[1], float(np.dot(first, v)), rtol=1e-14)
    assert_same(dr.hvp(g)(x, v), second, rtol=1e-15)
    assert_same(dr.hvp(lambda x: np.sum(dr.grad(g)(x) * x))(x, v), 2.0 * second, rtol=1e-15)


TWO = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a**b]
TWO += [lambda a, b: a % b, lambda a, b: a // b, dm.hypot, dm.atan2, dm.maximum, dm.copysign, dm.logaddexp, dm.fmod]


@pytest.mark.parametrize("f", TWO)
def test_numbers_of_three_runs_meet_in_an_operation(f):
    """Each of them is a constant to the runs inside of its own, whatever side it stands on."""
    a, b, c = 1.3, 0.7, 2.1

    def whole(x, y, z):
        return f(x * x, y) * f(z, x) + f(y, z) * f(y, x) + f(z * y, x) + f(2.5, y) * f(z, 1.5)

    mixed = dr.grad(lambda x: dr.grad(lambda y: dr.grad(lambda z: whole(x, y, z))(c))(b))(a)
    others = dr.grad(lambda z: dr.grad(lambda x: dr.grad(lambda y: whole(x, y, z))(b))(a))(c)
    flat = dr.hessian(lambda u: dr.grad(lambda z: whole(u[0], u[1], z))(c))([a, b])[0][1]
    assert mixed == pytest.approx(others, rel=1e-11, abs=1e-11)
    assert mixed == pytest.approx(flat, rel=1e-11, abs=1e-11)
    h = 1e-5
    slope = lambda x: dr.grad(lambda y: dr.grad(lambda z: whole(x, y, z))(c))(b)  # noqa: E731
    assert mixed == pytest.approx((slope(a + h) - slope(a - h)) / (2 * h), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("f", TWO)
def test_a_number_that_is_left_over_meets_no_other_run(f):
    kept = []
    dr.grad(lambda x: kept.append(x) or x * x)(1.3)
    for g in (lambda y: f(kept[0], y), lambda y: f(y, kept[0])):
        with pytest.raises(LeakError):
            dr.grad(g)(0.7)
