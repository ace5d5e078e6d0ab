"""Loops over prange with parallel=True: right, the same with every number of threads, and in threads where they can be.

The oracle is the tape, on the same function in plain Python, where prange is range.
"""

import re
import threading

import numba
import numpy as np
import pytest
from numba import njit, prange
from numba.experimental import jitclass
from support.oracle import assert_same, check_vjp
from support.twin import twin

import dualrev as dr

# What is shared, and how


@njit
def weighted(u, v):
    return np.sin(u) * v + u


@njit
def root(x):
    if x < 0.0:
        raise ValueError("the root of a negative number")
    return np.sqrt(x)


@njit
def fill(row, x):
    for j in range(len(row)):
        row[j] = x * (j + 1) + row[j] * row[j]


@njit(parallel=True)
def diffused(a, c, k):
    """A stencil, in a loop: each round reads its neighbours, and the array is made anew."""
    u, w = a.copy(), np.zeros(len(a))
    for _ in range(k):
        for i in prange(1, len(a) - 1):
            w[i] = u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1])
        for i in prange(len(a)):
            u[i] = np.sin(w[i])
    return np.sum(u * u)


@njit(parallel=True)
def scattered(x, pairs, w):
    """Gathers and scatters: arrays that are only added to, at any place."""
    force, counts = np.zeros(len(x)), np.zeros(5)
    for i in prange(len(pairs)):
        f = w * (x[pairs[i, 0]] - x[pairs[i, 1]]) ** 2
        force[pairs[i, 0]] += f
        force[pairs[i, 1]] -= weighted(f, w)
        counts[i % 5] += f
        counts += f * np.ones(5)
    return np.sum(force**2) + counts[0] * counts[3]


@njit(parallel=True)
def changed_rows(m, x):
    """Rows that a call and a loop change, and that the argument holds afterwards."""
    total = 0.0
    for i in prange(m.shape[0]):
        row = m[i]
        fill(row, x)
        for j in range(m.shape[1]):
            if row[j] > 1.0:
                total += row[j] * x
            else:
                total += -m[i, j]
    return np.exp(-total * 0.01)


@njit(parallel=True)
def chosen(a, x):
    """All reductions that numba has in a prange; min and max get the larger number as either argument."""
    s, p, lo, hi, n = 0.0, 1.0, 1e9, -1e9, 0
    for i in prange(len(a)):
        s += x * a[i]
        p *= 1 + 0.01 * a[i] * x
        lo = min(lo, a[i] * x)
        hi = max(a[(i + 1) % len(a)], hi)
        n += 2
    return s * p + lo * hi + n


@njit(parallel={"numpy": False})
def least_of_rows(a, m):
    """A choice, and arrays that change: the function runs in threads, its derivative in one."""
    grid, lo = m.copy(), 9.0
    for i in prange(len(a)):
        row = grid[i]
        row[1] = 0.36 * row[1] + a[i]
        lo = min(lo, a[i] * row[0])
    return lo + np.sum(grid * grid)


@njit(parallel=True)
def discounted(a, m, r):
    """A mean with factors before and after it, and arrays of an iteration: both passes are one loop."""
    s = 0.0
    for i in prange(len(a)):
        t = np.zeros(4)
        for j in range(4):
            t[j] = a[i] * j + m[i % m.shape[0], j]
        middle = m[:, 1:3]
        s += np.dot(t, t) + np.sum(middle[i % 2]) * a[i] * r
    return np.exp(-r) * s / len(a)


RNG = np.random.default_rng(0)
CASES = {
    "diffused": (diffused, (RNG.random(150), 0.3, 2), (0, 1), ["d_u", "d_w"]),
    "scattered": (scattered, (RNG.random(30), RNG.integers(0, 30, (200, 2)), 0.7), (0, 2), ["force", "d_w", "d_x"]),
    "changed_rows": (changed_rows, (RNG.random((40, 3)), 0.9), (0, 1), ["total", "d_m", "d_x"]),
    "chosen": (chosen, (RNG.random(100), 1.3), (0, 1), ["p_parts", "d_lo_parts", "d_x", "d_a"]),
    "least_of_rows": (least_of_rows, (RNG.random(30), RNG.random((30, 3))), (0, 1), []),
    "discounted": (discounted, (RNG.random(170), RNG.random((6, 4)), 0.4), (0, 1, 2), ["s", "d_r", "d_m", "d_a"]),
}


