"""What the syntax tree of a numba function tells without its types: which arrays it only reads, and whether another run
of it does the same.

Each answer is careful: it is "no" where the tree does not tell.
"""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

import numpy as np

from dualrev.compiler.frontend.reading.callables import is_stencil
from dualrev.compiler.frontend.reading.source import Source, is_numba_function, read
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import canonical, known

__all__ = ["Look", "gives_new_arrays", "looks_at_layout"]

_LAYOUT = {"flags", "strides", "ctypes", "data", "nbytes", "base"}  # what a copy of an array may have otherwise
_MODULES = ("numpy", "math", "cmath", "builtins", "operator")


def looks_at_layout(tree: ast.AST) -> bool:
    """Whether a function names the flags or the strides of an array."""
    return any(isinstance(x, ast.Attribute) and x.attr in ("flags", "strides") for x in ast.walk(tree))


def gives_new_arrays(f: Any) -> bool:
    """Whether a function does not write to its first argument, and gives no memory of it."""
    if is_stencil(f) or getattr(f, "__module__", "") == "numpy.linalg":
        return True
    line = known(canonical(f) or "")
    return bool(line.written or line.definitions or line.discrete) and not (line.shares or line.selection)


class Look:
    """A look at a function whose source can be read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes = list(ast.walk(source.tree))
        self.parents = {id(inner): x for x in self.nodes for inner in ast.iter_child_nodes(x)}
        self.own = {x.id for x in self.nodes if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load)}
        self.own |= {x.arg for x in self.nodes if isinstance(x, ast.arg)}

    def asks_for_layout(self) -> bool:
        """Whether it may ask how the elements of an array lie in memory."""
        return any(isinstance(x, ast.Attribute) and x.attr in _LAYOUT for x in self.nodes)

    def only_reads(self, name: str, ndim: int) -> bool:
        """Whether it only reads elements of the array that a parameter is, and its shape."""
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
        """Whether an index may give more than an element."""
        if isinstance(index, (ast.Name, ast.Attribute)):
            known = isinstance(index, ast.Name) and index.id in self.own
            return not known and not isinstance(self._value(index), int)
        return isinstance(index, (ast.Slice, ast.Starred))

    def _value(self, node: ast.expr) -> Any:
        """What a name, or an attribute of a module, stands for; None if that is not known."""
        if isinstance(node, ast.Name):
            static = None if node.id in self.own else self.source.lookup(node.id, ())
            return None if static is None else static.value
        if not isinstance(node, ast.Attribute):
            return None
        base = self._value(node.value)
        return getattr(base, node.attr, None) if isinstance(base, ModuleType) else None

    def is_of_own(self, f: ast.expr) -> bool:
        """Whether what is called is a method of a variable, or a function inside of the function."""
        if isinstance(f, ast.Attribute):
            return not isinstance(f.value, ast.Name) or f.value.id in self.own
        return isinstance(f, ast.Name) and any(
            isinstance(x, ast.FunctionDef) and x.name == f.id for x in self.nodes[1:]
        )

    def does_the_same(self) -> bool:
        """Whether another run of it, with the same arguments, surely does the same."""
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


def _is_fixed(f: Any) -> bool:
    """Whether f is a function of numpy, math or Python, and none of random numbers, which have no module."""
    module = getattr(f, "__module__", None) or ("numpy" if isinstance(f, np.ufunc) else "")
    return module.partition(".")[0] in _MODULES and not module.startswith("numpy.random")


def _is_view(x: ast.AST) -> bool:
    """Whether a node makes what gives a part of an array, as an index: None, `...`, a slice with a name."""
    if isinstance(x, ast.Constant):
        return x.value is None or x.value is Ellipsis
    return isinstance(x, ast.Name) and x.id == "slice"
