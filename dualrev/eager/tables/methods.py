"""Methods of tables that meet traced numbers: `s.clip(upper=x)`, `t["z"] = x`, `s *= x`, `t.dot(x)`.

pandas would store a traced number as an object. So a table of floats gets columns of ours first, and the number goes on
as a `Box`, which is a scalar for pandas, or as a column. pandas' own method does the rest. If a Box is left in the
result, pandas has taken it for an object: that is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.common import is_bool_indexer

from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.tables.arrays import as_array, as_column
from dualrev.eager.tables.boxes import Box, are_objects, as_numbers, is_scalar
from dualrev.eager.tables.column import Column, of_values
from dualrev.eager.tables.dtype import DTYPE
from dualrev.eager.tables.kinds import holds_numbers, refused
from dualrev.errors import UnsupportedError

__all__ = [
    "BOXING",
    "IN_PLACE",
    "as_traced_array",
    "boxing",
    "computing_in_place",
    "discrete",
    "multiplying",
    "of_constants",
    "ranking",
    "selecting",
    "setting",
    "setting_columns",
    "sorting",
    "updating",
]

_ARITHMETIC = frozenset(
    """add sub mul div truediv floordiv mod pow radd rsub rmul rdiv rtruediv rfloordiv rmod rpow""".split()  # noqa: SIM905
)
#: Methods of Series and DataFrames that take numbers or tables.
BOXING = (
    *sorted(_ARITHMETIC),
    *("eq", "ne", "lt", "le", "gt", "ge", "clip", "where", "mask", "fillna", "shift", "reindex", "combine_first"),
    *("between", "case_when", "divmod", "rdivmod", "align", "replace", "reindex_like"),
)
#: Operators in place, and what they compute.
IN_PLACE = {
    f"__i{name}__": getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
}


def _is_number(u: Any) -> bool:
    return isinstance(u, (DualNumber, RealArray))


def _has_numbers(u: Any) -> bool:
    """Whether an argument is or holds a traced number."""
    if isinstance(u, dict):
        u = tuple(u.values())
    if type(u) in (list, tuple):
        return any(map(_has_numbers, u))
    return _is_number(u) or isinstance(u, Column) or holds_numbers(u) or are_objects(u)


def _boxed(u: Any, table: Any) -> Any:
    """An argument as pandas takes it beside columns of ours."""
    if isinstance(u, dict):
        return {key: _boxed(v, table) for key, v in u.items()}
    if type(u) in (list, tuple):
        numbers = any(map(_is_number, u)) and all(map(is_scalar, u))
        return Column(as_numbers(u)) if numbers else type(u)(_boxed(v, table) for v in u)
    u = as_array(u) if are_objects(u) else u
    if isinstance(u, RealArray) and u.ndim == 2 and u.shape == table.shape:
        return pd.DataFrame(u, index=table.index, columns=table.columns)
    u = as_column(u, None)
    if isinstance(u, RealArray) and not u.ndim:
        u = u[()]
    if not isinstance(u, DualNumber):
        return u
    return np.nan if value(u) != value(u) else Box(u)


def _with_columns(table: Any, kinds: str = "f") -> Any:
    """The same table with a column of ours in place of each of floats, or of numbers of these kinds."""
    if table.ndim == 1:
        return table.astype(DTYPE) if _is_of(kinds, table.dtype) else table
    made = table.copy()
    for k, dtype in enumerate(table.dtypes):
        if _is_of(kinds, dtype):
            made.isetitem(k, table.iloc[:, k].astype(DTYPE))
    return made


def _is_of(kinds: str, dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in kinds


def _checked(made: Any, what: str) -> Any:
    """Return the result of a method; refuse it if a Box is in it."""
    tables = made if isinstance(made, tuple) else (made,)
    for table in tables:
        if not isinstance(table, (pd.Series, pd.DataFrame)):
            continue
        for column in [table] if table.ndim == 1 else (table.iloc[:, k] for k in range(table.shape[1])):
            if column.dtype == object and any(isinstance(u, Box) for u in column.array):
                raise _of_no_floats(what)
    return made.number if isinstance(made, Box) else made


def _of_no_floats(what: str) -> UnsupportedError:
    why = "the column holds no floats: pandas would take the number for an object"
    return refused(f"{what} with a traced number", why, "s.astype(float) in place of the column s")


def boxing(method: Callable[..., Any]) -> Any:
    """A method that makes another table."""

    def boxed(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call pandas' method, with columns and Boxes in place of traced numbers."""
        if not any(map(_has_numbers, (*args, *kwargs.values()))):
            return method(self, *args, **kwargs)
        in_place = kwargs.get("inplace") is True
        table = self if in_place else _with_columns(self, "biuf" if method.__name__ in _ARITHMETIC else "f")
        if in_place:
            _become_traced(self)
        if not holds_numbers(table) and any(map(_is_number, (*args, *kwargs.values()))):
            raise _of_no_floats(method.__name__)
        if self.ndim == 2 and method.__name__ in ("where", "mask") and kwargs.get("axis") in (0, "index"):
            args = tuple(_repeated(u, self) for u in args)
        made = method(table, *(_boxed(u, self) for u in args), **{key: _boxed(u, self) for key, u in kwargs.items()})
        return _checked(made, method.__name__)

    return boxed


