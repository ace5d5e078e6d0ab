"""Memory, stack and threads of compiled derivatives: dualrev/compiler/runtime and entrypoints/tape_owner.py.

The docstrings of tests are sentences of docs/numba/limits.md and supported.md. The programs for other processes are in
programs/memory.py.
"""

import functools
import gc
import os
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numpy.lib.stride_tricks import as_strided
from programs import memory
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.runtime.recursion import stack_guard

ROOT = Path(__file__).parents[3]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


def agrees(f, *args, argnums=0):
    """Assert that value and gradient equal the tape's, and return them."""

    def fresh():
        return tuple(x.copy("K") if isinstance(x, np.ndarray) else x for x in args)

    found = dr.value_and_grad(f, argnums)(*fresh())
    assert_same(found, dr.value_and_grad(twin(f), argnums)(*fresh()), rtol=1e-10, floor=1e-10)
    assert_same(found[0], f(*fresh()), rtol=1e-12)
    return found


#: The programs of each process, since each has to load numba, and its environment. Freed memory goes back at once for
#: the second one; else malloc keeps up to 64 MB (runtime/arrays/freed_pages.py).
PROCESSES = [
    (("marched", "recursion", "large_stack", "forked"), {}),
    (("recorded", "shadowed"), {"MALLOC_TRIM_THRESHOLD_": "131072"}),
    (("limited",), {}),
]


def program(name):
    """Return the output of a program of programs/memory.py, run in a new process."""
    return next(outputs(k)[name] for k, (names, _) in enumerate(PROCESSES) if name in names)


@functools.cache
def outputs(process):
    """The lines that each program of a process prints."""
    names, environment = PROCESSES[process]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-m", "programs.memory", *names],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )
    assert done.returncode == 0, done.stderr
    parts = [part.splitlines() for part in done.stdout.split("program ")[1:]]
    return {name: lines for name, *lines in parts}


def test_what_is_promised_is_tested():
    pages = [ROOT / "docs" / "numba" / name for name in ("limits.md", "supported.md")]
    text = " ".join(" ".join(page.read_text(encoding="utf-8") for page in pages).split())
    promises = [f.__doc__ for name, f in globals().items() if name.startswith("test_") and f.__doc__]
    assert len(promises) == 14
    for promise in promises:
        assert " ".join(promise.split()) in text


# Exceptions


@njit
def divides(x, n, z):
    for _ in range(n):
        x = np.sin(x)
    return x / z


@njit
def calls(x, n, z):
    for _ in range(n):
        x = np.sin(x)
    return divides(x, n, z)


@njit
def raises(x, n, z):
    for _ in range(n):
        x = np.sin(x)
    if z == 0.0:
        raise ValueError("no")
    return x


@njit
def calls_what_raises(x, n, z):
    y = x * x
    for _ in range(n):
        y = np.sin(y) * raises(x, 20, 1.0)
    return y * raises(y, n, z)


@njit
def adds_vectors(a, b):
    s = 0.0
    for k in range(len(a)):
        s = np.sin(s) + a[k]
    return s * np.sum(a + b)


@njit
def multiplies_vectors(a, b):
    s = 0.0
    for k in range(len(a)):
        s = np.sin(s) + a[k]
    return s * np.dot(a, b)


@njit(boundscheck=True)
def reads_behind_the_end(a, n):
    s = 0.0
    for k in range(n):
        s = np.sin(s) + a[k]
    return s


@njit
def allocates(x, n, size):
    for _ in range(n):
        x = np.sin(x)
    a = np.ones(size)
    return x * a[0]


@njit
def records_arrays(x, n, z):
    a = np.ones(500)
    for _ in range(n):
        a = a * x
    return a.sum() / z


@njit
def fills_arrays(a, z):
    b = np.empty(len(a))
    c = np.zeros((2, len(a)))
    for k in range(len(a)):
        b[k] = np.sin(a[k])
        a[k] = b[k] * b[k]
    for k in range(len(a)):
        c[k % 2] += b * a[k]
    return (b.sum() + c.sum()) / z


@njit
def returns_arrays(a, z):
    b = doubled(a, 2.0)
    c = doubled(b, 1.0 if len(a) < 5 else 2.0)
    return c.sum() / z


@njit
def doubled(a, by):
    b = a * by
    for k in range(len(b)):
        b[k] = b[k] * b[k]
    return b


@njit
def recurses(x, n, z):
    if n == 0:
        return x / z
    return np.sin(recurses(x * 0.999, n - 1, z))


