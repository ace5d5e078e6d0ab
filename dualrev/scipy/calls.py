"""Stand-ins for SciPy's functions: SciPy's own on plain arguments, rules of dualrev on traced ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain, strip
from dualrev.tree import flatten_leaves

__all__ = ["instead_of", "is_plain", "like", "order", "without_duals"]


def is_plain(*given: Any) -> bool:
    """Whether nested data holds no traced number."""
    return not any(map(holds_duals, flatten_leaves(given)[0]))


def order(*given: Any) -> int:
    """Return how many derivative calls are nested in numbers and arrays."""
    made = 0
    while any(map(holds_duals, given)):
        run = innermost(given)
        assert run is not None
        given, made = tuple(strip(u, run) for u in given), made + 1
    return made


def without_duals(given: Any) -> Any:
    """Return nested data with plain arrays in place of RealArrays, which hold no traced number."""
    leaves, structure = flatten_leaves(given)
    return structure.rebuild_leaves([plain(x) if isinstance(x, RealArray) else x for x in leaves])


def like(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function with the name, the signature and the docstring of SciPy's original, below its own."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        """Keep what f says of itself in front of SciPy's text."""
        text = f"{inspect.getdoc(f)}\n\n{inspect.getdoc(original)}"
        made = functools.update_wrapper(f, original)
        made.__doc__ = text
        return made

    return decorate


def instead_of(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function for traced arguments; on plain arguments SciPy's original runs."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        """Return f behind a check of its arguments."""

        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            """Call SciPy's function if all arguments are plain, else f."""
            if is_plain(args, kwargs):
                args, kwargs = without_duals((args, kwargs))
                return original(*args, **kwargs)
            return f(*args, **kwargs)

        return call

    return decorate
