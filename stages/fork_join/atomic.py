"""Atomic addition to an array element that other threads add to as well.

>>> import numpy as np
>>> a = np.zeros(2)
>>> add(a, 1, 2.5)
>>> a
array([0. , 2.5])
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

__all__ = ["add"]


def add(a: Any, i: Any, z: Any) -> None:
    """Add z to a[i], atomically in compiled code; not atomically in plain Python."""
    a[i] += z


@intrinsic
def _atomic_add(context: Any, array: Any, index: Any, number: Any) -> Any:
    """LLVM's atomicrmw fadd on an element of an array of floats."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Emit the atomic addition; the index is cast to numba's intp."""
        kind, index_kind, _ = signature.args
        made = context.make_array(kind)(context, builder, args[0])
        at = context.cast(builder, args[1], index_kind, types.intp)
        place = cgutils.get_item_pointer(context, builder, kind, made, [at], wraparound=False)
        builder.atomic_rmw("fadd", place, args[2], "monotonic")
        return context.get_dummy_value()

    return types.void(array, index, types.float64), generate


@overload(add)
def _add(a, i, z):  # numba compares its signature with that of what it returns
    if isinstance(a, types.Array) and a.dtype == types.float64 and a.ndim == 1:

        def atomic(a, i, z):
            """Add z to a[i] by the intrinsic."""
            _atomic_add(a, i, z)

        return atomic
    return None
