"""Memory, threads, exceptions, and numbers that escape: what a derivative call leaves behind is nothing."""

import contextlib
import gc
import itertools
import sys
import threading
import traceback
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev import math as dm
from dualrev import numpy as dnp
from dualrev.eager.tape.tape import Tape
from dualrev.errors import LeakError
from stages import STAGES

ENGINES = {"default": None, **STAGES}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def loop(x, n):
    y = x
    for _ in range(n):
        y = dm.sin(y) + 0.1 * x
    return y


def on_arrays(x):
    z = dnp.zeros(len(x))
    for _ in range(20):
        z[1:] += np.sin(x)[:-1] * x[1:]
        z = z[::-1] * x
    return np.sum(z)


# Memory


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


square = dr.custom_vjp(lambda x: x * x)
square.defvjp(lambda x: (x * x, x), lambda x, ct: (2.0 * x * ct,))
pushed = dr.custom_jvp(lambda x: x * x)
pushed.defjvp(lambda primals, tangents: (None, 2.0 * primals[0] * tangents[0]))

FREED = {
    "a loop": (lambda x: loop(x, 1000), 0.5),
    "arrays": (on_arrays, np.ones(50)),
    "a checkpoint": (lambda x: dr.checkpoint(lambda u: loop(u, 100))(x), 0.5),
    "custom_vjp": (lambda x: square(x) * x, 0.5),
    "custom_jvp": (lambda x: pushed(x) * x, 0.5),
    "nested": (lambda x: dr.grad(lambda y: loop(y * x, 100))(x), 0.5),
    "nested arrays": (lambda x: np.sum(dr.grad(on_arrays)(x)), np.ones(5)),
    "aux": (lambda x: dr.value_and_grad(lambda y: (y * x, y), has_aux=True)(x)[1], 0.5),
}


@pytest.mark.parametrize(("f", "x"), FREED.values(), ids=FREED)
def test_the_tape_is_freed_with_the_pullback_by_reference_counts_alone(no_collector, f, x):
    runs = []

    def watched(x):
        u = x if isinstance(x, dr.Real) else x[0]
        runs.append(weakref.ref(u.run))
        return f(x)

    _, pullback = dr.vjp(watched, x)
    assert_same(pullback(1.0), pullback(1.0))
    linear = weakref.ref(pullback)
    del pullback
    assert [run() for run in runs] == [None]
    assert linear() is None


def raises(x):
    kept = [loop(x, 100)]
    raise KeyError("mine", len(kept))


def test_a_tape_is_freed_after_an_exception(no_collector):
    runs = []

    def f(x):
        runs.append(weakref.ref(x.run))
        return raises(x)

    for _ in range(2):
        with contextlib.suppress(KeyError):
            dr.grad(f)(0.5)
    assert [run() for run in runs] == [None, None]


def peak(f, *args):
    tracemalloc.start()
    try:
        made = f(*args)
        return made, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_linear_in_the_operations():
    sizes = [peak(dr.grad(loop), 0.5, n)[1] for n in (10_000, 20_000, 40_000)]
    for small, large in itertools.pairwise(sizes):
        assert large < 2.5 * small
    assert sizes[-1] < 40_000 * 3 * 40 * 4  # three operations a step, of 40 bytes, and buffers that double


