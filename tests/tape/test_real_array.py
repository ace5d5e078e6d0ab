"""Arrays of numbers under differentiation: views, aliases, layouts, layers, and what outlives a derivative call."""

import gc
import threading
import weakref

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp

import dualrev as dr
from dualrev import numpy as dnp
from dualrev.eager.tape.tape import Tape
from dualrev.errors import ConversionError, LeakError

X = np.array([0.5, 1.3, 2.1, 0.7, 1.9, 1.1])
KEYS = [2, -1, slice(1, 5, 2), slice(None, None, -1), [0, 0, 3], np.array([[1], [2]]), X > 1.0, (), ..., None]


def programs():
    """Functions that assign to arrays, of one array of six elements."""

    def through_a_view(x):
        y = x * 1.0
        v = y[1:4]
        v *= 2.0
        w = v[::-1]
        w[0] = x[0] * x[1]
        return np.sum(y * y)

    def view_before_the_array_holds_anything(x):
        y = dnp.zeros((2, 3))
        row, column = y[1], y.T[2]
        row[0] = x[0]
        column[0] = x[1] * x[2]
        y[0, 1] += x[3]
        return np.sum(y * y) + np.sum(row * column[1])

    def overlapping(x):
        y = x * x
        y[1:] = y[:-1]
        y[::-1] = y
        return np.sum(y * np.arange(6.0))

    def reshaped(x):
        y = (x * 2.0).reshape(2, 3)
        flat = y.reshape(-1)
        flat[::2] = flat[::2] ** 2
        y.T.reshape(-1)[0] = 5.0  # a copy: y stays as it is
        return np.sum(y * y)

    def fortran_order(x):
        y = x.reshape(2, 3).T * 2.0
        flat = y.ravel()  # a copy, since y is in Fortran's order
        flat[1] = 0.0
        z = y.T.ravel()  # a view
        z[2] = x[0] ** 3
        return np.sum(y * y)

    def constants_overwrite(x):
        y = x * x
        y[[0, 2]] = 1.0
        y[y > 2.0] = 0.0
        y.fill(3.0) if y[5] > 100.0 else None
        return np.sum(y)

    def fancy(x):
        y = x[[0, 0, 1, 5]] * x[X > 1.0][:4]
        y[[1, 2]] = y[[2, 1]]
        return np.sum(y * np.arange(4.0))

    def diagonal(x):
        y = dnp.zeros((3, 3))
        y[np.arange(3), np.arange(3)] = x[:3]
        y[np.triu_indices(3, 1)] = x[3:]
        return np.sum(y @ y)

    def kept_in_a_list(x):
        rows = [x * k for k in range(3)]
        rows[1][2] = x[0]
        return np.sum(np.stack(rows)[1] * rows[2])

    def swapped(x):
        y = x.copy()
        y[0], y[5] = y[5] * 2.0, y[0]
        y[1:3], y[3:5] = y[3:5].copy(), y[1:3].copy()
        return np.sum(y * np.arange(6.0) * y)

    return [f for name, f in sorted(locals().items())]


@pytest.mark.parametrize("f", programs(), ids=lambda f: f.__name__)
def test_assignment_and_aliasing_are_exact(f):
    check_vjp(dr.vjp, f, X)
    check_order_2(dr.vjp, f, X, rtol=1e-7)


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("engine", ["tape", "staged", "default"])
def test_every_kind_of_index(key, engine):
    from stages import STAGES

    engine = STAGES.get(engine)
    weights = np.arange(1.0, 7.0)

    def read(x):
        return np.sum(x[key] * weights[key])

    def write(x):
        y = dnp.zeros(6)
        y[key] = x[key] * x[key]
        return np.sum(y * weights)

    for f in (read, write):
        check_vjp(lambda f, *xs: dr.vjp(f, *xs, engine=engine), f, X)


def test_flat_reads_and_writes():
    def f(x):
        made = x.reshape(2, 3).T * 1.0
        made.flat[1] = x[0] * x[5]
        made.flat[[2, 3]] = made.flat[4:]
        assert len(made.flat) == len(list(made.flat)) == 6
        return np.sum(made * made * made)

    check_vjp(dr.vjp, f, X)


def _shifted(a):
    a.flat[1:] = a.ravel()[:-1]  # numpy reads what it has just written: a[0], everywhere


