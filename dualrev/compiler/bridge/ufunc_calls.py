"""Numba function that calls a ufunc, made by `vectorize` or `guvectorize`; its derivatives are the ufunc's.

It is what a user would write: `def f(x, y): return ufunc(x, y)`. That of a generalized ufunc takes the results, too, as
numba does in compiled code: `def f(x, out): ufunc(x, out)`, so that `outputs` names them.
"""

from __future__ import annotations

import inspect

from dualrev.compiler.bridge.output_arguments import numba_function
from dualrev.compiler.frontend.reading.callables import is_generalized, is_ufunc
from dualrev.compiler.types.aliases import Dispatcher, UserValue

__all__ = ["callable_of", "calling"]


def callable_of(f: UserValue) -> UserValue:
    """Numba function that calls f, if f is a ufunc of numba's; else f."""
    return calling(f) if is_ufunc(f) or is_generalized(f) else f


def calling(ufunc: UserValue) -> Dispatcher:
    """Memoised numba function that calls a ufunc."""
    known = vars(ufunc._dispatcher)
    if "_dualrev_calling" not in known:
        kernel = ufunc._dispatcher.py_func
        names = [f"{x}_" if x == kernel.__name__ else x for x in inspect.signature(kernel).parameters]
        name = kernel.__name__ if kernel.__name__.isidentifier() else "ufunc"
        inner = f"{name}_"
        while inner in names:
            inner += "_"
        call = f"{inner}({', '.join(names)})"
        text = f"def {name}({', '.join(names)}):\n    {call if is_generalized(ufunc) else f'return {call}'}\n"
        known["_dualrev_calling"] = numba_function(name, text, {inner: ufunc}, kernel, {})
    return known["_dualrev_calling"]
