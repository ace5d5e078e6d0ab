"""Functions of the user that pandas calls with each number, and with the column if that fails: `s.transform(f)`.

`f(c) = c - c.mean()` fails for a float, so pandas calls it with the column. A traced number has the method `mean`, as
numpy's scalars do: there, f must fail as it fails for floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.tables.column import of_values
from dualrev.eager.tables.kinds import holds_numbers, refused

__all__ = ["choosing"]


def choosing(method: Callable[..., Any]) -> Any:
    """A method of pandas that chooses whether it calls a function with each number or with the column."""

    def chosen(self: Any, *args: Any) -> Any:
        """Choose as pandas does; refuse a function for which traced numbers may change the choice."""
        made = method(self, *args)
        f = args[0] if args else self.func
        if not isinstance(self.obj, pd.Series) or not callable(f) or isinstance(f, np.ufunc) or not holds_numbers(made):
            return made
        values = of_values(self.obj) if holds_numbers(self.obj) else self.obj

        def call(u: Any) -> Any:
            """Call the function; None if it raises an error."""
            try:
                return f(u, *self.args, **self.kwargs)
            except Exception:  # any of the user's
                return None

        one = call(values.tolist()[0]) if len(values) else None
        if not isinstance(one, DualNumber):  # without other traced numbers, a float decides
            return made
        whole = call(self.obj)
        if whole is None or _have_same_values(made, whole):
            return made
        what = "transform(f) or apply([f]), where f computes with a traced number,"
        why = "pandas calls f with each number, or with the column if that fails: here the results differ"
        raise refused(what, why, "f(s) to call f with the column s, or s.map(f) to call it with each number")

    return chosen


def _have_same_values(made: Any, other: Any) -> bool:
    if not isinstance(other, pd.Series) or not isinstance(made, pd.Series) or not holds_numbers(other):
        return False
    return bool(np.array_equal(of_values(made).to_numpy(), of_values(other).to_numpy(), equal_nan=True))
