"""Scalar replacement of tuples: `t` of two floats is `t_0` and `t_1`; an index chosen at run time is a branch.

Takes the writer. No operation on a tuple is left.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.scalar_ops import arithmetic, extremum
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["Tuples"]


class Tuples:
    """Lowering of tuple construction, concatenation, indexing and reduction."""

    def __init__(self, code: ScalarBuilder, lists: Collection[str] = ()) -> None:
        """Keep the writer; `lists` are tuples that are lists in the program."""
        self.code, self.lists = code, lists

    def make(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower `(x, y)`."""
        self._copy_parts(s, [self.code.tree(x) for x in s.args])

    def join(self, s: anf.Let) -> None:
        """Lower the concatenation `s + t`."""
        self._copy_parts(s, [part for x in s.args for part in self.code.parts(x)])

    def _copy_parts(self, s: anf.Let, parts: list[anf.Tree]) -> None:
        for t, x in zip(self.code.parts(s.target), parts, strict=True):
            self.code.copy_tree(t, x, s.line)

    def items(self, x: anf.Atom, line: int) -> list[anf.Atom]:
        """Items of a tuple as atoms; nested tuples get a name."""
        code, tree = self.code, self.code.tree(x)
        assert isinstance(tree, anf.Node), "numba types * before tuples only"
        made: list[anf.Atom] = []
        for k, part in enumerate(tree.parts):
            if isinstance(part, anf.Node):
                name = code.temp(code.kind(x).types[k])
                code.copy_tree(code.tree(name), part, line)
                made.append(name)
            else:
                made.append(part)
        return made

    def packed(self, items: list[anf.Atom], line: int) -> str:
        """Return a new tuple of these atoms."""
        made = self.code.temp(types.BaseTuple.from_types([types.unliteral(self.code.kind(x)) for x in items]))
        self._copy_parts(anf.MakeTuple(made, tuple(items), line), [self.code.tree(x) for x in items])
        return made

    def item(self, s: anf.GetItem) -> None:
        """Lower `t[k]` and `t[i:j]`."""
        code, parts = self.code, self.code.parts(s.base)
        (entry,) = s.index
        if isinstance(entry, anf.Slice):
            if not all(isinstance(x, anf.Const) for x in entry.atoms()):
                code.refuse(s.line, "a slice of a tuple", "its bounds are not constant", "constants")
            bounds = [x.value if isinstance(x, anf.Const) else None for x in (entry.lower, entry.upper, entry.step)]
            self._copy_parts(s, list(parts[slice(*bounds)]))
        elif isinstance(entry, anf.Const):
            code.copy_tree(code.tree(s.target), parts[entry.value], s.line)
        else:
            self._chosen(s, parts, anf.atom_of(entry), "getitem" if s.args[0] in self.lists else "tuple index")

    def _chosen(self, s: anf.Let, parts: tuple[anf.Tree, ...], index: anf.Atom, what: str) -> None:
        """Lower `t[k]` to branches, where `k` is known at run time only."""
        code = self.code
        k = code.plain("i + n if i < 0 else i", s.line, i=index, n=anf.Const(len(parts)))
        target = code.tree(s.target)
        rest: list[anf.Stmt] = [anf.Effect(raising("IndexError", f"{what} out of range"), (), s.line, True)]
        for number, part in reversed(list(enumerate(parts))):
            test = code.temp(types.boolean)
            equal = ast.Compare(ast.Name(k), [ast.Eq()], [ast.Constant(number)])
            then = code.collect(functools.partial(code.copy_tree, target, part, s.line))
            code.emit(anf.Discrete(test, (k,), equal, s.line))  # all before the first branch: numba is not
            rest = [anf.If(test, then, rest, s.line)]  # good at names that are bound in some branches only
        code.add(*rest)

    def reduce(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `sum`, `min` and `max` of a tuple's items."""
        code = self.code
        parts = tuple(x for x in code.parts(s.args[0]) if not isinstance(x, anf.Node) and not is_array(code.kind(x)))
        text = s.function.split(".")[-1]
        if len(parts) < len(code.parts(s.args[0])) or text not in ("sum", "min", "max"):
            code.refuse(s.line, f"{text} of this tuple", "its items are no numbers", "a loop")
        if text != "sum":
            extremum(code, s.target, parts, kind, "<" if text == "min" else ">", s.line)
            return
        total: anf.Atom = s.args[1] if len(s.args) > 1 else anf.Const(0)
        for x in parts:
            made = code.temp(kind)
            if total == anf.Const(0):
                code.emit(anf.Copy(made, x, s.line))
            else:
                arithmetic(code, anf.BinOp(made, "+", total, x, s.line), kind)
            total = made
        code.emit(anf.Copy(s.target, total, s.line))