def _shifted_back(a):
    a.flat[:-1] = a.ravel()[1:]


def _transposed(a):
    a.flat = a.T


def _repeated(a):
    a.flat[1:5] = [a[0, 1], 2.0, a[1, 1]]  # too few: numpy begins again


def _products(a):
    a.flat[1:5] = a[0] * a[1]
    a.flat[0] = a[1, 2]


@pytest.mark.parametrize("write", [_shifted, _shifted_back, _transposed, _repeated, _products])
def test_flat_writes_as_numpy_does(write):
    def f(x):
        a = x.reshape(2, 3) * 1.0
        write(a)
        return a * np.arange(3.0, 9.0).reshape(2, 3)

    dr.check(f, X)
    dr.check_grads(f, (X,))


def test_a_write_to_what_is_read_only_names_its_line():
    def f(x):
        y = np.broadcast_to(x, (2, 6))
        y[0] = 1.0
        return np.sum(y)

    with pytest.raises(ValueError, match=r"read-only at .*test_real_array.py:\d+: `y\[0\] = 1.0`. It is a view"):
        dr.grad(f)(X)
    with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):  # the user's own array
        dr.grad(lambda x: np.broadcast_to(1.0, 3).__setitem__(0, 2.0))(X)


def test_the_callers_array_is_left_alone():
    x = X.copy()

    def f(x):
        x *= 2.0
        return np.sum(x * x)

    assert_same(dr.grad(f)(x), 8.0 * X)
    assert_same(x, X)


def test_the_layout_of_an_argument_is_kept():
    x = np.asfortranarray(X.reshape(2, 3))
    assert_same(dr.grad(lambda x: x.ravel("K")[1] * 1.0)(x), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    transposed = dr.value_and_grad(lambda x: np.copy(x.T).reshape(-1)[1] * 1.0)
    assert_same(transposed(X.reshape(2, 3))[0], 0.7)


LAYOUTS = {
    "every second column": lambda z: z[:, :, ::2],
    "every second of three": lambda z: z[:, :3, ::2].transpose(1, 0, 2),
    "backwards": lambda z: z[::-1],
    "backwards within": lambda z: z[:, ::-1, ::-2],
    "all backwards": lambda z: z[::-1, ::-1, ::-1],
    "a column": lambda z: z[:, 0, 1],
    "a part, transposed": lambda z: z[1:, :2, 1:4].T,
    "axes of length 1": lambda z: z[:1, :, 1:2].swapaxes(0, 1),
    "as it is": lambda z: z,
    "float32": lambda z: z.astype(np.float32)[::-1, :, ::2],
}
VIEWS = {
    "reshape": lambda x: x.reshape(-1),
    "in Fortran's order": lambda x: x.reshape(-1, order="F"),
    "transposed": lambda x: x.T.reshape(-1),
    "ravel": lambda x: np.ravel(x, "K"),
    "squeezed": lambda x: np.squeeze(x),
    "astype": lambda x: x.astype(float, order="C", copy=False),
    "the last axes": lambda x: x.reshape((*x.shape[:1], -1)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("real", [False, True])
def test_an_argument_of_any_layout_has_the_views_that_it_has_in_numpy(layout, view, real):
    """A store to a view is seen in the argument if numpy's view shares memory with it."""

    def f(x):
        made = view(x)
        made[0] = 3.0 * made[-1]
        return x * np.arange(1.0, x.size + 1).reshape(x.shape)

    def at(z):
        x = layout(z.reshape(3, 4, 5))
        return x.astype(float) if x.dtype != float and view is VIEWS["astype"] else x

    x = at(np.linspace(0.5, 1.5, 60))
    given = dr.RealArray(x) if real and x.dtype == float else x
    y, pullback = dr.vjp(f, given)
    plain = at(np.linspace(0.5, 1.5, 60))
    assert_same(y, f(plain), rtol=1e-6 if x.dtype != float else 1e-14, types=x.dtype == float)
    ct = np.cos(np.arange(1.0, x.size + 1)).reshape(x.shape)
    slopes = np.zeros(x.shape)
    for k in np.ndindex(x.shape):  # f is linear
        unit = at(np.zeros(60))
        unit[k] = 1.0
        slopes[k] = np.sum(ct * f(unit))
    assert_same(pullback(ct)[0], slopes.astype(x.dtype), rtol=1e-6 if x.dtype != float else 1e-13)


def test_elements_of_an_argument_that_share_memory_become_several():
    def f(x):
        x[0] = 2.0 * x[1]
        return x * x

    rows = np.broadcast_to(np.array([0.5, -1.0]), (3, 2))
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(1.0, 6.0), 3)
    for x in (rows, windows):
        assert_same(dr.grad(lambda x: np.sum(f(x)))(x), dr.grad(lambda x: np.sum(f(x)))(x.copy()))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros_like(x.T),
        lambda x: np.full_like(x.T, 2.0),
        lambda x: np.where(x.T > 0, x.T, 0.0),
        lambda x: np.copy(x.T),
        lambda x: x.T.copy(),
        lambda x: x.T.astype(float),
        lambda x: x.T * 2.0,
        lambda x: np.concatenate([x.T, x.T]),
        lambda x: np.stack([x.T, x.T]),
        lambda x: np.clip(x.T, 0.0, 1.0),
    ],
)
def test_what_is_a_view_of_a_result_is_a_view_in_numpy(make):
    """Written through, the same elements change as in numpy."""

    def f(x):
        made = make(x)
        made.reshape(-1)[1] = 10.0 * x[0, 0]
        made.T.reshape(-1)[0] = 7.0 * x[0, 1]
        return made

    check_vjp(dr.vjp, f, np.arange(1.0, 7.0).reshape(2, 3) / 8.0)