LONG = np.linspace(0.1, 0.9, 2000)
SHORT = np.array([0.3, 0.5, 0.9, -0.2])
RAISING = {  # the arguments that raise, and those that do not
    divides: ((0.7, 2000, 0.0), (0.7, 200, 2.0)),
    calls: ((0.7, 1000, 0.0), (0.7, 100, 2.0)),
    raises: ((0.7, 2000, 0.0), (0.7, 200, 2.0)),
    calls_what_raises: ((0.7, 1000, 0.0), (0.7, 20, 2.0)),
    memory.asserts: ((0.7, 2000, 0.0), (0.7, 200, 2.0)),
    multiplies_vectors: ((LONG, LONG[1:].copy()), (SHORT, SHORT + 1.0)),
    reads_behind_the_end: ((LONG, 2001), (SHORT, 4)),
    allocates: ((0.7, 2000, 2**58), (0.7, 200, 3)),
    records_arrays: ((0.7, 5, 0.0), (0.7, 5, 2.0)),
    fills_arrays: ((LONG[:500], 0.0), (SHORT, 2.0)),
    returns_arrays: ((LONG, 0.0), (SHORT, 2.0)),
    recurses: ((0.7, 300, 0.0), (0.7, 100, 2.0)),
}


def failure(f, *args):
    """The exception of a call, as type and text."""
    try:
        f(*(x.copy() if isinstance(x, np.ndarray) else x for x in args))
    except Exception as e:
        return type(e), str(e)
    return None


def growth(call, times):
    """The megabytes by which this process has grown, after some calls to warm up."""
    for _ in range(100):
        call()
    before = memory.resident()
    for _ in range(times):
        call()
    return memory.resident() - before


@LINUX
@pytest.mark.parametrize("f", RAISING, ids=lambda f: f.__name__)
def test_an_exception_frees_what_the_call_has_recorded(f):
    """Any exception frees the tape. In a derivative it also frees the arrays that `f` has made."""
    wrong, right = RAISING[f]
    gradient = dr.value_and_grad(f)
    expected = failure(f, *wrong)
    assert expected is not None
    assert failure(gradient, *wrong) == expected
    assert growth(lambda: failure(gradient, *wrong), 1000) < 2.0
    agrees(f, *right)


@njit
def of_an_array_that_it_makes(x, n):
    a = np.ones(n) * x
    s = 0.0
    for k in range(n):
        s += np.sin(a[k] * x)
    return s


@LINUX
def test_a_call_without_arrays_frees_those_that_it_holds():
    # An older numba takes all counting of references out of a function that is given numbers and returns some.
    gradient = dr.value_and_grad(of_an_array_that_it_makes)
    assert growth(lambda: gradient(0.7, 2000), 300) < 2.0
    agrees(of_an_array_that_it_makes, 0.7, 20)


@njit
def keeps_an_array(a, z):
    b = a * 2.0
    return divides(b[1] * a[0], 10, z) + b[0]


@LINUX
@pytest.mark.parametrize(
    ("f", "wrong", "right"),
    [(keeps_an_array, (LONG, 0.0), (SHORT, 2.0)), (adds_vectors, (LONG, LONG[1:]), (SHORT, SHORT + 1.0))],
)
def test_what_numba_does_not_free_is_lost_by_the_gradient_too(f, wrong, right):
    """numba itself does not free arrays that a function was using when it raised."""
    of_f = growth(lambda: failure(f, *wrong), 300)
    assert of_f > 4.0, "numba has learned to free them: say so in docs/numba/limits.md"
    gradient = dr.grad(f)
    assert failure(gradient, *wrong)[0] is failure(f, *wrong)[0]
    assert growth(lambda: failure(gradient, *wrong), 300) < of_f + 2.0
    agrees(f, *right)


@LINUX
def test_an_exception_that_compiled_code_catches():
    gradient = dr.grad(calls)

    @njit
    def often(times, z):
        failed, total = 0, 0.0
        for _ in range(times):
            try:
                total += gradient(0.7, 1000, z)
            except Exception:
                failed += 1
        return failed, total

    assert often(10, 0.0) == (10, 0.0)
    before = memory.resident()
    assert often(1000, 0.0) == (1000, 0.0)
    assert memory.resident() - before < 2.0
    assert_same(often(3, 2.0), (0, 3.0 * dr.grad(twin(calls))(0.7, 1000, 2.0)), rtol=1e-12)


