"""Cases for newer versions of numba: they are left out if the installed numba itself refuses them."""

from __future__ import annotations

from typing import Any

import numba
from numba.core import compiler, registry, typed_passes
from numba.core.errors import NumbaError

__all__ = ["LEFT_OUT", "taken"]

#: The names of the functions that were left out: none with the newest numba.
LEFT_OUT: list[str] = []


def taken(function: Any, primals: tuple[Any, ...]) -> bool:
    """Whether the installed numba types a numba function of these arguments; one that it does not is noted."""
    typing, target = registry.cpu_target.typing_context, registry.cpu_target.target_context
    typing.refresh()
    target.refresh()
    code, kinds = compiler.run_frontend(function.py_func), tuple(map(numba.typeof, primals))
    try:
        typed_passes.type_inference_stage(typing, target, code, kinds, None)
    except NumbaError:
        LEFT_OUT.append(function.__name__)
        return False
    return True
