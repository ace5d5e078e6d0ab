"""docs/conventions.md, rules 3 and 4: a known zero takes no part, and NaN is never hidden.

Both engines and both modes are asked the same; where the function is smooth, so are differences.
"""

import math

import numpy as np
import pytest
from numba import njit, prange, typeof
from scipy.optimize import least_squares
from support.oracle import assert_same, differences
from support.twin import twin

import dualrev as dr
from dualrev.compiler.driver.emit import emit

nan, inf = math.nan, math.inf


@njit
def side_of_a_branch(x):
    root = np.sqrt(x)
    return root if x > 1.0 else 2.0 * x


@njit
def end_of_a_chain(x):
    """The root is NaN, and so is the other factor of a product that is not used."""
    scaled = np.sqrt(x) * x * 2.0 + np.log(x)
    return scaled if x > 0.0 else x * x


@njit
def overflow(x):
    large = np.exp(x)
    return np.log(1.0 + large) if x < 30.0 else x


@njit
def overwritten(x):
    y = np.sqrt(x)
    if x < 1.0:
        y = x + 2.0
    return y * y


@njit
def in_a_loop(x):
    total = 0.0
    for i in range(4):
        root = np.sqrt(x - i)
        power = np.power(x - i, 0.5)
        if x > i:
            total += root + power
    return total


@njit
def until(x):
    """The loop ends with a root that nothing reads."""
    y, root = x, 0.0
    while y > 0.0:
        root = np.sqrt(y)
        y -= 1.0
        root = np.arcsin(y) * root
    return y * 2.0


@njit
def helper(x):
    return np.sqrt(x), np.log(x)


@njit
def of_a_call(x):
    root, log = helper(x)
    if x > 1.0:
        return root + log
    return 4.0 * x


@njit
def conditional_argument(x):
    """A constant where the slope is infinite: the argument of the root does not move."""
    return np.sqrt(x if x > 0.0 else 0.0) + x


@njit
def constant_through_a_call(x):
    kept = x if x > 0.0 else 0.0
    return helper(kept)[0] + x


@njit
def steps(x):
    """The derivative of a step is 0 wherever it is: the root takes no part."""
    return np.floor(np.sqrt(x)) + np.sign(np.sqrt(x)) + np.copysign(2.0, np.sqrt(x)) + np.sqrt(x) // 1.0 + x


CASES = [
    (side_of_a_branch, 0.0, 2.0),
    (side_of_a_branch, -1.0, 2.0),
    (side_of_a_branch, 4.0, 0.25),
    (end_of_a_chain, -2.0, -4.0),
    (end_of_a_chain, 1.0, 4.0),
    (overflow, 800.0, 1.0),
    (overwritten, -1.0, 2.0),
    (in_a_loop, 2.5, 2.0 * sum(0.5 / math.sqrt(2.5 - i) for i in range(3))),
    (in_a_loop, 2.0, 2.0 * sum(0.5 / math.sqrt(2.0 - i) for i in range(2))),
    (until, 2.0, 2.0),
    (until, 2.5, 2.0),
    (of_a_call, 0.5, 4.0),
    (of_a_call, -1.0, 4.0),
    (conditional_argument, -1.0, 1.0),
    (conditional_argument, 4.0, 1.25),
    (constant_through_a_call, -1.0, 1.0),
    (steps, 0.0, 1.0),
]


@pytest.mark.parametrize(("f", "x", "slope"), CASES, ids=[f"{f.__name__}({x})" for f, x, _ in CASES])
def test_both_engines_and_both_modes(f, x, slope):
    plain = twin(f)
    found = [dr.grad(f)(x), dr.jvp(f, (x,), (1.0,))[1], dr.vjp(f, x)[1](1.0)[0]]
    with np.errstate(all="ignore"):
        found += [dr.grad(plain)(x), dr.jvp(plain, (x,), (1.0,))[1]]
    assert_same(found, [slope] * 5, rtol=1e-13)
    if (f, x) not in ((steps, 0.0), (in_a_loop, 2.0), (until, 2.0)):
        assert_same(float(differences(f, (x,), (1e-3,))[0]) / 1e-3, slope, rtol=1e-6)


