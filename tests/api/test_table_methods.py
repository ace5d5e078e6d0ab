"""Methods of tables under differentiation: both modes, second order, exact values, and what stays as it was."""

import numpy as np
import pytest

import dualrev as dr

pd = pytest.importorskip("pandas")

S = pd.Series([1.5, 0.7, 2.2, 0.4, 0.9, 3.1], index=list("abcdef"), name="v")
T = pd.DataFrame({"u": [1.0, 0.2, 0.4, 0.9, 1.7, 0.3], "w": [0.6, 1.1, 1.4, 0.3, 0.8, 2.2]}, index=list("abcdef"))
HOLES = pd.Series([1.0, 1.0, np.nan, 1.0, np.nan, 1.0], index=list("abcdef"))
NAMES = {
    "np": np,
    "pd": pd,
    "S": S,
    "T": T,
    "HOLES": HOLES,
    "G": list("xyxxyx"),
    "DAYS": pd.date_range("2026-01-01", periods=6, freq="12h"),
}
OF_SERIES = [
    *(
        "s.rolling(2).sum()",
        "s.rolling(3).mean()",
        "h.rolling(3, min_periods=1).std()",
        "h.rolling(3, min_periods=2).var()",
    ),
    *("s.rolling(4).skew()", "s.rolling(5).kurt()", "s.rolling(3).median()", "s.rolling(3, center=True).max()"),
    *(
        "h.rolling(3, min_periods=1).quantile(0.3)",
        "s.rolling(3).corr(s**2)",
        "s.rolling(3).cov(h)",
        "s.rolling(3).sem()",
    ),
    *("s.rolling(2).apply(lambda w: w.prod())", "s.rolling(2).apply(lambda w: np.prod(w), raw=True)"),
    *("h.expanding(2).mean()", "s.expanding(2).std()", "h.ewm(span=3).mean()", "h.ewm(com=1, adjust=False).mean()"),
    *("s.ewm(alpha=0.4).std()", "h.ewm(com=1, ignore_na=True).var(bias=True)", "s.ewm(alpha=0.5).corr(s**2)"),
    *(
        "s.groupby(G).sum()",
        "h.groupby(G).mean()",
        "h.groupby(G).std()",
        "s.groupby(G).median()",
        "s.groupby(G).prod()",
    ),
    *("h.groupby(G).cumsum()", "s.groupby(G).cumprod()", "s.groupby(G).rolling(2).sum()", "s.groupby(G).quantile(0.3)"),
    *(
        "s.groupby(G).transform('mean')",
        "s.groupby(G).skew()",
        "h.groupby(G).first()",
        "s.groupby(G).agg(['min', 'std'])",
    ),
    *(
        "s.skew()",
        "s.kurt()",
        "h.sem()",
        "s.quantile([0.2, 0.7])",
        "s.corr(S)",
        "s.cov(h)",
        "s.autocorr()",
        "s.describe()",
    ),
    *("h.interpolate()", "h.interpolate(limit_direction='both')", "h.ffill()", "h.fillna(h.mean())", "s.pct_change()"),
    *("s.set_axis(DAYS).resample('D').mean()", "s.set_axis(DAYS).rolling('36h').sum()", "s.clip(s.mean(), 2.0)"),
    *("s @ T", "s.dot(S)", "S.dot(s.to_numpy())", "np.dot(s, S)", "np.median(s)", "np.diff(s)", "np.linalg.norm(s)"),
    *("S.where(S > 1.0, s)", "S.mul(s.iloc[0])", "S.add(s.iloc[0], fill_value=0.0)", "h.add(S, fill_value=s.iloc[0])"),
    *("pd.Series(s.to_numpy() ** 2).std()", "pd.DataFrame(np.outer(s, s)).mean()", "S.map(lambda v: v * s['a'])"),
    *("T.mul(s, axis=0).std(axis=1)", "T.assign(z=s['a'])['z']", "s.nlargest(2)", "s.sort_values().cumsum()"),
]
OF_FRAME = [
    *("t.corr()", "t.cov()", "t.T", "t.T @ S", "t.dot(t.mean())", "t.stack()", "t.melt()['value']", "t.describe()"),
    *("t.rolling(3).std()", "t.ewm(span=3).mean()", "t.groupby(G).agg({'u': 'sum', 'w': 'std'})", "t.quantile(0.3)"),
    *("(t - t.mean()) / t.std()", "t.sum(axis=1)", "t.std(axis=1)", "t.skew()", "t.cumsum(axis=1)", "t.corrwith(S)"),
    *("t.pivot_table(index=pd.Series(G, t.index), values='u')", "t.apply(lambda r: r['u'] * r['w'], axis=1)"),
    *(
        "t.to_numpy() @ np.ones(2)",
        "t.where(t > 0.5, 0.1)",
        "np.hypot(t, T)",
        "t.merge(T, left_index=True, right_index=True)",
    ),
    *("t.groupby(G).apply(lambda g: g.mean() * g['u'].sum())", "t.max(axis=1)", "t.sem()", "t.unstack()"),
]


