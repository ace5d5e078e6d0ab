"""Tables of pandas and xarray: as constants, as arguments, in the value; gradients have their class and labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dualrev as dr
from dualrev import numpy as dnp

pd = pytest.importorskip("pandas")

IN_PLACE = pytest.mark.skipif(pd.__version__ < "3", reason="tables of pandas 2 share memory: an operation is refused")
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


@pytest.mark.parametrize("method", ["mean", "std", "var", "median", "sem", "prod", "min", "cummax", "cumprod"])
def test_statistics_are_those_of_pandas(method):
    """Statistics of a Series skip NaN and divide by n - 1, also if a constant Series is multiplied by a number."""
    weights = np.array([1.0, 0.5, 2.0])

    def f(s, b):
        made = getattr((s * 1.5).reset_index(drop=True), method)() * getattr(MISSING * b, method)()
        return np.dot(np.nan_to_num(made.to_numpy())[:3], weights) if isinstance(made, pd.Series) else made

    for x in (RETURNS, RETURNS.where(RETURNS > 0.0, 0.7)):
        y, gradient = dr.value_and_grad(f)(x, 0.5)
        assert_allclose(y, f(x, 0.5))
        assert_allclose(gradient, slopes(lambda s: f(s, 0.5), x), rtol=1e-6, atol=1e-8)
        assert_allclose(dr.grad(f, argnums=1)(x, 0.5), (f(x, 0.5 + 1e-6) - f(x, 0.5 - 1e-6)) / 2e-6, rtol=1e-6)


def slopes(f, x):
    """Central differences by each number of a Series."""
    made = x * 0.0
    for k in range(len(x)):
        step = pd.Series(np.where(np.arange(len(x)) == k, 1e-6, 0.0), index=x.index)
        made.iloc[k] = (f(x + step) - f(x - step)) / 2e-6
    return made


@pytest.mark.parametrize(
    "f",
    [
        lambda s: s.rolling(2, win_type="triang").mean().iloc[-1],
        lambda s: s.groupby([0, 0, 1]).quantile([0.2, 0.5]).sum(),
        lambda s: s.to_frame().rolling(2, method="table").apply(np.sum, raw=True, engine="numba").sum().sum(),
        lambda s: s.interpolate("nearest").sum(),
        lambda s: s.mode().sum(),
        lambda s: s.astype("float32").sum(),
        lambda s: s.convert_dtypes().sum(),
        lambda s: s.value_counts().sum(),
        lambda s: s.to_frame("x").set_index("x").index[0],
        lambda s: pd.get_dummies(s).sum().sum(),
        lambda s: pd.cut(s, 3).value_counts().sum(),
        lambda s: s.to_frame("x").groupby("x").size().sum(),
        lambda s: np.asarray(s).sum(),
        lambda s: np.array([s, s]).sum(),
        lambda s: len(s.to_csv()) * s.sum(),
        lambda s: len(s.to_json()) * s.sum(),
        lambda s: s.to_frame("x").to_records()[0][1],
        lambda s: s.to_frame("x").assign(g="p").T.iloc[0, 0],
    ],
)
def test_what_pandas_computes_of_floats_only_is_refused_by_line(f):
    with pytest.raises(dr.DualrevError, match=r"(?s)test_tables.py:\d+: .*Write .*(to_numpy\(\)|dualrev.value)"):
        dr.grad(f)(RETURNS)
    windows = lambda s: np.sum(np.std(np.lib.stride_tricks.sliding_window_view(s.to_numpy(), 2), axis=1))  # noqa: E731
    dr.check_grads(windows, (RETURNS,))


def test_a_table_keeps_its_labels_in_operations_with_one_of_its_numbers():
    assert_allclose(dr.grad(lambda s: (s / s.iloc[0] - 1.0).dropna().sum())(RETURNS), [15.0, 10.0, 10.0])
    assert_allclose(dr.grad(lambda s: (s["mon"] - s)["tue"])(RETURNS), [1.0, -1.0, 0.0])
    gradient = dr.grad(lambda t: (t[["x", "y"]] / t.loc["p", "x"]).loc["q", "y"])(FRAME)
    assert (gradient.loc["p", "x"], gradient.loc["q", "y"]) == (-0.1, 1.0)


def test_a_constant_table_that_meets_a_number_is_a_table():
    assert dr.grad(lambda x: (RETURNS - x).dropna().sum())(0.1) == -3.0
    labelled = lambda x: pd.Series(np.asarray(RETURNS - x, dtype=object), index=RETURNS.index)  # noqa: E731
    assert dr.grad(lambda x: labelled(x).dropna().sum())(0.1) == -3.0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dr.grad(lambda x: (RETURNS - x).nothing)(0.1)


def changed(table, change):
    """A copy of a table after a change of it in place."""
    table = table.copy()
    change(table)
    return table


ORDERED = pd.Series([1.0, 2.0, 4.0], index=[2, 1, 0])
KNOWN = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 7.0]})
MISSING = pd.Series([1.0, np.nan, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda b: (ORDERED * b).std() + (ORDERED * b).var(),
        lambda b: ((KNOWN * b).mean() ** 2).sum(),
        lambda b: (ORDERED * b + MISSING * b).iloc[0],  # by label
        lambda b: (ORDERED * b)[0],
        lambda b: (MISSING * b).sum() + (b * MISSING).mean() + (MISSING / b).max(),
        lambda b: (b - MISSING).std(),
        lambda b: (KNOWN * b).max(),
        lambda b: (KNOWN * b).sum(axis=1).std(),
        lambda b: (KNOWN * b)["a"],
        lambda b: (KNOWN * b) + KNOWN.iloc[:2],
        lambda b: np.std(ORDERED * b) + np.sum(MISSING * b) + np.mean(MISSING - b),
        lambda b: (ORDERED * b).values.std(ddof=0) + np.median((ORDERED * b).to_numpy()),
        lambda b: ORDERED.apply(lambda v: v * b).std() + MISSING.map(lambda v: v * b).sum(),
        lambda b: KNOWN.apply(lambda row: row["a"] * b, axis=1).std(),
        lambda b: KNOWN.groupby([0, 1, 0]).apply(lambda g: (g["a"] * b).sum()).std(),
        lambda b: pd.Series([b, MISSING.iloc[1] * b, 2.0]).sum() + pd.Series([b, 2.0 * b]).std(),
        lambda b: pd.DataFrame({"a": [b, 2.0], "n": [1, 2]}).sum(numeric_only=True),
        lambda b: (np.array([b, 1.0, b]) * MISSING).sum() + (MISSING - np.array([b, b, 2.0])).std(),
        lambda b: np.maximum(MISSING, np.array([b, b, 2.0])).sum() + np.fmin(np.array([2.0, b, b]), MISSING).mean(),
        lambda b: KNOWN.assign(z=KNOWN["a"] * b).select_dtypes("number").sum(),
        lambda b: (KNOWN * b).groupby([0, 1, 0]).agg(["mean", "std"]),
        lambda b: pd.concat([ORDERED * b, ORDERED + 0.3]).sort_values(ascending=False).reset_index(drop=True),
        lambda b: KNOWN.merge(KNOWN.assign(b=KNOWN["b"] * b), on="a", how="left", suffixes=("", "_")),
        lambda b: (MISSING * b).fillna(0.0).cumsum(),
        lambda b: KNOWN["a"].mul(b).rank() * b,
        lambda b: (ORDERED * b).dtype == float and ORDERED * b,
        lambda b: KNOWN.mul(b).sum().sum(),
        lambda b: ORDERED.clip(upper=b).sum(),
        lambda b: ORDERED.where(ORDERED > 1.0, b).sum(),
        lambda b: ORDERED.fillna(b).sum() + MISSING.fillna(b).sum(),
        lambda b: KNOWN.assign(z=b).sum().sum(),
        pytest.param(lambda b: changed(ORDERED, lambda s: s.__setitem__(0, b)).sum(), marks=IN_PLACE),
        pytest.param(lambda b: changed(ORDERED, lambda s: s.__imul__(b)).sum(), marks=IN_PLACE),
        lambda b: np.clip(ORDERED, b, 2.0).sum(),
        lambda b: pd.Series(b * np.arange(2.0)).std(),
        lambda b: pd.Series(b, index=[0, 1]).mean(),
        lambda b: pd.isna(b * np.nan) * b,
        lambda b: (ORDERED * b).isin([7.0]).sum() * b,
        lambda b: (ORDERED * b).nunique() * b,
    ],
)
def test_a_table_means_under_differentiation_what_it_means_by_itself(f):
    """ddof, NaN, alignment by labels, columns: class, labels and numbers are those of the plain run."""
    y, slope = dr.jvp(f, (0.5,), (1.0,))
    ahead, behind = f(0.5 + 1e-6), f(0.5 - 1e-6)
    if isinstance(y, float):
        assert_allclose(y, f(0.5))
        assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)
    else:
        equal = pd.testing.assert_frame_equal if isinstance(y, pd.DataFrame) else pd.testing.assert_series_equal
        equal(y, f(0.5))
        equal(slope.where(y.notna()), (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)


def test_pandas_has_the_functions_that_are_wrapped():
    """Another pandas may have other names for them."""
    assert dr.grad(lambda x: x * x)(1.0) == 2.0
    for function in (pd._libs.lib.maybe_convert_objects, pd.core.ops.array_ops._na_arithmetic_op):
        assert function.of_dualrev
    assert pd.core.arraylike.extract_array.of_dualrev
    assert pd.core.arraylike.array_ufunc.of_dualrev


def test_a_dataframe_and_an_array_of_objects_in_a_ufunc_are_refused():
    """numpy's loop over objects loses NaN: it gave 0.5 in its place."""
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [2.0, 3.0]})
    for f in (lambda x: np.maximum(frame, np.array([x, x])), lambda x: np.fmin(np.array([x, x]), frame)):
        with pytest.raises(dr.UnsupportedError, match=r"test_tables.py:\d+: .*Write dualrev\.numpy\.array"):
            dr.jvp(f, (0.5,), (1.0,))
    value, slope = dr.jvp(lambda x: frame * dnp.array([x, x]), (0.5,), (1.0,))
    pd.testing.assert_frame_equal(value, frame * 0.5)
    pd.testing.assert_frame_equal(slope.where(value.notna()), frame)