@njit
def residuals(v):
    """Roots of distances that are cut off at zero, and kept in an array."""
    out = np.empty(4)
    for i in range(4):
        w = v[0] * v[1] - i
        vp = w if w > 0.0 else 0.0
        out[i] = np.sqrt(vp) - (2.0 - i if i < 2 else 0.0)
    return out


def test_an_array_of_guarded_roots():
    v = np.array([1.25, 1.2])
    slopes = np.array([0.5 / math.sqrt(1.5), 0.5 / math.sqrt(0.5), 0.0, 0.0])
    expected = np.outer(slopes, v[::-1])
    for transform in (dr.jacobian, dr.jacfwd, dr.jacrev):
        assert_same(transform(residuals)(v), expected, rtol=1e-13)
        assert_same(transform(twin(residuals))(v), expected, rtol=1e-13)
    assert_same(dr.jvp(residuals, (v,), (np.array([1.0, 0.0]),))[1], expected[:, 0], rtol=1e-13)
    stepped = [differences(residuals, (v,), (1e-3 * row,)) / 1e-3 for row in np.eye(2)]
    assert_same(np.stack(stepped, 1), expected, rtol=1e-6, floor=1e-9)


@pytest.mark.parametrize("f", [residuals, twin(residuals)], ids=["compiled", "tape"])
def test_least_squares_of_guarded_roots(f):
    found = least_squares(f, np.array([1.25, 1.2]), jac=dr.jacobian(f))
    assert found.success
    by_differences = least_squares(residuals, np.array([1.25, 1.2]))
    assert_same(found.cost, by_differences.cost, rtol=1e-6)
    assert_same(float(found.x[0] * found.x[1]), float(by_differences.x[0] * by_differences.x[1]), rtol=1e-4)


@njit
def several(x, y):
    return np.sqrt(x), x / y, x * y, (x + 1.0) ** y


def test_a_result_that_is_not_asked_for_and_an_argument_that_does_not_move():
    with np.errstate(all="ignore"):
        for f in (several, twin(several)):
            pullback = dr.vjp(f, 0.0, 2.0)[1]
            assert_same(pullback((0.0, 1.0, 0.0, 0.0)), (0.5, -0.0), rtol=0.0)
            assert_same(pullback((0.0, 0.0, 1.0, 0.0)), (2.0, 0.0), rtol=0.0)
            assert_same(pullback((1.0, 0.0, 0.0, 0.0)), (inf, 0.0), rtol=0.0)
            assert_same(dr.jvp(f, (0.0, 2.0), (0.0, 1.0))[1], (0.0, 0.0, 0.0, 0.0), rtol=0.0)
            assert_same(dr.jacfwd(f, (0, 1))(0.0, 2.0), dr.jacrev(f, (0, 1))(0.0, 2.0), rtol=1e-15)


@njit
def stored(a):
    """Elements that nothing reads, and one that is overwritten."""
    roots = np.sqrt(a)
    logs = np.log(a)
    logs[0] = a[0]
    roots[0] = 2.0 * a[0] * logs[0]
    return np.sum(roots[:2]) + logs[0]


def test_elements_that_are_not_used():
    a = np.array([0.0, 4.0, -1.0])
    with np.errstate(all="ignore"):
        for f in (stored, twin(stored)):
            assert_same(dr.grad(f)(a), np.array([1.0, 0.25, 0.0]), rtol=0.0)
            assert_same(dr.jvp(f, (a,), (np.ones(3),))[1], 1.25, rtol=0.0)


# Rule 4


@njit
def square_of_a_root(x):
    return math.sqrt(x) * math.sqrt(x)


