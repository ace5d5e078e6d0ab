"""Calls of compiled derivatives by `vjp` and `jvp` from Python: floats and plain arrays take a short way there.

What it gives is that of the tape; and of all else, what it gave before.
"""

import gc
import itertools
import math
import sys
import threading
import weakref

import numba
import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import CotangentError, TangentError


@njit
def scaled(x, y):
    return x * y + x


@njit
def itself(x):
    return x


@njit
def both(x, y):
    return x, y


@njit
def twice(x, y):
    return x, x


@njit
def powers(x, n):
    return x**n, np.sum(x)


@njit
def picked(x, k):
    return x[k] * x[0], 2.0 * x


@njit
def writing(x, y):
    x[0] = y * y
    return x * 2.0


@njit
def transposed(x):
    return x.T


@njit
def short(x):
    return np.array([x[0] * x[1], x[1]])


X = np.array([1.0, 2.0, -3.0])
CASES = [
    (scaled, 1.5, 2.0),
    (scaled, X, 2.0 * X),
    (scaled, X, 2.0),
    (scaled, np.array(1.5), np.array(2.0)),
    (scaled, np.zeros(0), 1.0),
    (itself, X),
    (itself, 1.5),
    (both, X, 2.0),
    (twice, X, 2.0),
    (powers, X, 3),
    (powers, X, True),
    (picked, X, np.array([0, 1])),
    (writing, X, 2.0),
    (transposed, np.ones((2, 3))),
    (transposed, np.asfortranarray(np.ones((2, 3)))),
    (scaled, X[::2], 1.0),  # this is not plain
    (scaled, X.reshape(3, 1), np.ones((1, 2))),
    (short, X),
]


def fresh(args):
    return tuple(x.copy("K") if isinstance(x, np.ndarray) and x.flags.forc else x for x in args)


def numbers_like(y, rng):
    if isinstance(y, tuple):
        return tuple(numbers_like(part, rng) for part in y)
    return rng.normal(size=np.shape(y)).astype(y.dtype) if isinstance(y, np.ndarray) else float(rng.normal())


def arrays_in(x):
    return [a for part in x for a in arrays_in(part)] if isinstance(x, tuple) else [x] * isinstance(x, np.ndarray)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_a_pullback_gives_what_the_tape_gives_in_arrays_of_their_own(case):
    f, *args = case
    given = fresh(args)
    y, pull = dr.vjp(f, *given)
    for x in arrays_in(given):
        if x.dtype == float and x.flags.forc:
            x[...] = math.nan  # the pullback is of the values that were there
    ct = numbers_like(y, np.random.default_rng(1))
    made, again = pull(ct), pull(ct)
    expected = dr.vjp(f.py_func, *fresh(args))[1](ct)
    assert_same(made, expected, rtol=1e-14)
    assert_same(again, expected, rtol=1e-14)
    arrays = [*arrays_in(made), *arrays_in(again), *arrays_in(ct), *arrays_in(y)]
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2) if a is not b and a.size)
    for a in [*arrays_in(made)]:
        a[...] = math.nan
    assert_same(pull(ct), expected, rtol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_jvp_gives_what_the_tape_gives(case):
    f, *args = case
    rng = np.random.default_rng(2)
    moving = [isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype == float) for x in args]
    tangents = tuple(numbers_like(x, rng) if moves else None for x, moves in zip(args, moving, strict=True))
    before = fresh(tangents)
    made = dr.jvp(f, fresh(args), tangents)
    assert_same(made, dr.jvp(f.py_func, fresh(args), before), rtol=1e-14)
    assert_same(tangents, before, rtol=0.0)


def test_a_tangent_may_be_the_argument_that_the_function_writes_to():
    x = X.copy()
    assert_same(dr.jvp(writing, (x, 2.0), (x, 3.0))[1], np.array([24.0, 4.0, -6.0]), rtol=1e-15)


def test_in_single_precision_all_is():
    x, y = X.astype(np.float32), (2.0 * X).astype(np.float32)
    value, pull = dr.vjp(scaled, x, y)
    made = pull(np.ones(3, np.float32))
    assert [a.dtype for a in (value, *made)] == [np.float32] * 3
    assert_same(made, (y + 1.0, x), rtol=1e-6)
    assert_same(pull(np.ones(3)), made, rtol=0.0)  # in double precision it is rounded
    value, tangent = dr.jvp(scaled, (x, y), (x, y))
    assert value.dtype == tangent.dtype == np.float32
    mixed = dr.vjp(scaled, x, 2.0 * X)[1](np.ones(3))
    assert [a.dtype for a in mixed] == [np.float32, np.float64]


