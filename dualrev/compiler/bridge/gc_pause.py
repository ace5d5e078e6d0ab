"""Python's garbage collector rests while numba compiles."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["resting_collector"]


@contextlib.contextmanager
def resting_collector() -> Iterator[None]:
    """No collection meanwhile: it would look at all that numba has a dozen times."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            gc.enable()
