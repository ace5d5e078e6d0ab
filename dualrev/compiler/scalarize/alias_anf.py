"""Alias classes and read-only arrays of a function: flow-insensitive may-analyses of its lowered core.

An operation that makes a new array shares nothing; any other may share memory with all arrays that it is given, and
what is passed to a function that may write is written to. No order is looked at.
"""

from __future__ import annotations

import ast
from typing import Any

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.reading.source import Source, is_numba_function, read
from dualrev.compiler.ir.anf.operations import Let, Ref, Store, walk
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import is_structured
from dualrev.compiler.types.predicates import NUMBERS, is_array
from dualrev.errors import UnsupportedError
from dualrev.rules.emitted_names import line_of
from dualrev.rules.functions import canonical, known

__all__ = ["changes_nothing", "has_output", "is_new", "makes_new", "sharing", "written_arrays"]

_NEW = ("binop", "unary", "literal", "plain")
_QUIET = ("attr", "binop", "copy", "getitem", "list", "literal", "plain", "tuple", "unary", "window")
_JOINING = ("append", "concatenate", "diff", "dot", "outer", "stack", "stacked", "sum")
_COPY = ("copy", "copy", "copy")
_PLAIN = (range, zip, enumerate, reversed)
_WRITING = ("fill", "sort", "np.fill_diagonal", "np.random.shuffle", "runtime.python_random.shuffle")


def sharing(lowered: Lowered, of: dict[str, Any], apart: bool) -> Sets[str]:
    """Alias classes of the arrays, from their definitions; `apart`: arrays of different parameters never alias."""
    alias = Sets[str]()
    parameters = [x for x in lowered.parameters if _holds(of.get(x))]
    for x in parameters[1:] if not apart else ():
        alias.join(x, parameters[0])
    for s in walk(lowered.body):
        if isinstance(s, Let) and _holds(kind := of.get(s.target)) and not (is_array(kind) and is_new(s)):
            for y in s.args[:1] if s.op == "iop" and is_array(kind) else s.args:
                if isinstance(y, (str, Ref)):
                    alias.join(s.target, y if isinstance(y, str) else y.name)
    return alias


def written_arrays(lowered: Lowered, of: dict[str, Any]) -> set[str]:
    """The arrays that may be written to, under these names or others, or are passed to a function that may do so."""
    written = set[str]()
    for s in walk(lowered.body):
        if isinstance(s, Store):
            written.add(s.array)
        elif isinstance(s, Let) and _may_write(s):
            written.update(x for x in s.args if isinstance(x, str))
    return {x for x in written if _holds(of.get(x))}


def _holds(kind: NumbaType) -> bool:
    return is_array(kind) or isinstance(kind, types.BaseTuple) or is_structured(kind)


def is_new(s: Let) -> bool:
    """Whether the result of an operation is a fresh array, which aliases no operand."""
    if s.op in _NEW:
        return True
    if s.op not in ("func", "method"):
        return False
    name = s.info[0] if s.op == "func" else f"np.{s.info[0]}"
    f = known(name) if known(name).name else known(s.info[0])
    if f.shares is not None:
        return f.shares == _COPY
    return bool(
        f.definitions or f.selection or f.makes or name == "np.array" or (f.line and not has_output(name, len(s.args)))
    )


def makes_new(s: Let) -> bool:
    """Whether an operation makes a new array: one of whole arrays, too, or the call of a function that returns one."""
    of_arrays = (
        s.op in ("func", "method") and known(s.info[0] if s.op == "func" else f"np.{s.info[0]}").core in _JOINING
    )
    if s.op == "call":
        return _returns_new(s.info)
    if s.op == "method" and s.info[0] == "astype":
        return True
    return is_new(s) or (of_arrays and not has_output(s.info[0], len(s.args))) or (s.op == "binop" and s.info == "@")


def has_output(name: str, count: int) -> bool:
    """Whether an elementwise function, or `np.dot`, has one more argument than it reads: an output array."""
    line = line_of(name)
    read = 2 if name == "np.dot" else 1 if known(name).product else len(line.partials) if line is not None else count
    return count > read


def _may_write(s: Let) -> bool:
    """Whether an operation may write to its operands."""
    if s.op == "iop" or s.op in ("star", "ufunc"):
        return True
    if s.op in ("func", "method"):
        return s.info[0] in _WRITING or (s.op == "func" and has_output(s.info[0], len(s.args)))
    return s.op == "call" and not _only_reads(s.info)


