"""The numba functions behind what numba compiles without saying njit: register_jitable, and kernels of vectorize.

And the names of functions that are none, but that a numba function may call.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from numba import njit
from numba.core import types
from numba.core.ccallback import CFunc
from numba.core.registry import cpu_target
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc

from dualrev.eager.custom import stop_gradient
from dualrev.rules.names import canonical

__all__ = ["STOPPED", "callable_name", "is_callback", "is_generalized", "is_ufunc", "jitted", "registered"]

#: What dualrev.stop_gradient is called in emitted code.
STOPPED = "runtime.stopped"


def is_ufunc(x: Any) -> bool:
    """Whether x was made by numba.vectorize."""
    return isinstance(x, DUFunc)


def registered(x: Any) -> bool:
    """Whether x is a Python function that numba compiles where it is called: numba.extending.register_jitable."""
    if not isinstance(x, FunctionType):
        return False
    cpu_target.typing_context.refresh()
    known = cpu_target.typing_context._lookup_global(x)
    overloads = [getattr(t, "_overload_func", None) for t in getattr(known, "templates", ())]
    return any(f is not None and f.__module__ == "numba.core.extending" and _closes_over(f, x) for f in overloads)


def _closes_over(f: FunctionType, x: Any) -> bool:
    return any(cell.cell_contents is x for cell in f.__closure__ or ())


def is_generalized(x: Any) -> bool:
    """Whether x was made by numba.guvectorize."""
    return isinstance(x, GUFunc)


def is_callback(x: Any) -> bool:
    """Whether x was made by numba.cfunc."""
    return isinstance(x, CFunc)


def jitted(x: Any) -> Any:
    """The numba function of one that is registered, of a cfunc, or of the kernel of a ufunc; always the same one."""
    kernel = is_ufunc(x) or is_generalized(x)
    function = x._dispatcher.py_func if kernel else x._pyfunc if is_callback(x) else x
    name = "_dualrev_kernel" if kernel else "_dualrev_callback" if is_callback(x) else "_dualrev_jitted"
    made = vars(function).get(name)
    if made is None or made.py_func is not function:  # functools.wraps copies what a function has
        options = {"error_model": "numpy", **_fastmath(x)} if kernel else {}
        made = njit([x._sig])(function) if is_callback(x) else njit(**options)(function)
        setattr(function, name, made)
    return made


def _fastmath(x: Any) -> dict[str, Any]:
    value = x._dispatcher.targetoptions.get("fastmath")
    return {"fastmath": value} if value else {}


def callable_name(f: Any) -> str | None:
    """The name of a function in emitted code, if it is a function of the table or stop_gradient; else None."""
    if isinstance(f, (types.Float, types.Integer, types.Boolean)):  # numba.float64(x)
        return "np.bool_" if f is types.boolean else f"np.{f}"
    return STOPPED if f is stop_gradient else canonical(f)