def in_blocks(x, n, size):
    @dr.checkpoint
    def block(y, x):
        for _ in range(size):
            y = dm.sin(y) + 0.1 * x
        return y

    y = x
    for _ in range(n // size):
        y = block(y, x)
    return y


def test_checkpoints_keep_the_peak_to_one_block_and_the_states():
    n, size = 40_000, 200
    dr.grad(in_blocks)(0.5, 2 * size, size)
    whole, large = peak(dr.grad(loop), 0.5, n)
    parts, small = peak(dr.grad(in_blocks), 0.5, n, size)
    assert_same(parts, whole)
    assert small < large / 4


@pytest.mark.slow
def test_checkpoints_of_a_million_steps():
    n, size = 1_000_000, 1000
    dr.grad(in_blocks)(0.5, 2 * size, size)
    parts, small = peak(dr.grad(in_blocks), 0.5, n, size)
    assert small < 10_000_000  # without blocks, it is more than 120 MB
    assert_same(parts, dr.grad(loop)(0.5, n))


@engines
def test_a_pullback_can_be_called_many_times(engine):
    _, pullback = dr.vjp(lambda x, v: [x * v[0], np.sin(v) * x], 2.0, np.array([0.5, 1.0]), engine=engine)
    ct = [1.0, np.array([1.0, 2.0])]
    first = pullback(ct)
    for made in (pullback([2.0 * ct[0], 2.0 * ct[1]]), pullback(ct)):
        made[1][...] *= 0.0  # the caller's own
    assert_same(pullback(ct), first)


# Threads


@pytest.fixture
def switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_gradients_in_eight_threads_at_once(switching):
    def work(k):
        made = []
        for _ in range(10):
            made.append(dr.grad(lambda x: loop(x, 100) * k)(0.3 + k))
            made.append(dr.hessian(lambda x: np.sum(np.sin(x) * x[0]) * k)(np.arange(3.0) + k))
            made.append(dr.grad(lambda x: x * dr.grad(lambda y: x * y * k)(2.0))(3.0))
        return made

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert_same(found, [work(k) for k in range(8)])


@pytest.mark.parametrize("x", [0.4, np.arange(1.0, 4.0)], ids=["scalar", "array"])
@pytest.mark.parametrize("transform", [dr.grad, lambda f: dr.grad(lambda x: np.sum(dr.grad(f)(x)))])
def test_threads_inside_of_one_derivative(switching, transform, x):
    def part(x, k):
        return np.sum(np.sin(x * k) * x + loop(np.sum(x), 50))

    def threaded(x):
        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(lambda k: part(x, k), range(1, 9)))

    expected = transform(lambda x: sum(part(x, k) for k in range(1, 9)))(x)
    for _ in range(3):
        assert_same(transform(threaded)(x), expected, rtol=1e-12, floor=1e-12)


def test_an_exception_in_one_thread_disturbs_no_other(switching):
    started = threading.Barrier(2)

    def fails(x):
        started.wait()
        raise KeyError("mine")

    def works(x):
        started.wait()
        return loop(x, 1000)

    with ThreadPoolExecutor(2) as pool:
        bad, good = pool.submit(dr.grad(fails), 0.5), pool.submit(dr.grad(works), 0.5)
        with pytest.raises(KeyError):
            bad.result()
        assert good.result() == dr.grad(loop)(0.5, 1000)


# Exceptions


@engines
@pytest.mark.parametrize("transform", [dr.grad, dr.value_and_grad, dr.jacfwd, dr.hessian])
def test_an_exception_arrives_unchanged_with_its_traceback(engine, transform):
    error = KeyError("mine")

    def inner(x):
        raise error

    def f(x):
        return inner(x * x)

    with pytest.raises(KeyError) as caught:
        transform(f, engine=engine)(2.0)
    assert caught.value is error
    assert error.__cause__ is None
    assert error.__context__ is None
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[-2:] == ["f", "inner"]
    assert dr.grad(lambda x: x * x, engine=engine)(3.0) == 6.0


def test_an_exception_of_an_inner_derivative_can_be_handled_in_the_outer_one():
    def f(x):
        try:
            dr.grad(lambda y: y / (x - x))(x)
        except ZeroDivisionError:
            return x * dr.grad(lambda y: y * x)(1.0)
        return x

    assert dr.grad(f)(3.0) == 6.0


# Numbers that escape


def escaped(engine=None):
    kept = {}

    def f(x, v):
        kept.update(x=x * x, v=v * x, view=(v * x)[1:], element=(v * x)[0], list=[x * x], nested=None)

        def inner(y):
            kept.update(nested=y * x, nested_array=y * v)
            return y * x

        kept.update(pullback=dr.vjp(inner, x, engine=engine)[1])

        def generator(y):
            while True:
                y = y * x
                yield y

        kept.update(generator=generator(x))
        next(kept["generator"])
        return x * np.sum(v)

    dr.grad(f, engine=engine)(2.0, np.ones(3))
    return kept


