"""Stand-ins for SciPy's functions: SciPy's own on plain arguments, rules of dualrev on traced ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import is_complex, values
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain, strip
from dualrev.eager.arrays.special_composed import with_value
from dualrev.errors import UnsupportedError
from dualrev.tree import flatten_leaves

__all__ = ["constants", "instead_of", "is_plain", "like", "order", "valued", "without_duals"]


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


def constants(given: Any) -> Any:
    """Return nested data with plain numbers and arrays in place of traced ones."""
    leaves, structure = flatten_leaves(given)
    return structure.rebuild_leaves([plain(x) for x in leaves])


def valued(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a formula: the result is SciPy's own, and the formula has the derivative.

    UnsupportedError if the two are not close: then SciPy computes something else for these arguments.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        """Return f behind a call of SciPy's function."""

        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            """Compute both, and join them."""
            if is_plain(args, kwargs):
                args, kwargs = without_duals((args, kwargs))
                return original(*args, **kwargs)
            value = original(*constants(args), **constants(kwargs))  # or SciPy's error
            return joined(f(*args, **kwargs), value, original)

        return call

    return decorate


def joined(made: Any, value: Any, original: Callable[..., Any]) -> Any:
    """Return the derivative of one result with the value of the other, in their structure."""
    if isinstance(value, tuple):
        return tuple(joined(u, v, original) for u, v in zip(made, value, strict=True))
    known = values(made)
    size = np.max(np.abs(value), initial=1e-300, where=np.isfinite(value))
    close = np.shape(known) == np.shape(value) and np.allclose(known, value, 1e-6, 1e-8 * size, equal_nan=True)
    if not close:
        name = f"{original.__module__.partition('._')[0]}.{original.__name__}"
        raise UnsupportedError.call(
            f"{name} of numbers that are being differentiated",
            "SciPy's result for these arguments is not that of the formula that dualrev differentiates",
            "dualrev.custom_vjp for a function that calls it",
        )
    if is_complex(made):
        return with_value(made.real, np.real(value)) + 1j * with_value(made.imag, np.imag(value))
    return with_value(made, value) if holds_duals(made) else value


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
