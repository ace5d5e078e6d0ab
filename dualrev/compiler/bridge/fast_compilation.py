"""What makes numba's compilation of derivatives faster: no garbage collection, and other versions of its functions."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from dualrev.compiler.bridge.numba_ext.faster_numba import faster_numba
from dualrev.compiler.runtime.link import deferred_machine_code

__all__ = ["fast_compilation"]


@contextlib.contextmanager
def fast_compilation() -> Iterator[None]:
    """Compile derivatives in a `with` statement, by one that holds numba's compiler lock."""
    with _resting_collector(), faster_numba(), deferred_machine_code():
        yield


@contextlib.contextmanager
def _resting_collector() -> Iterator[None]:
    """Disable garbage collection: it would traverse all of numba's objects a dozen times."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            gc.enable()
