"""Flattening of records and instances to leaves, and rebuilding of their gradients.

types/leaves.py says what the leaves of an object are. Here they are made, by their places in memory.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import functools
import keyword
import re
from collections import namedtuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.experimental.structref import _Utils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype

from dualrev.compiler.runtime.tape.memory import attempt
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import holds_structured, is_record, is_records, is_structured, members
from dualrev.diagnostics.quoting import execute, identifier
from dualrev.rules.library.njit_internal import inner

__all__ = ["fields", "mirror_type", "mirrored", "row", "tangents", "to_return"]


# Leaves


def _array(context, builder, kind, data, shape, strides, meminfo=None, parent=None):
    """Emit an array over an address; it holds a reference to the memory that it is a part of."""
    made = make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    pointer = builder.bitcast(data, made.data.type)
    populate_array(made, pointer, shape, strides, context.get_constant(types.intp, item), meminfo, parent)
    value = made._getvalue()
    if meminfo is not None:
        context.nrt.incref(builder, kind, value)
    return value


def _column(context, builder, kind, name, leaf, value):
    """Emit a view of one field of all records."""
    array = make_array(kind)(context, builder, value)
    base = builder.ptrtoint(array.data, cgutils.intp_t)
    offset = context.get_constant(types.intp, kind.dtype.offset(name))
    data = builder.inttoptr(builder.add(base, offset), array.data.type)
    shape, strides = cgutils.unpack_tuple(builder, array.shape), cgutils.unpack_tuple(builder, array.strides)
    more = _nested(context, kind.dtype.typeof(name))
    return _array(context, builder, leaf, data, [*shape, *more[0]], [*strides, *more[1]], array.meminfo, array.parent)


def _nested(context, field):
    """Emit the shape and strides of a nested array field."""
    if not isinstance(field, types.NestedArray):
        return [], []
    return [[context.get_constant(types.intp, x) for x in xs] for xs in (field.shape, field.strides)]


def _cell(context, builder, kind, name, leaf, value):
    """Emit a view of one field of one record."""
    offset = context.get_constant(types.intp, kind.offset(name))
    data = builder.add(builder.ptrtoint(value, cgutils.intp_t), offset)
    return _array(
        context, builder, leaf, builder.inttoptr(data, cgutils.voidptr_t), *_nested(context, kind.typeof(name))
    )


def _slot(context, builder, kind, name, leaf, value):
    """Emit one field of an instance, a number as an array without axes."""
    if isinstance(kind, types.StructRef):
        utils, word = _Utils(context, builder, kind), name
        meminfo, data = utils.get_struct_ref(value).meminfo, utils.get_data_struct(value)
    else:
        instance, word = context.make_helper(builder, kind, value=value), f"m_{name}"
        meminfo, data = instance.meminfo, context.make_data_helper(builder, kind.get_data_type(), ref=instance.data)
    field = kind.field_dict[name] if isinstance(kind, types.StructRef) else kind.struct[name]
    if isinstance(field, types.Array) or is_structured(field):
        return impl_ret_borrowed(context, builder, field, getattr(data, word))
    return _array(context, builder, leaf, data._get_ptr_by_name(word), [], [], meminfo)


@intrinsic(prefer_literal=True)
def _leaf(typingctx, x, name):
    """View of a field as a leaf."""
    word, leaf = name.literal_value, members(x)[name.literal_value]
    make = _column if is_records(x) else _cell if is_record(x) else _slot

    def codegen(context, builder, signature, args):
        """Emit the view for the kind of object."""
        return make(context, builder, x, word, leaf, args[0])

    return leaf(x, name), codegen


@intrinsic
def _row(typingctx, a, index):
    """View of `a[index]` for a nonempty array, as an array even without axes."""
    ndim = a.ndim - len(index.types)
    kind = a.copy(ndim=ndim, layout="A" if ndim else "C")

    def codegen(context, builder, signature, args):
        """Emit the address arithmetic and the view."""
        array = make_array(a)(context, builder, args[0])
        shape, strides = cgutils.unpack_tuple(builder, array.shape), cgutils.unpack_tuple(builder, array.strides)
        places = cgutils.unpack_tuple(builder, args[1])
        data = builder.ptrtoint(array.data, cgutils.intp_t)
        for k, (place, of) in enumerate(zip(places, index.types, strict=True)):
            i = context.cast(builder, place, of, types.intp)
            below = builder.icmp_signed("<", i, i.type(0))
            i = builder.select(below, builder.add(i, shape[k]), i)
            data = builder.add(data, builder.mul(i, strides[k]))
        pointer, rest = builder.inttoptr(data, array.data.type), len(places)
        return _array(context, builder, kind, pointer, shape[rest:], strides[rest:], array.meminfo, array.parent)

    return kind(a, index), codegen


@inner
def row(a, index):
    """View of `a[index]`, as an array without axes if that is a number."""
    return _row(a, index)


def fields(x):
    """Flatten an object to the tuple of its leaves; a tuple, item by item."""
    raise NotImplementedError


@overload(fields)
def _overload_fields(x):
    if is_structured(x):
        parts = [f"fields(leaf(x, {name!r}))" for name in members(x)]
    elif holds_structured(x):
        parts = [f"fields(x[{k}])" for k in range(len(x.types))]
    else:
        return lambda x: x
    return _defined("x", f"({', '.join(parts)},)" if parts else "()", fields=fields, leaf=_leaf)


def _defined(parameters: str, text: str, **space: object) -> object:
    """Define a function whose body returns an expression."""
    execute(f"def function({parameters}): return {text}", space)
    return space["function"]


# Gradients and tangents


@functools.cache
def mirror_type(kind: NumbaType) -> type[tuple[object, ...]]:
    """Named tuple type for the gradient by an instance, with a field for each of its fields."""
    called = kind.classname if isinstance(kind, types.ClassInstanceType) else type(kind).__name__
    name = identifier(called, "instance")
    names: list[str] = []
    for field in members(kind):
        public = field.removeprefix(f"_{called.lstrip('_')}__").strip("_")  # no field of a named tuple begins with _
        public = public if public.isidentifier() else re.sub(r"\W", "_", f"field_{public}")
        while public in names or keyword.iskeyword(public) or (public != field and public in members(kind)):
            public += "_"
        names.append(public)
    return namedtuple(name, names)


def mirror(tape, x, leaves):
    """Rebuild the gradient by `x` from the gradients by its leaves: records like `x`, named tuples for instances.

    What may fail is attempted (runtime/tape/memory.py). The rest is not: what is called so has arrays without reference
    counts, and the gradient refers to those of its leaves that are arrays.
    """
    raise NotImplementedError


@overload(mirror)
def _overload_mirror(tape, x, leaves):
    if is_records(x) or is_record(x):
        return _defined("tape, x, leaves", "attempt(tape, make, x, leaves)", attempt=attempt, make=_records_like(x))
    if is_structured(x):
        parts = [f"mirror(tape, leaf(x, {name!r}), leaves[{k}])" for k, name in enumerate(members(x))]
        for k, leaf in enumerate(leaves.types):
            if isinstance(leaf, types.Array) and leaf.ndim == 0:  # of a field that is a number
                parts[k] = f"attempt(tape, number, leaves[{k}])"
        space = {"made": mirror_type(x), "mirror": mirror, "leaf": _leaf, "attempt": attempt, "number": _number}
        return _defined("tape, x, leaves", f"made({', '.join(parts)})", **space)
    if holds_structured(x):
        made = getattr(x, "instance_class", None)
        parts = [f"mirror(tape, x[{k}], leaves[{k}])" for k in range(len(x.types))]
        text = f"({', '.join(parts)},)" if made is None else f"made({', '.join(parts)})"
        return _defined("tape, x, leaves", text, made=made, mirror=mirror)
    return lambda tape, x, leaves: leaves


@inner
def _number(x):
    """Number in an array without axes."""
    return x[()]


@functools.cache
def _records_like(x):
    """Function that rebuilds records of a type; a single record is an array without axes. Other fields are zeros."""
    dtype = as_dtype(x.dtype if is_records(x) else x)
    reals = [(k, name) for k, (name, leaf) in enumerate(members(x).items()) if isinstance(leaf.dtype, types.Float)]
    shape = "x.shape" if is_records(x) else "()"
    lines = ["def function(x, leaves):", f"made = zeros({shape}, dtype)"]
    lines += [f"store(leaf(made, {name!r}), leaves[{k}])" for k, name in reals]
    lines.append("return made")
    space: dict[str, object] = {"zeros": np.zeros, "dtype": dtype, "leaf": _leaf, "store": _stored}
    execute("\n    ".join(lines), space)
    return inner(space["function"])


@inner
def _stored(array, x):
    """Copy an array of the same shape elementwise: `array[...] = x`."""
    for index in np.ndindex(x.shape):
        array[index] = x[index]


def tangents(x, t):
    """Flatten a tangent of `x` (records or a named tuple) to the tangents of its leaves."""
    raise NotImplementedError


@overload(tangents)
def _overload_tangents(x, t):
    if is_structured(x) and is_structured(t):
        return lambda x, t: fields(t)
    if is_structured(x) and isinstance(t, types.BaseTuple):
        parts = [f"inner(leaf(x, {name!r}), t[{k}])" for k, name in enumerate(members(x))]
        return _defined("x, t", f"({', '.join(parts)},)", leaf=_leaf, inner=_moved)
    if holds_structured(x) and isinstance(t, types.BaseTuple):
        parts = [f"tangents(x[{k}], t[{k}])" for k in range(len(x.types))]
        return _defined("x, t", f"({', '.join(parts)},)", tangents=tangents)
    return lambda x, t: t


def _moved(x, t):
    raise NotImplementedError


@overload(_moved)
def _overload_moved(x, t):
    if isinstance(x, types.Array) and x.ndim == 0 and isinstance(t, types.Number):
        return lambda x, t: _whole(x, t)
    return lambda x, t: tangents(x, t)


@inner
def _whole(x, t):
    """Wrap a number in an array without axes like `x`."""
    made = np.zeros_like(x)
    made[()] = t
    return made


@inner
def mirrored(tape, x, leaves):
    """Rebuild the gradient by `x`: `mirror` as a numba function."""
    return mirror(tape, x, leaves)


def owned(tape, x):
    """Copy the arrays of a value that are lent (without a reference count); others are returned unchanged."""
    raise NotImplementedError


@overload(owned)
def _overload_owned(tape, x):
    if isinstance(x, types.BaseTuple):
        made = getattr(x, "instance_class", None)
        parts = [f"owned(tape, x[{k}])" for k in range(len(x.types))]
        text = f"({', '.join(parts)},)" if made is None and parts else f"({', '.join(parts)})"
        return _defined("tape, x", text if made is None else f"made{text}", made=made, owned=owned)
    if isinstance(x, types.Array):
        return lambda tape, x: attempt(tape, _copy, x) if _is_lent(x) else x
    return lambda tape, x: x


@inner
def _copy(x):
    return x.copy()


@intrinsic
def _is_lent(typingctx, x):
    """Whether an array has no reference count."""

    def codegen(context, builder, signature, args):
        """Emit the comparison of the meminfo pointer with null."""
        return cgutils.is_null(builder, make_array(x)(context, builder, args[0]).meminfo)

    return types.boolean(x), codegen


@inner
def to_return(tape, x):
    """Copy the lent arrays of a value so that it may be returned: `owned` as a numba function."""
    return owned(tape, x)