def copies(args):
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)


def with_threads(count, f, args):
    """Return f's result on `count` threads."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        return f(*copies(args))
    finally:
        numba.set_num_threads(before)


def assert_loses_nothing(right, wrong):
    """Calls free all memory that they get, those that raise for the root of a negative number, too."""
    memory = numba.core.runtime._nrt_python
    memory.memsys_enable_stats()
    try:
        before = numba.core.runtime.rtsys.get_allocation_stats()
        for _ in range(5):
            right()
        between = numba.core.runtime.rtsys.get_allocation_stats()
        for _ in range(5):
            with pytest.raises(ValueError, match="the root of a negative number"):
                wrong()
        after = numba.core.runtime.rtsys.get_allocation_stats()
    finally:
        memory.memsys_disable_stats()
    assert between.alloc - before.alloc == between.free - before.free
    assert after.alloc - between.alloc == after.free - between.free


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_are_the_tape_s_and_those_of_any_number_of_threads(name):
    f, args, chosen, shared = CASES[name]
    both = dr.value_and_grad(f, argnums=chosen)
    value, gradient = with_threads(2, both, args)
    expected = dr.value_and_grad(twin(f), argnums=chosen)(*copies(args))
    assert_same(gradient, expected[1], rtol=1e-11)
    assert value == pytest.approx(expected[0], rel=1e-12)
    again = with_threads(1, both, args)
    assert value == again[0]
    assert_same(gradient, again[1], rtol=0.0)  # sums do not depend on threads at all
    given = copies(args)
    both(*given)
    after = copies(args)
    f.py_func(*after)
    assert_same(given, after, rtol=1e-13)  # arguments hold what the function has left there
    text = dr.derivative_source(f, *args, argnums=chosen)
    told = " ".join(re.findall(r"(?:Of each chunk|With an array|Written directly)[^\"]*", text))
    assert all(re.search(rf"\b{x}\b", told) for x in shared), told
    assert ("runtime.in_threads" in text) == bool(shared)


# What a round records


@njit(parallel=True)
def recording(x, pairs, w):
    """A prange from 1, iterations that update their own elements, and a scatter of expensive values."""
    force, u = np.zeros(len(x)), x.copy()
    for p in prange(1, len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        far = np.exp(-root(w) * (x[i] - x[j]) ** 2)
        force[i] += far * x[j]
        force[j] -= far * w
    for p in prange(len(x)):
        u[p] = np.sin(u[p]) * force[p]
        u[p] = np.sin(u[p]) * w
    return np.sum(force**2) * np.sum(u * x)


def test_a_few_numbers_of_a_round_are_recorded_and_no_round_runs_twice():
    x, pairs = RNG.random(30), RNG.integers(0, 30, (200, 2))
    both = dr.value_and_grad(recording, argnums=(0, 2))
    expected = dr.value_and_grad(twin(recording), argnums=(0, 2))(x, pairs, 0.7)
    for count in (1, 2):
        value, gradient = with_threads(count, both, (x, pairs, 0.7))
        assert value == pytest.approx(expected[0], rel=1e-12)
        assert_same(gradient, expected[1], rtol=1e-11)
    text = dr.derivative_source(recording, x, pairs, 0.7, argnums=(0, 2))
    forward, backward = re.search(r"_forward_some.*?return.*?_reverse_some.*?return", text, re.S)[0].split(
        "_reverse_some"
    )
    assert ".exp(" in forward
    assert ".exp(" not in backward
    few = pairs[:1]  # no round
    assert_same(both(x, few, 0.7)[1], dr.grad(twin(recording), argnums=(0, 2))(x, few, 0.7), rtol=1e-11)
    assert_loses_nothing(lambda: both(x, pairs, 0.7), lambda: both(x, pairs, -0.7))


@pytest.mark.slow
def test_second_derivatives_of_rounds_that_are_recorded():
    x, pairs = RNG.random(30), RNG.integers(0, 30, (200, 2))
    direction = RNG.random(30)
    found, expected = (dr.hvp(f)(x, direction, pairs, 0.7) for f in (recording, twin(recording)))
    assert_same(found, expected, rtol=1e-10)


# How large the loop is


@njit(parallel=True)
def between(a, start, stop):
    out = np.zeros(len(a))
    s = 0.0
    for i in prange(start, stop):
        out[i] = a[i] * a[i]
        s += a[i - 1] * a[i]
    return s + np.sum(out * a)


def test_loops_of_any_length_and_places_below_zero():
    """Loops of any length, and the index -1, whose element another iteration may use."""
    both, a = dr.value_and_grad(between), RNG.random(200)
    for start, stop in [
        (0, 0),
        (3, 3),
        (5, 2),
        (0, 1),
        (1, 3),
        (0, 63),
        (0, 64),
        (1, 66),
        (0, 200),
        (-199, 200),
        (-3, 7),
    ]:
        expected = dr.value_and_grad(twin(between))(a, start, stop)
        value, slope = both(a, start, stop)
        assert value == pytest.approx(expected[0], rel=1e-12)
        assert_same(slope, expected[1], rtol=1e-12)


# Loops that numba runs in one thread, and we, too


@njit(parallel=True)
def serially(a, order):
    s, t = 0.0, 1.0
    for i in prange(len(a)):  # it may end early: numba runs it in one thread
        if a[i] < 0.0:
            raise ValueError("a negative number")
        if a[i] > 10.0:
            break
        t = 0.9 * t + a[i]
    out = np.zeros(len(a))
    for i in prange(len(a)):  # it is not certain that the rounds have different places
        out[order[i]] = a[i] * t
    for i in prange(len(a)):
        for j in prange(3):  # the outer loop alone runs in threads
            s += out[i] * j
    return s + np.sum(a * a) * np.mean(a)


def test_loops_that_run_in_one_thread():
    a, order = RNG.random(20), RNG.permutation(20)
    expected = dr.value_and_grad(twin(serially))(a, order)
    value, slope = dr.value_and_grad(serially)(a, order)
    assert value == pytest.approx(expected[0], rel=1e-12)
    assert_same(slope, expected[1], rtol=1e-12)
    with pytest.raises(ValueError, match="a negative number"):
        dr.grad(serially)(-a, order)


@njit(parallel=True)
def without_axes(x, a, b):
    """Numba itself does not compile such loops: threads get an array without axes as a number."""
    s = 0.0
    for i in prange(len(x)):
        a[()] += x[i] * x[i]
    for i in prange(len(x)):
        s += x[i] * b[()]
    return s * a[()]


def test_loops_with_arrays_without_axes_run_in_one_thread():
    args = RNG.random(5), np.array(0.3), np.array(0.7)
    value, slopes = dr.value_and_grad(without_axes, argnums=(0, 1, 2))(*copies(args))
    x, a, b = args
    assert value == pytest.approx(np.sum(x * b) * (a + np.sum(x * x)), rel=1e-13)
    expected = b * (a + np.sum(x * x)) + np.sum(x * b) * 2 * x, np.sum(x * b), np.sum(x) * (a + np.sum(x * x))
    assert_same(slopes, (expected[0], np.array(expected[1]), np.array(expected[2])), rtol=1e-12)
    text = dr.derivative_source(without_axes, *args, argnums=(0, 1, 2))
    assert "runtime.in_threads" not in text


@jitclass([("scale", numba.float64), ("rows", numba.float64[:])])
class Scaled:
    def __init__(self, scale, rows):
        self.scale, self.rows = scale, rows


@njit(parallel=True)
def of_fields(x, scaled):
    s = 0.0
    for i in prange(len(x)):
        s += x[i] * scaled.scale * scaled.rows[i]
    return s


def test_fields_of_an_instance_in_a_loop_are_arrays_without_axes():
    x, rows = RNG.random(3), RNG.random(3)
    assert_same(dr.grad(of_fields)(x, Scaled(2.0, rows)), 2.0 * rows, rtol=1e-14)


# What numba refuses, or computes otherwise in threads (more of it in programs/refusals.py)


@njit(parallel=True)
def handed_on(a):
    s = 0.0
    for i in prange(len(a)):
        s = 0.5 * s + a[i]
    return s


@njit(parallel=True)
def of_the_last_round(a):
    last = 0.0
    for i in prange(len(a)):
        last = a[i] * a[i]
    return last


@njit(parallel=True)
def counter_afterwards(a):
    s = 0.0
    for i in prange(len(a)):
        s += a[i]
    return s * i


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (handed_on, "`s = 0.5 .* the variable s in a loop over prange .* order of the iterations.*s \\+= "),
        (of_the_last_round, "`last = a.* the variable last in a loop over prange"),
        (counter_afterwards, "`for i in prange.* the variable i in a loop over prange"),
    ],
)
def test_what_depends_on_the_order_of_rounds_is_refused(f, words):
    with pytest.raises(dr.UnsupportedError, match=words):
        dr.grad(f)(np.ones(3))


# Other derivatives, and other callers


@njit(parallel=True)
def energy(x, q):
    e = 0.0
    for i in prange(len(x)):
        for j in range(len(x)):
            if i != j:
                e += q * q / (0.1 + (x[i] - x[j]) ** 2)
    return e


@njit
def calls_it(x, q):
    s = 0.0
    for k in range(2):
        s = np.sin(s) + energy(x * (k + 1), q) * q
    return s


@njit(parallel=True)
def mapped(x, q):
    out = np.empty(len(x))
    for i in prange(len(x)):
        out[i] = np.exp(-x[i] * q) * x[(i + 1) % len(x)]
    return out


@pytest.mark.slow
def test_derivatives_of_other_kinds():
    x, q = RNG.random(9), 0.7
    check_vjp(dr.vjp, mapped, x, q)
    assert_same(dr.grad(calls_it, argnums=(0, 1))(x, q), dr.grad(twin(calls_it), argnums=(0, 1))(x, q), rtol=1e-11)
    assert_same(dr.hessian(energy)(x, q), dr.hessian(twin(energy))(x, q), rtol=1e-10)
    assert_same(dr.jvp(mapped, (x, q), (x, 0.3))[1], dr.jvp(twin(mapped), (x, q), (x, 0.3))[1], rtol=1e-12)
    assert energy(x, q) == pytest.approx(dr.value_and_grad(energy)(x, q)[0], rel=1e-12)
    for transform in ("jvp", "hvp"):
        assert "prange(" in dr.derivative_source(energy, x, q, transform=transform)


# Exceptions, memory, threads


@njit(parallel=True)
def roots(a, b):
    s = 0.0
    for i in prange(len(a)):
        b[i] = root(a[i])
        t = np.ones(50) * b[i]
        s += t[i % 50] * a[i]
    return s * s


def test_an_exception_in_a_thread_reaches_the_caller_and_loses_nothing():
    a, b, both = RNG.random(3000), np.zeros(3000), dr.value_and_grad(roots)
    value, slope = both(a, b)
    expected = dr.value_and_grad(twin(roots))(a, dr.numpy.zeros(3000))
    assert value == pytest.approx(expected[0], rel=1e-12)
    assert_same(slope, expected[1], rtol=1e-12)
    wrong = a.copy()
    wrong[[2000, 2900]] = -1.0
    assert_loses_nothing(lambda: both(a, b), lambda: both(wrong, b))


def test_calls_from_several_python_threads():
    if numba.threading_layer() == "workqueue":
        pytest.skip("this threading layer of numba's allows one caller at a time")
    x, found = RNG.random(60), {}
    both = dr.value_and_grad(energy)
    expected = both(x, 0.7)

    def work(k):
        for _ in range(20):
            found[k] = both(x, 0.7)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(3):
        assert_same(found[k], expected, rtol=0.0)


# Divisions by zero


@njit(parallel=True)
def reciprocals(x):
    s = 0.0
    for i in prange(len(x)):
        s += 1.0 / x[i] + i % int(x[i])
    return s


@njit
def turned_over(x):
    return 1.0 / x


@njit(parallel=True)
def reciprocals_by_a_call(x):
    s = 0.0
    for i in prange(len(x)):
        s += turned_over(x[i])
    return s


def test_a_division_by_zero_in_a_round_does_not_raise_as_numba_s_does_not():
    """A division by zero in a prange does not raise, as numba compiles its body with error_model="numpy"."""
    x = np.array([1.0, 2.0, 0.0, 4.0])
    assert reciprocals(x) == np.inf
    value, gradient = dr.value_and_grad(reciprocals)(x)
    assert value == np.inf
    assert_same(gradient, np.array([-1.0, -0.25, -np.inf, -0.0625]))
    assert dr.jvp(reciprocals, (x,), (np.array([1.0, 0.0, 0.0, 0.0]),))[0] == np.inf


def test_a_division_by_zero_in_a_call_of_a_round_raises():
    """There numba loses the error, and the value with it."""
    with pytest.raises(ZeroDivisionError):
        dr.grad(reciprocals_by_a_call)(np.array([1.0, 2.0, 0.0, 4.0]))
