"""`dr.cuda.vjp`, the reversal of several launches; test_cuda.py runs this in the simulator, and on a GPU if any."""

import gc
import math
import weakref

import numba
import numpy as np
import pytest
from numba import cuda
from programs.cuda_kernels import (
    accumulate,
    bodies,
    elementwise,
    grid_stride,
    histogram,
    in_place,
    linear_in_place,
    logistic,
    stencil,
)
from programs.cuda_launches import (
    CASES,
    GRID,
    X,
    Y,
    in_place_twice,
    leapfrog,
    loss_of_a_wave,
    product,
    states_in_rows,
    time_steps,
)

import dualrev as dr
from dualrev.errors import LaunchError

SIMULATED = bool(numba.config.ENABLE_CUDASIM)
rng = np.random.default_rng(5)
#: How far derivatives may be from central differences, by dtype.
TOLERANCES = {np.float64: 1e-7, np.float32: 2e-3}


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def run(f, args, cts):
    """Return the sum of the products of the outputs with cotangents."""
    y, _ = dr.cuda.vjp(f, *args)
    return math.fsum(float(np.sum(a * ct)) for a, ct in zip(as_tuple(y), cts, strict=True))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_pullback_agrees_with_differences_and_may_be_called_again(name, dtype):
    f, count = CASES[name]
    args = [a.astype(dtype) for a in (X, Y)[:count]]
    kept = [a.copy() for a in args]
    y, pull = dr.cuda.vjp(f, *args)
    cts = tuple(rng.standard_normal(a.shape).astype(dtype) for a in as_tuple(y))
    ct = cts if isinstance(y, tuple) else cts[0]
    found, again, double = pull(ct), pull(ct), pull(tuple(2 * c for c in cts) if isinstance(y, tuple) else 2 * cts[0])
    for a, b, c, x in zip(found, again, double, args, strict=True):
        assert (a.shape, a.dtype) == (x.shape, x.dtype)
        np.testing.assert_allclose(b, a, rtol=1e-12 if dtype == np.float64 else 1e-5)  # threads add in another order
        np.testing.assert_allclose(c, 2 * a, rtol=1e-12 if dtype == np.float64 else 1e-5)
    for a, b in zip(args, kept, strict=True):
        np.testing.assert_array_equal(a, b)
    double_args = [a.astype(np.float64) for a in args]
    along = [rng.standard_normal(a.shape) for a in args]
    ends = [run(f, [a + h * d for a, d in zip(double_args, along, strict=True)], cts) for h in (1e-6, -1e-6)]
    actual = math.fsum(float(np.sum(a * d)) for a, d in zip(found, along, strict=True))
    assert actual == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=TOLERANCES[dtype], abs=TOLERANCES[dtype])


def test_values_are_those_of_the_launches():
    y, _ = dr.cuda.vjp(time_steps, X, Y)
    u, before = X.copy(), Y.copy()
    for _ in range(5):
        leapfrog[GRID](u, before)
        u, before = before, u
    np.testing.assert_array_equal(y[0], u)
    np.testing.assert_array_equal(y[1], before)


def test_arrays_on_the_device_give_arrays_on_the_device():
    x, y = cuda.to_device(X), cuda.to_device(Y)
    value, pull = dr.cuda.vjp(time_steps, x, y)
    expected, pull_on_host = dr.cuda.vjp(time_steps, X, Y)
    found = pull((cuda.to_device(X), Y))
    for a, b in zip((*value, *found), (*expected, *pull_on_host((X, Y))), strict=True):
        np.testing.assert_allclose(a.copy_to_host(), b, rtol=1e-12)
    np.testing.assert_array_equal(x.copy_to_host(), X)
    mixed, pull = dr.cuda.vjp(time_steps, X, y)
    np.testing.assert_array_equal(mixed[0].copy_to_host(), expected[0])
    found = pull((X, Y))
    assert isinstance(found[0], np.ndarray)
    assert found[1].copy_to_host().shape == Y.shape


def test_changes_to_the_arguments_after_the_call_do_not_matter():
    x = X.copy()
    y, pull = dr.cuda.vjp(in_place_twice, x)
    expected = pull(np.ones(8))[0]
    x[:] = y[:] = expected[:] = 7.0
    np.testing.assert_array_equal(pull(np.ones(8))[0], dr.cuda.vjp(in_place_twice, X)[1](np.ones(8))[0])


