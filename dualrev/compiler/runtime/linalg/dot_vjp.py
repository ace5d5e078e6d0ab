"""Adjoints of vector and matrix products: each adds a contribution to the cotangent of one operand."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np import arrayobj

from dualrev.compiler.runtime.linalg.dot import is_quick
from dualrev.compiler.runtime.linalg.gemm import BY_BLAS, add_product
from dualrev.rules.library.njit_internal import inner

__all__ = [
    "dot_left_11",
    "dot_left_11_apart",
    "dot_left_12",
    "dot_left_12_apart",
    "dot_left_21",
    "dot_left_21_apart",
    "dot_left_22",
    "dot_left_22_apart",
    "dot_right_11",
    "dot_right_11_apart",
    "dot_right_12",
    "dot_right_12_apart",
    "dot_right_21",
    "dot_right_21_apart",
    "dot_right_22",
    "dot_right_22_apart",
]


@inner
def dot_left_11(d_a, b, ct):
    """Add to the cotangent of `a` in `dot(a, b)`, vector times vector."""
    for i in range(d_a.size):
        d_a[i] += ct * b[i]


@inner
def dot_right_11(d_b, a, ct):
    """Add to the cotangent of `b` in `dot(a, b)`, vector times vector."""
    for i in range(d_b.size):
        d_b[i] += ct * a[i]


@inner
def _outer_by_rows(d_a, b, ct):
    for i in range(d_a.shape[0]):
        for j in range(d_a.shape[1]):
            d_a[i, j] += ct[i] * b[j]


@inner
def _outer_by_columns(d_a, b, ct):
    for j in range(d_a.shape[1]):
        for i in range(d_a.shape[0]):
            d_a[i, j] += ct[i] * b[j]


@inner
def _outer(d_a, b, ct):
    if _by_columns(d_a):
        _outer_by_columns(d_a, b, ct)
    else:
        _outer_by_rows(d_a, b, ct)


@inner
def _turned_by_rows(d_b, a, ct):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d_b[j] += a[i, j] * ct[i]


@inner
def _turned_by_columns(d_b, a, ct):
    for j in range(a.shape[1]):
        total = d_b[j]
        for i in range(a.shape[0]):
            total += a[i, j] * ct[i]
        d_b[j] = total


@inner
def _turned(d_b, a, ct):
    if _by_columns(a):
        _turned_by_columns(d_b, a, ct)
    else:
        _turned_by_rows(d_b, a, ct)


@inner
def _by_columns(a):
    """Whether a matrix is stored by columns, as far as its strides tell."""
    return abs(a.strides[0]) < abs(a.strides[1])


def dot_left_21(d_a, b, ct):
    """Add to the cotangent of `a` in `dot(a, b)`, matrix times vector."""
    d_a += np.outer(ct, b)


def dot_right_21(d_b, a, ct):
    """Add to the cotangent of `b` in `dot(a, b)`, matrix times vector."""
    d_b += a.T @ ct


def dot_left_22(d_a, b, ct):
    """Add to the cotangent of `a` in `dot(a, b)`, matrix times matrix."""
    d_a += ct @ b.T


def dot_right_22(d_b, a, ct):
    """Add to the cotangent of `b` in `dot(a, b)`, matrix times matrix."""
    d_b += a.T @ ct


def _lowers(function):
    """Decorator: register a Python function with numba, with the code generator that `choose` returns for its types."""

    def decorator(choose):
        """Register the type and the lowering of the function."""

        @type_callable(function)
        def typed(context):
            """The typing rule: the function returns nothing."""
            return lambda x, y, ct: types.none

        @lower_builtin(function, types.Array, types.Array, types.Array)
        def lower(context, builder, signature, args):
            """Lower a call by the chosen code generator."""
            return choose(*signature.args)(context, builder, signature, args)

        return choose

    return decorator


@_lowers(dot_left_21)
def _left_21(d_a, b, ct):
    return _call({"C": _outer_by_rows, "F": _outer_by_columns, "A": _outer}[d_a.layout], d_a, b, ct)


@_lowers(dot_right_21)
def _right_21(d_b, a, ct):
    return _call({"C": _turned_by_rows, "F": _turned_by_columns, "A": _turned}[a.layout], d_b, a, ct)


@_lowers(dot_left_22)
def _left_22(d_a, b, ct):
    if is_quick(d_a, b, ct):
        return _add_quickly(d_a, (ct, 2, False), (b, 1, True))
    return _call(_add_left, d_a, b, ct)


@_lowers(dot_right_22)
def _right_22(d_b, a, ct):
    if is_quick(d_b, a, ct):
        return _add_quickly(d_b, (a, 1, True), (ct, 2, False))
    return _call(_add_right, d_b, a, ct)


def _call(f, *kinds):
    """Code generator for a call of a compiled runtime function."""
    f.compile(kinds)
    compiled = f.overloads[kinds]

    def codegen(context, builder, signature, args):
        """Emit the call, and link the callee."""
        context.active_code_library.add_linking_library(compiled.library)
        return context.call_internal(builder, compiled.fndesc, compiled.signature, args)

    return codegen


@inner
def dot_left_12(d_a, b, ct):
    """Add to the cotangent of `a` in `dot(a, b)`, vector times matrix."""
    dot_right_21(d_a, b.T, ct)


@inner
def dot_right_12(d_b, a, ct):
    """Add to the cotangent of `b` in `dot(a, b)`, vector times matrix."""
    dot_left_21(d_b, ct, a)


@inner
def _add(c, a, b):
    """Accumulate a matrix product by loops: `c += a @ b`."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] += total


