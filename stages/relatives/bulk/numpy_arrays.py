"""Bulk operations on numpy's arrays: operations with their partial derivatives, gather, scatter.

The elements may be objects: numbers that are being differentiated, for second derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stages.relatives.bulk.terms import OPERATIONS, Index, Num, Op, Term, Var

__all__ = ["array", "gather", "indices", "operation", "scatter", "whole"]

_NAMES = {name: getattr(np, name) for name in ("sin", "cos", "exp", "log", "sqrt", "abs")}
_FORMULAS = {
    name: [compile(text, f"<{name}>", "eval") for text in (line.value, *line.partials)]
    for name, line in OPERATIONS.items()
}


def array(u: Any) -> Any:
    """An array of floats, of whole numbers, or of objects."""
    made = np.asarray(u)
    if made.dtype.kind not in "fiO":
        raise TypeError(f"an array of {made.dtype}: expected floats, or ints for indices")
    return made.astype(np.float64) if made.dtype.kind == "f" else made


def whole(u: Any) -> bool:
    """Whether it is an array of whole numbers."""
    return u.dtype.kind == "i"


def operation(name: str, xs: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The value of an operation element by element, and its partial derivatives, from the table of primitives."""
    value, *partials = _FORMULAS[name]
    known = {**_NAMES, **dict(zip(OPERATIONS[name].parameters, xs, strict=True))}
    y = eval(value, known)
    return y, [eval(p, {**known, "y": y}) for p in partials]


def indices(names: Sequence[str], at: Sequence[Term], shape: Sequence[int], env: Mapping[str, Any]) -> list[Any]:
    """The index terms as arrays of whole numbers, for all values of `names` below `shape`."""
    grids = dict(zip(names, np.indices(shape), strict=True))
    return [np.broadcast_to(_whole(j, {**env, **grids}), shape) for j in at]


def gather(u: Any, js: Sequence[Any], shape: Sequence[int]) -> Any:
    """g of the shape, where g[is] = u[js[is]], and 0 where js[is] is out of bounds."""
    if not js:
        return np.broadcast_to(u, (*shape, *np.shape(u)))
    inside = _inside(js, np.shape(u))
    found = u[tuple(np.where(inside, j, 0) for j in js)]
    return np.where(inside.reshape(inside.shape + (1,) * (np.ndim(found) - inside.ndim)), found, 0.0)


def scatter(u: Any, js: Sequence[Any], shape: Sequence[int], axes: int) -> Any:
    """s of the shape, where s[js[is]] += u[is], for the first `axes` axes of u; nothing for a js out of bounds."""
    rest = np.shape(u)[axes:]
    made = np.zeros((*shape, *rest), dtype=np.asarray(u).dtype)
    if not js:
        return np.sum(u, axis=tuple(range(axes)))
    inside = _inside(js, shape)
    np.add.at(made, tuple(j[inside] for j in js), np.asarray(u)[inside])
    return made


def _inside(js: Sequence[Any], shape: Sequence[int]) -> Any:
    return np.logical_and.reduce([(j >= 0) & (j < n) for j, n in zip(js, shape, strict=False)])


def _whole(t: Term, env: Mapping[str, Any]) -> Any:
    match t:
        case Num(value) if isinstance(value, int):
            return np.int64(value)
        case Var(name) if name in env:
            return env[name]
        case Op(name, args) if name in ("add", "sub", "mul", "neg"):
            return operation(name, [_whole(u, env) for u in args])[0]
        case Index(u, at):
            js = np.broadcast_arrays(*(_whole(j, env) for j in at))
            return gather(_whole(u, env), js, js[0].shape).astype(np.int64)
    raise TypeError(f"an index is made from whole numbers by +, - and *, got {t}")
