"""Sums over the partitions of data, by Dask: the same as on the whole data, whatever happens to the workers."""

import doctest
import linecache
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from scipy.optimize import minimize
from support.oracle import assert_same

import dualrev as dr

dask = pytest.importorskip("dask")
da, db = pytest.importorskip("dask.array"), pytest.importorskip("dask.bag")
distributed = pytest.importorskip("distributed")
parallel = pytest.importorskip("dualrev.dask")

DOCS = Path(__file__).parents[2] / "docs"
RANDOM = np.random.default_rng(0)
X, W = RANDOM.normal(size=(40, 3)), np.array([1.0, -2.0, 0.5])
Y = X @ W + 0.1


def loss(w, x, y, weight=1.0):
    return weight * np.sum((x @ w - y) ** 2 + 0.1 * np.sin(x @ w))


def nested(p, x):
    return np.sum(np.tanh(x @ p["w"] + p["b"])) * p["n"]


def chunks():
    return da.from_array(X, chunks=(7, 3)), da.from_array(Y, chunks=7)


@pytest.fixture(autouse=True)
def _here():
    with dask.config.set(scheduler="synchronous"):
        yield


# The sum


def test_arrays_give_what_the_whole_data_give():
    value, gradient = parallel.value_and_grad(loss, chunks())(W)
    assert_same(value, float(loss(W, X, Y)), rtol=1e-12)
    assert_same(gradient, dr.grad(loss)(W, X, Y), rtol=1e-10, floor=1e-10)
    assert_same(float(parallel.value(loss, chunks())(W, 2.0)), float(loss(W, X, Y, 2.0)), rtol=1e-12)
    assert_same(parallel.grad(loss, chunks())(W, 2.0), dr.grad(loss)(W, X, Y, 2.0), rtol=1e-10, floor=1e-10)
    p = np.array([0.3, -1.0, 2.0])
    assert_same(parallel.hvp(loss, chunks())(W, p), dr.hvp(loss)(W, p, X, Y), rtol=1e-10)


def test_more_partitions_than_a_sum_has_branches_in_a_fixed_order():
    x = da.from_array(X, chunks=(1, 3))
    parameters = {"w": W, "b": 0.3, "n": 2, "unused": (np.zeros(2), None)}
    found = [parallel.value_and_grad(nested, x)(parameters) for _ in range(2)]
    assert found[0][0] == found[1][0]
    value, gradient = dr.value_and_grad(nested)(parameters, X)
    assert_same(found[0][0], float(value), rtol=1e-12, types=False)
    assert_same(found[0][1], gradient, rtol=1e-12)


def test_bags_dataframes_delayed():
    bag = db.from_sequence([1.0, 2.0, 3.0, 4.0, 5.0], npartitions=2)
    assert parallel.grad(lambda a, items: sum(a * a * x for x in items), bag)(2.0) == 60.0
    parts = [dask.delayed(np.arange)(k, dtype=float) for k in range(1, 4)]
    assert parallel.value_and_grad(lambda a, x: a * np.sum(x), parts)(2.0) == (8.0, 4.0)
    assert parallel.value(lambda a, x: 7, parts)(2.0) == 21.0
    pandas, dataframes = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = dataframes.from_pandas(pandas.DataFrame({"x": X[:, 0], "y": Y}), npartitions=3)
    found = parallel.grad(lambda a, rows: np.sum((rows.x.to_numpy() * a - rows.y.to_numpy()) ** 2), table)(2.0)
    assert_same(found, float(np.sum(2.0 * X[:, 0] * (X[:, 0] * 2.0 - Y))), rtol=1e-12)


def test_minimize_takes_it():
    data = chunks()
    value, slope = parallel.value_and_grad(loss, data), parallel.grad(loss, data)
    here = minimize(dr.value_and_grad(loss), np.zeros(3), (X, Y), jac=True, method="BFGS")
    assert_same(minimize(value, np.zeros(3), jac=True, method="BFGS").x, here.x, rtol=1e-5)
    product = parallel.hvp(loss, data)
    found = minimize(parallel.value(loss, data), np.zeros(3), (3.0,), jac=slope, hessp=product, method="trust-ncg")
    assert_same(found.x, here.x, rtol=1e-5)


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"got ndarray. Data that are here go to the workers once by client\.scatter"):
        parallel.value(loss, X)
    with pytest.raises(ValueError, match="the data have 6 and 4 partitions"):
        parallel.value(loss, (da.from_array(X, chunks=(7, 3)), da.from_array(Y, chunks=10)))
    with pytest.raises(ValueError, match="the data have 0 partitions"):
        parallel.value(loss, [])
    with pytest.raises(TypeError, match="expected 2 arguments at least"):
        parallel.hvp(loss, chunks())(W)
    with pytest.raises(dr.ArgumentError, match="nothing to differentiate"):
        parallel.grad(loss, chunks())(1)


