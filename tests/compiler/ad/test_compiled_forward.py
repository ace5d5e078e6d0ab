"""Forward mode of numba functions: against differences, the tape on the same source, and compiled reverse mode."""

import math
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same, differences, direction, flat, inner, jacobian, rebuild

import dualrev as dr
from dualrev.compiler.bridge.api import derivative_source
from dualrev.eager.copies import copied
from dualrev.errors import ArgumentError, ArgumentNumberError, OutputError, TangentError

pytestmark = pytest.mark.usefixtures("unoptimized")


class Ball(NamedTuple):
    at: np.ndarray
    mass: float
    n: int


# Programs


@njit
def loop(x, n):
    s, y = 0.0, x
    for i in range(1, n + 1):
        y = math.sin(y) * x
        s += y / i
    return s


@njit
def newton(a, x):
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


@njit
def branches(x, y):
    if x > y and x > 0.0:
        z = x * y
    elif y > 1.0:
        z = math.exp(x)
    else:
        z = 2.0
    return min(z, 3.0 * x), max(x, y, z) if z > 0.0 else x**2


@njit
def early(a, limit):
    total = 0.0
    for i in range(len(a)):
        if a[i] < 0.0:
            continue
        total += a[i] ** 3
        if total > limit:
            return total * limit
    return total


@njit
def in_place(a, x):
    for i in range(1, len(a)):
        a[i] = a[i - 1] * a[i] + x
        x = a[i] * x
    return x


@njit
def views(m, x):
    row = m[0]
    corner = m[1:, ::2]
    corner[0, 0] = row[1] * x
    row[:] = row * 2.0 + corner[0, 1]
    return m, np.sum(m.T[1]), row[::-1]


@njit
def pairs(p, q):
    (a, b), c = p
    swapped = (b, a * c)
    return swapped, (q[0] * swapped[1], len(q))


@njit
def ball(b, dt):
    at = b.at.copy()
    for _ in range(b.n):
        at = at + dt * at / b.mass
    return Ball(at, b.mass * dt, b.n)