def _repeated(other: Any, table: Any) -> Any:
    """A traced Series as a DataFrame with the columns of a table: pandas would make an array of it."""
    if not isinstance(other, pd.Series) or not holds_numbers(other):
        return other
    made = pd.DataFrame(dict.fromkeys(range(table.shape[1]), other.reindex(table.index)), index=table.index)
    made.columns = table.columns
    return made


def _become_traced(table: Any) -> None:
    """Replace the columns of floats by `Column` arrays. pandas 3 copies on write: no other table sees it."""
    if int(pd.__version__.split(".")[0]) >= 3:
        table._update_inplace(_with_columns(table))
    elif not holds_numbers(table):  # another table may share its memory
        cure = "s = s * x, t = t.assign(z=x), or s = s.where(c, x), which make another table"
        raise refused("an operation in place", "pandas 2 shares memory between tables", cure)


def updating(method: Callable[..., Any]) -> Any:
    """A method that changes its table: `s.update(r)`, `s["a"] = x`."""

    def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call pandas' method on a table with columns of ours."""
        if not any(map(_has_numbers, (*args, *kwargs.values()))):
            return method(self, *args, **kwargs)
        _become_traced(self)
        made = method(self, *(_boxed(u, self) for u in args), **{key: _boxed(u, self) for key, u in kwargs.items()})
        _checked(self, method.__name__)
        return made

    return changed


def setting_columns(method: Callable[..., Any]) -> Any:
    """`t["z"] = x`, `t.insert(0, "z", x)`, `t.assign(z=x)`: a traced number is a column of that number."""

    def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call pandas' method with columns of ours."""
        if not any(map(_has_numbers, (*args, *kwargs.values()))):
            return method(self, *args, **kwargs)
        rows = method.__name__ == "__setitem__" and not pd.api.types.is_hashable(args[0])
        if rows and isinstance(args[1], DualNumber) and _are_labels(args[0]):
            for label in args[0]:
                self[label] = args[1]
            return None
        if rows:
            _become_traced(self)
            args = (args[0], _boxed(args[1], self))
        else:
            args = tuple(as_column(u, len(self)) for u in args)
            kwargs = {key: as_column(u, len(self)) for key, u in kwargs.items()}
        made = method(self, *args, **kwargs)
        _checked(self, method.__name__)
        return made

    return changed


def _are_labels(key: Any) -> bool:
    return isinstance(key, (list, np.ndarray, pd.Index, pd.Series)) and not is_bool_indexer(key)


def setting(method: Callable[..., Any]) -> Any:
    """`t.loc[rows, columns] = x`, and the same of iloc, at and iat."""

    def changed(self: Any, key: Any, new: Any) -> None:
        """Store in a table with columns of ours."""
        if not _has_numbers(new):
            method(self, key, new)
            return
        _become_traced(self.obj)
        new = as_array(new)
        for label in _new_columns(key, self.obj) if self.name in ("loc", "at") else ():
            self.obj[label] = Column(np.full(len(self.obj), np.nan))
        if isinstance(new, RealArray) and new.ndim == 2 and self.obj.ndim == 2:
            _set_matrix(self, key, new)
        else:
            method(self, key, _boxed(new, self.obj))
            _checked(self.obj, "an assignment")

    return changed


def _new_columns(key: Any, table: Any) -> list[Any]:
    """Return the labels of columns in a key of `loc` that a DataFrame does not have."""
    if not isinstance(key, tuple) or len(key) != 2 or table.ndim < 2 or table.columns.nlevels > 1:
        return []
    labels = key[1] if isinstance(key[1], list) else [key[1]]
    return [u for u in labels if isinstance(u, (str, int)) and not isinstance(u, bool) and u not in table.columns]