@LINUX
def test_arrays_outlive_the_call_and_go_with_their_last_reference():
    """The arrays that a call returns are freed with their last reference."""
    # gradients, and arrays that f returns, are not freed too early either

    def call():
        value, pullback = dr.vjp(doubled, LONG, 2.0)
        made = dr.value_and_grad(fills_arrays)(LONG[:500].copy(), 2.0)[1], pullback(value)[0], value
        kept = [x.copy() for x in made]
        junk = [np.full(len(x), np.nan) for x in made for _ in range(4)]  # where it was freed, if it was
        assert all(map(np.array_equal, made, kept))
        assert len(junk) == 12

    assert growth(call, 300) < 2.0


# Limits


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to RLIMIT_AS")
def test_memory_errors_leave_a_process_that_can_go_on():
    """After the error, the memory is free again."""
    assert program("limited") == ["steps 20", "rounds 20", "rebound 20", "overwritten 20", "True"]


@LINUX
def test_a_recorded_value_takes_8_bytes():
    """A recorded value takes 8 bytes, and is freed when the gradient has been computed."""
    during, after = map(float, program("recorded")[0].split())
    assert 7.9 < during < 8.6
    assert after < 0.5


@LINUX
def test_the_next_arrays_have_the_pages_of_the_last_ones():
    # An array of 8 MB and its shadow are freed together, more than malloc keeps of its own accord.
    value, *new_pages = program("marched")
    assert_same(float(value), 11.0 * 1.01**10, rtol=1e-12)
    assert min(map(int, new_pages)) < 100


@LINUX
def test_an_array_has_a_shadow():
    """An array of floats that is differentiated has a shadow of the same size, which holds its cotangent."""
    # Meanwhile a system in need takes other pages of the process back: some megabytes of 160.
    read, written = (list(map(float, line.split())) for line in program("shadowed"))
    assert [read[2], written[2]] == [16.0, 16.0]
    assert 15.5 < read[1] <= read[0] < 16.6
    assert 23.5 < written[0] < 25.0  # what is overwritten is recorded
    assert written[1] < 16.6


@pytest.mark.skipif(not stack_guard.KNOWN, reason="elsewhere the bounds of a stack are not known")
def test_recursion_that_does_not_fit_on_the_stack_is_refused():
    """If the stack is too small for them, the derivative raises `RecursionError`"""
    lines = [line.split(maxsplit=2) for line in program("recursion")]
    assert len(lines) == 12
    for name, n, found in lines:
        if n == "1000":
            assert found == "finite"
        elif n == "1000000" or found != "finite":  # 100,000 frames fit where LLVM makes small ones for the processor
            # of two functions that call one another, the one that has come to the end
            assert found.startswith("deep" if name == "deep" else ("mutual", "other"))
            assert found.endswith(
                "the recursion is too deep for the stack of this thread, since a derivative takes more of it than the"
                " function: write a loop, or run it where threading.stack_size is larger"
            )


@pytest.mark.skipif(not stack_guard.KNOWN, reason="elsewhere the bounds of a stack are not known")
def test_a_thread_with_a_large_stack_goes_deeper():
    """Run the call in a thread with a larger `threading.stack_size`."""
    assert program("large_stack") == ["True refused"]


def test_recursion_has_the_derivatives_of_the_tape():
    for f in (memory.deep, memory.mutual):
        agrees(f, 1.0, 40)
        assert_same(dr.jvp(f, (1.0, 40), (1.0, None))[1], dr.grad(f)(1.0, 40), rtol=1e-12)


# Loops that end early


@njit
def breaks(x, n):
    s = 0.0
    for k in range(n):
        x = np.sin(x)
        s += x * x
        if k == 5:
            break
    return s


@njit
def returns(x, n):
    for k in range(n):
        x = np.sin(x) + 0.5
        if k > 600 and x > 0.0:
            return x
    return x * x


@njit
def fails(x, n):
    s = 0.0
    for k in range(n):
        x = np.sin(x)
        s += x * x
        if k == 700:
            raise ValueError("no")
    return s


@njit
def over(x, start, stop, step):
    s, left = 0.0, 6
    for i in range(start, stop, step):
        x = np.sin(x) * (1.0 + 0.001 * (i % 7))
        s += x * x
        left -= 1
        if left == 0:
            break
    return s


@njit
def over_all(x, start, stop, step):
    s = 0.0
    for i in range(start, stop, step):
        x = np.sin(x) * (1.0 + 0.001 * (i % 7))
        s += x * x * (i % 5)
    return s