def test_values_are_an_array_for_numpy():
    """`values` of a column works with numpy's methods and functions."""
    weights = np.array([1.0, 0.5, 2.0])

    def f(b):
        v = (ORDERED * b).values
        w = v.reshape(3, 1) @ v.reshape(1, 3)
        return (
            v @ weights
            + weights @ v
            + np.median(v)
            + v.mean() * v[1]
            + np.sum(w)
            + np.stack([v, v]).max()
            + np.sum(v * np.ones((2, 3)))
        )

    y, slope = dr.value_and_grad(f)(0.5)
    assert_allclose(y, f(0.5))
    assert_allclose(slope, (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6, rtol=1e-6)
    y, gradient = dr.vjp(lambda b: (ORDERED * b).values, 0.5)
    assert type(y) is np.ndarray
    assert gradient(weights)[0] == 10.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (ORDERED.index * x).to_numpy().sum(),
        lambda x: pd.Index([x, 2.0 * x]).max(),
        lambda x: KNOWN.eval("a * @x").sum(),
        lambda x: (pd.Series([1.0, 2.0], dtype="Float64") * x).sum(),
        lambda x: (pd.Series([1.0, 2.0], dtype=object) * x).sum(),
        lambda x: (MISSING * x).values.mean(),
        lambda x: (ORDERED * x).array.std(),
        lambda x: (KNOWN.assign(a=MISSING) * x).assign(s="p").iloc[1].drop("s").sum(),  # a row of objects
    ],
)
def test_where_pandas_would_take_a_number_for_an_object_it_is_refused(f):
    with pytest.raises(dr.DualrevError, match=r"test_tables.py:\d+") as found:
        dr.grad(f)(0.5)
    assert "Write" in str(found.value) or "Use" in str(found.value)


