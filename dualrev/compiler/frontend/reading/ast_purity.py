"""Purity analysis of a numba function's syntax tree, without types: read-only arrays, repeatable runs.

Each answer is careful: it is "no" where the tree does not tell.
"""

from __future__ import annotations

import ast
from types import ModuleType

import numpy as np

from dualrev.compiler.frontend.reading.callables import is_stencil
from dualrev.compiler.frontend.reading.source import Source, is_numba_function, read
from dualrev.compiler.types.aliases import UserValue
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import canonical, known

__all__ = ["Look", "gives_new_arrays", "looks_at_layout"]

_LAYOUT = {"flags", "strides", "ctypes", "data", "nbytes", "base"}  # what a copy of an array may have otherwise
_MODULES = ("numpy", "math", "cmath", "builtins", "operator")


def looks_at_layout(tree: ast.AST) -> bool:
    """Whether a function names the flags or the strides of an array."""
    return any(isinstance(x, ast.Attribute) and x.attr in ("flags", "strides") for x in ast.walk(tree))


def gives_new_arrays(f: UserValue) -> bool:
    """Whether a function neither writes its first argument nor returns an alias of its memory."""
    if is_stencil(f) or getattr(f, "__module__", "") == "numpy.linalg":
        return True
    line = known(canonical(f) or "")
    return bool(line.written or line.definitions or line.discrete) and not (line.shares or line.selection)


class Look:
    """Purity queries on the syntax tree of a function whose source can be read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes = list(ast.walk(source.tree))
        self.parents = {id(inner): x for x in self.nodes for inner in ast.iter_child_nodes(x)}
        self.own = {x.id for x in self.nodes if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load)}
        self.own |= {x.arg for x in self.nodes if isinstance(x, ast.arg)}

    def asks_for_layout(self) -> bool:
        """Whether the function may observe the memory layout of an array (`flags`, `strides`, `data`, ...)."""
        return any(isinstance(x, ast.Attribute) and x.attr in _LAYOUT for x in self.nodes)

    def only_reads(self, name: str, ndim: int) -> bool:
        """Whether an array parameter is read-only: full element indices, shape queries, calls that do not alias it."""
        used = [x for x in self.nodes if isinstance(x, ast.Name) and x.id == name]
        if any(_is_view(x) for x in self.nodes):  # an index may be a variable for one
            return False
        return all(isinstance(x.ctx, ast.Load) and self._reads(x, ndim) for x in used)

    def _reads(self, x: ast.Name, ndim: int) -> bool:
        match self.parents[id(x)]:
            case ast.Subscript(value, index, ast.Load()) if value is x:
                places = index.elts if isinstance(index, ast.Tuple) else [index]
                return len(places) == ndim and not any(map(self._is_open, places))
            case ast.Attribute(value, attr, ast.Load()):
                return attr in ("shape", "size", "ndim")
            case ast.Call(f, [first, *_], []) if first is x:
                g = self._value(f)
                return g is len or gives_new_arrays(g)
        return False

    def _is_open(self, index: ast.expr) -> bool:
        """Whether an index may select more than one element: a slice, a starred entry, a global that is no int."""
        if isinstance(index, (ast.Name, ast.Attribute)):
            known = isinstance(index, ast.Name) and index.id in self.own
            return not known and not isinstance(self._value(index), int)
        return isinstance(index, (ast.Slice, ast.Starred))

    def _value(self, node: ast.expr) -> UserValue:
        """Resolve a global name, or an attribute of a module, to its object; None if it is not known."""
        if isinstance(node, ast.Name):
            static = None if node.id in self.own else self.source.lookup(node.id, ())
            return None if static is None else static.value
        if not isinstance(node, ast.Attribute):
            return None
        base = self._value(node.value)
        return getattr(base, node.attr, None) if isinstance(base, ModuleType) else None

    def is_of_own(self, f: ast.expr) -> bool:
        """Whether a callee is a method of a variable or of an expression, or a nested function."""
        if isinstance(f, ast.Attribute):
            return not isinstance(f.value, ast.Name) or f.value.id in self.own
        return isinstance(f, ast.Name) and any(
            isinstance(x, ast.FunctionDef) and x.name == f.id for x in self.nodes[1:]
        )

    def does_the_same(self) -> bool:
        """Whether a second run with the same arguments surely does the same: it and its callees are deterministic."""
        return _does_the_same(self, {id(self.source.function)})


def _does_the_same(look: Look, seen: set[int]) -> bool:
    for x in look.nodes:
        if isinstance(x, ast.With):
            return False
        if not isinstance(x, ast.Call):
            continue
        f = look._value(x.func)
        if f is None and not look.is_of_own(x.func):
            return False
        if f is not None and is_numba_function(f):
            if id(f.py_func) in seen:
                continue
            seen.add(id(f.py_func))
            try:
                inner = Look(read(f))
            except UnsupportedError:
                return False
            if not _does_the_same(inner, seen):
                return False
        elif f is not None and not (is_stencil(f) or _is_fixed(f)):
            return False
    return True


def _is_fixed(f: UserValue) -> bool:
    """Whether `f` is a deterministic function of numpy, math or Python: random functions have no module."""
    module = getattr(f, "__module__", None) or ("numpy" if isinstance(f, np.ufunc) else "")
    return module.partition(".")[0] in _MODULES and not module.startswith("numpy.random")


def _is_view(x: ast.AST) -> bool:
    """Whether a node may turn an index into a view: `None`, `...`, or the name `slice`."""
    if isinstance(x, ast.Constant):
        return x.value is None or x.value is Ellipsis
    return isinstance(x, ast.Name) and x.id == "slice"