@pytest.mark.parametrize("n", [sys.maxsize, 2**61 + 4, 2**60, 10**12])
def test_a_loop_that_may_end_early_records_as_it_goes(n):
    """A loop that may end early, by `break`, `return`, `assert` or `raise`, takes only what its iterations record,
    however long its range is."""
    assert_same(dr.value_and_grad(breaks)(0.7, n), agrees(breaks, 0.7, 50), rtol=0.0)
    assert_same(dr.value_and_grad(returns)(0.7, n), agrees(returns, 0.7, 1000), rtol=0.0)
    with pytest.raises(ValueError, match="no"):
        dr.value_and_grad(fails)(0.7, n)


@pytest.mark.parametrize("n", [-sys.maxsize - 1, -3, 0, 1, 4])
def test_short_loops_that_may_end_early(n):
    agrees(breaks, 0.7, n)
    agrees(fails, 0.7, n)


@pytest.mark.parametrize("n", [2**61 + 4, sys.maxsize])
def test_a_loop_that_cannot_end_asks_for_more_memory_than_there_is(n):
    """Other loops allocate for the whole range: if that does not fit into memory, the derivative raises `MemoryError`
    before the first iteration."""
    for f in (divides_at_last, memory.steps):
        with pytest.raises(MemoryError, match="the tape of the derivative does not fit into memory"):
            dr.grad(f)(0.7, n)


@njit
def divides_at_last(x, n):
    for k in range(n):
        x = np.sin(x) * np.cos(x * x) / (1000 - k)
    return x


LAST = sys.maxsize
RANGES = [
    *[(0, LAST, 1), (0, LAST, 2**60), (LAST - 4, LAST, 1), (LAST, LAST - 4, -1), (-LAST - 1, -LAST + 3, 1)],
    *[(-LAST - 1, -LAST + 3, 2), (0, 10, 3), (10, 0, -3), (10, -1, -11), (0, 10, 2**62), (10, 0, -LAST - 1)],
    *[(0, 0, 1), (5, 0, 1), (0, 5, -1), (0, -5, 1)],
]


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_ranges_with_large_and_negative_steps(bounds):
    agrees(over, 0.7, *bounds)
    if len(range(*bounds)) < 10:
        agrees(over_all, 0.7, *bounds)


# References


@njit
def product(x, y):
    return x * y


@njit
def norm(x):
    s = 0.0
    for k in range(len(x)):
        s += np.sin(x[k]) * x[k]
    return s


def refused():
    with pytest.raises(dr.errors.CotangentError):
        dr.vjp(norm, LARGE)[1]((1.0, 2.0))