def test_the_cures_of_refused_operations_work():
    assert dr.grad(lambda x: (KNOWN * x).sum().sum())(0.5) == 22.0
    assert dr.grad(lambda x: pd.Series(list(x * np.ones(2)), index=["a", "b"]).sum())(0.5) == 2.0
    assert dr.grad(lambda x: pd.Series([x] * 2, index=["a", "b"]).sum())(0.5) == 2.0
    assert dr.grad(lambda x: pd.DataFrame({"q": [x] * 2}, index=[0, 1])["q"].sum())(0.5) == 2.0
    assert dr.grad(lambda x: np.clip((ORDERED * x).to_numpy(), 0.0, 1.0).sum())(0.4) == 3.0
    assert dr.grad(lambda x: np.column_stack([(KNOWN * x)[c].to_numpy() for c in KNOWN]).sum())(0.5) == 22.0
    assert dr.grad(lambda x: (MISSING * x).mean())(0.5) == 2.0
    assert dr.grad(lambda x: np.minimum(ORDERED, x).sum())(1.5) == 2.0
    assert dr.grad(lambda x: changed(KNOWN, lambda t: t.__setitem__("z", [x] * len(t)))["z"].sum())(0.5) == 3.0
    assert_allclose(dr.grad(lambda x: (KNOWN.to_numpy() @ x).sum())(np.ones(2)), [6.0, 16.0])
    assert dr.grad(lambda x: (pd.Series([1.0, 2.0], dtype="Float64").to_numpy(float) * x).sum())(0.5) == 3.0
    windows = np.lib.stride_tricks.sliding_window_view
    f = lambda s: np.sum(np.mean(windows(s.to_numpy(), 2), axis=1) ** 2)  # noqa: E731
    assert_allclose(dr.value_and_grad(f)(RETURNS)[0], (RETURNS.rolling(2).mean() ** 2).sum())


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


