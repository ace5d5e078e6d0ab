"""A column of a table of pandas that holds numbers under differentiation: an extension array of pandas.

    Column = RealArray, as pandas asks for it

pandas keeps the labels and decides what an operation means: alignment, ddof, skipna, groups. It asks its arrays for the
rest, which is little: elements at places, elementwise functions, reductions, where numbers are missing. What a column
is not asked for here, and what pandas computes of an array of floats only, is an error.

`Series.values` gives the user such a column where it gives numpy's array otherwise. So whatever pandas does not ask
for, methods and numpy's functions, is that of the RealArray.

This module imports pandas: it is imported for who has done so. callers.py says which function of pandas asks.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas._libs import lib
from pandas.api.extensions import ExtensionArray, ExtensionScalarOpsMixin, take

from dualrev.diagnostics.user_lines import is_of_user
from dualrev.eager.arrays.memory.storage import Holder, RealArray, real_array, to_objects
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.tables.boxes import as_number, as_numbers, is_missing, is_scalar, opened, unboxed
from dualrev.eager.tables.callers import (
    beside_constants,
    called_by,
    for_text,
    for_xarray,
    in_a_row_of_objects,
)
from dualrev.eager.tables.dtype import DTYPE, ColumnDtype
from dualrev.eager.tables.groups import of_groups
from dualrev.eager.tables.kinds import refused
from dualrev.eager.tables.statistics import (
    REDUCED,
    accumulated,
    interpolated,
    magnitude,
    quantile,
    reduced,
    with_value,
    with_values,
)
from dualrev.errors import UnsupportedError

__all__ = ["Column", "of_values"]


class Column(ExtensionScalarOpsMixin, ExtensionArray, Holder):
    """An extension array of pandas: a vector of numbers under differentiation."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, numbers: Any) -> None:
        self.numbers: RealArray = numbers if isinstance(numbers, RealArray) else RealArray(np.asarray(numbers, float))
        assert self.numbers.ndim == 1

    # What pandas has to know of an array

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Column:
        made = as_numbers(scalars)
        return cls(made.copy() if copy else made)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Column]) -> Column:
        return cls(np.concatenate([column.numbers for column in to_concat]))

    @property
    def dtype(self) -> ColumnDtype:
        """The type of columns."""
        return DTYPE

    @property
    def nbytes(self) -> int:
        """The bytes of the values."""
        return self.numbers.nbytes

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, item: Any) -> Any:
        made = self.numbers[pd.api.indexers.check_array_indexer(self.numbers.x, item)]
        if isinstance(made, DualNumber) and value(made) != value(made) and in_a_row_of_objects():
            raise refused("a row with text or other objects", "pandas does not see that a number in it is NaN")
        return Column(made) if isinstance(made, RealArray) and made.ndim == 1 else made

    def __setitem__(self, key: Any, new: Any) -> None:
        if getattr(self, "_readonly", False):
            raise ValueError("Cannot modify read-only array")
        key = pd.api.indexers.check_array_indexer(self.numbers.x, key)
        self.numbers[key] = as_number(new) if np.ndim(unboxed(new)) == 0 else as_numbers(new)

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Column:
        """Elements at indices, with a fill value for each index that is -1."""
        places = take(np.arange(len(self)), indices, allow_fill=allow_fill, fill_value=-1)
        if not allow_fill or not np.any(places < 0):
            return Column(self.numbers[places])
        made = RealArray(np.full(len(places), np.nan))
        made[places >= 0] = self.numbers[places[places >= 0]]
        if fill_value is not None and not is_missing(fill_value):
            made[places < 0] = as_number(fill_value)
        return Column(made)

    def copy(self) -> Column:
        """A copy, with its own memory."""
        return Column(self.numbers.copy())

    def view(self, dtype: Any = None) -> Column:
        """A column with the same memory."""
        if dtype is not None:
            raise refused(f"a view as {dtype}")
        return Column(self.numbers[:])

    def isna(self) -> np.ndarray:
        """Mask of the elements that are NaN."""
        return np.isnan(self.numbers.x)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Convert to floats or objects, which keep the derivatives, or to ints or bools, which are constants."""
        dtype = dtype if isinstance(dtype, ColumnDtype) else pd.api.types.pandas_dtype(dtype)
        if isinstance(dtype, ColumnDtype) or dtype == np.float64:
            return self.copy() if copy else self
        if isinstance(dtype, np.dtype) and dtype.kind == "O":
            return self.__array__(dtype)
        if isinstance(dtype, np.dtype) and dtype.kind in "biu":
            return pd.Series(self.numbers.x).astype(dtype).to_numpy()
        name = "str" if dtype.kind == "U" else str(dtype)
        cure = f"dualrev.value(s).astype({name!r}) for constants; traced numbers are of type float64"
        raise refused(f"astype({dtype})", cure=cure)

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        """The numbers without labels."""
        asks = sys._getframe(1).f_code
        if dtype is not None and asks.co_name not in ("to_numpy", "as_array") and not is_of_user(asks.co_filename):
            raise refused("a function in C")
        if dtype is not None and np.dtype(dtype) != np.float64:
            return self.astype(dtype)
        made = self.numbers.copy() if copy or isinstance(na_value, (int, float)) else self.numbers[:]
        if isinstance(na_value, (int, float)):
            made[self.isna()] = na_value
        return made

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if for_text():
            return self.numbers.x.astype(object)
        if (dtype is not None and np.dtype(dtype) == object) or for_xarray():
            if called_by("transpose") or beside_constants():
                what = "the transpose" if called_by("transpose") else "the array"
                raise refused(what, "beside columns of another type it is one of objects")
            if np.any(self.isna()):
                raise refused("an array of objects", "there is NaN in it, which numpy and pandas do not see in objects")
            return np.asarray(to_objects(self.numbers)).astype(object)
        cure = "s.to_numpy() for a Series s, or t.to_numpy() for a DataFrame t, which are traced arrays"
        raise refused("a plain array", "it would lose the derivatives", cure)

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str | None]:
        return lambda x: str(value(x))

    def _values_for_argsort(self) -> np.ndarray:
        return self.numbers.x

    def _values_for_factorize(self) -> tuple[np.ndarray, Any]:
        raise refused("a grouping by numbers, or which of them are equal,")

    def factorize(self, use_na_sentinel: bool = True) -> tuple[np.ndarray, Column]:
        """Encode the numbers: a code for each distinct number, and the first number of each code."""
        codes, _ = pd.factorize(self.numbers.x, use_na_sentinel=use_na_sentinel)
        known, first = np.unique(codes, return_index=True)
        return codes, Column(self.numbers[first[known >= 0]])

    def unique(self) -> Column:
        """Distinct elements, in the order in which they first occur."""
        return self.factorize(use_na_sentinel=False)[1]

    def duplicated(self, keep: Any = "first") -> np.ndarray:
        """Mask of the elements that occur again."""
        return self._plain().duplicated(keep).to_numpy()

    def isin(self, values: Any) -> np.ndarray:
        """Mask of the elements that are among the values."""
        return self._plain().isin([value(u) for u in values]).to_numpy()

    # Elementwise

    @classmethod
    def _create_method(cls, op: Any, coerce_to_dtype: bool = True, result_dtype: Any = None) -> Any:
        def method(self: Column, other: Any) -> Any:
            """Compute with the numbers of two columns, or of a column and a number."""
            if isinstance(other, (pd.Series, pd.Index, pd.DataFrame)):
                return NotImplemented
            other = self._operand(other, op.__name__)
            with np.errstate(all="ignore"):
                made = op(self.numbers, other)
            return tuple(map(_as_column, made)) if isinstance(made, tuple) else _as_column(made)

        method.__name__ = f"__{op.__name__.strip('_')}__"
        return method

    def _operand(self, other: Any, what: str) -> Any:
        """Return the other operand in the form that a RealArray takes."""
        other = unboxed(other)
        if isinstance(other, ExtensionArray) and pd.api.types.is_numeric_dtype(other.dtype):
            raise refused(f"{what} with a column of type {other.dtype}", cure="r.astype(float) for that column r")
        if isinstance(other, (ExtensionArray, pd.Timestamp, pd.Timedelta)) or other is pd.NA:
            raise refused(f"{what} with a {type(other).__name__}")
        other = real_array(other) if np.ndim(other) else other
        if isinstance(other, np.ndarray) and other.dtype.kind not in "biuf":
            raise refused(f"{what} with an array of {other.dtype}")
        return other

    def __neg__(self) -> Column:
        return Column(-self.numbers)

    def __pos__(self) -> Column:
        return self.copy()

    def __abs__(self) -> Column:
        return Column(np.abs(self.numbers))

    def __matmul__(self, other: Any) -> Any:
        return self.numbers @ real_array(other)

    def __rmatmul__(self, other: Any) -> Any:
        return real_array(other) @ self.numbers

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(u, (pd.Series, pd.Index, pd.DataFrame)) for u in inputs):
            return NotImplemented
        inputs = tuple(unboxed(u) for u in inputs)
        if any(isinstance(u, ExtensionArray) for u in inputs):
            raise refused(f"numpy.{ufunc.__name__} with an array of another kind")
        with np.errstate(all="ignore"):
            made = getattr(ufunc, method)(*inputs, **kwargs)
        return tuple(map(_as_column, made)) if isinstance(made, tuple) else _as_column(made)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__name__ in _APART:
            self._not_apart(func.__name__, "ddof" in kwargs or func in (np.std, np.var))
        return func(*map(opened, args), **{key: opened(u) for key, u in kwargs.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "numbers" or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        made = getattr(self.numbers, name)
        return self._as_both_have_it(name) if name in _APART else made

    def _as_both_have_it(self, name: str) -> Callable[..., Any]:
        """A method of the array that `values` is for numpy, and `array` for pandas: where these agree."""

        def method(*args: Any, **kwargs: Any) -> Any:
            """Call the method of the array; refuse where pandas and numpy give different results."""
            self._not_apart(name, "ddof" in kwargs)
            return getattr(self.numbers, name)(*args, **kwargs)

        return method

    def _not_apart(self, name: str, ddof: bool) -> None:
        if np.any(self.isna()) or (name in ("std", "var") and not ddof):
            what = f"{name} of s.values or s.array"
            why = "numpy and pandas part there, in ddof and in what they do with NaN"
            raise UnsupportedError(what, f"s.to_numpy().{name}(), or s.{name}(), for a Series s", why)

    def round(self, decimals: int = 0) -> Column:
        """Rounded values, which are constants."""
        return Column(np.round(self.numbers.x, decimals))

    # Reductions: those that pandas asks for by name, and those of numpy, where `skipna` is not given

    def _reduce(self, name: str, *, skipna: bool = True, keepdims: bool = False, **kwargs: Any) -> Any:
        made = reduced(name, self.numbers, skipna, **kwargs)
        if name not in ("any", "all", "count"):
            options = {key: u for key, u in kwargs.items() if key in REDUCED[name][1] and u is not None}
            plain = getattr(self._plain(), name)(skipna=skipna, **options)
            made = with_value(made, plain, name, magnitude(name, self.numbers.x))
        if not keepdims:
            return made
        return np.array([made]) if name in ("any", "all", "count") else Column(as_numbers([made]))

    def _plain(self) -> pd.Series:
        """Values of the column, as a plain Series."""
        return pd.Series(self.numbers.x)

    def _accumulate(self, name: str, *, skipna: bool = True, **kwargs: Any) -> Column:
        made = accumulated(name, self.numbers, skipna)
        plain = getattr(self._plain(), name)(skipna=skipna)
        return Column(with_values(made, plain, name, magnitude(name, self.numbers.x)))

    def _groupby_op(
        self, *, how: str, has_dropped_na: bool, min_count: int, ngroups: int, ids: Any, **kwargs: Any
    ) -> Any:
        given = {"has_dropped_na": has_dropped_na, "min_count": min_count, **kwargs}
        return _as_column(of_groups(how, self.numbers, ids, ngroups, **given))

    def _quantile(self, qs: Any, interpolation: str) -> Any:
        x = self.numbers[~self.isna()]
        made = [quantile(x, q, interpolation) for q in qs]
        plain = self._plain().quantile(qs, interpolation)
        return Column(with_values(made, plain, "quantile", magnitude("quantile", self.numbers.x)))

    def _rank(self, **kwargs: Any) -> Any:
        return self._plain().rank(**{"axis": 0, **kwargs}).to_numpy()

    def _mode(self, dropna: bool = True) -> Any:
        raise refused("mode")

    def interpolate(self, *, method: str = "linear", index: Any, copy: bool = True, **kwargs: Any) -> Any:
        """Linear interpolation between the numbers around a gap."""
        options = {key: u for key, u in kwargs.items() if key.startswith("limit")}
        if kwargs.get("mask") is not None or method not in ("linear", "time", "index", "values"):
            raise refused(f"interpolate with method={method!r}")
        plain = pd.Series(self.numbers.x, index=index).interpolate(method=method, **options).to_numpy()
        return Column(interpolated(self.numbers, plain, None if method == "linear" else index))

    def map(self, mapper: Any, na_action: Any = None) -> Any:
        """mapper(number) of each, if it is a function."""
        if not callable(mapper):
            cure = "dualrev.value(s) for the Series s, as in dualrev.value(s).map(d)"
            raise refused("map by a dict or a Series", "its keys are labels, which are constants", cure)
        if len(self) and called_by(*_TRYING):  # a traced number has more methods than a float, as c.mean() in f
            mapper(float(self.numbers.x[0]))
        kept = self.isna() if na_action == "ignore" else np.zeros(len(self), bool)
        pairs = zip(self.numbers, kept, strict=True)
        return self._cast_pointwise_result([u if keep else mapper(u) for u, keep in pairs])

    def _cast_pointwise_result(self, values: Any) -> Any:
        made = list(values)
        if any(isinstance(u, DualNumber) for u in made) and all(map(is_scalar, made)):
            return Column(as_numbers(made))
        return lib.maybe_convert_objects(np.array(made, dtype=object), convert_non_numeric=True)


def _as_column(made: Any) -> Any:
    """A vector of numbers as a column; anything else, such as a vector of bools, as it is."""
    return Column(made) if isinstance(made, RealArray) and made.ndim == 1 else made


def of_values(table: Any) -> Any:
    """Copy of a table with plain columns, of constants, in place of ours."""
    if table.ndim == 1:
        return pd.Series(table.array.numbers.x.copy(), index=table.index, name=table.name)
    columns = [table.iloc[:, k] for k in range(table.shape[1])]
    made = pd.DataFrame(
        {k: of_values(u) if hasattr(u.dtype, "of_dualrev") else u for k, u in enumerate(columns)}, index=table.index
    )
    made.columns = table.columns
    return made


#: Functions of pandas that call f with each number, and with the column if that fails. In pandas 2, so does agg.
_TRYING = ("transform_str_or_callable", "apply_compat", "agg")
_APART = {"sum", "prod", "mean", "median", "min", "max", "amin", "amax", "std", "var", "any", "all", "argmin", "argmax"}


def _as_numpy_has_it(name: str) -> Callable[..., Any]:
    """A method that numpy's arrays have, too: theirs, but where pandas calls it, which says what to do with NaN."""

    def method(self: Column, *args: Any, skipna: Any = None, **kwargs: Any) -> Any:
        """Reduce the numbers; skipna leaves NaN out."""
        if skipna is None:
            self._not_apart(name, False)
            return getattr(self.numbers, name)(*args, **kwargs)
        if name.startswith("arg"):
            return getattr(pd.Series(self.numbers.x), name)(skipna=skipna)
        return self._reduce(name, skipna=skipna, **kwargs)

    method.__name__, method.__doc__ = name, f"numpy.{name} of the numbers, or that of pandas with a given skipna."
    return method


def _in_place(op: Callable[..., Any]) -> Callable[..., Any]:
    """v += w for v = s.values, where that is a view of the table."""

    def method(self: Column, other: Any) -> Column:
        """Compute in place."""
        self[:] = op(self, other)
        return self

    method.__name__ = f"__i{op.__name__}__"
    return method


for _name in ("sum", "any", "all", "argmin", "argmax"):
    setattr(Column, _name, _as_numpy_has_it(_name))
for _op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow):
    setattr(Column, f"__i{_op.__name__}__", _in_place(_op))
Column._add_arithmetic_ops()
Column._add_comparison_ops()
ColumnDtype.column = Column
