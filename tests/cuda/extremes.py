"""Adjoints of cuda.atomic.max and min, in rare cases; test_cuda.py runs this in the simulator, and on a GPU if any."""

import math
import runpy

import numpy as np
import pytest
from numba import cuda
from programs.extreme_kernels import EXTREME, highest_states, maxima
from programs.generators.extremes import kernel_text

import dualrev as dr
from dualrev.errors import LaunchError, UnsupportedError


@cuda.jit
def largest(x, y):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(y, 0, x[i] * x[i])


@cuda.jit
def smallest(x, y):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.min(y, 0, x[i] * x[i])


@cuda.jit
def largest_double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(y, 0, 2.0 * x[i])


@cuda.jit
def smallest_double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.min(y, 0, 2.0 * x[i])


@cuda.jit
def divided(x, y, z):
    i = cuda.grid(1)
    if i < x.size:
        z[i] = x[i] / y[0]


def pulled(kernel, x, y, ct=2.0):
    """Return the shadows of x and y after the launch of the adjoint, which began as zeros and `ct`."""
    d_x, d_y = np.zeros_like(x), np.full_like(y, ct)
    kept = y.copy()
    dr.cuda.adjoint(kernel)[2, 4](x, y, d_x, d_y)
    np.testing.assert_array_equal(y, kept)
    return d_x, d_y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [largest, smallest])
def test_one_of_equal_values_wins(kernel, dtype):
    start = -np.inf if kernel is largest else np.inf
    d_x, d_y = pulled(kernel, np.full(8, 1.1, dtype), np.array([start], dtype))
    assert d_y.tolist() == [0.0]
    assert np.count_nonzero(d_x) == 1
    assert d_x.sum() == pytest.approx(2 * 1.1 * 2.0)


@pytest.mark.parametrize(("kernel", "start"), [(largest, 100.0), (smallest, -1.0)])
def test_the_element_itself_may_be_the_extreme_one(kernel, start):
    d_x, d_y = pulled(kernel, np.arange(8.0), np.array([start]))
    assert not d_x.any()
    assert d_y.tolist() == [2.0]


def test_nan_is_no_candidate_and_stays_in_the_element():
    x = np.array([1.0, np.nan, 3.0])
    for kernel, winner in ((largest_double, 2), (smallest_double, 0)):
        y = np.array([2 * x[winner] + (-1 if kernel is largest_double else 1)])
        d_x, d_y = pulled(kernel, x, y)
        assert d_x.tolist() == [4.0 if k == winner else 0.0 for k in range(3)]
        assert d_y.tolist() == [0.0]
        kernel[1, 4](x, y)
        assert y.tolist() == [2 * x[winner]]
        d_x, d_y = pulled(kernel, x, np.array([np.nan]))
        assert not d_x.any()
        assert d_y.tolist() == [2.0]