def run(line, argument):
    names = {**NAMES, "t": argument} if argument.ndim == 2 else {**NAMES, "s": argument, "h": argument * HOLES}
    return eval(line, names)


def total(y):
    """A sum of squares, in which each number has a weight of its own."""
    y = y.to_numpy() if isinstance(y, (pd.Series, pd.DataFrame)) else y
    return np.nansum((y * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y))) ** 2)


@pytest.mark.parametrize(("line", "argument"), [*((u, S) for u in OF_SERIES), *((u, T) for u in OF_FRAME)])
def test_both_modes_and_second_derivatives(line, argument):
    dr.check_grads(lambda a: total(run(line, a)), (argument,), order=2)


@pytest.mark.parametrize(
    "line",
    [
        *("t.sum()", "t.mean(axis=1)", "t.std()", "t.var(ddof=0)", "t.skew()", "t.kurt()", "t.sem()", "t.median()"),
        *(
            "t.rolling(7).sum()",
            "t.rolling(7).std()",
            "t.rolling(7).skew()",
            "t.expanding().var()",
            "t.ewm(span=5).std()",
        ),
        *("t.groupby(G).sum()", "t.groupby(G).std()", "t.groupby(G).cumsum()", "t.cumprod()", "t.corr()", "t.cov()"),
        *("t.quantile([0.3, 0.6])", "t.interpolate()", "t.describe()", "t.fillna(t.mean())", "t.stack().sum()"),
    ],
)
def test_values_are_those_of_pandas_to_the_last_bit(line):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(3.0, 1.0, (60, 3)), columns=list("abc")).mask(rng.random((60, 3)) < 0.2)
    f = lambda t: eval(line, {**NAMES, "t": t, "G": np.arange(60) % 7})  # noqa: E731
    found, expected = dr.jvp(f, (frame,), (frame.fillna(0.0),))[0], f(frame)
    if isinstance(expected, float):
        assert found == expected
    else:
        equal = pd.testing.assert_frame_equal if expected.ndim == 2 else pd.testing.assert_series_equal
        equal(found, expected, check_exact=True)


@pytest.mark.parametrize(
    ("line", "gradient"),
    [
        ("(s * HOLES).sum()", [1, 1, 0, 1, 0, 1]),
        ("(s * HOLES).mean() * 4", [1, 1, 0, 1, 0, 1]),
        ("(s * HOLES).fillna(0.0).sum()", [1, 1, 0, 1, 0, 1]),
        ("(s * HOLES).ffill().sum()", [1, 2, 0, 2, 0, 1]),
        ("(s * HOLES).interpolate().sum()", [1, 1.5, 0, 2, 0, 1.5]),
        ("(s * HOLES).rolling(2).sum().sum()", [1, 1, 0, 0, 0, 0]),
        ("(s * HOLES).rolling(2, min_periods=1).sum().sum()", [2, 2, 0, 2, 0, 1]),
        ("(s * HOLES).max()", [0, 0, 0, 0, 0, 1]),
        ("(s * HOLES).dropna().iloc[2]", [0, 0, 0, 1, 0, 0]),
    ],
)
def test_a_number_that_pandas_skips_has_the_derivative_0(line, gradient):
    found = dr.grad(lambda s: run(line, s))(S)
    np.testing.assert_allclose(found, gradient)


