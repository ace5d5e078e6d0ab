"""Garbage collection pause while numba compiles."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["resting_collector"]


@contextlib.contextmanager
def resting_collector() -> Iterator[None]:
    """Disable garbage collection in a context: it would traverse all of numba's objects a dozen times."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            gc.enable()