@njit
def minors(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total, sign = 0.0, 1.0
    for j in range(n):
        b = np.empty((n - 1, n - 1))
        for i in range(1, n):
            for k in range(n - 1):
                b[i - 1, k] = a[i, k if k < j else k + 1]
        total += sign * a[0, j] * minors(b)
        sign = -sign
    return total


@njit
def scale(a, by):
    for i in range(len(a)):
        a[i] *= by
    return a[0], a


@njit
def rms(a, eps=1e-3):
    return math.sqrt(np.mean(a * a) + eps)


@njit
def calls(a, x):
    first, same = scale(a[1:], x)
    return first * rms(a) + rms(same, eps=x), same


@njit
def whole_arrays(m, v, x):
    w = np.exp(-v * x) / (1.0 + np.dot(m, v) ** 2)
    z = np.where(w > 0.4, w, np.sqrt(w))
    return z, np.max(z) * np.min(v), m @ m.T


@njit
def chosen(a, b, first):
    c = a if first else b
    return c[0] * 2.0


@njit
def with_a_constant_array(a, first):
    return chosen(a, np.ones(3), first) * a[1] + chosen(np.ones(3), a, first)


@njit
def names(x, p):
    _x = x * 2.0
    t_x = _x * p[1]
    y = t_x + x
    return y * _x / t_x


@njit
def in_the_answer_and_the_argument(x, y):
    x = x / y
    y = x / y
    x = math.tan(x)
    x = x**y
    y = math.sqrt(y)
    return x, y


@njit
def late(x):
    return chain(x, 2.0)


@njit
def chain(x, y):
    for _ in range(2):
        y = y * x
    return y


A = np.array([0.5, -1.2, 0.8, 2.0])
M = np.array([[0.5, -1.2, 0.8], [0.3, 2.0, -0.4], [1.1, 0.7, 0.9]])
PROGRAMS = [
    (loop, (0.8, 5)),
    (newton, (2.5, 1.0)),
    (branches, (0.9, 0.7)),
    (branches, (0.4, 1.7)),
    (branches, (-0.4, 0.7)),
    (early, (A, 0.6)),
    (early, (A, 90.0)),
    (in_place, (A, 0.7)),
    (views, (M, 1.3)),
    (pairs, (((0.5, 1.5), -2.0), (0.3, True))),
    (ball, (Ball(A, 1.7, 3), 0.1)),
    (minors, (M,)),
    (calls, (A, 0.7)),
    (whole_arrays, (M, np.array([0.4, 1.5, 0.9]), 0.6)),
    (whole_arrays, (np.asfortranarray(M), np.array([0.4, 9.0, 1.5, 9.0, 0.9])[::2], 0.6)),
    (with_a_constant_array, (A[:3], True)),
    (with_a_constant_array, (A[:3], False)),
    (names, (0.7, (2.0, 1.4))),
    (in_the_answer_and_the_argument, (0.9, 1.3)),
    (late, (1.3,)),
]
NAMES = [f"{k}-{f.__name__}" for k, (f, _) in enumerate(PROGRAMS)]
each = pytest.mark.parametrize(("f", "primals"), PROGRAMS, ids=NAMES)


def fresh(x):
    """The same with copies of the arrays, in their layout."""
    return copied(x)


@each
@pytest.mark.filterwarnings("ignore:np.dot:numba.core.errors.NumbaPerformanceWarning")
def test_jvp_is_that_of_differences_and_leaves_the_arrays_as_the_function_does(f, primals):
    v, args, mine = direction(primals), fresh(primals), fresh(primals)
    before = fresh(v)
    expected = f(*args)
    y, dy = dr.jvp(f, mine, v)
    assert_same(y, expected, rtol=0.0, floor=0.0)
    assert_same(mine, args, rtol=0.0, floor=0.0)
    assert_same(v, before, rtol=0.0, floor=0.0)
    assert_same(dy, rebuild(y, flat(dy), lambda leaf: None))
    slopes = differences(lambda *xs: f(*fresh(xs)), primals, v)
    assert_same(np.array(flat(dy)), slopes, rtol=1e-8, floor=1e-8 * np.abs(slopes).max())


@each
@pytest.mark.filterwarnings("ignore:np.dot:numba.core.errors.NumbaPerformanceWarning")
def test_forward_is_the_transpose_of_reverse(f, primals):
    """<ct, jvp(v)> = <vjp(ct), v>"""
    v = direction(primals, seed=3)
    y, dy = dr.jvp(f, fresh(primals), v)
    ct = direction((y,), seed=4)[0]
    cts = dr.vjp(f, *fresh(primals))[1](ct)
    assert inner(cts, v) == pytest.approx(inner(ct, dy), rel=1e-11)


@pytest.mark.parametrize(("f", "primals"), [(newton, (2.5, 1.0)), (early, (A, 0.6)), (pairs, PROGRAMS[9][1])])
def test_jvp_is_that_of_the_tape(f, primals):
    v = direction(primals, seed=5)
    source = dr.jvp(f.py_func, primals, v)
    assert_same(dr.jvp(f, primals, v), source, rtol=1e-13, floor=1e-13)


# Types


@njit
def single(x, a, y):
    s = x
    for i in range(len(a)):
        s = s * a[i] + x
        a[i] = s
    return s * y, a, s


def test_float32_stays_float32():
    a = np.array([0.5, 1.5], np.float32)
    y, dy = dr.jvp(single, (np.float32(0.5), a.copy(), 2.0), (1.0, np.array([0.0, 1.0]), 0.0))
    assert (dy[1].dtype, y[1].dtype) == (np.float32, np.float32)
    wide = dr.jvp(single, (0.5, a.astype(float), 2.0), (1.0, np.array([0.0, 1.0]), 0.0))
    assert_same((y, dy), wide, rtol=1e-6, types=False)


def test_tangents_of_other_layouts_and_from_numba():
    push = dr.compiler.bridge.make_dispatcher.derivative(whole_arrays, "jvp")

    @njit
    def slope(m, v, x):
        return push(m, v, x, m.T, np.ones(3)[::-1], 1)[1]

    primals = (M, np.array([0.4, 1.5, 0.9]), 0.6)
    expected = dr.jvp(whole_arrays, primals, (np.ascontiguousarray(M.T), np.ones(3), 1.0))[1]
    assert_same(slope(*primals), expected, rtol=1e-14)
    strided = np.repeat(M.T, 2, axis=0)[::2]
    assert_same(dr.jvp(whole_arrays, primals, (strided, np.ones(3), np.float64(1)))[1], expected, rtol=1e-14)


def test_default_arguments_do_not_move():
    y, dy = dr.jvp(rms, (A,), (A,))
    assert y == rms(A)
    assert dy == pytest.approx(np.mean(A * A) / y, rel=1e-14)


def test_a_tangent_of_zero_hides_an_infinite_partial():
    """docs/conventions.md: forward mode does not tell a zero that was computed from one that is known."""

    @njit
    def f(x):
        return math.sqrt(x * x)

    assert dr.jvp(f, (0.0,), (1.0,)) == (0.0, 0.0)


def test_ties_are_shared():
    @njit
    def f(a):
        return np.max(a)

    assert dr.jvp(f, (np.array([1.0, 3.0, 3.0]),), (np.array([5.0, 1.0, 2.0]),)) == (3.0, 1.5)


# Errors


@njit
def strict(x, a):
    a[0] = x
    if x < 0.0:
        raise ValueError("negative")
    return 1.0 / x + a[0]


def test_jvp_raises_what_the_function_raises():
    a = np.ones(2)
    with pytest.raises(ValueError, match=r"^negative$"):
        dr.jvp(strict, (-1.0, a), (1.0, np.zeros(2)))
    assert a[0] == -1.0
    with pytest.raises(ZeroDivisionError):
        dr.jvp(strict, (0.0, a), (1.0, np.zeros(2)))
    inverse = njit(error_model="numpy")(strict.py_func)
    assert dr.jvp(inverse, (0.0, a), (1.0, np.zeros(2))) == (math.inf, -math.inf)


@pytest.mark.parametrize(
    ("tangents", "expected"),
    [
        ((1.0,), "a tuple with 2 entries"),
        ((1.0, (None, None)), "an array of shape"),
        ((1.0, np.ones(3)), "an array of shape"),
        (("a", np.ones(2)), "a real scalar"),
    ],
)
def test_tangents_of_another_structure_are_refused(tangents, expected):
    with pytest.raises(TangentError, match=expected):
        dr.jvp(strict, (1.0, np.ones(2)), tangents)


def test_tangents_of_another_structure_are_refused_in_numba():
    push = dr.compiler.bridge.make_dispatcher.derivative(strict, "jvp")
    with pytest.raises(TangentError, match=r"numba type Tuple.* was given where the primals have a real scalar"):
        push(1.0, np.ones(2), (1.0, None), np.ones(2))
    with pytest.raises(ArgumentError):
        push(1.0, np.ones(2), None, None)
    with pytest.raises(TangentError, match="an array with 1 axes"):
        push(1.0, np.ones(2), 1.0, np.ones((2, 1)))
    with pytest.raises(ValueError, match="another shape"):
        push(1.0, np.ones(2), 1.0, np.ones(1))


def test_the_tangent_of_an_int_is_none():
    with pytest.raises(TangentError, match="a discrete value"):
        dr.jvp(loop, (0.5, 3), (1.0, 1.0))
    with pytest.raises(ArgumentError):
        dr.jvp(loop, (1, 3), (None, None))


def test_functions_without_a_real_value_are_refused():
    @njit
    def count(x):
        return len(x)

    with pytest.raises(OutputError):
        dr.jvp(count, (A,), (A,))
    with pytest.raises(OutputError):
        dr.jacobian(count)(A)


def test_arguments_that_share_memory_and_are_written_are_refused():
    @njit
    def copy_over(a, b):
        for i in range(len(a)):
            a[i] = a[i] * b[i]
        return b[0]

    z = A.copy()
    with pytest.raises(ValueError, match="share memory"):
        dr.jvp(copy_over, (z[:3], z[1:]), (np.ones(3), np.ones(3)))
    with pytest.raises(ValueError, match="share memory"):
        dr.vjp(copy_over, z[:3], z[1:])[1](1.0)


# Jacobians


@njit
def of_all_ranks(m, v, x):
    """Arguments and results as those of `whole_arrays`, in a function that is compiled in less time."""
    return v * x * m[0, 1], v[0] * m[1, 1] * x, m * v[2]


@pytest.mark.parametrize(
    "f", [of_all_ranks, pytest.param(whole_arrays, marks=pytest.mark.slow)], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(
    "transform", [dr.jacobian, *(pytest.param(t, marks=pytest.mark.slow) for t in (dr.jacrev, dr.jacfwd))]
)
def test_jacobians_are_those_of_differences(transform, f):
    primals = PROGRAMS[13][1]
    blocks = transform(f, (0, 1, 2))(*primals)
    shapes = [[np.shape(u) for u in row] for row in blocks]
    assert shapes == [[(3, 3, 3), (3, 3), (3,)], [(3, 3), (3,), ()], [(3, 3, 3, 3), (3, 3, 3), (3, 3)]]
    rows = [[np.reshape(u, (n, -1)) for u in row] for n, row in zip([3, 1, 9], blocks, strict=True)]
    expected = jacobian(f, primals)
    assert_same(np.block(rows), expected, rtol=1e-8, floor=1e-8)
    assert_same(transform(f, -1)(*primals), tuple(row[2] for row in blocks), rtol=1e-13, floor=1e-13)


def test_a_jacobian_by_one_of_several_arguments():
    args = fresh((A, 0.7))
    made = dr.jacobian(in_place)(*args)
    assert_same(args[0], fresh_after(in_place, A, 0.7), rtol=0.0, floor=0.0)
    assert_same(made, jacobian(lambda a: in_place(a.copy(), 0.7), (A,))[0], rtol=1e-8, floor=1e-8)
    by_name = dr.jacfwd(in_place)(A.copy(), x=0.7)
    assert_same(by_name, made, rtol=1e-13)
    with pytest.raises(ArgumentNumberError):
        dr.jacobian(in_place, 2)(A, 0.7)
    with pytest.raises(ArgumentError):
        dr.jacobian(loop, 1)(0.5, 3)


def fresh_after(f, a, *rest):
    a = a.copy()
    f(a, *rest)
    return a


# The source


def test_the_source_of_a_recursive_function():
    source = derivative_source(minors, M, transform="jvp")
    assert source.count("@njit") == 2
    assert "minors_tangent(b, t_b)" in source
    assert "b, t_b = runtime.empty_with_shadow(" in source


def test_calls_without_derivatives_are_left_as_they_are():
    @njit
    def index(n):
        return n % 2

    @njit
    def f(a, n):
        return a[index(n)] * 2.0

    source = derivative_source(f, A, 3, transform="jvp")
    assert source.count("def ") == 1
    assert dr.jvp(f, (A, 3), (A, None)) == (2.0 * A[1], 2.0 * A[1])


# Arguments that do not move


@njit
def three_ways(x, a, k, p):
    s = p[0]
    for i in range(len(a)):
        s += np.sin(a[i] * x) * p[1] ** k
    return s, a * x


THREE = (0.3, np.linspace(0.1, 1.0, 5), 2, (1.5, 0.4))
STILL = (0.0, np.zeros(5), None, (0.0, 0.0))


@pytest.mark.parametrize("moving", [(0,), (1,), (3,), (0, 3), ()])
def test_an_argument_without_a_tangent_does_not_move(moving):
    v = direction(THREE, seed=2)
    zeros = tuple(v[k] if k in moving else STILL[k] for k in range(4))
    nones = tuple(v[k] if k in moving else None for k in range(4))
    for f in (three_ways, three_ways.py_func):
        expected = dr.jvp(f, THREE, zeros)
        assert_same(dr.jvp(f, THREE, nones), expected, rtol=1e-15)
    with pytest.raises(TangentError):
        dr.jvp(three_ways, THREE, nones[:3])


def test_no_tangent_is_carried_for_it():
    push = dr.compiler.bridge.make_dispatcher.derivative(three_ways, "jvp")
    kinds = tuple(map(numba.typeof, THREE))
    text = [dr.compiler.driver.emit.emit(three_ways, "jvp", 0, (*kinds, *rest)).source for rest in (kinds, NONES)]
    assert "t_a" in text[0]
    assert "t_a[" not in text[1]
    y, dy = push(*THREE, 1.0, None, None, None)
    assert_same((y, dy), dr.jvp(three_ways.py_func, THREE, (1.0, None, None, None)), rtol=1e-13, types=False)


NONES = (numba.float64, *[numba.types.none] * 3)


def test_derivatives_of_a_tangent_by_some_arguments():
    @njit
    def slope(x, a):
        return dr.jvp(three_ways, (x, a, 2, (1.5, 0.4)), (1.0, None, None, None))[1][0]

    def plain(x, a):
        return dr.jvp(three_ways.py_func, (x, a, 2, (1.5, 0.4)), (1.0, None, None, None))[1][0]

    assert_same(dr.grad(slope, (0, 1))(*THREE[:2]), dr.grad(plain, (0, 1))(*THREE[:2]), rtol=1e-12, types=False)