@njit
def through_a_call(x):
    return 3.0 * square_of_a_root(x)


@njit
def sum_of_roots(x, n):
    total = 0.0
    for i in range(n):
        total += math.sqrt(x + i) * math.sqrt(x)
    return total


def test_a_zero_that_was_computed_takes_part():
    """It is 1, and 0 times an infinite slope may be anything: NaN says so."""
    for f in (square_of_a_root, twin(square_of_a_root), through_a_call, twin(through_a_call)):
        assert_same(dr.grad(f)(0.0), nan, rtol=0.0)
    for f in (square_of_a_root, twin(square_of_a_root)):
        assert_same(dr.jvp(f, (0.0,), (1.0,))[1], nan, rtol=0.0)
    for f in (sum_of_roots, twin(sum_of_roots)):
        assert_same(dr.grad(f)(0.0, 1), nan, rtol=0.0)


def test_forward_mode_of_compiled_code_takes_it_for_a_known_one():
    """As docs/conventions.md says: the slope of |x| from both sides is 0 in the mean."""

    @njit
    def absolute(x):
        return math.sqrt(x * x)

    assert_same(dr.jvp(absolute, (0.0,), (1.0,))[1], 0.0, rtol=0.0)
    assert_same([dr.grad(absolute)(0.0), dr.grad(twin(absolute))(0.0)], [nan, nan], rtol=0.0)


# What it costs


@njit
def likelihood(mean, scale, numbers):
    total = 0.0
    for x in numbers:
        z = (x - mean) / scale
        total += math.log(scale) + 0.5 * z * z + math.sqrt(1.0 + z * z)
    return total


@njit
def products(a, x):
    y = np.zeros(len(a))
    for i in range(len(a)):
        for j in range(len(x)):
            y[i] += a[i, j] * x[j]
    return np.sum(y * y)


