"""Tables of pandas and xarray: as constants, as arguments, in the value; gradients have their class and labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dualrev as dr

pd = pytest.importorskip("pandas")

RETURNS = pd.Series([0.1, -0.2, 0.05], index=["mon", "tue", "wed"], name="returns")
FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0], "n": [1, 2, 3], "y": [0.5, 0.1, 0.2], "s": list("abc")}, index=list("pqr"))


def likelihood(p, returns):
    z = (returns - p[0]) / np.exp(p[1])
    return -0.5 * np.sum(z * z) - len(returns) * p[1]


def test_a_series_as_a_constant():
    p = np.array([0.1, -1.0])
    assert_allclose(dr.grad(likelihood)(p, RETURNS), dr.grad(likelihood)(p, RETURNS.to_numpy()))
    for f in (
        lambda x: np.sum(RETURNS * x[0] + x[0] * RETURNS + x[0] / RETURNS),
        lambda x: np.sum(RETURNS * x + x * RETURNS - x - RETURNS),
        lambda x: np.sum(FRAME[["x", "y"]].to_numpy() @ x[:2]),
        lambda x: np.sum(np.maximum(RETURNS, x) ** 2),
    ):
        dr.check_grads(f, (np.array([0.3, -0.5, 2.0]),))


@pytest.mark.parametrize("method", ["mean", "std", "var", "median"])
def test_what_pandas_computes_of_plain_numbers_is_refused_by_line(method):
    with pytest.raises(
        dr.UnsupportedError, match=r"test_tables.py:\d+: .* of a table .*Write it with numpy, as np\.mean"
    ):
        dr.grad(lambda s: getattr(s, method)())(RETURNS)
    assert_allclose(dr.grad(lambda s: np.mean(s.to_numpy()))(RETURNS), np.full(3, 1 / 3))


@pytest.mark.parametrize(
    "f",
    [
        lambda s: s.rolling(2).mean().iloc[-1],
        lambda s: s.to_frame().rolling(2).mean().iloc[-1, 0],
        lambda s: s.ewm(alpha=0.5).mean().iloc[-1],
        lambda s: s.groupby([0, 0, 1]).mean().iloc[0],
        lambda s: s.interpolate().sum(),
        lambda s: s.nlargest(2).sum(),
    ],
)
def test_windows_groups_and_the_like_are_refused_by_line(f):
    with pytest.raises(dr.UnsupportedError, match=r"test_tables.py:\d+: .* of a table .*sliding_window_view"):
        dr.grad(f)(RETURNS)
    windows = lambda s: np.sum(np.std(np.lib.stride_tricks.sliding_window_view(s.to_numpy(), 2), axis=1))  # noqa: E731
    dr.check_grads(windows, (RETURNS,))


def test_a_table_keeps_its_labels_in_operations_with_one_of_its_numbers():
    assert_allclose(dr.grad(lambda s: (s / s.iloc[0] - 1.0).dropna().sum())(RETURNS), [15.0, 10.0, 10.0])
    assert_allclose(dr.grad(lambda s: (s["mon"] - s)["tue"])(RETURNS), [1.0, -1.0, 0.0])
    gradient = dr.grad(lambda t: (t[["x", "y"]] / t.loc["p", "x"]).loc["q", "y"])(FRAME)
    assert (gradient.loc["p", "x"], gradient.loc["q", "y"]) == (-0.1, 1.0)


def test_an_array_has_no_methods_of_a_table():
    with pytest.raises(
        dr.UnsupportedError, match=r"test_tables.py:\d+: .*dropna of an array .*pd\.Series\(np\.asarray"
    ):
        dr.grad(lambda x: (RETURNS - x).dropna().sum())(0.1)
    labelled = lambda x: pd.Series(np.asarray(RETURNS - x, dtype=object), index=RETURNS.index)  # noqa: E731
    assert dr.grad(lambda x: labelled(x).dropna().sum())(0.1) == -3.0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dr.grad(lambda x: (RETURNS - x).nothing)(0.1)


def test_a_series_that_is_differentiated():
    def f(s):
        return s["mon"] ** 2 * s.sum() + np.exp(s).iloc[1] + (2.0 * s).max() + len(s.index) * s.iloc[2]

    gradient = dr.grad(f)(RETURNS)
    assert isinstance(gradient, pd.Series)
    assert (list(gradient.index), gradient.name, gradient.dtype) == (["mon", "tue", "wed"], "returns", np.float64)
    dr.check_grads(f, (RETURNS,))
    y, pullback = dr.vjp(lambda s: 2.0 * s, RETURNS)
    pd.testing.assert_series_equal(y, 2.0 * RETURNS)
    pd.testing.assert_series_equal(pullback(RETURNS)[0], 2.0 * RETURNS)


def test_a_frame_that_is_differentiated():
    def f(t):
        return (t["x"] * t["y"] * t["n"]).sum() + t.loc["q", "x"] ** 3 * len(t["s"].iloc[0])

    gradient = dr.grad(f)(FRAME)
    assert list(gradient.columns) == ["x", "n", "y", "s"]
    assert_allclose(gradient["x"], FRAME["y"] * FRAME["n"] + [0.0, 12.0, 0.0])
    assert_allclose(gradient["y"], FRAME["x"] * FRAME["n"])
    assert gradient["n"].isna().all()
    assert list(gradient.index) == list("pqr")


def test_a_series_of_ints_is_a_constant():
    with pytest.raises(dr.ArgumentError, match=r"Write np\.asarray\(x\) for an array of pandas"):
        dr.grad(lambda s: s.sum())(pd.Series([1, 2]))


def test_a_data_array():
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("time", "place"), coords={"place": list("abc")})
    gradient = dr.grad(lambda a: (a * a).sum().item() * 2.0 + a.sel(place="b").sum().item())(x)
    assert gradient.dims == ("time", "place")
    assert_allclose(gradient.to_numpy(), 4.0 * x.to_numpy() + [[0.0, 1.0, 0.0]] * 2)


def test_a_dataset_is_passed_as_its_arrays():
    xr = pytest.importorskip("xarray")
    data = xr.Dataset({"a": ("t", [1.0, 2.0]), "b": ("t", [3.0, 4.0]), "n": ("t", [1, 2])}, coords={"t": [10, 20]})
    f = lambda x: (x["a"] * x["b"]).sum()  # noqa: E731
    with pytest.raises(dr.ArgumentError, match=r"Write dict\(x\.data_vars\) for a Dataset"):
        dr.grad(f)(data)
    gradient = dr.grad(f)(dict(data.data_vars))
    assert_allclose(gradient["a"], data["b"])
    assert (list(gradient["b"].coords["t"]), gradient["n"]) == ([10, 20], None)


def test_a_sum_with_a_label_is_a_number():
    xr = pytest.importorskip("xarray")
    grid = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("t", "k"), coords={"t": [10, 20]})
    value, gradient = dr.value_and_grad(lambda x: (x**2).sum())(grid)
    assert (float(value), list(gradient.coords["t"]), gradient.dims) == (30.0, [10, 20], ("t", "k"))
    assert_allclose(gradient, 2.0 * grid)
    assert dr.grad(lambda a: (grid * a).sum())(0.5) == 10.0
    with pytest.raises(dr.ScalarError, match="shape"):
        dr.grad(lambda x: x.isel(t=0))(grid)


def test_jacobians_have_no_labels():
    """They have more axes than a table has labels for."""
    p = np.array([0.5, 2.0])
    assert_allclose(dr.jacobian(lambda p: pd.Series([p[0], 2.0 * p[1]], index=["a", "b"]))(p), np.diag([1.0, 2.0]))
    assert_allclose(dr.hessian(lambda s: (s**2).sum())(RETURNS), 2.0 * np.eye(3))
    found = dr.jacobian(lambda t: t["x"] * t["y"])(FRAME)
    assert (list(found), found["n"]) == (["x", "n", "y", "s"], None)
    assert_allclose(found["x"], np.diag(FRAME["y"]))