def test_a_root_that_is_not_contiguous():
    def f(x):
        a = dr.RealArray(np.arange(6.0).reshape(2, 3)[:, :2])
        a[0, 0] = x
        copied = a.reshape(-1)
        copied[0] = 0.0
        return np.sum(a * a)

    assert dr.grad(f)(3.0) == 6.0


def test_arrays_without_axes():
    assert_same(dr.grad(lambda x: x * 2.0)(np.array(3.0)), np.array(2.0))
    assert_same(dr.grad(lambda p: p["a"] * p["b"])({"a": np.array(3.0), "b": 2.0}), {"a": np.array(2.0), "b": 3.0})
    assert_same(dr.jvp(lambda x: np.reshape(x * x, ()), (3.0,), (1.0,))[1], 6.0)
    assert_same(dr.jacrev(lambda x: x * np.ones(2))(np.array(3.0)), np.ones(2))


def test_the_plain_array_of_one_without_numbers_under_differentiation_is_a_copy():
    def f(x):
        a = dnp.zeros(2)
        plain = np.asarray(a)
        a[0] = x
        with pytest.raises(ConversionError, match="making a plain array"):
            np.asarray(a)
        return plain[0] * x

    assert dr.grad(f)(3.0) == 0.0
    assert isinstance(np.asarray(dnp.ones(2)), np.ndarray)
    with pytest.raises(ValueError, match="copy"):
        np.array(dnp.ones(2), copy=False)


@pytest.mark.parametrize(
    "f",
    [
        lambda kept, x: kept[0] * x,
        lambda kept, x: x * kept[0],
        lambda kept, x: np.concatenate([np.array([x]), kept]),
        lambda kept, x: np.where(True, x, kept),
        lambda kept, x: (x * 2.0, kept[0]),
        lambda kept, x: kept,
        lambda kept, x: (x, kept[1:]),
        lambda kept, x: np.sum(kept) * x,
        lambda kept, x: x * np.sum(kept),
        lambda kept, x: kept @ (x * np.ones(2)),
        lambda kept, x: np.stack([x, kept[0]]),
        lambda kept, x: x * np.sin(kept),
        lambda kept, x: x * kept.reshape(2, 1),
    ],
)
@pytest.mark.parametrize("order", [1, 2])
def test_an_array_that_was_kept_is_no_constant(f, order):
    kept = []
    dr.grad(lambda x: kept.append(x * np.ones(2)) or x)(1.0)

    def assigned(x):
        a = dnp.zeros(2)
        a[0] = x
        a[1:] = kept[0][1:]
        return np.sum(a * a)

    for g in (lambda x: f(kept[0], x), assigned):
        with pytest.raises(LeakError, match="differentiation that has ended"):
            dr.vjp(g, 2.0) if order == 1 else dr.vjp(lambda y, g=g: dr.vjp(g, y)[0], 2.0)