def test_copies_are_kept_only_of_elements_that_an_adjoint_reads_and_a_launch_overwrites():
    def copies(f, *args):
        _, pull = dr.cuda.vjp(f, *args)
        return len({id(v.kept) for one in pull.launches for v in one.versions if v is not None and v.kept is not None})

    assert copies(time_steps, X, Y) == 4  # the elements of `before` are not read: the first launch copies nothing
    assert copies(in_place_twice, X) == 2
    assert copies(states_in_rows, X) == 1  # rows that are written once are not copied
    assert copies(loss_of_a_wave, X, Y) == 4

    def linear(record, u, v):
        for _ in range(4):
            record[stencil_without_squares, *GRID](u, v)
            u, v = v, u
        return u

    assert copies(linear, X, Y) == 0


@cuda.jit
def stencil_without_squares(u, v):
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        v[i] = u[i - 1] - v[i] + u[i + 1]


def test_nan_and_no_elements_and_another_order():
    x = X.copy()
    x[2] = np.nan
    (found,) = dr.cuda.vjp(in_place_twice, x)[1](np.ones(8))
    assert np.isnan(found).tolist() == [k == 2 for k in range(8)]
    y, pull = dr.cuda.vjp(in_place_twice, np.zeros(0))
    assert y.shape == pull(np.zeros(0))[0].shape == (0,)

    def weights(record, w):
        h = record.zeros((4, 2))
        record[histogram, (2, 2), (2, 2)](record.to_device(np.ones((3, 4), int)), w, h)
        return h

    w = np.asfortranarray(rng.random((3, 4)))
    (found,) = dr.cuda.vjp(weights, w)[1](np.ones((4, 2)))
    np.testing.assert_allclose(found, 2 * w, rtol=1e-15)
    (strided,) = dr.cuda.vjp(weights, rng.random((6, 8))[::2, ::-2])[1](np.ones((4, 2)))
    assert strided.shape == (3, 4)


def test_an_exception_leaves_nothing_behind():
    handles = []

    def stopped(record, x):
        record[in_place, *GRID](x)
        handles.append(weakref.ref(x))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dr.cuda.vjp(stopped, X)
    gc.collect()
    assert handles[0]() is None
    expected = dr.cuda.vjp(in_place_twice, X)[1](np.ones(8))[0]
    assert np.all(np.isfinite(expected))


def test_a_thread_that_runs_out_of_tape_spends_the_pullback():
    def long(record, x):
        y = record.zeros(8)
        record[logistic, *GRID](x, y, 100)
        return y

    _, pull = dr.cuda.vjp(long, X)
    with pytest.raises(LaunchError, match=r"adjoint\(kernel, tape=100\)"):
        pull(np.ones(8))
    with pytest.raises(LaunchError, match="an earlier call of this pullback failed"):
        pull(np.ones(8))


def test_handles_have_shapes_and_views():
    def launch(record, x):
        table = record.zeros((3, 4), np.float32)
        assert (table.shape, table.ndim, table.size, table.dtype, len(table)) == ((3, 4), 2, 12, np.float32, 3)
        views = table[1], table[..., 1:], table[1, ::2], table[...], table[-1:, ..., 2], table[1, ..., :2]
        assert [view.shape for view in views] == [(4,), (3, 3), (2,), (3, 4), (1,), (2,)]
        assert repr(table) == "dualrev.cuda.Handle(shape=(3, 4), dtype=float32)"
        return x

    dr.cuda.vjp(launch, X)


def test_bodies_fall_for_three_steps():
    """Forces, and an update in place, of several launches for each step."""

    def simulated(record, x, v):
        for _ in range(3):
            f = record.zeros(x.shape)
            record[bodies, 2, 4](x, f, 0.1)
            record[kick, 2, 4](v, f)
            record[kick, 2, 4](x, v)
        return x

    x, v = rng.random((2, 5, 2))
    _, pull = dr.cuda.vjp(simulated, x, v)
    ct, along = rng.standard_normal((2, 5, 2))
    ends = [run(simulated, (x + h * along, v + h * along), [ct]) for h in (1e-6, -1e-6)]
    assert np.sum(sum(pull(ct)) * along) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


@cuda.jit
def kick(x, f):
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(2):
            x[i, k] += 0.1 * f[i, k]


def test_one_kernel_is_derived_once():
    first = dr.cuda.vjp(in_place_twice, X)[1].launches[0].adjoint
    assert dr.cuda.vjp(in_place_twice, Y)[1].launches[1].adjoint is first
    assert len(first._made) >= 1


