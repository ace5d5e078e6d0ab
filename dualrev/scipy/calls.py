"""Stand-ins for SciPy's functions: SciPy's own on plain arguments, rules of dualrev on traced ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.complex.pairs import is_complex, values
from dualrev.eager.arrays.linear_algebra.matrices import of_matrices
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain, strip
from dualrev.eager.arrays.special_composed import with_value
from dualrev.errors import UnsupportedError
from dualrev.tree import flatten_leaves

__all__ = [
    "InPlaceOf",
    "constants",
    "fitted",
    "instead_of",
    "is_plain",
    "joined",
    "like",
    "one_matrix",
    "order",
    "valued",
    "without_duals",
]


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
    """Return nested data with plain numbers and arrays in place of traced ones; one for the same object."""
    leaves, structure = flatten_leaves(given)
    made = {id(x): plain(x) for x in leaves}
    return structure.rebuild_leaves([made[id(x)] for x in leaves])


def _largest(given: Any) -> float:
    """Return the largest finite absolute value in nested data."""
    sizes = [np.abs(np.asarray(x)) for x in flatten_leaves(given)[0]]
    return max((float(np.max(u, initial=0.0, where=np.isfinite(u))) for u in sizes), default=0.0)


def valued(
    original: Callable[..., Any], size: float = 0.0, linear: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a formula: the result is SciPy's own, and the formula has the derivative.

    UnsupportedError if the two are not close: then SciPy computes something else for these arguments. They may differ
    by the rounding errors of terms of the given size; with `linear`, of terms as large as the first argument.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        """Return f behind a call of SciPy's function."""
        traced = fitted(original, f)

        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            """Compute both, and join them."""
            if is_plain(args, kwargs):
                args, kwargs = without_duals((args, kwargs))
                return original(*args, **kwargs)
            fixed, options = constants((args, kwargs))
            value = original(*fixed, **options)  # or SciPy's error
            terms = max(size, _largest([*fixed, *options.values()][0])) if linear else size
            return joined(traced(*args, **kwargs), value, original, terms)

        return call

    return decorate


def one_matrix(name: str, a: Any) -> Any:
    """Return a matrix; UnsupportedError for several ones."""
    a = of_matrices(a)
    if a.ndim > 2:
        raise UnsupportedError(f"scipy.linalg.{name} of several matrices", "a loop over them")
    return a


def title(original: Callable[..., Any]) -> str:
    """Return the public name of a function or a class of SciPy."""
    module, _, _ = original.__module__.removeprefix("dualrev.").partition("._")
    return f"{module}.{original.__name__}"


class InPlaceOf:
    """Base class of objects of traced numbers, in place of SciPy's: attributes that only SciPy's have are refused."""

    _original: Any  # SciPy's class; `_real` is its object, if there is one
    _cure: str  # what to use instead

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(getattr(self, "_real", self._original), name):
            raise AttributeError(f"{self._original.__name__!r} object has no attribute {name!r}")
        raise UnsupportedError.call(
            f"{title(self._original)}.{name} of numbers that are being differentiated",
            "it has no derivative rule",
            self._cure,
        )


def joined(made: Any, value: Any, original: Callable[..., Any], size: float = 0.0) -> Any:
    """Return the derivative of one result with the value of the other, in their structure.

    They may differ by the rounding errors of terms of the given size.
    """
    if isinstance(value, tuple):
        return tuple(joined(u, v, original, size) for u, v in zip(made, value, strict=True))
    known = values(made)
    error = max(1e-8 * np.max(np.abs(value), initial=1e-300, where=np.isfinite(value)), 1e-13 * size)
    if np.shape(known) != np.shape(value) or not np.allclose(known, value, 1e-6, error, equal_nan=True):
        raise UnsupportedError.call(
            f"{title(original)} of numbers that are being differentiated",
            "SciPy's result for these arguments differs from the formula that dualrev differentiates",
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


#: Options that change no value, or its last digits alone.
_WITHOUT_EFFECT = {"check_finite", "driver", "lapack_driver", "overwrite_a", "overwrite_b"}


def fitted(original: Callable[..., Any], f: Callable[..., Any]) -> Callable[..., Any]:
    """Return f as a function of SciPy's arguments; UnsupportedError for an option that only SciPy's function takes."""
    ours = inspect.signature(f)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        """Call f with the arguments that it takes."""
        if not _takes(ours, args, kwargs):
            theirs = signature(original)
            given = theirs.bind(*args, **kwargs).arguments  # or the error of a wrong call
            for name in given.keys() - ours.parameters.keys() - _WITHOUT_EFFECT:
                if not _same(given[name], theirs.parameters[name].default):
                    raise UnsupportedError(f"{title(original)} with {name}=", f"{original.__name__} without {name}")
            args, kwargs = (), {name: x for name, x in given.items() if name in ours.parameters}
        return f(*args, **kwargs)

    return call


def _takes(parameters: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        parameters.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _same(given: Any, default: Any) -> bool:
    """Whether an option is the default."""
    return given is default or (isinstance(given, bool | int | float | str) and given == default)


def instead_of(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function for traced arguments; on plain arguments SciPy's original runs."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        """Return f behind a check of its arguments."""
        traced = fitted(original, f)

        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            """Call SciPy's function if all arguments are plain, else f."""
            if is_plain(args, kwargs):
                args, kwargs = without_duals((args, kwargs))
                return original(*args, **kwargs)
            return traced(*args, **kwargs)

        return call

    return decorate
