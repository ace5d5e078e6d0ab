"""Special functions of many numbers: numba's code in place of a loop in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from dualrev.rules.library.special import polygamma

__all__ = ["MANY", "compiled_loop"]

MANY = 2000  # elements: below, to compile takes longer


@functools.cache
def compiled_loop(name: str) -> Callable[..., Any] | None:
    """A function of the table on arrays of floats, which broadcast; None if it is not one of those here."""
    return _polygamma if name == "polygamma" else None


def _polygamma(n: Any, x: Any) -> Any:
    n, x = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(x, dtype=float))
    return _loop(n.ravel(), x.ravel()).reshape(x.shape)


@numba.njit(nogil=True)  # not cached: numba would not see that polygamma has changed
def _loop(n, x):  # type: ignore[no-untyped-def]
    made = np.empty(len(x))
    for k in range(len(x)):
        made[k] = polygamma(n[k], x[k])
    return made
