"""Alias classes and read-only arrays of a function: flow-insensitive may-analyses of its lowered core.

An operation that makes a new array shares nothing; any other may share memory with all arrays that it is given, and
what is passed to a function that may write is written to. No order is looked at.
"""

from __future__ import annotations

import ast

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.reading.source import Source, is_numba_function, read
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import is_structured
from dualrev.compiler.types.predicates import NUMBERS, is_array
from dualrev.errors import UnsupportedError
from dualrev.rules.emitted_names import line_of
from dualrev.rules.functions import canonical, known

__all__ = ["changes_nothing", "has_output", "is_new", "makes_new", "sharing", "written_arrays"]

_NEW = (anf.BinOp, anf.UnaryOp, anf.MakeArray, anf.Discrete)
_QUIET = (*_NEW, anf.GetAttr, anf.Copy, anf.GetItem, anf.MakeList, anf.AllocList, anf.MakeTuple, anf.Window)
_JOINING = ("append", "concatenate", "diff", "dot", "outer", "stack", "stacked", "sum")
_COPY = ("copy", "copy", "copy")
_PLAIN = (range, zip, enumerate, reversed)
_WRITING = ("fill", "sort", "np.fill_diagonal", "np.random.shuffle", "runtime.python_random.shuffle")


def sharing(lowered: Lowered, of: dict[str, NumbaType], apart: bool) -> Sets[str]:
    """Alias classes of the arrays, from their definitions; `apart`: arrays of different parameters never alias."""
    alias = Sets[str]()
    parameters = [x for x in lowered.parameters if _holds(of.get(x))]
    for x in parameters[1:] if not apart else ():
        alias.join(x, parameters[0])
    for s in anf.walk(lowered.body):
        if isinstance(s, anf.Let) and _holds(kind := of.get(s.target)) and not (is_array(kind) and is_new(s)):
            for y in s.args[:1] if isinstance(s, anf.InplaceOp) and is_array(kind) else s.args:
                if isinstance(y, (str, anf.Ref)):
                    alias.join(s.target, y if isinstance(y, str) else y.name)
    return alias


def written_arrays(lowered: Lowered, of: dict[str, NumbaType]) -> set[str]:
    """The arrays that may be written to, under these names or others, or are passed to a function that may do so."""
    written = set[str]()
    for s in anf.walk(lowered.body):
        if isinstance(s, anf.Store):
            written.add(s.array)
        elif isinstance(s, anf.Let) and _may_write(s):
            written.update(x for x in s.args if isinstance(x, str))
    return {x for x in written if _holds(of.get(x))}


def _holds(kind: NumbaType) -> bool:
    return is_array(kind) or isinstance(kind, types.BaseTuple) or is_structured(kind)


def is_new(s: anf.Let) -> bool:
    """Whether the result of an operation is a fresh array, which aliases no operand."""
    if isinstance(s, _NEW):
        return True
    if not isinstance(s, (anf.CallKnown, anf.CallMethod)):
        return False
    name = _name(s)
    f = known(name) if known(name).name or isinstance(s, anf.CallKnown) else known(s.method)
    if f.shares is not None:
        return f.shares == _COPY
    return bool(
        f.definitions or f.selection or f.makes or name == "np.array" or (f.line and not has_output(name, len(s.args)))
    )


def makes_new(s: anf.Let) -> bool:
    """Whether an operation makes a new array: one of whole arrays, too, or the call of a function that returns one."""
    if isinstance(s, anf.CallUser):
        return _returns_new(s.function)
    if isinstance(s, anf.CallKnown) and known(s.function).core in _JOINING and not has_output(s.function, len(s.args)):
        return True
    if isinstance(s, anf.CallMethod) and (s.method == "astype" or known(_name(s)).core in _JOINING):
        return True
    return is_new(s) or (isinstance(s, anf.BinOp) and s.symbol == "@")


def _name(s: anf.CallKnown | anf.CallMethod) -> str:
    """Name of a function; of a method, that of numpy's function."""
    return s.function if isinstance(s, anf.CallKnown) else f"np.{s.method}"


def has_output(name: str, count: int) -> bool:
    """Whether an elementwise function, or `np.dot`, has one more argument than it reads: an output array."""
    line = line_of(name)
    read = 2 if name == "np.dot" else 1 if known(name).product else len(line.partials) if line is not None else count
    return count > read


def _may_write(s: anf.Let) -> bool:
    """Whether an operation may write to its operands."""
    if isinstance(s, (anf.InplaceOp, anf.CallStarred, anf.CallUfunc)):
        return True
    if isinstance(s, anf.CallKnown):
        return s.function in _WRITING or has_output(s.function, len(s.args))
    if isinstance(s, anf.CallMethod):
        return s.method in _WRITING
    return isinstance(s, anf.CallUser) and not _only_reads(s.function)


def changes_nothing(s: anf.Let, of: dict[str, NumbaType]) -> bool:
    """Whether an operation certainly writes to no array; False if an operand is a record or an instance."""
    if any(is_structured(of.get(x)) for x in s.args if isinstance(x, str)):
        return False
    if isinstance(s, (anf.CallKnown, anf.CallMethod)):
        on_array = isinstance(s, anf.CallKnown) or (isinstance(s.args[0], str) and is_array(of.get(s.args[0])))
        return known(_name(s)).compiled and on_array and not _may_write(s)
    if isinstance(s, anf.InplaceOp):
        return isinstance(of.get(s.target), NUMBERS)
    return isinstance(s, _QUIET) or (isinstance(s, anf.OpaqueExpr) and s.pure)


def _only_reads(callee: anf.Ref) -> bool:
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


def _returns_new(callee: anf.Ref) -> bool:
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
    return bool(name) and makes_new(anf.CallKnown("", name, (anf.Const(None),) * len(x.args), 0)) and not x.keywords
