"""Numba functions behind callables compiled without njit: `register_jitable`, ufunc kernels, cfunc, stencils, SciPy.

Also the emitted names of other functions that a numba function may call.

A special function of SciPy is one that numba-scipy has overloaded, or the address that `cython_special` has for it: a
function of ctypes, or an object with numba's protocol for addresses.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Collection
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.np.ufunc.ufuncbuilder import UFuncDispatcher
from numba.stencils.stencil import StencilFunc

from dualrev.compiler.runtime.markers import double, in_order, in_rows
from dualrev.compiler.types.aliases import UserValue
from dualrev.eager.custom import stop_gradient
from dualrev.rules.emitted_names import canonical
from dualrev.rules.library.special import SPECIAL, addresses, with_rule

__all__ = [
    *[
        "DOUBLE",
        "IN_ORDER",
        "IN_ROWS",
        "STOPPED",
        "callable_name",
        "frozen_in",
        "global_value",
        "is_callback",
        "is_generalized",
        "is_kernel",
        "is_known_to_numba",
        "is_pointer",
        "is_stencil",
        "is_ufunc",
    ],
    *["jitted", "registered", "special_name"],
]

_CONSTANT = (math, np)  # modules whose numbers nobody changes

#: What dualrev.stop_gradient is called in emitted code; and while a function is read, what tells the order of
#: np.nditer (of one array, of several), and that a number is a float64.
STOPPED, IN_ORDER, IN_ROWS, DOUBLE = "runtime.stopped", "runtime.in_order", "runtime.in_rows", "runtime.double"


def is_ufunc(x: UserValue) -> bool:
    """Whether `x` was made by `numba.vectorize`."""
    return isinstance(x, DUFunc)


def registered(x: UserValue) -> bool:
    """Whether `x` is a Python function registered by `numba.extending.register_jitable`."""
    if not isinstance(x, FunctionType):
        return False
    cpu_target.typing_context.refresh()
    known = cpu_target.typing_context._lookup_global(x)
    overloads = [getattr(t, "_overload_func", None) for t in getattr(known, "templates", ())]
    return any(f is not None and f.__module__ == "numba.core.extending" and _closes_over(f, x) for f in overloads)


def _closes_over(f: FunctionType, x: UserValue) -> bool:
    return any(cell.cell_contents is x for cell in f.__closure__ or ())


def is_kernel(x: UserValue) -> bool:
    """Whether `x` is the dispatcher that compiles the kernel of a ufunc."""
    return isinstance(x, UFuncDispatcher)


def is_generalized(x: UserValue) -> bool:
    """Whether `x` was made by `numba.guvectorize`."""
    return isinstance(x, GUFunc)


def is_callback(x: UserValue) -> bool:
    """Whether `x` was made by `numba.cfunc` and reads no global value, which numba might have frozen earlier."""
    return isinstance(x, CFunc) and not global_value(x)


def global_value(x: UserValue) -> str:
    """Return the name of a global value that a cfunc, or a helper of it or of a ufunc's kernel, has frozen; "" if none.

    It is frozen, and numba does not tell when: it may have been another one. What a kernel itself reads is compared
    with what it was compiled with (bridge/cache/frozen_kernels.py); but of a registered function, numba keeps what it
    has compiled.
    """
    if isinstance(x, CFunc):
        return frozen_in(x._pyfunc)
    if not (is_ufunc(x) or is_generalized(x)):
        return ""
    return next((name for g in _registered_in(x._dispatcher.py_func) if (name := frozen_in(g))), "")


def frozen_in(f: UserValue, but: Collection[str] = ()) -> str:
    """Return the name of a global value that numba freezes in a Python function or its helpers; "" if none.

    Names in `but` do not count.
    """
    functions: list[UserValue] = [f]
    for function in functions:
        found = _globals_of(function)
        for name, y in sorted(found.items()):
            if not (callable(y) or isinstance(y, ModuleType) or (function is f and name in but)):
                return name
        functions += [y for y in _registered_in(function) if y not in functions]
    return ""


def _registered_in(function: FunctionType) -> list[UserValue]:
    return [y for y in _globals_of(function).values() if registered(y)]


def _globals_of(function: FunctionType) -> dict[str, UserValue]:
    """Return the globals, module attributes and closure cells that a function's code names, by name."""
    names, codes = set[str](), [function.__code__]
    for code in codes:
        names.update(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {name: function.__globals__[name] for name in names & function.__globals__.keys()}
    for module in list(found.values()):
        if isinstance(module, ModuleType) and module not in _CONSTANT:
            found.update({name: vars(module)[name] for name in names & vars(module).keys()})
    return found | {name: cell.cell_contents for name, cell in cells}


def is_stencil(x: UserValue) -> bool:
    """Whether `x` was made by `numba.stencil`."""
    return isinstance(x, StencilFunc)


def jitted(x: UserValue) -> UserValue:
    """Return the numba function of a registered function, cfunc, stencil, ufunc kernel or SciPy function; memoised."""
    if (special := special_name(x)) is not None:
        return _with_rule(x, special)
    kernel = is_ufunc(x) or is_generalized(x)
    function = x._dispatcher.py_func if kernel else x._pyfunc if is_callback(x) else x
    function = x.kernel_ir.func_id.func if is_stencil(x) else function
    name = "_dualrev_kernel" if kernel else "_dualrev_callback" if is_callback(x) else "_dualrev_jitted"
    made = vars(function).get(name)
    if made is None or made.py_func is not function:  # functools.wraps copies what a function has
        options = {"error_model": "numpy", **_fastmath(x)} if kernel else {}
        made = njit([x._sig])(function) if is_callback(x) else njit(**options)(function)
        setattr(function, name, made)
    return made


def _fastmath(x: UserValue) -> dict[str, UserValue]:
    value = x._dispatcher.targetoptions.get("fastmath")
    return {"fastmath": value} if value else {}


_FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]  # the class of all functions of ctypes has no public name