def test_a_data_array_means_under_differentiation_what_it_means_by_itself():
    xr = pytest.importorskip("xarray")
    grid = xr.DataArray([[1.0, 2.0, np.nan], [3.0, 4.0, 7.0]], dims=("t", "k"), coords={"t": [10, 20]})
    other = xr.DataArray([1.0, 3.0], dims=("t",), coords={"t": [20, 30]})
    for f in (
        lambda x: (grid * x).mean() + (x * grid).std() + (grid * x).sum("t").max(),
        lambda x: (grid * x + other * x).sum("k"),  # by name and by label
        lambda x: np.maximum(grid, x) * (grid * x).isel(t=0),
        lambda x: (grid * x).groupby("t").mean() - xr.where(grid > 1.0, x, grid).sum("k"),
        lambda x: (grid * x).fillna(0.0).values.ravel() * (grid * x).sum().item(),
        lambda x: (grid.to_dataset(name="p") * x)["p"].mean("t"),
    ):
        y, slope = dr.jvp(f, (0.5,), (1.0,))
        expected, numerical = f(0.5), (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6
        assert type(y) is type(expected)
        if isinstance(y, xr.DataArray):
            xr.testing.assert_allclose(y, expected)
        assert_allclose(y, expected)
        assert_allclose(np.where(np.isnan(y), np.nan, slope), numerical, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda xr, grid, x: (grid * x).values,
        lambda xr, grid, x: (grid * x).quantile(0.3),
        lambda xr, grid, x: xr.DataArray([x, np.nan * x]).sum(),
        lambda xr, grid, x: np.clip(grid, x, 2.0),
        lambda xr, grid, x: (grid * x).to_series().sum(),
    ],
)
def test_what_xarray_computes_of_plain_floats_is_refused_by_line(f):
    xr = pytest.importorskip("xarray")
    grid = xr.DataArray([1.0, np.nan], dims="t")
    with pytest.raises(dr.DualrevError, match=r"test_tables.py:\d+"):
        dr.vjp(lambda x: f(xr, grid, x), 0.5)
    assert_allclose(dr.grad(lambda x: np.nansum((grid * x).data))(0.5), 1.0)


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


