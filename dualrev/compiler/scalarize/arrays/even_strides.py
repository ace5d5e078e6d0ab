"""Stride analysis: whether all strides of a function are multiples of the item size, so that LLVM vectorises more.

So it is with arrays that are contiguous, and with all that numpy makes of them (runtime/arrays/broadcast.py). It is not
certain of an argument with any layout, or of the result of a call, which may be a field of packed records.
"""

from __future__ import annotations

from collections.abc import Iterator

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["are_even"]

_PLAIN = (
    types.Number,
    types.Boolean,
    types.NoneType,
    types.Omitted,
    types.UnicodeType,
    types.SliceType,
    types.Callable,
)


def _is_strided(s: anf.Let) -> bool:
    """Whether an operation is `as_strided`, whose strides may be any."""
    callee = s.function if isinstance(s, anf.CallKnown) else s.star.callee if isinstance(s, anf.CallStarred) else ""
    return isinstance(callee, str) and "as_strided" in callee


def are_even(lowered: Lowered, of: dict[str, NumbaType]) -> bool:
    """Whether all array strides in a function are multiples of the item size; False if not known."""
    lets = [s for s in anf.walk(lowered.body) if isinstance(s, anf.Let)]
    if not all(_is_known(kind) for kind in of.values()) or any(map(_is_strided, lets)):
        return False
    called = {s.target for s in lets if isinstance(s, anf.CallUser)}
    given = [of[x] for x in (*lowered.parameters, *called) if x in of]
    return all(array.layout in "CF" for kind in given for array in _arrays(kind))


def _is_known(kind: NumbaType) -> bool:
    """Whether a type hides no arrays: scalars, arrays of numbers, and tuples of these."""
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_known, kind.types))
    if isinstance(kind, types.Array):
        return isinstance(kind.dtype, (types.Number, types.Boolean))
    return isinstance(types.unliteral(kind), _PLAIN)


def _arrays(kind: NumbaType) -> Iterator[NumbaType]:
    if isinstance(kind, types.BaseTuple):
        for part in kind.types:
            yield from _arrays(part)
    elif isinstance(kind, types.Array):
        yield kind