@njit
def in_an_array(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = 1.0 / x[i]
    return y[0]


numpys_errors = njit(error_model="numpy")(in_an_array.py_func)


@njit
def crossed(a, b):
    return a[1] * b[0] - a[0] * b[1], a[0] * b[0]


@njit
def through_finite_calls(x):
    """Calls that return finite numbers for finite numbers, also in the next iteration."""
    u, v = (x, 2.0), (1.0, x)
    for _ in range(3):
        v = crossed(u, v)
    return v[0] if x > 0.0 else v[1] * v[1]


@njit
def powers(x, n):
    return x if n == 0 else x * powers(x, n - 1) * (1.0 if x < 1.0 else x)


@njit
def inverse_powers(x, n):
    return 1.0 / x if n == 0 else x * inverse_powers(x, n - 1)


@njit
def chosen_power(x):
    p, q = powers(x, 2), inverse_powers(x, 2)
    return x * p if x > 0.5 else q * q * x


@njit
def put_a_root(x, out):
    out[0] = math.sqrt(x)


@njit
def first_after(x, out, read):
    put_a_root(x, out)
    return read[0]


@njit
def of_one_memory(x):
    """The root comes back by another name of the array that it was written to."""
    a = np.zeros(2)
    y = first_after(x, a, a[:1])
    return x * 2.0 if x < 1.0 else y * y * x


def test_what_calls_give_and_write_may_be_hidden():
    for f in (of_one_memory, twin(of_one_memory)):
        with np.errstate(all="ignore"):
            assert_same([dr.grad(f)(0.0), dr.grad(f)(4.0)], [2.0, 8.0], rtol=1e-13)
            assert_same(dr.jvp(f, (0.0,), (1.0,))[1], 2.0, rtol=0.0)
    assert_same(dr.grad(chosen_power)(2.0), dr.grad(twin(chosen_power))(2.0), rtol=1e-13)


@pytest.mark.parametrize(
    ("f", "args", "questions"),
    [
        (through_finite_calls, (1.5,), 0),
        (likelihood, (0.5, 2.0, np.ones(3)), 0),  # every term is a part of the result
        (products, (np.ones((2, 3)), np.ones(3)), 0),  # finite numbers have finite products
        (in_an_array, (np.ones(3),), 0),  # where it divides by zero, it raises
        (numpys_errors, (np.ones(3),), 1),
        (side_of_a_branch, (1.0,), 1),
    ],
)
def test_only_what_may_be_hidden_is_asked_for(f, args, questions):
    source = emit(f, "value_and_grad", 0, tuple(map(typeof, args))).source
    assert source.count("runtime.scaled(") == questions


# Second derivatives


@njit
def with_a_power(x):
    return x[0] ** 1.5 + x[1] ** 2 + 3.0 * x[0] * x[1]


@njit
def root_of(u):
    return math.sqrt(u)


@njit
def with_a_callee(x):
    return root_of(x[0]) + x[0] * x[1] * x[1]


@njit
def root_of_a_root(x):
    """A root whose argument is a root, with a known zero as its tangent."""
    return math.sqrt(math.sqrt(x[0])) + math.sqrt(x[0]) ** 3 + x[1] * x[1]


@njit
def by_way_of_arrays(x):
    y, z = np.sqrt(x), np.zeros(3)
    z[1] = x[1]
    for i in range(2):
        z[i] += y[i] * x[i]
    return np.sum(np.sqrt(z + 1.0)) + np.sum(y * x)


@njit
def on_one_side(x):
    y = math.asin(x[1]) if x[0] > 0.5 else x[0] ** 1.25
    return (x[0] - y) * x[1] + math.acos(x[0] * x[1])


@njit
def recursive(x, n=2):
    return x[0] ** 1.5 * x[1] ** 3 if n == 0 else math.sqrt(x[1]) * recursive(x, n - 1)


@njit(parallel=True)
def in_threads(x):
    total = 0.0
    for i in prange(3):
        total += math.sqrt(x[0]) * x[0] * i + math.sqrt(i + x[1] * x[1])
    return total


STEEP = [with_a_power, with_a_callee, root_of_a_root, by_way_of_arrays, on_one_side, recursive, in_threads]


@pytest.mark.parametrize(
    "f",
    [pytest.param(f, marks=pytest.mark.slow) if f not in (with_a_power, on_one_side, in_threads) else f for f in STEEP],
    ids=lambda f: f.__name__,
)
def test_a_direction_that_does_not_move_an_argument_at_a_pole(f):
    """Differences of gradients along the other argument are finite."""
    x, still = np.array([0.0, 0.75]), np.array([0.0, 1.0])
    gradient, step = dr.grad(f), 1e-6 * still
    expected = (gradient(x + step)[1] - gradient(x - step)[1]) / 2e-6
    with np.errstate(all="ignore"):
        found = [dr.hvp(f)(x, still), dr.hessian(f)(x)[:, 1]]
        if f is with_a_power:
            found += [dr.jvp(gradient, (x,), (still,))[1], dr.jacobian(gradient)(x)[:, 1]]
            found.append(dr.vmap(dr.hvp(f))(np.stack([x, x]), np.eye(2))[1])
        on_tape = dr.hvp(twin(f))(x, still)
    assert np.all(np.isfinite(on_tape))
    np.testing.assert_allclose(on_tape[1], expected, rtol=1e-6)
    for product in found:
        np.testing.assert_allclose(product, on_tape, rtol=1e-12)
    assert np.array_equal(dr.hvp(f)(x, np.zeros(2)), np.zeros(2))


def test_an_infinite_second_derivative_is_the_limit():
    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(dr.hessian(with_a_power)(x), [[inf, 3.0], [3.0, 2.0]])
    np.testing.assert_array_equal(dr.hessian(with_a_callee)(x), [[-inf, 2.0], [2.0, 0.0]])
    np.testing.assert_array_equal(dr.sparse_hessian(with_a_power)(x).toarray(), [[inf, 3.0], [3.0, 2.0]])


@njit
def of_two_numbers(a, b):
    return a**2.5 + math.sqrt(a) * a * a + b * b


def test_known_zeros_of_third_derivatives():
    both = dr.jvp(dr.hessian(of_two_numbers, (0, 1)), (0.0, 2.0), (0.0, 1.0))[1]
    assert_same(both, ((0.0, 0.0), (0.0, 0.0)), rtol=0.0)


@njit
def square_of_a_distance(x):
    return math.sqrt(x[0] * x[0] + x[1] * x[1]) ** 2 + x[0] * x[1]


@njit
def square_of_an_absolute_value(x):
    return abs(complex(x[0], x[1])) ** 2


@njit
def root_of_a_product(x):
    return math.sqrt(x[0] * x[1]) ** 4


@pytest.mark.parametrize("f", [square_of_a_distance, square_of_an_absolute_value, root_of_a_product])
def test_a_zero_that_was_computed_is_none_that_is_known(f):
    """The Hessians are [[2, 1], [1, 2]], [[2, 0], [0, 2]] and 0: not one of the entries is another number."""
    found = dr.hessian(f)(np.zeros(2))
    right = {square_of_a_distance: [[2, 1], [1, 2]], square_of_an_absolute_value: 2 * np.eye(2)}.get(
        f, np.zeros((2, 2))
    )
    assert np.all(np.isnan(found) | (found == right))
    assert np.all(np.isnan(np.diag(found)))


@njit
def subtracted(x):
    """A subtraction from an array element: -0.0 - 0.0 is -0.0, and not a known zero."""
    z = np.zeros(1)
    z[0] -= -(x[0] * x[0] + x[1] * x[1])
    return math.sqrt(z[0]) ** 2 + x[0] * x[1]


@njit
def multiplied(x):
    """Products of matrices have zeros of either sign."""
    y = np.array([[-1.0, 0.0], [0.0, -2.0]]) @ (np.sqrt(x) * x)
    return y @ y + x[0] * x[1]


@pytest.mark.parametrize(
    ("f", "x"), [(square_of_a_distance, (0.0, 0.0)), (subtracted, (0.0, 0.0)), (multiplied, (0.0, 1.0))]
)
def test_computed_zeros_are_those_of_the_tape(f, x):
    with np.errstate(all="ignore"):
        expected = dr.hessian(twin(f))(np.array(x))
    assert np.isnan(expected).any()
    np.testing.assert_allclose(dr.hessian(f)(np.array(x)), expected, rtol=1e-12)


@njit
def product_of_roots(x, z):
    return -np.dot(np.sqrt(x), z)


@njit
def inverse_of_a_root(x, z):
    return -np.linalg.inv(1.0 + np.sqrt(x[:1]).reshape(1, 1))[0, 0] * z[0]


@pytest.mark.parametrize("f", [product_of_roots, inverse_of_a_root])
def test_a_zero_that_a_library_function_computes_is_none_that_is_known(f):
    """-1 * 0 is -0.0, which marks a known zero elsewhere; here it is multiplied by the infinite slope of a root."""
    x, z = np.array([0.0, 4.0]), np.array([0.0, 1.0])
    with np.errstate(all="ignore"):
        expected = dr.hessian(twin(f))(x, z)
    assert np.isnan(expected[0, 0])
    assert np.isnan(dr.hessian(f)(x, z)[0, 0])


def test_only_functions_with_poles_mark_known_zeros():
    def marks(f):
        return "runtime.along" in dr.derivative_source(f, np.ones(2), transform="hessian")

    assert marks(with_a_power)
    assert marks(with_a_callee)
    assert not marks(njit(lambda x: x[0] ** 3 * np.exp(x[1]) + np.tanh(x[0]) / x[1]))
