"""Flat vectors of the cotangents of a solver's args: a tuple of numbers, arrays and tuples.

    args            (2.0, np.ones(3), (0.5, 7))
    cotangents      (a, np.array([b, c, d]), (e, None))
    vector          a b c d e

Only floats have a cotangent; ints, bools and their arrays have None. numba compiles these functions for each type of
args. The compiler does not differentiate them.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import overload

__all__ = ["cotangents", "put", "size"]


def _is_float(kind: Any) -> bool:
    return isinstance(kind, types.Float)


def _is_array(kind: Any) -> bool:
    return isinstance(kind, types.Array) and _is_float(kind.dtype)


def size(args: Any) -> int:
    """Return the number of floats in args."""
    raise NotImplementedError("a function for numba code")


def put(cts: Any, vector: Any, k: int) -> int:
    """Write the cotangents of args into a vector, from index k; return the index after them."""
    raise NotImplementedError("a function for numba code")


def cotangents(args: Any, vector: Any, k: int) -> Any:
    """Return the cotangents of args, in its structure, which are in a vector from index k."""
    raise NotImplementedError("a function for numba code")


@overload(size)
def _size(args):
    if _is_float(args):
        return lambda args: 1
    if _is_array(args):
        return lambda args: args.size
    if isinstance(args, types.BaseTuple) and len(args):
        return lambda args: size(args[0]) + size(args[1:])
    return lambda args: 0


@overload(put)
def _put(cts, vector, k):
    if _is_float(cts):

        def one(cts, vector, k):
            vector[k] = cts
            return k + 1

        return one
    if _is_array(cts):

        def several(cts, vector, k):
            for x in cts.flat:
                vector[k] = x
                k += 1
            return k

        return several
    if isinstance(cts, types.BaseTuple) and len(cts):
        return lambda cts, vector, k: put(cts[1:], vector, put(cts[0], vector, k))
    return lambda cts, vector, k: k


@overload(cotangents)
def _cotangents(args, vector, k):
    if _is_float(args):
        return lambda args, vector, k: vector[k]
    if _is_array(args):
        dtype = args.dtype
        return lambda args, vector, k: vector[k : k + args.size].copy().reshape(args.shape).astype(dtype)
    if isinstance(args, types.BaseTuple) and len(args):
        return lambda args, vector, k: (
            (cotangents(args[0], vector, k), *cotangents(args[1:], vector, k + size(args[0])))
        )
    if isinstance(args, types.BaseTuple):
        return lambda args, vector, k: ()
    return lambda args, vector, k: None
