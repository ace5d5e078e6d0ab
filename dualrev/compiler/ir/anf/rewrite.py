"""Rewriting of A-normal form: new statements for the statements of a block, new atoms for what a statement reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import EllipsisType

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python

__all__ = ["rewritten", "with_blocks", "with_index", "with_reads"]


def with_blocks(s: anf.Stmt, inner: list[list[anf.Stmt]]) -> anf.Stmt:
    """Return a statement with other blocks directly inside, in the order of `blocks`."""
    if isinstance(s, anf.If):
        return replace(s, then=inner[0], orelse=inner[1])
    if isinstance(s, anf.For):
        return replace(s, body=inner[0])
    if isinstance(s, anf.While):
        return replace(s, test_block=inner[0], body=inner[1])
    return s


def rewritten(block: list[anf.Stmt], change: Callable[[anf.Stmt], list[anf.Stmt]]) -> list[anf.Stmt]:
    """Return a block with the statements that `change` gives for each statement; it sees nested blocks first."""
    made: list[anf.Stmt] = []
    for s in block:
        inner = anf.blocks(s)
        made += change(with_blocks(s, [rewritten(b, change) for b in inner]) if inner else s)
    return made


def with_index(index: anf.Index, read: Callable[[anf.Atom], anf.Atom]) -> anf.Index:
    """Return an index of other atoms: `read` gives one for each."""

    def entry(x: anf.Entry) -> anf.Entry:
        """Replace in an entry, parts of a slice included."""
        if isinstance(x, anf.Slice):
            return anf.Slice(*(y if y is None else read(y) for y in (x.lower, x.upper, x.step)))
        return x if x is None or isinstance(x, EllipsisType) else read(x)

    return tuple(map(entry, index))


def with_reads(s: anf.Stmt, read: Callable[[anf.Atom], anf.Atom]) -> anf.Stmt:
    """Return a statement that reads other atoms: `read` gives one for each (not for those that its blocks read)."""
    match s:
        case anf.Let():
            made = s.on(*map(read, s.args))
            if isinstance(made, (anf.GetItem, anf.Load, anf.View)):
                return replace(made, index=with_index(made.index, read))
            if isinstance(made, (anf.Discrete, anf.OpaqueExpr)):
                return replace(made, tree=to_python.renamed(made.tree, dict(zip(s.args, made.names, strict=True))))
            return made
        case anf.Store():
            array = read(s.array)
            assert isinstance(array, str), array
            return replace(s, array=array, index=with_index(s.index, read), value=read(s.value))
        case anf.If():
            return replace(s, test=read(s.test))
        case anf.For():
            return replace(s, start=read(s.start), stop=read(s.stop), step=read(s.step))
        case anf.Effect():
            return replace(s, args=tuple(map(read, s.args)))
    return s
