"""Inline calls of `numba.stencil` functions: a loop nest with the kernel as its body.

    b = smooth(a)      @stencil                          array = a
                       def smooth(u):                    made = np.full(array.shape, 0.0)
                           return 0.5 * (u[-1] + u[1])   for i in range(1, array.shape[0] - 1):
                                                             made[i] = 0.5 * (array[i + -1] + array[i + 1])
                                                         b = made

As in numba, the margin has the value `cval`, and arrays that are named in `standard_indexing` have usual indices. What
the kernel's globals stand for is looked up where it is defined.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from dualrev.compiler.frontend.desugar.closures import Inlined, bound_in, renamed, returning
from dualrev.compiler.frontend.desugar.ndindex import assigned, builtin, located, read
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.reading.callables import frozen_in, jitted
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.frontend.reading.source import read as read_source
from dualrev.compiler.runtime.markers import double
from dualrev.compiler.types.aliases import AccessPath, UserValue

__all__ = ["Stencils"]

_NUMBER = "Secondary stencil array does not have same number of dimensions as the first stencil input."
_SMALLER = "Secondary stencil array has some dimension smaller the same dimension in the first stencil input."


class Stencils:
    """Inlining of the stencil calls of a function; `local` allocates a fresh name."""

    def __init__(self, scope: Scope, local: Callable[[str], str]) -> None:
        self.scope, self.local = scope, local

    def call(self, static: Static, node: ast.Call) -> Inlined:
        """Inline a stencil call: the loop nest, and the array that it fills."""
        f = static.value
        kernel = jitted(f)
        source = read_source(kernel)
        names = source.parameters
        self._check(node, f, len(names))
        path = (*static.path, ("jitted", ""))
        return _Loops(self, node, f, source, names, path).written()

    def _check(self, node: ast.Call, f: UserValue, count: int) -> None:
        """Refuse a stencil with frozen globals, or with arguments, a cval or a neighborhood that are not supported."""
        function = f.kernel_ir.func_id.func
        if name := frozen_in(function):
            why = f"numba has frozen the global {name} in it, and does not tell when"
            self.refuse(node, why, f"{name} as an argument")
        if node.keywords or any(isinstance(x, ast.Starred) for x in node.args):
            self.refuse(node, "only plain arguments are known", "its arrays and numbers")
        if len(node.args) != count:
            why = f"its kernel has {count} parameters, and the call {len(node.args)} arguments"
            self.refuse(node, why, "an argument for each")
        if type(f.options.get("cval", 0)) not in (int, float):
            self.refuse(node, "its cval is no real number", "one that is")
        near = f.options.get("neighborhood")
        if near is not None and not all(type(lo) is type(hi) is int and lo <= 0 <= hi for lo, hi in near):
            self.refuse(node, "its neighborhood is not one of constants around the place itself", "one that is")

    def refuse(self, node: ast.AST, why: str, instead: str) -> NoReturn:
        """Raise UnsupportedError for the call."""
        assert isinstance(node, ast.Call)
        self.scope.refuse(node, f"the call of the stencil {ast.unparse(node.func)}", why, instead)

    def known(self, value: UserValue, path: AccessPath = ()) -> str:
        """Bind a compile-time value to a fresh name in this function."""
        made = self.local(getattr(value, "__name__", "known"))
        self.scope.functions[made] = Static(value, path)
        return made


class _Loops:
    """The loop nest of one stencil call."""

    def __init__(
        self, stencils: Stencils, node: ast.Call, f: UserValue, source: Source, names: list[str], path: AccessPath
    ) -> None:
        self.stencils, self.node, self.source, self.path = stencils, node, source, path
        self.local = stencils.local
        self.options = f.options
        self.given = {x: self.local("array") for x in names}
        usual = set(f.options.get("standard_indexing") or ())
        every = [x for s in source.tree.body for x in ast.walk(s)]
        indexed = [x for x in every if isinstance(x, ast.Subscript) and isinstance(x.value, ast.Name)]
        self.places = [x for x in indexed if x.value.id in self.given and x.value.id not in usual]  # type: ignore[attr-defined]
        self.relative = [x for x in names if any(p.value.id == x for p in self.places)]  # type: ignore[attr-defined]
        own = {id(p.value) for p in self.places}
        whole = any(isinstance(x, ast.Name) and x.id in self.relative and id(x) not in own for x in every)
        written = any(not isinstance(p.ctx, ast.Load) for p in self.places)
        if whole or written or not self.relative or self.relative[0] != names[0]:
            self.refuse("its kernel does more than read elements around a place", "loops")
        self.ndim = len(_entries(self.places[0]))
        self.near = self._neighborhood()

    def _neighborhood(self) -> list[tuple[int, int]]:
        """Return the range of relative indices on each axis: lowest and highest."""
        given = self.options.get("neighborhood")
        near = [(0, 0)] * self.ndim
        for p in self.places:
            entries = _entries(p)
            if len(entries) != self.ndim or any(isinstance(x, (ast.Slice, ast.Starred)) for x in entries):
                self.refuse("its kernel has indices that are no numbers, or not one for each axis", "loops")
            if given is None:
                far = [k for x in entries if (k := _constant(x)) is not None]
                if len(far) < len(entries):
                    self.refuse("an index of its kernel is no constant", "a neighborhood")
                near = [(min(lo, k), max(hi, k)) for (lo, hi), k in zip(near, far, strict=True)]
        return near if given is None else [(lo, hi) for lo, hi in given]

    def written(self) -> Inlined:
        """Build the inlined statements, and the new array as their value."""
        node, first, made = self.node, self.given[self.relative[0]], self.local("made")
        body = [assigned(self.given[x], arg, node) for x, arg in zip(self.given, node.args, strict=True)]
        for x in self.relative[1:]:
            body += self._sizes(first, self.given[x])
        cval = ast.Constant(float(self.options.get("cval", 0.0)))
        full = ast.Call(read(self.stencils.known(np.full)), [_shape(first), cval], [])
        body += [assigned(made, full, node), *self._nest(first, made)]
        for s in body:
            located(s, node)
        whole = Inlined.of(body, read(made))
        located(whole, node)
        return whole

    def _sizes(self, first: str, other: str) -> list[ast.stmt]:
        """Build numba's checks of a secondary array: its number of axes, and its shape."""
        differ = ast.Compare(ast.Attribute(read(other), "ndim", ast.Load()), [ast.NotEq()], [ast.Constant(self.ndim)])
        tests: list[tuple[ast.expr, str]] = [(differ, _NUMBER)]
        for k in range(self.ndim):
            tests.append((ast.Compare(_shape(first, k), [ast.Gt()], [_shape(other, k)]), _SMALLER))
        error = read("ValueError")
        return [ast.If(t, [ast.Raise(ast.Call(error, [ast.Constant(text)], []), None)], []) for t, text in tests]

    def _nest(self, first: str, made: str) -> list[ast.stmt]:
        """Build the loop nest over the interior of the array."""
        index = [self.local("i") for _ in range(self.ndim)]
        place = ast.Tuple([read(i) for i in index], ast.Load())
        body = self._kernel(index)
        value = ast.Call(read(self.stencils.known(double)), [body.pop()], [])
        body.append(ast.Assign([ast.Subscript(read(made), place, ast.Store())], value))
        for k, (i, (lo, hi)) in reversed(list(enumerate(zip(index, self.near, strict=True)))):
            stop = ast.BinOp(_shape(first, k), ast.Sub(), ast.Constant(hi))
            bounds = ast.Call(builtin("range"), [ast.Constant(-lo), stop], [])
            body = [ast.For(ast.Name(i, ast.Store()), bounds, body, [])]
        return body

    def _kernel(self, index: list[str]) -> list[Any]:
        """Rename the kernel for one iteration: return its statements, and last its value."""
        body = [s for s in self.source.tree.body if not _is_text(s)]
        moved = _Moved(set(self.relative), index)
        bound = bound_in(body)
        names: dict[str, Any] = {**self.given, **{x: self.local(x) for x in sorted(bound)}}
        start = [assigned(names[x], read(self.given[x]), self.node) for x in sorted(bound & {*self.given})]
        for name in sorted({x.id for s in body for x in ast.walk(s) if isinstance(x, ast.Name)} - {*names}):
            static = self.source.lookup(name, self.path)
            if static is not None:
                names[name] = self.stencils.known(static.value, static.path)
        inner = [renamed(moved.visit(renamed(s, {})), names) for s in body]
        for x in (x for s in inner for x in ast.walk(s) if hasattr(x, "lineno")):
            ast.copy_location(x, self.node)  # the lines are of another function
        if isinstance(inner[0], ast.Return) and inner[0].value is not None:
            return [*start, inner[0].value]
        result = self.local("result")
        return [*start, *returning(inner, result, self.local, self.refuse_return), read(result)]

    def refuse(self, why: str, instead: str) -> NoReturn:
        """Raise UnsupportedError for the call of the stencil."""
        self.stencils.refuse(self.node, why, instead)

    def refuse_return(self, _: ast.AST) -> NoReturn:
        """Raise UnsupportedError for a `return` of the kernel."""
        self.refuse("its kernel returns from the `else` of a loop", "loops")