def test_a_jacobian_by_columns_with_one_label_is_refused():
    """A dict has an entry for each label: the derivatives of the other columns would be lost."""
    t = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["u", "u"])

    def f(t):
        return t.to_numpy().prod(axis=1)

    for derivative in (dr.jacobian(f), dr.jacfwd(f), dr.hessian(lambda t: f(t).sum())):
        with pytest.raises(dr.LeafError, match=r"same label.* Write t\.set_axis\(range\(t\.shape\[1\]\), axis=1\)"):
            derivative(t)
    made = dr.jacobian(f)(t.set_axis(range(t.shape[1]), axis=1))
    assert [u.tolist() for u in made.values()] == [[[2.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 3.0]]]
    assert dr.grad(lambda t: f(t).sum())(t).to_numpy().tolist() == [[2.0, 1.0], [4.0, 3.0]]


def test_jacobians_have_no_labels():
    """They have more axes than a table has labels for."""
    p = np.array([0.5, 2.0])
    assert_allclose(dr.jacobian(lambda p: pd.Series([p[0], 2.0 * p[1]], index=["a", "b"]))(p), np.diag([1.0, 2.0]))
    assert_allclose(dr.hessian(lambda s: (s**2).sum())(RETURNS), 2.0 * np.eye(3))
    found = dr.jacobian(lambda t: t["x"] * t["y"])(FRAME)
    assert (list(found), found["n"]) == (["x", "n", "y", "s"], None)
    assert_allclose(found["x"], np.diag(FRAME["y"]))


@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_arrays_and_rows_of_a_frame_with_any_number_of_columns(columns):
    frame = KNOWN[columns]
    for f in (
        lambda x: np.sum((frame * x).to_numpy() ** 2),
        lambda x: sum(row["a"] ** 2 * row.sum() for _, row in (frame * x).iterrows()),
        lambda x: sum(row.a**2 for row in (frame * x).itertuples()),
        lambda x: np.sum((frame * x).values ** 2),
    ):
        dr.check_grads(f, (0.7,))
    assert dr.grad(lambda x: (MISSING.to_frame("a") * x).to_numpy()[0, 0])(0.5) == 1.0


def test_tables_with_nan_can_be_printed():
    """As those without: a table under differentiation is printed with the digits of its numbers."""

    def printed(x):
        texts = [str(MISSING * x), repr(MISSING.to_frame("x") * x), (KNOWN * x).to_string(), f"{MISSING * x}"]
        assert all(isinstance(text, str) and text for text in texts)
        assert all("nan" in text.lower() for text in texts[:2])
        return (MISSING * x).sum()

    assert dr.grad(printed)(0.5) == MISSING.sum()


def test_columns_that_pandas_converts_to_floats_are_constants():
    """Int64 with NA and categories of floats: `to_numpy` makes floats of them, but they mean something else."""
    t = pd.DataFrame({"u": [1.0, 2.0, 4.0], "i": pd.array([1, None, 3], dtype="Int64")})
    t["c"] = pd.Categorical([0.5, 1.5, 0.5])

    def f(t):
        assert t["i"].dtype == "Int64"
        return t.select_dtypes("float").sum().sum() * t.groupby("c", observed=True)["u"].sum().prod()

    value, gradient = dr.value_and_grad(f)(t)
    assert value == f(t) == 70.0
    assert gradient["u"].tolist() == [24.0, 45.0, 24.0]
    assert gradient[["i", "c"]].isna().all(axis=None)
    for name in "ic":
        with pytest.raises(dr.ArgumentError, match="no real scalar"):
            dr.grad(lambda s: s.astype(float).sum())(t[name])
    assert dr.grad(lambda s: (s * s).sum())(pd.Series([1.0, None], dtype="Float64")).tolist() == [2.0, 0.0]
