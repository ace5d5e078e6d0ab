"""Lines of pandas under differentiation, against the plain run: right, or refused with line and cure."""

import linecache
import warnings
from pathlib import Path

import numpy as np
import pytest

import dualrev as dr

pd = pytest.importorskip("pandas")

TEXT = (Path(__file__).parents[1] / "programs" / "table_lines.txt").read_text(encoding="utf-8")
RIGHT, REFUSED = (part.strip().splitlines() for part in TEXT.split("# refused"))
PANDAS_3 = int(pd.__version__.split(".")[0]) >= 3
X, STEP = 0.8137, 1e-6
NAMES = {
    "S0": pd.Series([1.5, -0.7, 2.2, 0.4, 0.9, -1.1], index=list("abcdef"), name="v"),
    "N0": pd.Series([1.2, np.nan, 0.8, -0.5, np.nan, 0.3], index=list("abcdef"), name="n"),
    "T0": pd.DataFrame(
        {"u": [1.0, 0.2, -0.4, 0.9, 1.7, 0.3], "w": [0.6, np.nan, 1.4, -0.3, 0.8, 2.2]}, index=list("abcdef")
    ),
    "D0": pd.Series([1.0, 2.5, np.nan, 4.0, 2.0, 3.0], index=pd.date_range("2026-01-01", periods=6, freq="12h")),
    "M0": pd.DataFrame(
        {"u": [1.0, 2.0, 0.5, 0.3, 0.9, 1.3], "n": range(1, 7), "g": list("xyxyxx")}, index=list("abcdef")
    ),
    "I": pd.Series([3, 1, 2, 4, 6, 5], index=list("abcdef")),
    "A": np.array([0.4, -1.2, 0.9, 1.6, 0.2, -0.3]),
    "G": ["x", "y", "x", "x", "y", "x"],
    "NAN": np.nan,
    "np": np,
    "pd": pd,
}


def run(line, x):
    """The value of a line, in which s, n, t, d and m are the tables times x."""
    names = {key: u.copy() if isinstance(u, (pd.Series, pd.DataFrame)) else u for key, u in NAMES.items()}
    names |= {key.lower(): names[f"{key}0"] * x for key in "SNTD"} | {"x": x}
    names["m"] = names["M0"].assign(u=names["M0"]["u"] * x)
    *steps, last = line.split("; ")
    for step in steps:
        exec(compile(step, "<table line>", "exec"), names)
    return eval(compile(last, "<table line>", "eval"), names)


def numbers(y):
    """All floats in a value."""
    if isinstance(y, (list, tuple)):
        return np.concatenate([np.zeros(0), *map(numbers, y)])
    if isinstance(y, pd.DataFrame):
        return np.concatenate([np.zeros(0), *(numbers(y.iloc[:, k]) for k in range(y.shape[1]))])
    dtype = getattr(y, "dtype", np.dtype(float))
    plain = isinstance(dtype, np.dtype) and dtype.kind == "f"
    return np.ravel(np.asarray(y, float)) if plain else np.zeros(0)


def assert_same(found, expected):
    """Class, labels, dtypes and numbers; those of a product or a sum up to the last digits."""
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(found, expected, rtol=1e-13)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected, rtol=1e-13)
    else:
        assert type(found) is type(expected) or isinstance(found, float)
        np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-13)


def check(line):
    expected = run(line, X)
    y, slope = dr.jvp(lambda x: run(line, x), (X,), (1.0,))
    assert_same(y, expected)
    numerical = (numbers(run(line, X + STEP)) - numbers(run(line, X - STEP))) / (2.0 * STEP)
    finite = np.isfinite(numerical)
    np.testing.assert_allclose(numbers(slope)[finite], numerical[finite], rtol=1e-5, atol=1e-7)


def failures(lines, test):
    """The lines that fail, with the reason; lines that this pandas does not have are left out."""
    found = []
    for line in lines:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                run(line, X)
            except Exception:
                continue
            try:
                test(line)
            except Exception as error:
                # pandas 2 computes less of extension arrays, and tries agg(f) with each number first
                if PANDAS_3 or not (isinstance(error, dr.DualrevError) or "S0.agg(" in line):
                    found.append(f"{line}: {type(error).__name__}: {error}")
    return "\n".join(found)


def test_lines_are_right():
    assert len(RIGHT) > 900
    assert not (wrong := failures(RIGHT, check)), wrong


def test_sums_of_the_array_of_a_table_are_those_of_pandas():
    """To the last digit: the traced array has the order in memory that pandas' array has."""
    numbers = np.random.default_rng(0).normal(size=(20, 7, 5))
    for f in (
        lambda t: t.to_numpy().sum(),
        lambda t: np.mean(t.values),
        lambda t: t.iloc[1:].to_numpy().sum(axis=0)[0],
    ):
        for u in numbers:
            t = pd.DataFrame(dict(enumerate(u.T)))
            assert dr.value_and_grad(f)(t)[0] == f(t)


def test_covariances_and_correlations_are_those_of_pandas():
    """To the last digit, though numpy computes them by a matrix product."""
    numbers = np.random.default_rng(0).normal(size=(20, 9, 4))
    for f in (
        lambda t: t[0].corr(t[1]),
        lambda t: t[0].cov(t[1], ddof=0),
        lambda t: t[0].autocorr(),
        lambda t: t.cov().iloc[0, 1],
        lambda t: t.corr().iloc[1, 2],
        lambda t: t.corrwith(t[0] * t[1]).iloc[1],
    ):
        for u in numbers:
            t = pd.DataFrame(dict(enumerate(u.T)))
            assert dr.value_and_grad(f)(t)[0] == f(t)
            assert dr.value_and_grad(f)(t.where(t < 1.5))[0] == f(t.where(t < 1.5))


#: Statistics whose terms cancel: pandas and numpy round them differently.
CANCELLING = {
    "sum": lambda s: (s - s.mean()).sum(),
    "mean": lambda s: (s - s.mean()).mean(),
    "a table": lambda s: pd.DataFrame({"a": s - s.mean(), "b": s}).sum().iloc[0],
    "groups": lambda s: (s - s.groupby(np.arange(40) % 2).transform("mean")).groupby(np.arange(40) % 2).sum().sum(),
    "quantile": lambda s: (s - s.quantile(0.3)).quantile(0.3),
    "skew": lambda s: pd.concat([s, -s]).skew(),
    "a window": lambda s: (pd.Series([4.0, 2.0, 3.0]) * s.iloc[1]).rolling(3).skew().sum(),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_sums_that_cancel_have_the_value_of_pandas(name):
    f = CANCELLING[name]
    numbers = np.random.default_rng(1).normal(size=40)
    s = pd.Series(np.where(np.arange(40) % 7, numbers, np.nan))
    direction = pd.Series(np.cos(np.arange(40.0)))
    y, slope = dr.jvp(f, (s,), (direction,))
    assert y == f(s)
    assert abs(y) < 1e-14
    np.testing.assert_allclose(slope, (f(s + STEP * direction) - f(s - STEP * direction)) / (2.0 * STEP), atol=1e-8)
    np.testing.assert_allclose((dr.grad(f)(s) * direction).sum(), slope, atol=1e-12)


def test_lines_are_refused_with_line_and_cure():
    def refused(line):
        with pytest.raises(dr.DualrevError) as found:
            dr.jvp(lambda x: run(line, x), (X,), (1.0,))
        assert "<table line>:1" in str(found.value), found.value
        assert "Write " in str(found.value) or "Use " in str(found.value), found.value

    linecache.cache.pop("<table line>", None)
    assert not (wrong := failures(REFUSED, refused)), wrong
