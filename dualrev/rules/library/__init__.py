"""Functions of numpy as numba code: the compiler differentiates them as it does the user's own functions.

Each computes what numba's implementation computes, and raises what that raises. An array that it returns is new and
C-contiguous. Some have rules of their own (opaque.py): of what LAPACK does there is no source. The table of functions
(rules/functions) says for which arguments each of them stands. The tape runs the same code in Python, where it has no
rule of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["DEFINITIONS"]

_NAMES = "complexes drawing factors lists making norms products quantiles samples standins statistics systems"
_MODULES = [import_module(f"{__name__}.{name}") for name in _NAMES.split()]

#: All of them, by name.
DEFINITIONS: dict[str, Any] = {name: getattr(module, name) for module in _MODULES for name in module.__all__}
