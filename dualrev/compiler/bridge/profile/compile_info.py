"""`dr.compile_info`: seconds of each compilation of a derivative, by pass of dualrev, step of numba, and LLVM."""

from __future__ import annotations

import inspect
from typing import Any

from dualrev.compiler.bridge.cache.frozen_globals import counted
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.numba_ext.compile_log import Compilation
from dualrev.compiler.bridge.variadic import Variadic
from dualrev.compiler.frontend.reading.source import describe, is_numba_function

__all__ = ["compile_info"]


def compile_info(g: Any) -> list[Compilation]:
    """List how long a compiled derivative took to compile, for each signature: in all, and step by step.

    Args:
        g: Derivative of a numba function, such as dr.grad(f), dr.hessian(f) or dr.jacobian(f). Or a numba function:
            then all its derivatives are listed that were compiled in this process, those of dr.vjp and dr.jvp, too.

    Returns:
        A list with a record for each compilation, in their order. `str(record)` is one line, and `record.table()` has a
        row for each pass of dualrev, each step of numba, and LLVM. The fields of a record: `function`, `transform` and
        `types`; `seconds` in all, of which `passes_seconds` are dualrev's, `numba_seconds` numba's and `llvm_seconds`
        LLVM's; `steps`, a dict of the seconds by step; `lines` and `functions` of the emitted module; and `cached`,
        whether the machine code was loaded from the cache.

    Raises:
        TypeError: g is neither.

    >>> import numba
    >>> import dualrev as dr
    >>> @numba.njit
    ... def cube(x):
    ...     return x * x * x
    >>> slope = dr.grad(cube)
    >>> slope(2.0)
    12.0
    >>> [record] = dr.compile_info(slope)
    >>> record.function, record.transform, record.types, record.cached
    ('cube', 'grad', 'float64', False)
    >>> record.seconds > record.llvm_seconds > 0.0
    True
    """
    if isinstance(g, Variadic):  # each number of arguments has a derivative of its own
        f, transform, _ = g.derivative_of
        counts = [len(inspect.signature(made).parameters) for made in counted(f)]
        return [record for count in counts for record in compile_info(g[count + (transform == "hvp")])]
    if isinstance(g, Derivative):
        return list(g.compilations.values())
    if is_numba_function(g):
        derivatives = [d for f in (g, *counted(g)) for d in vars(f).get("_dualrev_derivatives", {}).values()]
        return [record for d in derivatives for record in d.compilations.values()]
    raise TypeError(
        f"expected a derivative of a numba function, such as dr.grad(f), or the function itself, got {describe(g)}: "
        "what is no numba function is not compiled"
    )