def test_a_workspace_that_is_kept_and_filled_anew():
    workspace = dnp.zeros(3)
    seen = []

    def f(x):
        seen.append(weakref.ref(x.run))
        for k in range(3):
            workspace[k] = x * k
        return np.sum(workspace * workspace)

    for k in range(5):
        assert dr.grad(f)(float(k)) == 10.0 * k
    assert len(workspace.layers()) <= 2
    assert sum(run() is not None for run in seen) <= 2


def test_threads_that_fill_one_array():
    def f(x):
        made = dnp.zeros(64)
        barrier = threading.Barrier(8)

        def fill(start):
            barrier.wait()
            for k in range(start, 64, 8):
                made[k] = x * k

        threads = [threading.Thread(target=fill, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return np.sum(made)

    for _ in range(20):
        assert dr.grad(f)(1.0) == sum(range(64))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x * x),
        lambda x: np.linalg.solve(np.outer(x, x) + np.eye(6), x) @ x,
        lambda x: np.sum(dr.checkpoint(lambda y: y * y)(x)),
        lambda x: np.sum(dr.grad(lambda y: np.sum(y**3))(x)),
        lambda x: x[0] * x[1] + np.sum(x[1:]),
    ],
)
def test_reference_counting_alone_frees_a_tape(f):
    runs = []

    def g(x):
        runs.append(weakref.ref(next(iter(x.layers()))))
        return f(x)

    gc.collect()
    gc.disable()
    try:
        dr.hessian(g)(X)
        _, pullback = dr.vjp(g, X)
        pullback(1.0)
        del pullback
        assert not [run() for run in runs if run() is not None]
    finally:
        gc.enable()


def test_moving_elements_writes_nothing():
    def f(x):
        made = dnp.zeros((2, 6))
        made[0] = x
        made[1, ::-1] = np.roll(x, 2)
        return np.concatenate([made.T.reshape(3, 4), np.tile(x, 2).reshape(3, 4)]).ravel()[[3, 1, 4]]

    with Tape() as run:
        x = dr.RealArray(X.copy())
        x.layer(run)[...] = np.arange(run.allocate(6), 0)
        f(x)
        assert not run.blocks
        assert not run.buffer.getvalue()


def test_a_pullback_never_warns():
    matrix = np.array([[np.inf, 1.0], [0.0, 2.0]])
    with np.errstate(all="ignore"):  # the values do, as numpy's
        _, inverse_square = dr.vjp(lambda x: np.sum(1.0 / x**2), np.array([1e-200, 1e200]))
        _, second_row = dr.vjp(lambda x: (matrix @ x)[1], np.array([1.0, 2.0]))
    assert inverse_square(1.0)[0][0] == -np.inf
    assert_same(second_row(1.0)[0], np.array([np.nan, 2.0]))  # a matrix product is one operation: inf * 0 takes part


COMPLEX = np.array([1.0 + 2.0j, 3.0j])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.abs(np.exp(1j * x) + x)),
        lambda x: np.sum((x * COMPLEX).real),
        lambda x: np.sum((COMPLEX + x**2).real),
        lambda x: (x @ COMPLEX).real,
        lambda x: (np.complex128(2.0 + 1.0j) * x[0]).real,
        lambda x: np.sum(x.astype(complex).real),
        lambda x: np.sum(dnp.array(x, dtype=complex).real),
    ],
)
def test_complex_numbers_keep_both_parts(f):
    dr.check(f, np.array([0.3, 1.7]))
    dr.check_grads(f, (np.array([0.3, 1.7]),))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.where(True, x, 1j)),
        lambda x: np.sum(np.concatenate([x, COMPLEX])),
        lambda x: x.__setitem__(0, 1j) or np.sum(x),
        lambda x: np.sum(x * np.ma.array([1.0, 2.0], mask=[False, True])),
    ],
)
def test_what_would_lose_a_part_of_itself_is_refused(f):
    with pytest.raises(TypeError):
        dr.grad(f)(np.array([0.3, 1.7]))


def test_arrays_of_objects_keep_their_numbers():
    assert_same(dr.grad(lambda x: np.sum(x.astype(object) * 2.0))(X), np.full(6, 2.0))


def test_a_long_chain_of_views():
    def f(x):
        total = 0.0
        while len(x):
            total, x = total + x[0] ** 2, x[1:]
        return total

    x = np.arange(1500.0)
    assert_same(dr.grad(f)(x), 2.0 * x)