def is_pointer(x: UserValue) -> bool:
    """Whether `x` is a C function that numba calls by its address."""
    return isinstance(x, (_FUNCTION, types.WrapperAddressProtocol))


def special_name(x: UserValue) -> str | None:
    """Return the name in `scipy.special` of a function that numba code can call; None for any other."""
    if is_pointer(x):
        return next((a.name for a in addresses() if (a.address, a.arity) == (_address(x), _count_of_doubles(x))), None)
    name = getattr(x, "__name__", "")
    if name not in SPECIAL or getattr(sys.modules.get("scipy.special"), name, None) is not x:
        return None
    cpu_target.typing_context.refresh()
    return name if cpu_target.typing_context._lookup_global(x) is not None else None


def _count_of_doubles(x: UserValue) -> int:
    """Return the arity of a C function from doubles to a double; 0 for any other signature."""
    if isinstance(x, types.WrapperAddressProtocol):
        given, result = x.signature().args, x.signature().return_type
        return len(given) if {result, *given} == {types.float64} else 0
    given = tuple(x.argtypes or ())
    return len(given) if {x.restype, *given} == {ctypes.c_double} else 0


def _address(x: UserValue) -> int | None:
    if isinstance(x, types.WrapperAddressProtocol):
        return int(x.__wrapper_address__())
    return ctypes.cast(x, ctypes.c_void_p).value


_WITH_RULES: dict[int, tuple[UserValue, UserValue]] = {}


def _with_rule(x: UserValue, name: str) -> UserValue:
    """Return the numba function that calls a SciPy function and has its derivative rule; memoised."""
    if id(x) not in _WITH_RULES:
        _WITH_RULES[id(x)] = x, with_rule(x, name)
    return _WITH_RULES[id(x)][1]


def callable_name(f: UserValue) -> str | None:
    """Return the name in emitted code of a function with a rule, a marker or a cast; None for any other."""
    if isinstance(f, (types.Float, types.Integer, types.Boolean)):  # numba.float64(x)
        return "np.bool_" if f is types.boolean else f"np.{f}"
    own = ((stop_gradient, STOPPED), (in_order, IN_ORDER), (in_rows, IN_ROWS), (double, DOUBLE))
    return next((name for g, name in own if f is g), None) or canonical(f)


def is_known_to_numba(f: UserValue) -> bool:
    """Whether numba has a type for a function or a class."""
    cpu_target.typing_context.refresh()  # numba has not seen yet what was overloaded since
    try:
        return cpu_target.typing_context.resolve_value_type(f) is not None
    except (NumbaError, ValueError, TypeError, NotImplementedError):
        return False