class Stream:
    """Stand-in for a stream."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name

    def synchronize(self):
        """Do nothing."""


def on_streams(one, other):
    """Return a function that launches on streams: the second launch overwrites what the first one has read."""

    def launch(record, x):
        y = record.zeros(x.shape, x.dtype)
        record[elementwise, *GRID, one](x, y)
        record[in_place, *GRID, other](x)
        z = record.to_device(Y.astype(x.dtype))
        record[product, *GRID, one](x, y, z)
        record[in_place, *GRID](z)
        return z

    return launch


def test_launches_on_streams_are_reversed_in_the_order_of_python():
    streams = [cuda.stream(), cuda.stream()] if not SIMULATED else [Stream("one"), Stream("other")]
    y, pull = dr.cuda.vjp(on_streams(*streams), X)
    expected, expected_pull = dr.cuda.vjp(on_streams(0, 0), X)
    np.testing.assert_array_equal(y, expected)
    for _ in range(2):
        np.testing.assert_array_equal(pull(Y)[0], expected_pull(Y)[0])
    along, ends = rng.standard_normal(8), []
    for h in (1e-6, -1e-6):
        ends.append(run(on_streams(*streams), [X + h * along], [Y]))
    assert pull(Y)[0] @ along == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


@pytest.mark.skipif(not SIMULATED, reason="a GPU has streams of its own")
def test_copies_wait_for_launches_on_streams_and_launches_for_copies(monkeypatch):
    done = []
    get_item, to_device = type(in_place).__getitem__, cuda.to_device

    def launched(kernel, grid):
        done.append(f"{kernel.py_func.__name__} {grid[2] if len(grid) > 2 else 'default'}")
        return get_item(kernel, grid)

    def copied(x):
        done.append("copy")
        return to_device(x)

    monkeypatch.setattr(type(in_place), "__getitem__", launched)
    monkeypatch.setattr(cuda, "to_device", copied)
    monkeypatch.setattr(cuda, "device_array", lambda *args: done.append("copy") or to_device(np.zeros(*args)))
    monkeypatch.setattr(cuda, "synchronize", lambda: done.append("wait"))
    _, pull = dr.cuda.vjp(on_streams(Stream("one"), Stream("other")), X)
    assert done == [
        *["copy", "copy", "wait", "elementwise one"],
        *["wait", "copy", "wait", "in_place other"],  # the copy of x, which the adjoint of `elementwise` reads
        *["wait", "copy", "wait", "product one"],
        *["wait", "copy", "in_place default"],
    ]
    done.clear()
    pull(Y)
    names = [x.partition("_adjoint ")[0] for x in done if x != "copy"]
    assert names == ["in_place", "product", "in_place", "elementwise"]
    assert all(x.endswith(" default") for x in done if x != "copy")
    done.clear()
    with pytest.raises(ZeroDivisionError):
        dr.cuda.vjp(lambda record, x: (record[in_place, *GRID, Stream("one")](x), 1 / 0), X)
    assert done == ["copy", "copy", "wait", "in_place one", "wait"]  # the second copy is kept


def test_the_stencil_takes_numbers():
    def launch(record, u):
        v = record.zeros(u.size)
        record[stencil, 2, 4](u, v, np.float64(0.3))
        return v

    (found,) = dr.cuda.vjp(launch, X)[1](np.ones(8))
    d_u, d_v = np.zeros(8), np.ones(8)
    dr.cuda.adjoint(stencil)[2, 4](X, np.zeros(8), 0.3, d_u, d_v)
    np.testing.assert_allclose(found, d_u, rtol=1e-12)


def random_launches(seed):
    """Return a function of random launches on two arrays and three rows."""
    r = np.random.default_rng(seed)
    kernels = [in_place, product, elementwise, linear_in_place, accumulate, leapfrog, grid_stride]
    counts = [1, 3, 2, 2, 2, 2, 2]
    plan = [(k, r.permutation(5)[: counts[k]]) for k in r.integers(0, len(kernels), r.integers(3, 9))]

    def launch(record, x, y):
        rows = record.zeros((3, 4))
        arrays = [x, y, rows[0], rows[1], rows[2]]
        for k, chosen in plan:
            record[kernels[k], 1, 4](*(arrays[j] for j in chosen))
        return x, y, rows

    return launch


def test_random_launches_agree_with_differences():
    for seed in range(15):
        f, r = random_launches(seed), np.random.default_rng(seed)
        args, along = r.uniform(0.1, 0.9, (2, 4)), r.standard_normal((2, 4))
        y, pull = dr.cuda.vjp(f, *args)
        cts = tuple(r.standard_normal(x.shape) for x in y)
        first, second = np.sum(pull(cts) * along), np.sum(pull(cts) * along)
        ends = [run(f, args + h * along, cts) for h in (1e-6, -1e-6)]
        assert first == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-6)
        assert second == pytest.approx(first, rel=1e-12)
