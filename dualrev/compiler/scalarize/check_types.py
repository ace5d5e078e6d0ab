"""Legality check of variable types: numbers, arrays of numbers, objects, tuples of these, and opaque values.

Takes a function in lowered core, and the types of its variables, in which lists are arrays already. Changes nothing;
refuses what has no derivative, at the line where the variable is assigned first.
"""

from __future__ import annotations

from collections.abc import Mapping

from numba.core import types
from numba.core.types.npytypes import ArrayFlags

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir.names import readable
from dualrev.compiler.scalarize.builder import line_of_variable
from dualrev.compiler.scalarize.type_messages import about
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import is_linked, is_structured
from dualrev.compiler.types.opaque_types import holds_floats, holds_memory, is_opaque
from dualrev.compiler.types.predicates import NUMBERS, is_array, is_list

__all__ = ["check_types"]

_OTHERS = (types.NoneType, types.Array, types.UnicodeType)
_FUNCTIONS = (
    types.BoundFunction,
    types.Dispatcher,
    types.Function,
    types.NumberClass,
    types.DType,
    types.NumpyFlatType,
    ArrayFlags,
    types.EnumMember,
)


def check_types(lowered: Lowered, of: Mapping[str, NumbaType]) -> None:
    """Refuse variables of types that can be neither differentiated nor opaque."""
    for x, kind in of.items():
        _check(lowered, x, kind)


def _check(lowered: Lowered, x: str, kind: NumbaType) -> None:
    def refuse(what: str, why: str, instead: str, at: int = 0) -> None:
        """Refuse the variable at the line of its first assignment."""
        lowered.source.refuse(line_of_variable(lowered, x), what, why, instead, at)

    name = readable(x).strip("_") or "a part of this line"
    if isinstance(kind, types.Complex) or (is_array(kind) and isinstance(kind.dtype, types.Complex)):
        refuse(f"the complex number {x}", "it is not taken apart here", "real and imaginary parts")
    if isinstance(kind, types.Optional) and not is_linked(kind):
        why = "it is None on some paths, which may be that a `return` is missing"
        what = "the value of this function" if x == lowered.exit_value else f"the value of {name}"
        refuse(what, why, "a number on every path")
    if is_structured(kind):
        return
    if isinstance(kind, types.BaseTuple):
        for k, part in enumerate(kind.types):
            if is_list(part) and isinstance(part.dtype, NUMBERS):
                refuse(f"the list {name}[{k}] in a tuple", "a list has no place there", "an array")
            _check(lowered, f"{x}[{k}]", part)
        return
    listed = is_list(kind) and holds_floats(kind)
    if listed and x in lowered.parameters:
        why = "of lists as arguments, only those of numbers are known"
        refuse(f"the list {name} as an argument", why, "np.array of it")
    if is_opaque(kind) and not holds_memory(kind):
        return
    of_numbers = not is_array(kind) or isinstance(kind.dtype, NUMBERS)
    if not isinstance(kind, (*NUMBERS, *_OTHERS, *_FUNCTIONS)) or not of_numbers:
        refuse(*(lowered.blamed.get(x) or about(x, kind)))
