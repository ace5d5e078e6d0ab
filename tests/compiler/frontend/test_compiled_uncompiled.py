"""A function that a derivative does not call is not compiled for its types (frontend/typing/infer_callees.py)."""

import math
import threading

import numpy as np
import pytest
from numba import njit
from numba.core import event
from support.oracle import assert_same

import dualrev as dr

A = np.array([0.5, 1.2, -0.8])


class Compilations(event.Listener):
    """The names of the functions that numba compiles."""

    def __init__(self):
        self.names = []

    def on_start(self, event):
        """One begins."""
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        """It is done."""


@pytest.fixture
def compiled():
    listener = Compilations()
    with event.install_listener("numba:compile", listener):
        yield listener.names


@njit
def halved(x, n):
    if n == 0:
        return x * 0.5
    return halved(x, n - 1) * 0.5


@njit
def one(x, n):
    return x if n == 0 else other(x * x, n - 1) + 1.0


@njit
def other(x, n):
    return x if n == 0 else one(math.sin(x), n - 1) * 2.0


@njit
def spread(a, x):
    for i in range(len(a)):
        a[i] = x * i
    return a


@njit
def uses(x, a):
    b = spread(np.empty(3, np.float64), x)
    return halved(x, 3) * np.sum(a * a) + one(x, 4) * a.max() + np.sum(b, axis=0) + np.mean(a)


def test_neither_callees_nor_implementations_are_compiled(compiled):
    value, gradients = dr.value_and_grad(uses, (0, 1))(0.7, A)
    never = {"halved", "one", "other", "spread", "array_sum_impl", "check_axis_bounds", "array_mean_impl"}
    assert never.isdisjoint(compiled)
    assert "uses_sweeps" in compiled
    assert not halved.signatures
    assert value == uses(0.7, A)  # now they are
    assert halved.signatures
    assert_same(dr.value_and_grad(uses, (0, 1))(0.7, A), (value, gradients))
    step = 1e-6
    slope = (uses(0.7 + step, A) - uses(0.7 - step, A)) / (2.0 * step)
    assert gradients[0] == pytest.approx(slope, rel=1e-8)


@njit
def over_a_dict(x, n):
    d = {0: x}
    for k in range(n):
        d[k + 1] = halved(d[k] * x, k)
    s = 0.0
    for k, y in d.items():
        s += y * k
    for k in d:
        s += k * x
    return s


def test_a_loop_over_a_dict_is_typed_as_one_over_a_list_before_anything_is_compiled(compiled):
    """The items of a dict have no indices: inference fails first, and numba has no say yet."""
    dr.derivative_source(over_a_dict, 0.7, 3)
    assert {"over_a_dict", "halved"}.isdisjoint(compiled)
    assert not over_a_dict.signatures


def test_what_is_compiled_around_it_keeps_its_implementations():
    """A function is typed, then a derivative that it calls is made, and then the function becomes machine code."""

    @njit
    def inner(v):
        return np.sum(v * v) * v.max() + np.prod(v)

    @njit
    def outer(v):
        before = np.sum(v) + np.prod(v) + np.sum(v.reshape(1, -1), axis=1)[0]
        return before * dr.grad(inner)(v) + np.cumsum(v)

    v = A.astype(np.float32)  # a type that nothing else here has
    total = np.sum(v) * 2.0 + np.prod(v)
    assert outer(v) == pytest.approx(total * dr.grad(inner)(v) + np.cumsum(v), rel=1e-5)


def test_what_intrinsics_say_of_types_is_kept():
    """Types that an intrinsic such as `str` uses stay known, as numba lowers the intrinsic later."""

    @njit
    def f(x, k):
        return x * len(str(k))

    @njit
    def outer(x, k):
        return dr.grad(f)(x, k) + len(repr(k))

    k = np.float32(2.5)
    assert dr.grad(f)(1.0, k) == f(1.0, k) == njit(lambda k: len(str(k)))(k)
    assert outer(1.0, k) == f(1.0, k) + njit(lambda k: len(repr(k)))(k)


def test_functions_that_are_arguments():
    """They are values, so they stay what they are."""

    @njit
    def shifted(f, x):
        return f(x + 1.0)

    @njit
    def f(x):
        return shifted(cubed, x) + shifted(other_cubed, x)

    @njit
    def cubed(x):
        return x**3

    @njit
    def other_cubed(x):
        return cubed(x) * 2.0

    assert dr.grad(f)(1.0) == 36.0


def test_what_numba_cannot_type_is_its_error():
    @njit
    def wrong(x):
        return x + "a"

    @njit
    def f(x):
        return wrong(x) * 2.0

    with pytest.raises(Exception, match="No implementation of function") as found:
        f(1.0)
    with pytest.raises(type(found.value), match="No implementation of function"):
        dr.grad(f)(1.0)


def test_generators_and_closures_need_the_function():
    @njit
    def counted(n):
        for i in range(n):
            yield i * 1.0

    @njit
    def f(x, n):
        s = 0.0
        for y in counted(n):
            s += x * y
        return s

    assert dr.grad(f)(2.0, 4) == 6.0


def test_threads_that_compile_at_the_same_time():
    found = {}

    def run(k):
        axis = k % 2

        @njit
        def f(v):
            return np.sum(np.sum(v.reshape(2, -1), axis=axis) ** 2) * np.mean(v)

        @njit
        def g(v):
            return np.sum(v.reshape(2, -1), axis=axis).max() + np.std(v)

        v = np.arange(1.0, 7.0)
        source = dr.derivative_source(f, v)
        found[k] = source, g(v), dr.grad(f)(v), f(v)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    v = np.arange(1.0, 7.0)
    for k in range(2):
        _, g, gradient, value = found[k]
        sums = v.reshape(2, -1).sum(axis=k % 2)
        assert g == pytest.approx(sums.max() + np.std(v), rel=1e-12)
        assert value == pytest.approx(np.sum(sums**2) * np.mean(v), rel=1e-12)
        each = np.repeat(sums, 3) if k % 2 else np.tile(sums, 2)
        assert_same(gradient, 2.0 * each * np.mean(v) + np.sum(sums**2) / 6.0, rtol=1e-12)


def test_recursive_functions_that_have_been_compiled():
    """Numba looks for their code where types of other arguments lead to them."""

    @njit
    def here(x, n):
        return x if n == 0 else there(x * x, np.int32(n - 1)) + 1.0

    @njit
    def there(x, n):
        return x if n == 0 else here(math.sin(x), n - 1) * 2.0

    value = here(0.7, 4)
    assert dr.value_and_grad(here)(0.7, 4)[0] == value
    step = 1e-6
    slope = (here(0.7 + step, 4) - here(0.7 - step, 4)) / (2.0 * step)
    assert dr.grad(here)(0.7, 4) == pytest.approx(slope, rel=1e-8)