def test_a_numba_function_that_is_refused_says_why():
    @njit
    def strange(w, x):
        with np.errstate(all="ignore"):
            return np.sum(x) * w[0]

    with pytest.raises(dr.UnsupportedError, match=r"test_dask\.py:\d+: .*with"):
        parallel.grad(strange, da.from_array(X[:, 0], chunks=20))(W)


# Workers in processes of their own


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


def mistaken(a, x):
    if x[0] == 2.0:
        raise KeyError("no such row")
    return a * np.sum(x)


def deadly(a, x, marker):
    """Kills its process, once."""
    if x[0] == 2.0:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return a * a * np.sum(x)


@pytest.mark.slow
def test_processes_futures_exceptions(client):
    x = da.from_array(np.repeat(np.arange(5.0), 2), chunks=2)
    futures = client.scatter([X[:20], X[20:]])
    p = {"w": W, "b": 0.3, "n": 2}
    value, gradient = parallel.value_and_grad(nested, futures, client)(p)
    expected = dr.value_and_grad(nested)(p, X)
    assert_same(value, float(expected[0]), rtol=1e-12, types=False)
    assert_same(gradient, expected[1], rtol=1e-12)
    with pytest.raises(KeyError, match="no such row"):
        parallel.value_and_grad(mistaken, x, client)(2.0)
    with pytest.raises(dr.ArgumentError):
        parallel.grad(mistaken, x, client)(2)


@pytest.mark.slow
def test_a_worker_that_is_killed(client, tmp_path):
    x = da.from_array(np.repeat(np.arange(5.0), 2), chunks=2)
    marker = tmp_path / "killed"
    assert parallel.value_and_grad(deadly, x, client)(3.0, str(marker)) == (180.0, 120.0)
    assert marker.exists()


def sum_of_squares(a, x):
    return a * np.sum(x * x)


@pytest.mark.slow
def test_data_that_are_larger_than_the_memory_of_a_worker():
    """1.2 GB in partitions of 40 MB, for one worker that may have 800 MB."""
    x = da.ones((30 * 5_000_000,), chunks=5_000_000) * 2.0
    with (
        distributed.LocalCluster(
            1, threads_per_worker=1, processes=True, memory_limit="800MB", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        assert x.nbytes > 800e6
        value, slope = parallel.value_and_grad(sum_of_squares, x, client)(3.0)
        assert_same((value, slope), (12.0 * x.size, 4.0 * x.size), rtol=1e-12, types=False)


CELL = """
@njit
def in_a_cell(w, x, y):
    total = 0.0
    for i in range(len(y)):
        e = -y[i]
        for j in range(len(w)):
            e += x[i, j] * w[j]
        total += scale[0] * e * e
    return total
"""


@pytest.mark.slow
def test_workers_without_the_source_and_without_a_cache(client, tmp_path, monkeypatch):
    """As a function in a notebook, whose cells the workers have not."""
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(tmp_path))  # of this process, and not of those
    linecache.cache["<cell>"] = len(CELL), None, CELL.splitlines(keepends=True), "<cell>"
    scope = {"njit": njit, "scale": (3.0, 1), "__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), scope)
    f = scope["in_a_cell"]
    value, gradient = parallel.value_and_grad(f, chunks(), client)(W)
    assert_same(value, float(3.0 * np.sum((X @ W - Y) ** 2)), rtol=1e-12)
    assert_same(gradient, 6.0 * X.T @ (X @ W - Y), rtol=1e-10)
    kinds = client.submit(_can_compile, dr.grad(f), W, X, Y).result()
    assert "source code cannot be found" in kinds


@njit
def plain(w, x):
    return np.sum(x) * w[0] * w[0]


@pytest.mark.slow
def test_workers_load_what_is_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(tmp_path))
    x = da.from_array(X[:, 0], chunks=20)
    with (
        distributed.LocalCluster(1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        dr.grad(plain)(W, X[:20, 0].copy())
        before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
        assert any(name.endswith(".nbc") for name in before)
        assert_same(parallel.grad(plain, x, client)(W)[0], float(np.sum(X[:, 0]) * 2.0 * W[0]), rtol=1e-12, types=False)
        assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


def _can_compile(slope, *args):
    try:
        slope(*args)
    except dr.UnsupportedError as error:
        return str(error)
    return ""


# Others than Dask


@njit
def of_numba(w, x):
    return np.sum(np.tanh(x) * w[0] * w[1])


@pytest.mark.slow
def test_joblib():
    joblib = pytest.importorskip("joblib")
    slope, parts = dr.value_and_grad(of_numba), np.array_split(X[:, 0], 3)
    w = np.array([2.0, 3.0])
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(slope)(w, part) for part in parts)
    value = sum(value for value, _ in found)
    gradient = dr.tree.map(lambda *gs: sum(gs), *(g for _, g in found))
    expected = slope(w, X[:, 0])
    assert_same(value, expected[0], rtol=1e-12)
    assert_same(gradient, expected[1], rtol=1e-12)


def test_the_examples_of_the_page_run():
    found = doctest.testfile(str(DOCS / "many_machines.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 10
