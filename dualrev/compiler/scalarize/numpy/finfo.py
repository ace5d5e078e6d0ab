"""Constant folding of the attributes of `np.finfo` and `np.iinfo`, where type inference tells the dtype.

f = np.finfo(x.dtype)
eps = f.eps                     eps = 2.220446049250313e-16

frontend/desugar/type_limits.py does it where the dtype is named. An object that is used in another way is unchanged.
"""

from __future__ import annotations

import ast

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype, from_dtype

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.types.aliases import NumbaType, UserValue

__all__ = ["with_limits"]

_LIMITS = {"finfo": np.finfo, "iinfo": np.iinfo}


def with_limits(lowered: Lowered, of: dict[str, NumbaType]) -> list[anf.Stmt]:
    """Return the body with constants for attributes of finfo and iinfo objects; those without other uses are gone."""
    found: dict[str, UserValue] = {}
    for s in anf.walk(lowered.body):
        if isinstance(s, anf.Let) and s.target in of and (name := _name(of[s.target])):
            known = found.get(s.args[0]) if isinstance(s, anf.Copy) else _of(name, s, of)
            found[s.target] = known if s.target not in found or _same(found[s.target], known) else None
    found = {x: known for x, known in found.items() if known is not None}
    if not found:
        return lowered.body
    body = rewritten(lowered.body, lambda s: [_folded(s, found)])
    gone = set(found) - {lowered.result}
    while used := gone & {x for s in anf.walk(body) if not _makes(s, gone) for x in anf.reads(s)}:
        gone -= used
    for x in gone:
        del of[x]
    return rewritten(body, lambda s: [] if _makes(s, gone) else [s])


def _name(kind: NumbaType) -> str:
    """Name of the function that returns objects of a type, `finfo` or `iinfo`; empty for any other type."""
    cls = kind.instance_class if isinstance(kind, types.BaseNamedTuple) else None
    return cls.__name__ if cls is not None and cls.__module__.startswith("numba.") and cls.__name__ in _LIMITS else ""


def _of(name: str, s: anf.Let, of: dict[str, NumbaType]) -> UserValue:
    """The finfo or iinfo object for the dtype of the argument; None if it is not known."""
    kinds = [of.get(x) for x in s.args]
    match s:
        case anf.OpaqueExpr(tree=ast.Call(args=[ast.Attribute(value=ast.Name("np"), attr=attr)], keywords=[])):
            kinds = [from_dtype(np.dtype(getattr(np, attr)))]
    (kind, *others) = kinds or [None]
    kind = getattr(kind, "instance_type", getattr(kind, "dtype", kind))
    if others or not isinstance(kind, types.Float if name == "finfo" else types.Integer):
        return None
    return _LIMITS[name](as_dtype(types.unliteral(kind)))


def _same(x: UserValue, y: UserValue) -> bool:
    return x is not None and y is not None and type(x) is type(y) and x.dtype == y.dtype


def _folded(s: anf.Stmt, found: dict[str, UserValue]) -> anf.Stmt:
    """A statement, with a constant for an attribute of a known object."""
    if not isinstance(s, anf.GetAttr) or s.base not in found:
        return s
    value = getattr(found[s.base], s.name)
    constant = anf.Const(value.item() if isinstance(value, np.generic) else value)
    single = isinstance(value, np.float32)
    return (
        anf.CallKnown(s.target, "np.float32", (constant,), s.line) if single else anf.Copy(s.target, constant, s.line)
    )


def _makes(s: anf.Stmt, some: set[str]) -> bool:
    return isinstance(s, anf.Let) and s.target in some
