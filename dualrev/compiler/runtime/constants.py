"""`dualrev.stop_gradient` in numba code: the same numbers, and a copy of arrays of real numbers, as on the tape."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

from numba import njit, types

from dualrev.eager.custom import stop_gradient

__all__ = ["stopped", "typed"]

_PLAIN = (types.Number, types.Boolean, types.NoneType, types.UnicodeType, types.Dispatcher)


def typed(x):
    """What it is of a numba type: see learning.py, which tells numba."""
    kind: Any = types.unliteral(x)
    if isinstance(kind, types.Array) and isinstance(kind.dtype, (types.Float, types.Complex)):
        return lambda x: x.copy()
    if isinstance(kind, (types.Array, *_PLAIN)):
        return lambda x: x
    if isinstance(kind, types.BaseTuple):
        space: dict[str, Any] = {"stop_gradient": stop_gradient, "made": getattr(kind, "instance_class", None)}
        parts = "".join(f"stop_gradient(x[{k}]), " for k in range(len(kind.types)))
        text = f"({parts})" if space["made"] is None else f"made({parts})"
        exec(f"def stopped(x):\n    return {text}", space)
        return space["stopped"]
    return None


@njit
def stopped(x):
    """The same, under a name that emitted code has."""
    return stop_gradient(x)