def _set_matrix(indexer: Any, key: Any, new: Any) -> None:
    """Store a traced matrix in the part of a DataFrame that a key of loc or iloc selects, column by column."""
    table = indexer.obj
    keys = [u(table) if callable(u) else u for u in (key if isinstance(key, tuple) else (key,))]
    index = pd.DataFrame(np.arange(table.size).reshape(table.shape), table.index, table.columns)
    part = getattr(index, indexer.name)[tuple(keys) if isinstance(key, tuple) else keys[0]].to_numpy()
    part = part[None, :] if part.ndim == 1 else part  # a row
    new = np.broadcast_to(new, part.shape)
    for k, rows in enumerate(part.T if part.size else ()):
        table.iloc[rows // table.shape[1], rows[0] % table.shape[1]] = new[:, k]


def computing_in_place(op: Callable[..., Any]) -> Callable[..., Any]:
    """`s *= x` for a traced x."""

    def taught(method: Callable[..., Any]) -> Any:
        """Wrap the operator."""

        def changed(self: Any, other: Any) -> Any:
            """Compute, and store the result in the same table."""
            if not _is_number(other):
                return method(self, other)
            _become_traced(self)
            self._update_inplace(op(self, other).reindex_like(self))
            return self

        return changed

    return taught


def multiplying(method: Callable[..., Any]) -> Any:
    """`t @ x` and `t.dot(x)` for a traced array, which has the labels that it is multiplied by."""

    def dot(self: Any, other: Any) -> Any:
        """Multiply as pandas does."""
        other = as_numbers(other) if type(other) in (list, tuple) and _has_numbers(other) else other
        if not isinstance(other, RealArray):
            return method(self, other)
        labels = self.index if self.ndim == 1 or method.__name__ == "__rmatmul__" else self.columns
        if other.ndim == 1 and len(other) == len(labels):
            made = method(self, pd.Series(other, index=labels))
            return made if self.ndim == 1 or method.__name__ != "__rmatmul__" else made.to_numpy()
        x = self.to_numpy()
        made = np.dot(other, x) if method.__name__ == "__rmatmul__" else np.dot(x, other)
        if self.ndim == 1 or method.__name__ == "__rmatmul__":
            return made
        return pd.DataFrame(made, index=self.index)

    return dot


# What depends on the values only


def _plain(u: Any) -> Any:
    """An argument with its values, as constants."""
    if isinstance(u, (pd.Series, pd.DataFrame)) and holds_numbers(u):
        return of_values(u)
    return value(u) if isinstance(u, DualNumber) else u.x if isinstance(u, RealArray) else u


def discrete(method: Callable[..., Any]) -> Any:
    """A method whose result are labels, counts or bools, which have no derivative."""

    def of_values(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call pandas' method on the values."""
        if not holds_numbers(self) and not any(map(_has_numbers, (*args, *kwargs.values()))):
            return method(self, *args, **kwargs)
        return method(_plain(self), *map(_plain, args), **{key: _plain(u) for key, u in kwargs.items()})

    return of_values


def ranking(method: Callable[..., Any]) -> Any:
    """`corr`, which depends on the ranks only if its method is Spearman's or Kendall's."""
    of_ranks = discrete(method)

    def corr(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Correlate as pandas does; by ranks, the values."""
        given = kwargs.get("method", args[1] if self.ndim == 1 and len(args) > 1 else args[0] if args else "")
        by_ranks = isinstance(given, str) and given in ("spearman", "kendall")
        return (of_ranks if by_ranks else method)(self, *args, **kwargs)

    return corr


def of_constants(method: Callable[..., Any]) -> Any:
    """A method whose result holds plain floats only: `t.to_csv()`, `s.mode()`."""

    def of_plain(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call pandas' method; refuse a table with traced numbers."""
        if holds_numbers(self):
            name = method.__name__
            raise refused(f"{name}()", "its result holds plain floats", f"dualrev.value(t).{name}() for the table t")
        return method(self, *args, **kwargs)

    return of_plain


def selecting(method: Callable[..., Any]) -> Any:
    """A method that selects rows by their values: `nlargest`."""

    def selected(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Select the rows that pandas selects of the values."""
        if not holds_numbers(self):
            return method(self, *args, **kwargs)
        return self.iloc[method(_plain(self).reset_index(drop=True), *args, **kwargs).index]

    return selected


def sorting(method: Callable[..., Any]) -> Any:
    """`t.sort_values(["u", "w"])`: by several columns, which pandas takes for groups."""

    def sort_values(self: Any, by: Any, **kwargs: Any) -> Any:
        """Sort as pandas does."""
        if not isinstance(by, list) or len(by) == 1 or not holds_numbers(self):
            return method(self, by, **kwargs)
        if given := [key for key in ("axis", "inplace", "ignore_index") if kwargs.get(key)]:
            raise refused(f"sort_values by several columns, with {', '.join(given)},")
        return self.iloc[method(_plain(self).reset_index(drop=True), by, **kwargs).index]

    return sort_values


def as_traced_array(method: Callable[..., Any]) -> Any:
    """`t.to_numpy()`."""

    def to_numpy(self: Any, dtype: Any = None, copy: bool = False, na_value: Any = pd.api.extensions.no_default) -> Any:
        """Return the traced array of a table with columns of ours; pandas' array of any other."""
        made = self._mgr.as_array(dtype, copy, na_value) if holds_numbers(self) else None
        return made if isinstance(made, RealArray) else method(self, dtype, copy, na_value)

    return to_numpy
