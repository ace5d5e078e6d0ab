"""Functions of numpy as numba code: the compiler differentiates them as it does the user's own functions.

Each computes what numba's implementation computes, and raises what that raises. An array that it returns is new and
C-contiguous. Some have rules of their own (rule_definitions.py): of what LAPACK does there is no source. The table of
functions (rules/functions) says for which arguments each of them stands. The tape runs the same code in Python, where
it has no rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

__all__ = ["DEFINITIONS"]

_NAMES = "array_creation complexes lists quantiles reimplemented statistics"
_NAMES += " linalg.complex_eigen linalg.determinants linalg.eigen linalg.factors linalg.norms linalg.products"
_NAMES += " linalg.systems"
_NAMES += " random.drawing random.samples"


class _Definitions(Mapping[str, Any]):
    """Definitions of the modules, by name: imported on request, since numba's own definitions come with them."""

    @cached_property
    def _all(self) -> dict[str, Any]:
        modules = [import_module(f"{__name__}.{name}") for name in _NAMES.split()]
        return {name: getattr(module, name) for module in modules for name in module.__all__}

    def __getitem__(self, name: str) -> Any:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


#: All of them, by name.
DEFINITIONS: Mapping[str, Any] = _Definitions()
