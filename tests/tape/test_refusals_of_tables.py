"""Refusals of pandas tables that other tests do not reach: the message has the operation and the line."""

import re

import numpy as np
import pytest

import dualrev as dr
from dualrev.errors import UnsupportedError

pd = pytest.importorskip("pandas")

V = np.array([1.5, 2.0, 3.0])
S = pd.Series([1.0, 2.0, 3.0])
D = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})

REFUSED = {
    # operations with what holds no floats
    "an index": (lambda x: np.multiply(x, pd.Index([1.0, 2.0, 3.0])).sum(), "an operation of a Index and an array"),
    "an array of pandas": (lambda x: (x * pd.array([1, 2, 3])).sum(), "an operation of a IntegerArray and an array"),
    "a column of ints that may be missing": (
        lambda x: (S * x + pd.Series([1, 2, None], dtype="Int64")).sum(),
        "Write r.astype(float) for that column r",
    ),
    "NA": (lambda x: (S * x + pd.NA).sum(), "add with a NAType"),
    "a date": (lambda x: (S * x + pd.Timestamp("2020-01-01")).sum(), "add with a Timestamp"),
    "complex numbers": (lambda x: (S * x + np.array([1j, 1.0, 1.0])).sum().real, "add with an array of complex128"),
    "a ufunc of two columns": (
        lambda x: np.add((S * x).array, pd.array([1, 2, 3])).sum(),
        "numpy.add with an array of another kind",
    ),
    "a column below one of complex numbers": (
        lambda x: pd.concat([S * x, pd.Series([1j])]).sum().real,
        "a column of floats beside one of complex128",
    ),
    "an array with other axes": (lambda x: (D * x.reshape(3, 1)).sum().sum(), "has no place for its labels"),
    # methods
    "text": (lambda x: (S * x).astype("category").cat.codes.sum() * x[0], "astype(category)"),
    "single precision": (lambda x: (S * x).astype("float32").sum(), "astype(float32)"),
    "a view of bits": (lambda x: (S * x).array.view("int64").sum() * x[0], "a view as int64"),
    "the most frequent number": (lambda x: (S * x).mode()[0], "Write dualrev.value(t).mode() for the table t"),
    "a file": (lambda x: (S * x).to_csv() and x[0], "Write dualrev.value(t).to_csv() for the table t"),
    "a traced array that pandas takes for one of numpy": (
        lambda x: pd.DataFrame(type("Rows", (list,), {})([x[0], 1.0])).sum().sum(),
        "Write pd.DataFrame({'a': x}) for the array x",
    ),
    "a dict in map": (lambda x: (S * x).map({1.5: 2.0}).sum(), "dualrev.value(s).map(d)"),
    "groups by numbers": (lambda x: (S * x).groupby(S * x).sum().sum(), "labels are constants"),
    "an option of a statistic": (
        lambda x: (S * x).array._reduce("std", min_count=3),
        "std with min_count",
    ),
    # ufuncs of tables
    "outer": (lambda x: np.add.outer(S, x).sum(), "numpy.add.outer of a table of pandas"),
    "where": (lambda x: np.add(S, x, where=[True, False, True]).sum(), "numpy.add of a table of pandas"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_line(name):
    f, words = REFUSED[name]
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(f)(V)
    assert words in re.sub("`.*?`", "", str(refused.value)), refused.value  # the line has the words, too
    assert "test_refusals_of_tables.py:" in str(refused.value)
    assert "Write " in str(refused.value)


def objects(x):
    """A column of objects that are numbers under differentiation: pandas itself refuses its statistics."""
    return pd.Series([x[0] * x[0], x[1], x[2]], dtype=object)


def numbers(x):
    """An array of them."""
    return dr.numpy.array(list(objects(x)))


#: A method that takes no objects, and the same with numpy.
OF_OBJECTS = {
    "sums of groups": (
        lambda x: objects(x).groupby([0, 0, 1]).cumsum().iloc[1],
        lambda x: np.cumsum(numbers(x))[1],
    ),
    "the largest": (lambda x: objects(x).nlargest(1).iloc[0], lambda x: np.sort(numbers(x))[-1]),
    "prices": (lambda x: objects(x).groupby([0, 0, 1]).ohlc().iloc[0, 1], lambda x: np.max(numbers(x)[:2])),
    "quantiles of groups": (
        lambda x: objects(x).groupby([0, 0, 1]).quantile(0.5).iloc[0],
        lambda x: np.quantile(numbers(x)[:2], 0.5),
    ),
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_what_pandas_refuses_of_objects_is_explained(name):
    f, cured = OF_OBJECTS[name]
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(f)(V)
    text = str(refused.value)
    assert "this method of a table cannot be differentiated: pandas computes it of plain numbers" in text
    assert "test_refusals_of_tables.py:" in text
    assert "Write it with numpy, of v = dualrev.numpy.array(list(s)) for a column s: np.quantile(v, 0.5)" in text
    dr.check_grads(cured, (V,), order=1)


def test_a_column_has_no_name_of_a_type():
    with pytest.raises(TypeError, match="'float64' is a type of plain numbers"):
        dr.grad(lambda x: (S * x).dtype.construct_from_string("float64") and x[0])(V)


def test_a_column_that_is_only_read_is_not_written():
    def f(x):
        column = (S * x).array
        column._readonly = True
        column[0] = 1.0
        return x[0]

    with pytest.raises(ValueError, match="read-only"):
        dr.grad(f)(V)
