"""What a function of SciPy is on plain arguments: SciPy's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain
from dualrev.tree import flatten_leaves

__all__ = ["instead_of", "is_plain", "without_duals"]


def is_plain(*given: Any) -> bool:
    """Whether no number in nested data is under differentiation."""
    return not any(map(holds_duals, flatten_leaves(given)[0]))


def without_duals(given: Any) -> Any:
    """Nested data with plain arrays in place of RealArrays, which hold no number under differentiation."""
    leaves, structure = flatten_leaves(given)
    return structure.rebuild_leaves([plain(x) if isinstance(x, RealArray) else x for x in leaves])


def instead_of(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what a function does under differentiation; with plain arguments it is the original."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_plain(args, kwargs):
                args, kwargs = without_duals((args, kwargs))
                return original(*args, **kwargs)
            return f(*args, **kwargs)

        return call

    return decorate
