"""The stack guard as Windows has it: kernel32 tells a thread the bounds of its stack at each look.

The branch for Windows runs here on any system; a function of Python stands in for kernel32's.
"""

import ctypes
from functools import partial

import llvmlite.binding
import pytest
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from dualrev.compiler.runtime.recursion import stack_guard
from dualrev.compiler.runtime.tape.arena import function

LOW, SIZE = 2**32 + 4096, 2**20
_MOST = 128 * 1024  # what is left for functions that look at nothing


@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64))
def limits(low, high):
    low[0], high[0] = LOW, LOW + bounds["size"]


bounds = {"size": SIZE}


@intrinsic
def _look(typingctx, here):
    def codegen(context, builder, signature, args):
        write = partial(stack_guard._write_look, platform="win32")
        look = function(builder, "dualrev_look_of_windows", ir.IntType(1), [ir.IntType(64)], write)
        return builder.call(look, args)

    return types.boolean(types.int64), codegen


@pytest.fixture(scope="module")
def too_near():
    if stack_guard.HAS_PTHREADS:
        llvmlite.binding.add_symbol("GetCurrentThreadStackLimits", ctypes.cast(limits, ctypes.c_void_p).value)

    @njit(types.boolean(types.int64))
    def look(here):
        return _look(here)

    return look


@pytest.mark.skipif(not stack_guard.HAS_PTHREADS, reason="kernel32 itself is there")
@pytest.mark.parametrize(("size", "margin"), [(SIZE, _MOST), (2**16, 2**14)], ids=["large", "small"])
def test_an_address_near_the_end_of_the_stack_is_refused(too_near, monkeypatch, size, margin):
    """A margin of 128 KiB, and of a quarter of a small stack."""
    monkeypatch.setitem(bounds, "size", size)
    assert not too_near(LOW + size - 8)
    assert not too_near(LOW + margin)
    assert too_near(LOW + margin - 1)
    assert too_near(LOW)


@pytest.mark.skipif(not stack_guard.HAS_PTHREADS, reason="kernel32 itself is there")
def test_bounds_that_are_not_told_refuse_nothing(too_near, monkeypatch):
    monkeypatch.setitem(bounds, "size", 0)
    assert not too_near(LOW)