def test_other_cotangents_are_read_or_refused():
    _, pull = dr.vjp(scaled, X, 2.0 * X)
    expected = pull(np.ones(3))
    readonly = np.ones(3)
    readonly.flags.writeable = False
    for ct in (np.ones(3, np.int64), np.ones(3, np.float32), np.ones(6)[::2], readonly, np.ones(3).astype(">f8")):
        assert_same(pull(ct), expected, rtol=0.0)
    for ct in (1.0, np.ones(2), np.ones((1, 3)), [1.0, 1.0, 1.0], None, np.ones(3) + 1j, "a", (np.ones(3),)):
        with pytest.raises(CotangentError):
            pull(ct)
    assert_same(pull(np.ones(3)), expected, rtol=0.0)
    _, pull = dr.vjp(scaled, 1.5, 2.0)
    for ct in (1, np.float64(1.0), np.float32(1.0), np.array(1.0), np.int64(1)):
        assert_same(pull(ct), (3.0, 1.5), rtol=0.0)
    with pytest.raises(CotangentError):
        pull(np.ones(1))
    with pytest.raises(TangentError):
        dr.jvp(scaled, (X, X), (X, np.ones(2)))


def test_arrays_that_share_memory_share_it_again():
    @njit
    def f(x, y):
        x[0] = 2.0 * x[1]
        return y * 1.0

    x, ct = np.array([1.0, 3.0, 5.0]), np.ones(2)
    with pytest.raises(ValueError, match="two arguments share memory and one of them is written"):
        dr.vjp(f, x, x[1:])[1](ct)
    apart = dr.vjp(f, x, x[1:].copy())[1](ct)
    assert_same(apart, (np.zeros(3), np.ones(2)), rtol=0.0)


def test_a_pullback_holds_its_function_and_not_its_value():
    def made():
        @njit
        def local(x):
            return x * x

        return dr.vjp(local, X)

    y, pull = made()
    value = weakref.ref(y)
    del y
    gc.collect()
    assert value() is None
    assert_same(pull(np.ones(3)), (2.0 * X,), rtol=0.0)


def test_what_fails_once_does_not_change_the_pullback():
    @njit
    def f(x, fails):
        if fails[0]:
            raise ValueError("no")
        return x * x

    fails = np.array([False])
    _, pull = dr.vjp(f, X, fails)
    fails[0] = True  # the pullback has its own
    assert_same(pull(np.ones(3))[0], 2.0 * X, rtol=0.0)
    with pytest.raises(ValueError, match="no"):
        dr.vjp(f, X, fails)
    fails[0] = False
    assert_same(dr.vjp(f, X, fails)[1](np.ones(3))[0], 2.0 * X, rtol=0.0)


def test_one_pullback_in_several_threads():
    """The function writes to its argument: each call has a copy."""
    _, pull = dr.vjp(writing, X.copy(), 2.0)
    expected, wrong = (np.array([0.0, 2.0, 2.0]), 8.0), []

    def work():
        for _ in range(200):
            made = pull(np.ones(3))
            if not (np.array_equal(made[0], expected[0]) and made[1] == expected[1]):
                wrong.append(made)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def python_calls(run):
    """How many functions of Python a call runs; those of the second call, as the first one compiles."""
    run()
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def test_calls_run_little_of_python():
    """A pullback took 160 functions of Python, the others more: many times what a small function takes."""
    pull_number, pull_array = dr.vjp(scaled, 1.5, 2.0)[1], dr.vjp(short, X)[1]
    several = dr.vjp(powers, X, 3)[1]
    ct = np.ones(2)
    assert python_calls(lambda: pull_number(1.0)) <= 15
    assert python_calls(lambda: pull_array(ct)) <= 15
    assert python_calls(lambda: several((X, 1.0))) <= 20
    assert python_calls(lambda: dr.jvp(scaled, (X, 2.0), (X, 1.0))) <= 31
    assert python_calls(lambda: dr.vjp(scaled, X, 2.0)) <= 72


def test_a_declared_signature_is_kept():
    @njit(numba.float64[::1](numba.float64[::1], numba.float64))
    def f(x, y):
        return x * y

    assert_same(dr.vjp(f, X, 2.0)[1](np.ones(3)), (np.full(3, 2.0), 0.0), rtol=0.0)
    for number in (2, np.int64(2), np.array(3)[()]):  # numba makes a float of it: it is none of the caller's
        made = dr.vjp(f, X, number)[1](np.ones(3))
        assert_same(made[0], np.full(3, float(number)), rtol=0.0)
        assert made[1] is None