class _Moved(ast.NodeTransformer):
    """Make relative indices absolute: `u[-1, k]` is `u[i + -1, j + k]`, before names are replaced."""

    def __init__(self, relative: set[str], index: list[str]) -> None:
        self.relative, self.index = relative, index

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Add the loop indices to a relative index."""
        self.generic_visit(node)
        if not isinstance(node.value, ast.Name) or node.value.id not in self.relative:
            return node
        moved: list[ast.expr] = []
        for i, k in zip(self.index, _entries(node), strict=True):
            here = read(i)
            moved.append(here if _constant(k) == 0 else ast.BinOp(here, ast.Add(), k))
        node.slice = ast.Tuple(moved, ast.Load()) if len(moved) > 1 else moved[0]
        located(node, node)
        return node


def _entries(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _constant(node: ast.expr) -> int | None:
    """Return the value of a constant int, with or without a minus sign; None for anything else."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if negative else node  # type: ignore[attr-defined]
    if not isinstance(inner, ast.Constant) or type(inner.value) is not int:
        return None
    return -inner.value if negative else inner.value


def _shape(name: str, axis: int | None = None) -> ast.expr:
    shape = ast.Attribute(read(name), "shape", ast.Load())
    return shape if axis is None else ast.Subscript(shape, ast.Constant(axis), ast.Load())


def _is_text(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