def test_constant_tables_stay_as_they_are():
    constant, frame = S.copy(), T.copy()
    dr.grad(
        lambda x: constant.clip(upper=x).sum() + frame.assign(z=x)["z"].sum() + (frame * x).rolling(2).sum().iloc[1, 0]
    )(0.5)
    pd.testing.assert_series_equal(constant, S)
    pd.testing.assert_frame_equal(frame, T)
    assert not hasattr(constant.dtype, "of_dualrev")


def test_pandas_is_the_same_outside_of_derivatives():
    """The functions that are wrapped do what they did, and tables are no arrays for other packages."""
    assert dr.grad(lambda x: (S * x).sum())(0.5) == S.sum()
    assert not hasattr(S, "__array_function__")
    assert type(np.median(S)) is np.float64
    assert type(np.diff(S)) is np.ndarray
    assert type(np.concatenate([S, S])) is np.ndarray
    assert np.clip(S, 0.5, 1.0).index.equals(S.index)
    assert S.rolling(2).mean().dtype == np.dtype(float)
    assert pd.isna([1.0, np.nan]).tolist() == [False, True]
    with pytest.raises(TypeError):
        np.dot(S, object())
    xr = pytest.importorskip("xarray")
    assert type(xr.DataArray(S).data) is np.ndarray


def test_the_value_of_a_table_is_a_plain_one():
    def f(t):
        plain = dr.value(t)
        pd.testing.assert_frame_equal(plain, T)
        assert isinstance(plain["u"].dtype, np.dtype)
        pd.testing.assert_series_equal(dr.value(t["u"]), T["u"])
        assert plain.to_csv() == T.to_csv()
        by = t.groupby(dr.value(t["u"]))["w"].sum()
        return by.loc[0.3] + t.set_index(plain["w"])["u"].loc[0.6]

    gradient = dr.grad(f)(T)
    assert (gradient.loc["f", "w"], gradient.loc["a", "u"], gradient.sum().sum()) == (1.0, 1.0, 2.0)
    assert dr.value(T) is T


def test_labels_are_constants():
    with pytest.raises(dr.UnsupportedError, match=r"labels are constants. Write dualrev.value\(s\)"):
        dr.grad(lambda t: t.set_index("u")["w"].sum())(T)
    gradient = dr.grad(lambda t: t.groupby(dr.value(t["u"]) > 0.5)["w"].max().sum())(T)
    assert gradient["w"].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]


@pytest.mark.skipif(pd.__version__ < "3", reason="tables of pandas 2 share memory: an operation is refused")
def test_a_table_that_is_changed_in_place():
    def f(x):
        s, t = S.copy(), T.copy()
        s *= x
        s["a"] = x**2
        s.iloc[1:3] = [x, 2.0]
        s[s > 3.0] = x
        t["z"] = x
        t.loc["b", "u"] = x
        t.iloc[0] = [x, 1.0, 2.0 * x]
        t.loc[t["w"] > 1.0, "w"] = s
        t.update(pd.Series([x], index=["f"], name="u"))
        return t.sum().sum() + s.sum() ** 2

    y, slope = dr.value_and_grad(f)(0.9)
    assert y == f(0.9)
    np.testing.assert_allclose(slope, (f(0.9 + 1e-6) - f(0.9 - 1e-6)) / 2e-6, rtol=1e-6)
