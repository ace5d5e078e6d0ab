"""vmap: the same as a loop, on the tape and compiled; axes as in JAX; what does not fit is refused."""

from typing import NamedTuple

import numba
import numpy as np
import pytest

import dualrev as dr
from dualrev.errors import BatchError


class Pair(NamedTuple):
    low: object
    high: float


@numba.njit
def loss(params, x, y):
    """The squared error of a small network."""
    w, b = params
    return (np.sum(np.tanh(w @ x + b)) - y) ** 2


@numba.njit
def several(x, k):
    """A tuple of a named tuple, None, an int, a bool, a float32."""
    if x[0] < -10.0:
        raise ValueError("too low")
    return Pair(x * k, np.sum(x)), None, len(x), x[0] > 0.0, np.float32(x[0])


@numba.njit
def ragged(x):
    return np.ones(int(x))


@numba.njit
def curve(x, k=2.0):
    return np.array([x[0] * x[1] * k, np.sin(x[0]), x[1] ** 3])


def by_hand(x):
    """The Jacobian of curve."""
    return np.array([[2.0 * x[1], 2.0 * x[0]], [np.cos(x[0]), 0.0], [0.0, 3.0 * x[1] ** 2]])


def assert_equal(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for u, v in zip(found, expected, strict=True):
            assert_equal(u, v)
    elif expected is not None:
        assert found.dtype == expected.dtype
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-14)


rng = np.random.default_rng(3)
PARAMS = rng.normal(size=(3, 4)), rng.normal(size=3)
X, Y = rng.normal(size=(7, 4)), rng.normal(size=7)


@pytest.mark.parametrize("parallel", [False, True])
def test_gradients_of_samples(parallel):
    """vmap(grad(f)) equals a loop of grad(f), compiled in one loop and on the tape."""
    gradients = [dr.grad(loss.py_func)(PARAMS, x, y) for x, y in zip(X, Y, strict=True)]
    expected = [np.stack(some) for some in zip(*gradients, strict=True)]
    both = dr.vmap(dr.value_and_grad(loss), in_axes=(None, 1, 0), out_axes=(0, (0, -1)), parallel=parallel)
    value, (w, b) = both(PARAMS, X.T, Y)
    assert_equal(value, np.array([loss(PARAMS, x, y) for x, y in zip(X, Y, strict=True)]))
    assert_equal((w, b), (expected[0], np.moveaxis(expected[1], 0, -1)))


def test_results_of_every_kind():
    made = dr.vmap(several, in_axes=(0, None))(X, 2.0)
    assert type(made[0]) is Pair
    assert_equal(tuple(made[0]), (2.0 * X, X.sum(axis=1)))
    assert_equal(made[1:], (None, np.full(7, 4), X[:, 0] > 0.0, X[:, 0].astype(np.float32)))
    by_row = dr.vmap(several)(X, np.arange(7.0))
    assert_equal(by_row[0].low, X * np.arange(7.0)[:, None])
    low = X.copy()
    low[5] = -20.0
    for parallel in (False, True):
        with pytest.raises(ValueError, match="too low"):
            dr.vmap(several, in_axes=(0, None), parallel=parallel)(low, 1.0)


def test_arguments_that_nest_and_their_axes():
    stacked = rng.normal(size=(3, 7, 4)), rng.normal(size=(7, 3))
    made = dr.vmap(loss, in_axes=((1, 0), None, None))(stacked, X[0], Y[0])
    expected = np.array([loss((stacked[0][:, i].copy(), stacked[1][i]), X[0], Y[0]) for i in range(7)])
    assert_equal(made, expected)
    points = X[:, :2]
    assert_equal(dr.vmap(curve)(points, k=np.arange(7.0)), np.stack([curve(x, float(k)) for k, x in enumerate(points)]))
    assert_equal(dr.vmap(curve)(points), np.stack([curve(x) for x in points]))
    columns = dr.vmap(dr.jacfwd(curve), in_axes=-1, out_axes=2)(points.T)
    assert_equal(columns, np.stack([by_hand(x) for x in points], axis=2))


def test_hessian_columns():
    """vmap of a product with the Hessian, over directions: the Hessian."""

    @numba.njit
    def f(x):
        return x[0] ** 2 * x[1] + np.exp(x[1] * x[2])

    x = np.array([1.0, 0.5, -0.3])
    assert_equal(dr.vmap(dr.hvp(f), in_axes=(None, 0))(x, np.eye(3)), dr.hessian(f.py_func)(x))


def test_on_the_tape():
    def f(p, x):
        return {"a": p["w"] * x[0] * x[1], "b": (x, 3)}

    made = dr.vmap(f, in_axes=({"w": 0}, 1))({"w": np.arange(5.0)}, np.arange(10.0).reshape(2, 5))
    assert_equal(made["a"], np.arange(5.0) * np.arange(5.0) * np.arange(5.0, 10.0))
    assert_equal(made["b"], (np.arange(10.0).reshape(2, 5).T, np.full(5, 3)))

    def total(x, scale):
        return np.sum(dr.vmap(lambda u: np.sin(u[0]) * u[1] * scale)(x) ** 2)

    def plain(x, scale):
        return np.sum((np.sin(x[:, 0]) * x[:, 1] * scale) ** 2)

    x = X[:, :2]
    assert_equal(dr.grad(total, argnums=(0, 1))(x, 1.5)[0], dr.grad(plain, argnums=(0, 1))(x, 1.5)[0])
    assert np.allclose(dr.hessian(total)(x, 1.5), dr.hessian(plain)(x, 1.5))
    rows = dr.vmap(dr.grad(plain), in_axes=(0, None))(np.stack([x, 2.0 * x]), 1.5)
    assert_equal(rows, np.stack([dr.grad(plain)(x, 1.5), dr.grad(plain)(2.0 * x, 1.5)]))
    twice = dr.vmap(dr.vmap(lambda u, v: u * v), in_axes=(0, None))(x, np.array([2.0, 3.0]))
    assert_equal(twice, x * np.array([2.0, 3.0]))


