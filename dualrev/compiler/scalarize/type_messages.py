"""Refusals of variables whose types have no derivatives: the construct, the reason, and the remedy."""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir.names import readable
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["about"]


def about(x: str, kind: NumbaType) -> tuple[str, str, str]:
    """Refusal of a variable by its numba type: the construct, the reason, and the remedy."""
    name = readable(x).strip("_")
    called = f" {name}" if name.isidentifier() else ""
    if isinstance(kind, types.Array):
        return f"the array{called} (numba type {kind})", "its elements are no numbers", "floats"
    if isinstance(kind, (types.DictType, types.LiteralStrKeyDict)):
        why = "which of its values an operation changes is not known before it runs"
        return f"the dict{called}", why, "an array and a number for each key, or a named tuple"
    if isinstance(kind, types.Set):
        return f"the set{called}", "it has no places for its elements", "an array, such as np.unique gives, or a mask"
    if isinstance(kind, (types.List, types.ListType, types.LiteralList)):
        what = f"the list{called} of {kind.dtype}" if hasattr(kind, "dtype") else f"the list{called}"
        of_arrays = isinstance(getattr(kind, "dtype", None), (types.Array, types.List, types.BaseTuple))
        instead = "an array with one more axis, or a tuple" if of_arrays else "an array of numbers, or a tuple"
        return what, "of lists, only those of numbers are known", instead
    if isinstance(kind, types.NPDatetime | types.NPTimedelta):
        return f"the time{called}", "it is no number", "a float, in units of your choice"
    if isinstance(kind, types.NumPyRandomGeneratorType):
        why = "its parameters are differentiated, and the compiler knows no smooth function of them that gives it"
        return f"a sample of the generator{called}", why, "dualrev.stop_gradient(parameter), or a sample drawn outside"
    what = f"the variable {name}" if called else "a value"
    return f"{what} (numba type {kind})", "it is no number, array or tuple", "one of these"
