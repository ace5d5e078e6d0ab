"""Constant folding of the attributes of `np.finfo` and `np.iinfo`, where type inference tells the dtype.

f = np.finfo(x.dtype)
eps = f.eps                     eps = 2.220446049250313e-16

frontend/desugar/type_limits.py does it where the dtype is named. An object that is used in another way is unchanged.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype, from_dtype

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir.anf.operations import Const, Let, Written, blocks, reads, walk
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["with_limits"]

_LIMITS = {"finfo": np.finfo, "iinfo": np.iinfo}


def with_limits(lowered: Lowered, of: dict[str, Any]) -> None:
    """Fold attributes of finfo and iinfo objects to constants; drop objects without other uses, and their types."""
    found: dict[str, Any] = {}
    for s in walk(lowered.body):
        if isinstance(s, Let) and s.target in of and (name := _name(of[s.target])):
            known = found.get(s.args[0]) if s.op == "copy" else _of(name, s, of)
            found[s.target] = known if s.target not in found or _same(found[s.target], known) else None
    found = {x: known for x, known in found.items() if known is not None}
    if found:
        _block(lowered.body, found)
        gone = set(found) - {lowered.result}
        while used := gone & {x for s in walk(lowered.body) if not _makes(s, gone) for x in reads(s)}:
            gone -= used
        _without(lowered.body, gone)
        for x in gone:
            del of[x]


def _name(kind: NumbaType) -> str:
    """Name of the function that returns objects of a type, `finfo` or `iinfo`; empty for any other type."""
    cls = kind.instance_class if isinstance(kind, types.BaseNamedTuple) else None
    return cls.__name__ if cls is not None and cls.__module__.startswith("numba.") and cls.__name__ in _LIMITS else ""


def _of(name: str, s: Let, of: dict[str, Any]) -> Any:
    """The finfo or iinfo object for the dtype of the argument; None if it is not known."""
    kinds = [of.get(x) for x in s.args]
    match s.info:
        case Written(tree=ast.Call(args=[ast.Attribute(value=ast.Name("np"), attr=attr)], keywords=[])):
            kinds = [from_dtype(np.dtype(getattr(np, attr)))]
    (kind, *others) = kinds or [None]
    kind = getattr(kind, "instance_type", getattr(kind, "dtype", kind))
    if others or not isinstance(kind, types.Float if name == "finfo" else types.Integer):
        return None
    return _LIMITS[name](as_dtype(types.unliteral(kind)))


def _same(x: Any, y: Any) -> bool:
    return x is not None and y is not None and type(x) is type(y) and x.dtype == y.dtype


def _block(body: list[Any], found: dict[str, Any]) -> None:
    for k, s in enumerate(body):
        for inner in blocks(s):
            _block(inner, found)
        if isinstance(s, Let) and s.op == "attr" and s.args[0] in found:
            value = getattr(found[s.args[0]], s.info)
            constant = Const(value.item() if isinstance(value, np.generic) else value)
            single = isinstance(value, np.float32)
            how, info = ("func", ("np.float32", ())) if single else ("copy", None)
            body[k] = Let(s.target, how, (constant,), info, s.line)


def _makes(s: Any, some: set[str]) -> bool:
    return isinstance(s, Let) and s.target in some


def _without(body: list[Any], gone: set[str]) -> None:
    body[:] = [s for s in body if not _makes(s, gone)]
    for s in body:
        for inner in blocks(s):
            _without(inner, gone)