def changes_nothing(s: Let, of: dict[str, Any]) -> bool:
    """Whether an operation certainly writes to no array; False if an operand is a record or an instance."""
    if any(is_structured(of.get(x)) for x in s.args if isinstance(x, str)):
        return False
    if s.op in ("func", "method"):
        name = s.info[0] if s.op == "func" else f"np.{s.info[0]}"
        on_array = s.op == "func" or (isinstance(s.args[0], str) and is_array(of.get(s.args[0])))
        return known(name).compiled and on_array and not _may_write(s)
    if s.op == "iop":
        return isinstance(of.get(s.target), NUMBERS)
    return s.op in _QUIET or (s.op == "written" and s.info.pure)


def _only_reads(callee: Ref) -> bool:
    """Whether a callee is read-only by its source: no stores, no `+=`, no nested function, only known calls."""
    if not is_numba_function(callee.value):
        return False
    try:
        source = read(callee.value)
    except UnsupportedError:
        return False
    for x in ast.walk(source.tree):
        if isinstance(x, (ast.Subscript, ast.Attribute)) and isinstance(x.ctx, ast.Store):
            return False
        if isinstance(x, (ast.AugAssign, ast.FunctionDef)) and x is not source.tree:
            return False
        if isinstance(x, ast.Call) and x not in source.tree.decorator_list and not _reads(x, source):
            return False
    return True


def _reads(call: ast.Call, source: Source) -> bool:
    """Whether a call is one of numpy, math or Python that writes to no argument."""
    f, local = call.func, {a.arg for a in source.tree.args.args}
    root = f.value if isinstance(f, ast.Attribute) else f
    if not isinstance(root, ast.Name) or root.id in local or call.keywords:
        return False
    found = source.lookup(root.id, ())
    value = (
        None if found is None else getattr(found.value, f.attr, None) if isinstance(f, ast.Attribute) else found.value
    )
    name = canonical(value) or ""
    writes = name in _WRITING or has_output(name, len(call.args))
    return value in _PLAIN or (bool(name) and not writes)


def _returns_new(callee: Ref) -> bool:
    """Whether the array that a function returns is a new one, as its text shows."""
    if not is_numba_function(callee.value):
        return False
    try:
        source = read(callee.value)
    except UnsupportedError:
        return False
    tree = source.tree
    if any(isinstance(x, (ast.FunctionDef, ast.Lambda)) and x is not tree for x in ast.walk(tree)):
        return False
    bound: dict[str, list[ast.expr | None]] = {a.arg: [None] for a in [*tree.args.args, *tree.args.kwonlyargs]}
    for x in ast.walk(tree):
        if isinstance(x, ast.Assign):
            for target in x.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        bound.setdefault(name.id, []).append(x.value if name is target else None)
        elif isinstance(x, (ast.For, ast.comprehension, ast.withitem)):
            inside = ast.walk(x.target if not isinstance(x, ast.withitem) else x)
            bound |= {name.id: [None] for name in inside if isinstance(name, ast.Name)}
    returned = [x.value for x in ast.walk(tree) if isinstance(x, ast.Return)]
    return bool(returned) and all(_is_new_value(x, source, bound, ()) for x in returned)


def _is_new_value(
    x: ast.expr | None, source: Source, bound: dict[str, list[ast.expr | None]], seen: tuple[str, ...]
) -> bool:
    """Whether the value of an expression, if it is an array, is a new one."""
    if isinstance(x, ast.Name):
        if x.id in seen:
            return True  # what else is assigned to it, is looked at anyway
        return all(_is_new_value(y, source, bound, (*seen, x.id)) for y in bound.get(x.id, [None]))
    if isinstance(x, (ast.BinOp, ast.UnaryOp, ast.Constant)):
        return True
    if not isinstance(x, ast.Call):
        return False
    f = x.func
    root = f.value if isinstance(f, ast.Attribute) else f
    found = source.lookup(root.id, ()) if isinstance(root, ast.Name) and root.id not in bound else None
    if found is None:
        return isinstance(f, ast.Attribute) and f.attr == "copy" and not x.args
    value = getattr(found.value, f.attr, None) if isinstance(f, ast.Attribute) else found.value
    name = canonical(value) or ""
    return bool(name) and makes_new(Let("", "func", (None,) * len(x.args), (name, ()), 0)) and not x.keywords