USES = {
    "arithmetic": lambda kept: 2.0 * kept["x"],
    "dualrev.math": lambda kept: dm.sin(kept["x"]),
    "numpy on a number": lambda kept: np.sin(kept["x"]),
    "an element": lambda kept: kept["element"] + 1.0,
    "in a list": lambda kept: kept["list"][0] - 1.0,
    "a nested number": lambda kept: kept["nested"] * 2.0,
    "a nested array": lambda kept: np.sum(kept["nested_array"]),
    "float": lambda kept: float(kept["x"]),
    "a pullback": lambda kept: kept["pullback"](1.0),
    "a generator": lambda kept: next(kept["generator"]),
    "an array": lambda kept: kept["v"] * 2.0,
    "numpy on an array": lambda kept: np.exp(kept["v"]),
    "a view": lambda kept: np.sum(kept["view"]),
    "an element of an array": lambda kept: kept["v"][0] * 2.0,
    "a product": lambda kept: kept["v"] @ np.ones(3),
}
INSIDE = {
    "a closure": lambda kept: dr.grad(lambda x: x * kept["x"])(1.0),
    "the value": lambda kept: dr.grad(lambda x: kept["x"])(1.0),
    "beside the value": lambda kept: dr.vjp(lambda x: [x, kept["x"]], 1.0),
    "the value, an array": lambda kept: dr.vjp(lambda x: kept["v"], 1.0),
    "an array in a closure": lambda kept: dr.grad(lambda x: np.sum(x * kept["v"]))(np.ones(3)),
    "aux": lambda kept: dr.grad(lambda x: (x, kept["x"]), has_aux=True)(1.0),
    "aux, an array": lambda kept: dr.grad(lambda x: (x, {"v": kept["v"]}), has_aux=True)(1.0),
    "a primal": lambda kept: dr.grad(lambda x: x * x)(kept["x"]),
    "a primal, an array": lambda kept: dr.grad(lambda v: np.sum(v))(kept["v"]),
    "a cotangent": lambda kept: dr.vjp(lambda x: x * x, 2.0)[1](kept["x"]),
    "a tangent": lambda kept: dr.jvp(lambda x: x * x, (2.0,), (kept["x"],)),
    "a checkpoint": lambda kept: dr.grad(lambda x: dr.checkpoint(lambda a, b: a * b)(x, kept["x"]))(1.0),
    "a rule": lambda kept: dr.grad(lambda x: x + square(kept["v"])[0])(1.0),
    "an array of dualrev.numpy": lambda kept: dr.grad(lambda x: np.sum(dnp.array([x, kept["x"]]) * x))(1.0),
    "stored": lambda kept: dr.grad(lambda x: dnp.zeros(2).__setitem__(0, kept["element"]))(1.0),
}


@pytest.mark.parametrize("use", (USES | INSIDE).values(), ids=USES | INSIDE)
def test_what_has_escaped_is_refused(use):
    with pytest.raises(LeakError, match="a number from a differentiation that has ended was used") as caught:
        use(escaped())
    assert f"at {__file__}:" in str(caught.value)


@engines
@pytest.mark.parametrize("use", [INSIDE[name] for name in ("a closure", "the value", "beside the value", "a primal")])
def test_what_has_escaped_a_stage_is_refused_in_the_next_call(engine, use):
    with pytest.raises(LeakError):
        use(escaped(engine))


@engines
def test_the_pullback_of_an_ended_outer_call_is_refused(engine):
    with pytest.raises(LeakError):
        escaped(engine)["pullback"](1.0)


def test_what_has_escaped_still_shows_its_value():
    kept = escaped()
    assert (dr.value(kept["x"]), f"{kept['x']:.1f}", repr(kept["x"])) == (4.0, "4.0", "Real(4.0)")
    assert_same(dr.value(kept["v"]), np.full(3, 2.0))


def test_a_run_that_is_never_used_is_freed(no_collector):
    with Tape() as run:
        pass
    seen = weakref.ref(run)
    del run
    assert seen() is None