@inner
def _is_small(c, a):
    """Whether loops are faster than BLAS for a matrix product, which may need copies and a new array."""
    return c.size * a.shape[1] <= 512


def _adding(large):
    """Specialise an accumulating matrix product: loops for small matrices, `large` for others."""

    @inner
    def add(c, a, b):
        """Accumulate `c += a @ b`."""
        if _is_small(c, a):
            _add(c, a, b)
        else:
            large(c, a, b)

    return add


_QUICK = {dtype: _adding(by_blas) for dtype, by_blas in BY_BLAS.items()}
_ANY = _adding(add_product)


@inner
def _add_left(d_a, b, ct):
    _ANY(d_a, ct, b.T)


@inner
def _add_right(d_b, a, ct):
    _ANY(d_b, a.T, ct)


def _add_quickly(c, a, b):
    """Code generator for `c += a @ b`; of `a` and `b`: the type, the argument index, and whether it is transposed.

    One function is compiled for all orders of elements: it takes the strides as they are.
    """
    strided = types.Array(c.dtype, 2, "A")
    call = _call(_QUICK[c.dtype], strided, strided, strided)

    def codegen(context, builder, signature, args):
        """Emit the call with strided views."""

        def view(kind, k, turned):
            """Emit a strided view of an argument, transposed if need be."""
            x = context.make_array(kind)(context, builder, args[k])
            shape, strides = (cgutils.unpack_tuple(builder, t) for t in (x.shape, x.strides))
            step = -1 if turned else 1
            made = context.make_array(strided)(context, builder)
            arrayobj.populate_array(made, x.data, shape[::step], strides[::step], x.itemsize, None)
            return made._getvalue()

        return call(context, builder, signature, [view(c, 0, False), view(*a), view(*b)])

    return codegen


# Of an operand that may be infinite or NaN: a cotangent of 0 takes no part


@inner
def _moves(ct):
    return ct != 0.0


@inner
def _any_moves(ct):
    for x in ct.flat:  # noqa: SIM110 - numba has no any()
        if x != 0.0:
            return True
    return False


def _apart(f, moves=_any_moves):
    """Guard an adjoint: it contributes nothing if the whole cotangent is 0."""

    @inner
    def apart(d, other, ct):
        """Call the adjoint unless the cotangent is 0."""
        if moves(ct):
            f(d, other, ct)

    return apart


dot_left_11_apart, dot_right_11_apart = _apart(dot_left_11, _moves), _apart(dot_right_11, _moves)
dot_left_12_apart, dot_right_12_apart = _apart(dot_left_12), _apart(dot_right_12)
dot_left_21_apart, dot_right_21_apart = _apart(dot_left_21), _apart(dot_right_21)
dot_left_22_apart, dot_right_22_apart = _apart(dot_left_22), _apart(dot_right_22)
