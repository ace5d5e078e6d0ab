"""Broadcast views, with strides 0 along repeated axes, that LLVM can vectorise.

numba computes the address of an element of such a view, an array of any layout, in bytes: LLVM makes no vectors of a
loop with that. The strides of parts of contiguous arrays are multiples of an element's size, though, mostly 1 or 0 of
them in the innermost axis. So their views have a type of their own, whose addresses are counted in elements along that
axis: LLVM makes two loops of one, for the stride 1 and for any other. Fields of records lie otherwise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.typeconv import Conversion
from numba.extending import lower_builtin, lower_cast, type_callable
from numba.np import arrayobj

from dualrev.compiler.runtime.arrays.allocate import raise_if
from dualrev.compiler.types.aliases import (
    IRBuilder,
    LLVMValue,
    LLVMValues,
    NumbaType,
    Signature,
    TargetContext,
    TypingContext,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Spread", "spread", "spread_evenly"]


class Spread(types.Array):
    """Numba type of a view of any layout whose strides are multiples of the element size."""

    def __init__(self, of: types.Array, ndim: int) -> None:
        super().__init__(of.dtype, ndim, "A", readonly=not of.mutable, name=f"spread of {of.dtype}, {ndim}d")

    def can_convert_to(self, typingctx: TypingContext, other: NumbaType) -> Conversion | None:
        """Conversion to a plain array type of layout A."""
        return Conversion.safe if other == self._plain() else None

    def unify(self, typingctx: TypingContext, other: NumbaType) -> types.Array | None:
        """Unification with a plain array type of layout A."""
        return self._plain() if isinstance(other, types.Array) and other == self._plain() else None

    def _plain(self) -> types.Array:
        return types.Array(self.dtype, self.ndim, "A", readonly=not self.mutable)


_BYTES = ir.IntType(8).as_pointer()
register_default(Spread)(models.ArrayModel)


@lower_cast(Spread, types.Array)
def _as_array(
    context: TargetContext, builder: IRBuilder, fromty: NumbaType, toty: NumbaType, value: LLVMValue
) -> LLVMValue:
    return value


def spread(a: NDArray[np.generic], shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Broadcast an array to a shape, as a view."""
    sizes = (1,) * (len(shape) - a.ndim) + a.shape
    steps = (0,) * (len(shape) - a.ndim) + a.strides
    if any(size not in (1, wanted) for size, wanted in zip(sizes, shape, strict=True)):
        raise ValueError("operands could not be broadcast together")
    strides = [step if size == wanted else 0 for step, size, wanted in zip(steps, sizes, shape, strict=True)]
    return np.lib.stride_tricks.as_strided(a, shape, strides)


@type_callable(spread)
def _type_spread(context: TypingContext) -> Callable[[NumbaType, NumbaType], NumbaType]:
    return lambda a, shape: a.copy(ndim=len(shape), layout="A")


def spread_evenly(a: NDArray[np.generic], shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Broadcast an array whose strides are multiples of the element size, as a Spread view."""
    return spread(a, shape)


@type_callable(spread_evenly)
def _type_spread_evenly(context: TypingContext) -> Callable[[NumbaType, NumbaType], NumbaType]:
    return lambda a, shape: Spread(a, len(shape))


@lower_builtin(spread, types.Array, types.BaseTuple)
@lower_builtin(spread_evenly, types.Array, types.BaseTuple)
def _lower_spread(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
    given = context.make_array(signature.args[0])(context, builder, args[0])
    made = context.make_array(signature.return_type)(context, builder)
    zero, one = (context.get_constant(types.intp, k) for k in (0, 1))
    shape = cgutils.unpack_tuple(builder, args[1])
    strides, wrong = [zero] * len(shape), ir.IntType(1)(0)
    sizes, steps = (cgutils.unpack_tuple(builder, x) for x in (given.shape, given.strides))
    for k, (size, step) in enumerate(zip(sizes, steps, strict=True), len(shape) - len(sizes)):
        same = builder.icmp_signed("==", size, shape[k])
        if k == len(shape) - 1:
            step = _unknown(builder, step)
        strides[k] = builder.select(same, step, zero)
        wrong = builder.or_(wrong, builder.not_(builder.or_(same, builder.icmp_signed("==", size, one))))
    raise_if(context, builder, wrong, ValueError, "operands could not be broadcast together")
    arrayobj.populate_array(made, given.data, shape, strides, given.itemsize, given.meminfo, given.parent)
    return arrayobj.impl_ret_borrowed(context, builder, signature.return_type, made._getvalue())


def _unknown(builder: IRBuilder, x: LLVMValue) -> LLVMValue:
    """Hide a value from LLVM's analysis: a known stride, or 0, would keep it from versioning the loop."""
    return builder.asm(ir.FunctionType(x.type, [x.type]), "", "=r,0", [x], side_effect=False)


# Elements


def _place(
    context: TargetContext, builder: IRBuilder, kind: NumbaType, array: LLVMValue, index: NumbaType, given: LLVMValue
) -> LLVMValue | None:
    """Address of an element; None if the index selects no single element."""
    kinds = (index,) if isinstance(index, types.Integer) else tuple(index)
    if len(kinds) != kind.ndim or not all(isinstance(k, types.Integer) for k in kinds):
        return None
    made = arrayobj.make_array(kind)(context, builder, array)
    if not kinds:
        return made.data
    numbers = cgutils.unpack_tuple(builder, given) if kinds != (index,) else [given]
    sizes, strides = (cgutils.unpack_tuple(builder, x) for x in (made.shape, made.strides))
    one = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    row = builder.bitcast(made.data, _BYTES)
    for axis, (x, k, size, stride) in enumerate(zip(numbers, kinds, sizes, strides, strict=True), 1):
        i = arrayobj.fix_integer_index(context, builder, k, x, size)
        if axis < kind.ndim:
            row = builder.gep(row, [builder.mul(i, stride, flags=("nsw",))], inbounds=True)
        else:
            step = builder.mul(i, builder.sdiv(stride, one, flags=("exact",)), flags=("nsw",))
    return builder.gep(builder.bitcast(row, made.data.type), [step], inbounds=True)


def _read(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
    kind, index = signature.args
    place = _place(context, builder, kind, args[0], index, args[1])
    if place is None:
        other = arrayobj.getitem_array_tuple if isinstance(index, types.BaseTuple) else arrayobj.getitem_arraynd_intp
        return other(context, builder, signature, args)
    return arrayobj.load_item(context, builder, kind, place)


def _write(context: TargetContext, builder: IRBuilder, signature: Signature, args: LLVMValues) -> LLVMValue:
    kind, index, value = signature.args
    place = _place(context, builder, kind, args[0], index, args[1])
    if place is None:
        return arrayobj.setitem_array(context, builder, signature, args)
    arrayobj.store_item(context, builder, kind, context.cast(builder, args[2], value, kind.dtype), place)
    return context.get_dummy_value()


for _index in (types.Integer, types.BaseTuple):
    lower_builtin(operator.getitem, Spread, _index)(_read)
    lower_builtin(operator.setitem, Spread, _index, types.Any)(_write)
