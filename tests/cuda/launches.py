"""`dr.cuda.vjp`, the reversal of several launches; test_cuda.py runs this in the simulator, and on a GPU if any."""

import gc
import math
import weakref

import numba
import numpy as np
import pytest
from numba import cuda
from programs.cuda_kernels import bodies, elementwise, grid_stride, histogram, in_place, logistic, stencil

import dualrev as dr
from dualrev.errors import LaunchError, UnsupportedError

rng = np.random.default_rng(5)
X, Y = rng.uniform(0.1, 1.0, (2, 8))
GRID = 2, 4
#: How far derivatives may be from central differences, by dtype.
TOLERANCES = {np.float64: 1e-7, np.float32: 2e-3}


@cuda.jit
def leapfrog(u, before):
    """A step of a nonlinear wave, which overwrites the state before the last one."""
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        force = u[i - 1] - 2 * u[i] + u[i + 1] - u[i] ** 3
        before[i] = 2 * u[i] - before[i] + 0.1 * force


@cuda.jit
def product(x, y, z):
    i = cuda.grid(1)
    if i < z.size:
        z[i] = x[i] * y[i]


@cuda.jit
def total(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i] * x[i])


@cuda.jit
def doubled(k, x):
    i = cuda.grid(1)
    if i < x.size:
        k[i] = (k[i] + 1) % x.size
        x[i] = x[i] * (1 + k[i])


def time_steps(record, u, before):
    for _ in range(5):
        record[leapfrog, *GRID](u, before)
        u, before = before, u
    return u, before


def loss_of_a_wave(record, u, before):
    out = record.zeros(1, u.dtype)
    record[total, *GRID](time_steps(record, u, before)[0], out)
    return out


def in_place_twice(record, x):
    record[in_place, *GRID](x)
    record[in_place, *GRID](x)
    return x


def allocated_inside(record, x):
    """Arrays of zeros and of constants, one of which the next launch overwrites."""
    y, c = record.zeros(x.shape, x.dtype), record.to_device(Y.astype(x.dtype))
    record[elementwise, *GRID](x, y)
    record[product, *GRID](x, y, c)
    record[product, *GRID](c, y, x)
    return x


def states_in_rows(record, x):
    """All states in one array, whose rows are views."""
    states = record.zeros((4, x.size), x.dtype)
    record[elementwise, *GRID](x, states[0])
    for k in range(3):
        record[elementwise, *GRID](states[k], states[k + 1])
    record[elementwise, *GRID](states[1], states[0])
    return states[1:, 2:5], states[0], states[-1]


def one_array_twice(record, x, y):
    z = record.zeros(x.shape, x.dtype)
    record[product, *GRID](x, x, z)
    record[product, *GRID](z, y, x)
    return z, x, y


def parts(record, x):
    record[product, *GRID](x[:4], x[:4], x[4:])
    record[in_place, *GRID](x[:4])
    record[product, *GRID](x[4:], x[4:], x[:4])
    return x[::3]


def with_a_tape(record, x):
    y, z = record.zeros(x.shape, x.dtype), record.to_device(Y[:3].astype(x.dtype))
    record[dr.cuda.adjoint(logistic, tape=100), *GRID](x, y, 3)
    record[grid_stride, *GRID](y, z)
    return y, z


def integers(record, x):
    k = record.to_device(np.arange(x.size) % 3)
    for _ in range(3):
        record[doubled, *GRID](k, x)
    return x


def unchanged(record, x, y):
    return x


CASES = {
    f.__name__: (f, n)
    for f, n in (
        (time_steps, 2),
        (loss_of_a_wave, 2),
        (in_place_twice, 1),
        (allocated_inside, 1),
        (states_in_rows, 1),
        (one_array_twice, 2),
        (parts, 1),
        (with_a_tape, 1),
        (integers, 1),
        (unchanged, 2),
    )
}


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
    "a stream": (lambda record, x: record[in_place, 2, 4, cuda.stream()](x), X, "on the default stream"),
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


def test_handles_have_shapes_and_views():
    def launch(record, x):
        table = record.zeros((3, 4), np.float32)
        assert (table.shape, table.ndim, table.size, table.dtype, len(table)) == ((3, 4), 2, 12, np.float32, 3)
        assert [x.shape for x in (table[1], table[..., 1:], table[1, ::2])] == [(4,), (3, 3), (2,)]
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


def test_the_stencil_takes_numbers():
    def launch(record, u):
        v = record.zeros(u.size)
        record[stencil, 2, 4](u, v, np.float64(0.3))
        return v

    (found,) = dr.cuda.vjp(launch, X)[1](np.ones(8))
    d_u, d_v = np.zeros(8), np.ones(8)
    dr.cuda.adjoint(stencil)[2, 4](X, np.zeros(8), 0.3, d_u, d_v)
    np.testing.assert_allclose(found, d_u, rtol=1e-12)
