"""Compilation of derivatives without garbage collection, with deferred machine code and faster functions of numba."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from numba.np.ufunc.ufuncbuilder import UFuncDispatcher

from dualrev.compiler.bridge.numba_ext.faster_numba import faster_numba, original_numba
from dualrev.compiler.runtime.link import deferred_machine_code, machine_code_at_once

__all__ = ["fast_compilation"]


@contextlib.contextmanager
def fast_compilation() -> Iterator[None]:
    """Compile derivatives in a `with` statement, by one that holds numba's compiler lock."""
    with _resting_collector(), faster_numba(), deferred_machine_code(), _kernels_as_ever():
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


@contextlib.contextmanager
def _kernels_as_ever() -> Iterator[None]:
    """Compile kernels of ufuncs as numba does: cache/frozen_kernels.py compares their code with what it was before."""
    before = UFuncDispatcher._compile_core
    UFuncDispatcher._compile_core = _compile_kernel
    try:
        yield
    finally:
        UFuncDispatcher._compile_core = before


_NUMBAS: Any = UFuncDispatcher._compile_core


def _compile_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
    with original_numba(), machine_code_at_once():
        return _NUMBAS(self, *args, **kwargs)