LARGE = np.ones(100_000)
lifted = dr.lift(norm)
CALLS = {
    "vjp": lambda: dr.vjp(norm, LARGE)[1](1.0),
    "vjp of arrays that share memory": lambda: dr.vjp(product, LARGE, LARGE)[1](LARGE),
    "a pullback that is not called": lambda: dr.vjp(norm, LARGE),
    "a pullback that refuses": refused,
    "jacobian": lambda: dr.jacobian(norm)(LARGE),
    "jacrev": lambda: dr.jacrev(norm)(LARGE),
    "jacfwd": lambda: dr.jacfwd(product, 1)(LARGE[:3], LARGE[:3]),
    "jvp": lambda: dr.jvp(norm, (LARGE,), (LARGE,)),
    "lift": lambda: dr.grad(lambda x: lifted(x) * 2.0)(LARGE),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_copies_of_arrays_go_without_the_garbage_collector(call):
    """What `vjp` copies is freed with its last reference, without the garbage collector."""
    call()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        call()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(10):
            call()
        assert tracemalloc.get_traced_memory()[0] - before < 100_000  # an array has 800,000 bytes
        assert gc.collect() == 0
    finally:
        tracemalloc.stop()
        gc.enable()


# Arguments that share memory with themselves


@njit
def squares(a):
    s = 0.0
    for k in range(len(a)):
        a[k] = a[k] * a[k]
        s += a[k] * (k + 1)
    return s


@njit
def rows(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] *= a[i, j] * (i + 2 * j)
            s += a[i, j]
    return s


@njit
def reads(a):
    s = 0.0
    for k in range(len(a)):
        s += a[k] * a[k] * (k + 1)
    return s


NUMBERS = np.arange(1.0, 13.0)
OVERLAPPING = {
    "stride 0": (squares, lambda m: as_strided(m, (3,), (0,))),
    "steps of half an element": (squares, lambda m: as_strided(m, (3,), (4,))),
    "the same row again": (rows, lambda m: as_strided(m, (3, 2), (0, 8))),
    "rows that overlap": (rows, lambda m: as_strided(m, (3, 4), (16, 8))),
    "columns that overlap": (rows, lambda m: as_strided(m, (4, 3), (8, 16))),
    "backwards": (rows, lambda m: as_strided(m[6:], (3, 4), (-16, 8))),
    "equal strides": (rows, lambda m: as_strided(m, (3, 3), (8, 8))),
}
APART = {
    "every other one": (squares, lambda m: m[::2]),
    "backwards": (squares, lambda m: m[::-1]),
    "transposed": (rows, lambda m: m.reshape(3, 4).T),
    "parts of rows": (rows, lambda m: m.reshape(3, 4)[:, 1:3]),
    "backwards, every other column": (rows, lambda m: m.reshape(3, 4)[::-1, ::-2]),
    "one row with stride 0": (rows, lambda m: as_strided(m, (1, 4), (0, 16))),
    "empty": (squares, lambda m: as_strided(m, (0,), (0,))),
}


@pytest.mark.parametrize(("f", "view"), OVERLAPPING.values(), ids=OVERLAPPING)
def test_a_written_argument_that_shares_memory_with_itself_is_refused(f, view):
    """The same holds for an array that shares memory with itself, with a stride of 0 or strides that overlap."""
    given = NUMBERS.copy()
    a = view(given)
    message = "an argument shares memory with itself and is written: pass a copy of it"
    for g in (dr.value_and_grad(f), lambda x: dr.jvp(f, (x,), (np.ones(x.shape),))):
        with pytest.raises(ValueError, match=message):
            g(a)
        np.testing.assert_array_equal(given, NUMBERS)
    for g in (lambda x: dr.vjp(f, x)[1](1.0), dr.jacobian(f)):
        with pytest.raises(ValueError, match=message):
            g(a)


@pytest.mark.parametrize(("f", "view"), APART.values(), ids=APART)
def test_strided_arguments_may_be_written(f, view):
    expected = dr.value_and_grad(twin(f))(view(NUMBERS.copy()).copy())
    assert_same(dr.value_and_grad(f)(view(NUMBERS.copy())), expected, rtol=1e-12)
    assert_same(dr.vjp(f, view(NUMBERS.copy()))[1](1.0)[0], expected[1], rtol=1e-12)


def test_an_argument_that_shares_memory_with_itself_may_be_read():
    """If `f` only reads it, the gradient is with respect to each of its elements."""
    a = as_strided(NUMBERS.copy(), (3,), (0,))
    expected = np.array([2.0, 4.0, 6.0])
    assert_same(dr.grad(reads)(a), expected, rtol=0.0)
    assert_same(dr.vjp(reads, a)[1](1.0)[0], expected, rtol=0.0)
    assert_same(dr.jacobian(reads)(a), expected, rtol=0.0)
    assert_same(dr.jvp(reads, (a,), (np.ones(3),))[1], 12.0, rtol=0.0)


# Threads and processes


@njit(nogil=True)
def without_the_lock(x, n, z):
    for _ in range(n):
        x = np.sin(x) + z * divides(x, 10, z)
    return x / z


def test_threads_may_call_one_gradient_at_the_same_time():
    """Threads may call one gradient at the same time: each call has its own tape."""
    gradient = dr.value_and_grad(without_the_lock)
    arguments = [(0.1 + 0.05 * k, 500 * (k % 7), float(k % 3)) for k in range(60)]

    def outcome(args):
        try:
            return gradient(*args)
        except ZeroDivisionError as e:
            return str(e)

    expected = [outcome(args) for args in arguments]
    assert sum(isinstance(x, str) for x in expected) == 20
    barrier = threading.Barrier(4)

    def work(k):
        barrier.wait()
        return [outcome(args) for args in arguments[k:] + arguments[:k]]

    with ThreadPoolExecutor(4) as pool:
        for k, found in zip(range(4), pool.map(work, range(4)), strict=True):
            assert found == expected[k:] + expected[:k]


def test_gradients_inside_of_compiled_functions_have_their_own_tapes():
    inner, outer = dr.grad(calls), dr.value_and_grad(breaks)

    @njit
    def nested(x, depth):
        y, d = outer(x, 100)
        if depth > 0:
            d += nested(x * 0.9, depth - 1) * inner(d, 300, 2.0)
        return d + y

    assert_same(nested(0.7, 3), nested.py_func(0.7, 3), rtol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_gradients():
    assert program("forked") == ["True 7"]
