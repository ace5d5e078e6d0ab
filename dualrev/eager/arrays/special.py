"""Special functions of many numbers: SciPy's, where it is imported, or numba's code, in place of a loop in Python."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = ["MANY", "ArrayFunction", "compiled_loop", "of_scipy"]

MANY = 2000  # elements: below, to compile takes longer


class ArrayFunction:
    """Function for the text of a line that takes arrays, plain and traced, as numpy's ufuncs do."""

    def __call__(self, *args: Any) -> Any:
        """Return the value for arrays."""
        raise NotImplementedError


_COMPILED = {"digamma", "polygamma"}


def compiled_loop(name: str) -> Callable[..., Any] | None:
    """A function of the table on arrays of floats, which broadcast; None if it is not one of those here."""
    return functools.partial(_of_arrays, name) if name in _COMPILED else None


def of_scipy(name: str, args: tuple[Any, ...]) -> Any:
    """The function of arrays of floats by SciPy, if somebody has imported it and it is the same there; else None."""
    special = sys.modules.get("scipy.special")
    if name not in _COMPILED or special is None or not np.all(np.asarray(args[-1]) > 0.0):
        return None  # at poles and to the left of them the two differ
    if name == "digamma":
        return special.psi(*args)
    n, x = args
    whole = not np.ndim(n) and float(n).is_integer() and n >= 0.0
    return special.polygamma(int(n), x) if whole else None


def _of_arrays(name: str, *args: Any) -> Any:
    return _ufunc(name)(*(np.asarray(x, dtype=float) for x in args))


@functools.cache
def _ufunc(name: str) -> Callable[..., Any]:
    from dualrev.rules.library import special  # which prepares more for numba than most programs need

    made: Callable[..., Any] = numba.vectorize(getattr(special, name).py_func)
    return made
