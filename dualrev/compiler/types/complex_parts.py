"""Types of complex values in expanded core: a pair of reals, and for an array a pair of real arrays.

`Parts` is the type of such a pair. It is a tuple's, so that names, calls, branches and results treat it as one; what
is done to complex numbers themselves is in lower_complex.py.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types

from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array

__all__ = ["Parts", "holds_complex", "in_parts", "is_complex", "joined"]


class Parts(types.UniTuple):
    """The type of a (real, imaginary) pair: of two scalars or of two arrays."""

    def __init__(self, dtype: NumbaType, count: int = 2) -> None:
        super().__init__(dtype, count)


def is_complex(kind: NumbaType) -> bool:
    """Whether a type is a complex scalar or array, as a numba type or split into `Parts`."""
    return isinstance(getattr(kind, "dtype", kind) if is_array(kind) else kind, (types.Complex, Parts))


def holds_complex(kind: NumbaType) -> bool:
    """Whether a type is complex, a complex default (`Omitted`), or a (nested) tuple that contains a complex type."""
    if isinstance(kind, types.Omitted):
        return isinstance(kind.value, complex)
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, Parts):
        return any(map(holds_complex, kind.types))
    return is_complex(kind)


def in_parts(kind: NumbaType) -> NumbaType:
    """Split complex types into `Parts`, also inside tuples."""

    def parts(x: NumbaType) -> NumbaType:
        """Split one complex scalar or array type."""
        if isinstance(x, types.Array):
            return Parts(types.Array(x.dtype.underlying_float, x.ndim, x.layout))
        return Parts(x.underlying_float) if isinstance(x, types.Complex) else x

    return _mapped(kind, parts)


def joined(kind: NumbaType) -> NumbaType:
    """Merge `Parts` into complex types, also inside tuples: the inverse of `in_parts`."""

    def whole(x: NumbaType) -> NumbaType:
        """Merge one pair into a complex scalar or array type."""
        if not isinstance(x, Parts):
            return x
        real = x.dtype.dtype if is_array(x.dtype) else x.dtype
        number = types.complex64 if real == types.float32 else types.complex128
        return types.Array(number, x.dtype.ndim, x.dtype.layout) if is_array(x.dtype) else number

    return _mapped(kind, whole)


def _mapped(kind: NumbaType, leaf: Callable[[NumbaType], NumbaType]) -> NumbaType:
    if not holds_complex(kind):
        return kind
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, Parts):
        parts = [_mapped(x, leaf) for x in kind.types]
        return types.BaseTuple.from_types(parts, getattr(kind, "instance_class", None))
    return leaf(kind)