def test_the_tape_goes_through_a_compiled_loop():
    """By the compiled derivative of each sample."""
    found = dr.jacobian(lambda x: np.sum(dr.vmap(curve)(x), axis=0))(X[:3, :2])
    assert_equal(found, np.stack([by_hand(x) for x in X[:3, :2]], axis=1))


def test_dicts_of_axes_go_by_their_keys():
    """In whatever order: optree takes a dict apart by its sorted keys."""
    data = {"b": rng.normal(size=(3, 3)), "a": rng.normal(size=(3, 3)), "c": 2.0}
    made = dr.vmap(lambda p: {"z": p["b"] * p["c"], "y": p["a"]}, ({"b": 1, "a": 0, "c": None},), {"z": 0, "y": 1})(
        data
    )
    assert_equal(made["z"], 2.0 * data["b"].T)
    assert_equal(made["y"], data["a"].T)


def test_results_that_all_samples_share():
    both = dr.vmap(lambda x, w: (x * w, np.sin(w)), in_axes=(0, None), out_axes=(0, None))
    assert_equal(both(X, X[0])[1], np.sin(X[0]))
    assert_equal(dr.grad(lambda w: np.sum(both(X, w)[1]))(X[0]), np.cos(X[0]))
    assert_equal(dr.vmap(curve, in_axes=(None, 0), out_axes=None)(X[0], np.full(3, 2.0)), curve(X[0]))
    with pytest.raises(BatchError, match=r"out_axes=None at .*samples differ in this result\. Write the axis"):
        dr.vmap(curve, out_axes=None)(X)


BATCHED = dr.vmap(curve)


@numba.njit
def calls_what_is_made(x):
    return np.sum(BATCHED(x))


@numba.njit
def makes_it(x):
    return np.sum(dr.vmap(curve)(x))


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (
            calls_what_is_made,
            r"test_vmap.py:\d+: `return np.sum\(BATCHED.*curve, which dr.vmap has made, cannot be diff",
        ),
        (makes_it, r"test_vmap.py:\d+: `return np.sum\(dr.vmap.*dr.vmap in a numba function cannot be diff"),
    ],
)
def test_in_numba_code_it_is_refused_with_the_line(f, words):
    """By numba, too, where no derivative is asked for."""
    with pytest.raises(dr.UnsupportedError, match=words + r".*it is called from Python\. Write a loop over f"):
        dr.grad(f)(X)
    with pytest.raises(numba.TypingError, match=r"(?s)it is called from Python\. Write a loop over f.*test_vmap.py"):
        f(X)


def test_what_is_refused():
    with pytest.raises(BatchError, match="argument 0 has 7 and argument 1 has 3"):
        dr.vmap(several)(X, np.ones(3))
    with pytest.raises(BatchError, match=r"axis 0 of argument 1 at .*: it has none: it is of type float\. Write None"):
        dr.vmap(several)(X, 2.0)
    with pytest.raises(BatchError, match=r"axis 2 of argument 0.* it has 2 axes"):
        dr.vmap(several, in_axes=(2, None))(X, 2.0)
    with pytest.raises(BatchError, match=r"it has 3 axes\. Write an axis for each argument"):
        dr.vmap(several, in_axes=(0, None, None))(X, 2.0)
    with pytest.raises(BatchError, match="nothing to map over"):
        dr.vmap(several, in_axes=None)(X, 2.0)
    with pytest.raises(BatchError, match="a tuple with 2 entries"):
        dr.vmap(loss, in_axes=((0, 0, 0), None, None))(PARAMS, X[0], 1.0)
    with pytest.raises(BatchError, match=r"'first' of argument 0.*an axis is an int or None"):
        dr.vmap(curve, in_axes="first")(X)
    with pytest.raises(BatchError, match="over an argument of type list"):
        dr.vmap(curve)([X[:, 0], X[:, 1]])
    with pytest.raises(BatchError, match=r"out_axes=3 at .*a result with its samples has 2 axes"):
        dr.vmap(curve, out_axes=3)(X)
    with pytest.raises(BatchError, match="vmap over no samples"):
        dr.vmap(curve)(X[:0])
    with pytest.raises(ValueError, match="results differ in shape"):
        dr.vmap(ragged)(np.array([2.0, 3.0]))
    with pytest.raises(BatchError, match=r"they have the shapes \[\(2,\), \(3,\)\]"):
        dr.vmap(ragged.py_func)(np.array([2.0, 3.0]))
    with pytest.raises(BatchError, match="their structure is not that of the first sample"):
        dr.vmap(lambda x: (x, x) if x > 2.0 else [x])(np.array([2.0, 3.0]))
    with pytest.raises(BatchError, match="they are of type str"):
        dr.vmap(lambda x: "a")(np.array([2.0, 3.0]))


def test_the_loop_is_in_compiled_code_and_shared_by_threads(monkeypatch):
    """One run of Python for the first sample, and none for others; as many parts as numba has threads."""
    from dualrev.compiler.bridge import batch

    parts = []

    class Pool(batch.ThreadPoolExecutor):
        def submit(self, fill, start, stop, *args):
            parts.append((start, stop))
            return super().submit(fill, start, stop, *args)

    monkeypatch.setattr(batch, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(batch.numba, "get_num_threads", lambda: 3)
    assert_equal(dr.vmap(curve, parallel=True)(X[:, :2]), dr.vmap(curve)(X[:, :2]))
    assert parts == [(1, 3), (3, 5), (5, 7)]
