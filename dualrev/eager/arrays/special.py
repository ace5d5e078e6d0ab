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


@functools.cache
def compiled_loop(name: str) -> Callable[..., Any] | None:
    """A function of the table on arrays of floats, which broadcast; None if it is not one of those here."""
    return _polygamma if name == "polygamma" else None


def of_scipy(name: str, args: tuple[Any, ...]) -> Any:
    """The function of arrays of floats by SciPy, if somebody has imported it and it is the same there; else None."""
    special = sys.modules.get("scipy.special")
    if name != "polygamma" or special is None or np.ndim(args[0]) or not np.all(np.asarray(args[1]) > 0.0):
        return None  # at poles and to the left of them the two differ
    n = float(args[0])
    return special.polygamma(int(n), args[1]) if n.is_integer() and n >= 0.0 else None


def _polygamma(n: Any, x: Any) -> Any:
    n, x = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(x, dtype=float))
    return _loop()(n.ravel(), x.ravel()).reshape(x.shape)


@functools.cache
def _loop() -> Callable[..., Any]:
    from dualrev.rules.library.special import polygamma  # which prepares more for numba than most programs need

    @numba.njit(nogil=True)  # not cached: numba would not see that polygamma has changed
    def loop(n, x):  # type: ignore[no-untyped-def]
        """Compute polygamma for each element."""
        made = np.empty(len(x))
        for k in range(len(x)):
            made[k] = polygamma(n[k], x[k])
        return made

    found: Callable[..., Any] = loop
    return found
