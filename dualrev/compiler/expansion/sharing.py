"""Which arrays of a function may be written to, from its text: for what is right only of arrays that stay as they are.

An operation that makes a new array shares nothing; any other may share memory with all arrays that it is given, and
what is passed to a function that may write is written to. No order is looked at.
"""

from __future__ import annotations

import ast
from typing import Any

from numba.core import types

from dualrev.compiler.core.lowered import Let, Ref, Store, walk
from dualrev.compiler.core.sets import Sets
from dualrev.compiler.expansion.kinds import is_array
from dualrev.compiler.frontend.lowered import Lowered
from dualrev.compiler.frontend.source import is_numba_function, read
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import known

__all__ = ["read_only"]

_NEW = ("binop", "unary", "literal", "plain")
_COPY = ("copy", "copy", "copy")
_WRITING = ("fill", "sort", "np.fill_diagonal", "np.random.shuffle", "runtime.python_random.shuffle")


def read_only(lowered: Lowered, of: dict[str, Any], arrays: set[str], apart: bool) -> bool:
    """Whether none of these arrays, and none that may share memory with one, is written to, returned or passed on."""
    alias, written = Sets[str](), {x for x in [lowered.result] if isinstance(x, str)}
    parameters = [x for x in lowered.parameters if _holds(of.get(x))]
    for x in parameters[1:] if not apart else ():
        alias.join(x, parameters[0])
    for s in walk(lowered.body):
        if isinstance(s, Store):
            written.add(s.array)
        elif isinstance(s, Let):
            given = [x for x in s.args if isinstance(x, str) and _holds(of.get(x))]
            if _may_write(s, of):
                written.update(given)
            if not _is_new(s, of) and _holds(of.get(s.target)):
                for x in given:
                    alias.join(s.target, x)
    return not any(alias.same(x, y) for x in arrays for y in written if _holds(of.get(y)))


def _holds(kind: Any) -> bool:
    return is_array(kind) or isinstance(kind, types.BaseTuple)


def _is_new(s: Let, of: dict[str, Any]) -> bool:
    """Whether an operation makes a new array."""
    if s.op in _NEW:
        return True
    if s.op not in ("func", "method"):
        return False
    name = s.info[0] if s.op == "func" else f"np.{s.info[0]}"
    f = known(name) if known(name).name else known(s.info[0])
    if f.shares is not None:
        return f.shares == _COPY
    return bool(f.definitions or f.selection or f.makes or name == "np.array" or (f.line and not _has_output(s, of)))


def _has_output(s: Let, of: dict[str, Any]) -> bool:
    """Whether the last argument of a function may be an array for its result."""
    return len(s.args) > 1 and s.args[-1] is not s.args[0] and is_array(of.get(str(s.args[-1]))) and len(s.args) > 2


def _may_write(s: Let, of: dict[str, Any]) -> bool:
    """Whether an operation may write to the arrays that it is given."""
    if s.op == "iop" or s.op in ("star", "ufunc"):
        return True
    if s.op in ("func", "method"):
        return s.info[0] in _WRITING or (s.op == "func" and _has_output(s, of) and not known(s.info[0]).definitions)
    return s.op == "call" and not _only_reads(s.info)


def _only_reads(callee: Ref) -> bool:
    """Whether nothing in the text of a function may write to an array; what it calls is not looked at."""
    if not is_numba_function(callee.value):
        return False
    try:
        tree = read(callee.value).tree
    except UnsupportedError:
        return False
    for x in ast.walk(tree):
        if isinstance(x, (ast.Subscript, ast.Attribute)) and isinstance(x.ctx, ast.Store):
            return False
        if isinstance(x, (ast.AugAssign, ast.Global)):
            return False
        if isinstance(x, ast.Call) and not _is_of_numpy(x.func):
            return False
    return True


def _is_of_numpy(f: ast.expr) -> bool:
    """Whether a call is one of np.sum and the like, which write to nothing."""
    if isinstance(f, ast.Name):
        return f.id in ("len", "range", "abs", "min", "max", "sum", "float", "int", "zip", "enumerate")
    plain = isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name)
    return plain and f.value.id in ("np", "math") and f"np.{f.attr}" not in _WRITING and f.attr not in ("dot",)  # type: ignore[attr-defined]
