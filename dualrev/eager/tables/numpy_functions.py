"""numpy's functions of tables with traced numbers: `np.median(s)`, `np.dot(s, r)`.

numpy converts a table to an array, or calls the table's method of the same name, as `np.mean(s)` does. Here the same
function is called; where it asks for a plain array, it gets the traced one.
"""

from __future__ import annotations

from collections.abc import Callable
from traceback import walk_tb
from typing import Any

import numpy as np
import pandas as pd

from dualrev.eager.arrays.memory.storage import Holder
from dualrev.eager.tables.kinds import holds_numbers
from dualrev.errors import DualrevError

__all__ = ["ForNumpy"]

_TABLES = (pd.Series, pd.DataFrame)
#: These return False for what they cannot convert.
_SWALLOWING = (np.array_equal, np.array_equiv)


class ForNumpy:
    """The attribute `__array_function__` of tables: numpy looks it up in the class, everybody else finds none."""

    def __get__(self, table: Any, owner: type) -> Callable[..., Any]:
        """Return the function, for the class only."""
        if table is not None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute '__array_function__'")
        return _called


def _called(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of numpy of tables."""
    if func is np.clip and args and args[0] is self and "out" not in kwargs:
        return self.clip(*args[1:], **kwargs)
    if not _has_table(args) and not _has_table(tuple(kwargs.values())):
        if any(not issubclass(kind, _TABLES) and kind is not np.ndarray for kind in types):
            return NotImplemented
        return func._implementation(*args, **kwargs)
    if func not in _SWALLOWING:
        try:
            return func._implementation(*args, **kwargs)
        except DualrevError as error:
            if not _asked_for_an_array(error):
                raise
    return func(*map(_values, args), **{key: _values(u) for key, u in kwargs.items()})


def _has_table(given: Any) -> bool:
    """Whether there is a table with traced numbers among the arguments."""
    if isinstance(given, (list, tuple)):
        return any(map(_has_table, given))
    return isinstance(given, Holder) or (isinstance(given, _TABLES) and holds_numbers(given))


def _asked_for_an_array(error: DualrevError) -> bool:
    """Whether numpy asked the table, or an array of it, for a plain array: no method of pandas did."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    of_pandas = [frame for frame in frames if frame.f_globals.get("__name__", "").startswith("pandas.")]
    return all(frame.f_code.co_name in ("__array__", "values", "_values") for frame in of_pandas)


def _values(u: Any) -> Any:
    if isinstance(u, (list, tuple)) and type(u) in (list, tuple):
        return type(u)(map(_values, u))
    return u.to_numpy() if isinstance(u, _TABLES) else u.numbers if isinstance(u, Holder) else u