def test_infinite_values_win():
    x = np.array([1.0, np.inf, np.inf, -np.inf])
    d_x, d_y = pulled(largest_double, x, np.zeros(1))
    assert sorted(d_x[1:3].tolist()) == [0.0, 4.0]
    assert not d_x[[0, 3]].any()
    assert d_y.tolist() == [0.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_of_double_precision_compete_for_elements_of_single_precision(dtype):
    x = np.random.default_rng(0).random(8)
    shadow = np.zeros(8, dtype)
    dr.cuda.adjoint(largest)[2, 4](x.astype(dtype), np.zeros(1, np.float32), shadow, np.ones(1, np.float32))
    assert np.flatnonzero(shadow).tolist() == [np.argmax(x)]
    np.testing.assert_allclose(shadow.max(), 2 * x.max(), rtol=1e-6)


def test_arrays_on_the_device_and_views_of_them():
    x = np.arange(1.0, 9.0)
    whole = cuda.to_device(np.zeros((3, 2)))
    given = cuda.to_device(x), whole[:, 1], cuda.to_device(np.zeros(8)), cuda.to_device(np.ones(3))
    dr.cuda.adjoint(largest)[2, 4](*given)
    assert given[2].copy_to_host().tolist() == [0.0] * 7 + [16.0]
    assert given[3].copy_to_host().tolist() == [0.0, 1.0, 1.0]
    assert not whole.copy_to_host().any()


def normalised(record, x):
    """Numbers over the largest square, twice: the record keeps the element from before each launch."""
    top = record.zeros(1, x.dtype)
    for _ in range(2):
        record[largest, 2, 4](x, top)
        z = record.zeros(x.shape, x.dtype)
        record[divided, 2, 4](x, top, z)
        x = z
    return x, top


def test_a_maximum_between_other_launches():
    rng = np.random.default_rng(5)
    x, along = rng.random(8) + 0.5, rng.standard_normal(8)
    y, pull = dr.cuda.vjp(normalised, x)
    cts = tuple(rng.standard_normal(a.shape) for a in y)
    ends = [
        math.fsum(np.sum(a * ct) for a, ct in zip(dr.cuda.vjp(normalised, x + h * along)[0], cts, strict=True))
        for h in (1e-6, -1e-6)
    ]
    for _ in range(2):
        assert pull(cts)[0] @ along == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


def test_copies_wait_for_a_stream_and_the_launches_for_them(monkeypatch):
    done, stream, to_device = [], cuda.stream(), cuda.to_device
    monkeypatch.setattr(cuda, "synchronize", lambda: done.append("wait"))
    monkeypatch.setattr(cuda, "to_device", lambda x: done.append("copy") or to_device(x))
    x, y, d_x, d_y = np.arange(8.0), np.zeros(1), np.zeros(8), np.ones(1)
    dr.cuda.adjoint(largest)[2, 4, stream](x, y, d_x, d_y)
    assert done[0] == done[-1] == "wait"
    assert {*done[1:-1]} == {"copy"}
    stream.synchronize()
    assert d_x.tolist() == [0.0] * 7 + [14.0]


@pytest.mark.parametrize("seed", range(10))
def test_random_kernels_agree_with_differences(seed, tmp_path):
    file = tmp_path / "random_kernel.py"
    file.write_text(kernel_text(seed), encoding="utf-8")
    space = runpy.run_path(str(file))
    kernel, state, rng = space["kernel"], space["State"], np.random.default_rng(seed)
    sizes = 6, 4, 4, 2, 6
    arrays, cts, along = ([rng.uniform(low, 1.0, n) for n in sizes] for low in (0.1, -1.0, -1.0))
    k = rng.integers(0, 4, 6)

    def given(x, high, low, total, y):
        return state(x.copy(), k, high.copy(), low.copy(), total.copy(), 3), y.copy()

    def value(h):
        args = given(*(a + h * d for a, d in zip(arrays, along, strict=True)))
        kernel[2, 4](*args)
        found = args[0].x, args[0].high, args[0].low, args[0].total, args[1]
        return math.fsum(np.sum(a * ct) for a, ct in zip(found, cts, strict=True))

    shadows = state(cts[0].copy(), None, *(ct.copy() for ct in cts[1:4]), None), cts[4].copy()
    args = given(*arrays)
    dr.cuda.adjoint(kernel, tape=400)[2, 4](*args, *shadows)
    np.testing.assert_array_equal(args[0].x, arrays[0])
    found = shadows[0].x, shadows[0].high, shadows[0].low, shadows[0].total, shadows[1]
    actual = math.fsum(np.sum(d * a) for d, a in zip(along, found, strict=True))
    assert actual == pytest.approx((value(1e-6) - value(-1e-6)) / 2e-6, rel=1e-5, abs=1e-5)


def test_a_thread_that_runs_out_of_tape():
    x, high, *cts = (a.copy() for a in (*EXTREME["highest states"].args, *EXTREME["highest states"].args))
    with pytest.raises(LaunchError, match="words of tape and has 1: the shadows and x are half done"):
        dr.cuda.adjoint(highest_states, tape=1)[3, 4](x, high, *cts)


def test_arrays_that_change_meanwhile_are_in_c_order():
    x, high = np.ones((10, 2))[:, 0], np.zeros(5)
    with pytest.raises(LaunchError, match=r"x changes while threads compete.*Write a copy of x in C order"):
        dr.cuda.adjoint(highest_states)[3, 4](x, high, x.copy(), high.copy())


def test_second_derivatives_are_refused():
    first = dr.cuda.adjoint(maxima).compiled(*EXTREME["maxima"].args)
    assert "first" in first.py_func.__code__.co_varnames
    args = (*EXTREME["maxima"].args, np.zeros(10), np.zeros(4), np.zeros(4), np.zeros(4, np.int32), True)
    with pytest.raises(UnsupportedError, match="old values"):
        dr.cuda.adjoint(first).source(*args)
