"""What `dr.cuda.vjp` refuses; test_cuda.py runs this in the simulator, and on a GPU if any."""

import math

import numba
import numpy as np
import pytest
from numba import cuda
from programs.cuda_kernels import elementwise, in_place
from programs.cuda_launches import GRID, X, Y, in_place_twice, time_steps

import dualrev as dr
from dualrev.errors import LaunchError, UnsupportedError


def launching(kernel, *more, grid=GRID):
    """Return a function that launches a kernel with its array, and more."""

    def launch(record, x):
        record[kernel, *grid](x, *more)
        return x

    return launch


def swallowing(record, x):
    try:
        record[failing, *GRID](x, 0)
    except ZeroDivisionError:
        return x


@cuda.jit
def failing(x, n):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] / x[i] * (1 // n)


@cuda.jit
def racing(x):
    i = cuda.grid(1)
    if i < x.size:
        x[0] = x[i]


class Leak:
    """A record, and an array of it, that outlive the function."""

    def __call__(self, record, x):
        self.record, self.x = record, x
        return x


LEAK = Leak()


def late(record, x):
    dr.cuda.vjp(LEAK, X)
    LEAK.record[in_place, *GRID](LEAK.x)
    return x


def foreign(record, x):
    dr.cuda.vjp(LEAK, X)
    record[in_place, *GRID](LEAK.x)
    return x


MISFITS = {
    "no function": (3.0, X, r"takes a function of a record, got float"),
    "a number": (in_place_twice, 3.0, r"argument 1 has float.*np.array\(\[x\]\)"),
    "a scalar": (in_place_twice, np.float64(3.0), r"an array has one axis or more, got none.*np.array\(\[x\]\)"),
    "ints": (in_place_twice, np.arange(8), r"argument 1 has int64.*record.to_device\(x\)"),
    "complex numbers": (in_place_twice, X + 1j, "argument 1 has complex128"),
    "a list": (in_place_twice, [1.0], "argument 1 has list"),
    "no grid": (lambda record, x: record[in_place](x), X, r"kernel, blocks and threads, got .*record\[kernel, blocks"),
    "shared memory": (
        lambda record, x: record[in_place, 2, 4, 0, 64](x),
        X,
        r"no shared memory of a size given here.*record\[kernel, blocks, threads, stream\]",
    ),
    "no stream": (lambda record, x: record[in_place, 2, 4, "main"](x), X, r"the stream is str.*cuda.stream\(\)"),
    "a number for a stream": (lambda record, x: record[in_place, 2, 4, True](x), X, "the stream is bool"),
    "no kernel": (launching(math.sin), X, "the kernel is builtin_function_or_method"),
    "an array of NumPy": (launching(elementwise, np.zeros(8)), X, r"y is an array that .*record.to_device\(y\)"),
    "too few arguments": (launching(elementwise), X, "the kernel takes x, y, got 1 arguments"),
    "too many arguments": (launching(in_place, 1.0), X, "the kernel takes x, got 2 arguments"),
    "one array twice": (lambda record, x: record[elementwise, 1, 8](x, x), X, "x and y share memory"),
    "an axis": (launching(in_place, grid=(2, (4, 2))), X, "does not ask for cuda.threadIdx.y"),
    "nothing returned": (lambda record, x: None, X, r"the function returned NoneType.*return u"),
    "a list returned": (lambda record, x: [x], X, "the function returned list"),
    "ints returned": (lambda record, x: record.zeros(3, int), X, "returned an array of int64"),
    "a handle to the device": (lambda record, x: record.to_device(x), X, "a kernel that copies it"),
    "after the function": (late, X, "the record was used after the function had returned"),
    "of another record": (foreign, X, "x belongs to another record"),
    "an error swallowed": (swallowing, X, "an earlier launch of this record failed"),
}


@pytest.mark.parametrize(("f", "x", "said"), MISFITS.values(), ids=MISFITS)
def test_functions_that_do_not_fit(f, x, said):
    if f is swallowing and not numba.config.ENABLE_CUDASIM:
        pytest.skip("a GPU does not raise")
    with pytest.raises(LaunchError, match=said):
        dr.cuda.vjp(f, x)


def test_races_are_refused_at_the_launch():
    with pytest.raises(UnsupportedError, match=r"x\[0\] = x\[i\]"):
        dr.cuda.vjp(launching(racing), X)


@pytest.mark.parametrize(
    "escape",
    [
        lambda x: in_place[GRID](x),
        lambda x: x + 1.0,
        lambda x: np.ones(8) * x,
        np.sin,
        np.asarray,
        lambda x: x[0],
        lambda x: x[np.array([0, 1])],
        lambda x: x[::-1],
        lambda x: x[None],
        lambda x: x[..., 0],
        lambda x: x.__setitem__(0, 1.0),
        list,
        float,
        cuda.to_device,
    ],
)
def test_nothing_but_the_record_reads_or_changes_an_array(escape):
    def launch(record, x):
        escape(x)
        return x

    with pytest.raises((TypeError, ValueError)):  # numba's typing errors are TypeErrors
        dr.cuda.vjp(launch, X)


@pytest.mark.parametrize(
    "ct", [np.ones(7), np.ones((8, 1)), 1.0, X + 1j, None, (np.ones(8),), "text"], ids=lambda x: type(x).__name__
)
def test_cotangents_that_do_not_fit(ct):
    _, pull = dr.cuda.vjp(in_place_twice, X)
    with pytest.raises(LaunchError, match=r"cotangent|takes arrays"):
        pull(ct)
    pull(np.ones(8))
    with pytest.raises(LaunchError, match="a tuple of 2 cotangents"):
        dr.cuda.vjp(time_steps, X, Y)[1]((np.ones(8),))


def test_numbers_that_are_being_differentiated_are_refused():
    def value(x):
        return np.sum(dr.cuda.vjp(in_place_twice, x)[0])

    def slope(ct):
        return np.sum(dr.cuda.vjp(in_place_twice, X)[1](ct)[0])

    for f in (value, slope):
        with pytest.raises(LaunchError, match=r"first derivatives only.*custom_vjp"):
            dr.grad(f)(X)
        with pytest.raises(LaunchError, match="first derivatives only"):
            dr.jvp(f, (X,), (X,))
