"""Traversal and substitution of core terms: atoms, blocks, reads and writes, and the same term with other atoms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

from dualrev.compiler.ir.core.atoms import (
    Applied,
    Atom,
    Choice,
    Comparison,
    Constant,
    Expr,
    Field,
    Global,
    Index,
    Item,
    Logical,
    Method,
    Node,
    Operator,
    Pack,
    Span,
    Tree,
    Var,
)
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Barrier,
    Call,
    Columns,
    Copy,
    Discrete,
    Effect,
    For,
    Function,
    Hold,
    If,
    Keep,
    Kept,
    Load,
    Make,
    Opaque,
    Pop,
    Push,
    Real,
    Reserve,
    Statement,
    Store,
    View,
    While,
    Whole,
)

__all__ = [
    "atoms_of",
    "blocks",
    "expressions",
    "leaves",
    "mapped",
    "parts",
    "reads",
    "renewed",
    "replaced",
    "rewritten",
    "several",
    "statements",
    "substituted",
    "variables",
    "with_blocks",
    "writes",
]


def leaves(tree: Tree) -> list[Any]:
    """Return the atoms of a tree, from left to right; its names, of a tree in which entry points have put some."""
    return [x for part in tree.parts for x in leaves(part)] if isinstance(tree, Node) else [tree]


def mapped(tree: Tree, leaf: Callable[[Any], Tree]) -> Tree:
    """Map a function over the leaves of a tree."""
    if isinstance(tree, Node):
        return Node(tuple(mapped(x, leaf) for x in tree.parts), tree.cls, tree.kind)
    return leaf(tree)


def renewed(tree: Tree) -> Tree:
    """Copy a tree with fresh variables."""
    return mapped(tree, lambda x: Var("_", x.type) if isinstance(x, Var) else x)


def several(parts: Sequence[Tree]) -> Tree:
    """Return the only result, or a tuple of several."""
    return parts[0] if len(parts) == 1 else Node(tuple(parts))


def blocks(s: Statement) -> tuple[tuple[Statement, ...], ...]:
    """Return the blocks directly inside a statement."""
    match s:
        case If():
            return s.then, s.orelse
        case For():
            return (s.body,)
        case While():
            return s.before, s.body
    return ()


def with_blocks(s: Statement, inner: Iterable[tuple[Statement, ...]]) -> Statement:
    """Replace the blocks of a statement, in their order."""
    match s, tuple(inner):
        case If(), (then, orelse):
            return replace(s, then=then, orelse=orelse)
        case For(), (body,):
            return replace(s, body=body)
        case While(), (before, body):
            return replace(s, before=before, body=body)
    return s


def rewritten(block: tuple[Statement, ...], change: Callable[[Statement], Statement]) -> tuple[Statement, ...]:
    """Rewrite each statement of a block by `change`, nested ones first."""
    return tuple(change(with_blocks(s, [rewritten(inner, change) for inner in blocks(s)])) for s in block)


def statements(block: tuple[Statement, ...]) -> Iterator[Statement]:
    """Walk the statements of a block in program order, nested ones after their owner."""
    for s in block:
        yield s
        for inner in blocks(s):
            yield from statements(inner)


def parts(e: Index) -> tuple[Index, ...]:
    """Return the direct operands of an expression or an index."""
    match e:
        case Operator() | Comparison() | Logical() | Pack():
            return e.args
        case Choice():
            return e.test, e.then, e.orelse
        case Applied():
            return (*e.args, *(x for _, x in e.keywords))
        case Method():
            return (e.base, *e.args, *(x for _, x in e.keywords))
        case Field():
            return (e.base,)
        case Item():
            return (e.base, *e.index)
        case Span():
            return tuple(x for x in (e.lower, e.upper, e.step) if x is not None)
    return ()


def expressions(e: Index) -> Iterator[Index]:
    """Walk an expression or an index, and all in it."""
    yield e
    for part in parts(e):
        yield from expressions(part)


def atoms_of(e: Index) -> Iterator[Atom]:
    """Walk the atoms of an expression or an index."""
    if isinstance(e, (Var, Constant, Global)):
        yield e
    for part in parts(e):
        yield from atoms_of(part)


@overload
def replaced(e: Expr, sub: Callable[[Atom], Atom]) -> Expr: ...
@overload
def replaced(e: Expr | None, sub: Callable[[Atom], Atom]) -> Expr | None: ...
@overload
def replaced(e: Index, sub: Callable[[Atom], Atom]) -> Index: ...
def replaced(e: Index, sub: Callable[[Atom], Atom]) -> Index:
    """Substitute atoms in an expression or an index."""

    def some(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Substitute in several operands."""
        return tuple(replaced(x, sub) for x in args)

    match e:
        case Var() | Constant() | Global():
            return sub(e)
        case Operator() | Comparison() | Logical() | Pack():
            return replace(e, args=some(e.args))
        case Choice():
            return Choice(*some((e.test, e.then, e.orelse)))
        case Applied() | Method():
            keywords = tuple((k, replaced(x, sub)) for k, x in e.keywords)
            if isinstance(e, Applied):
                return replace(e, args=some(e.args), keywords=keywords)
            return replace(e, base=replaced(e.base, sub), args=some(e.args), keywords=keywords)
        case Field():
            return replace(e, base=replaced(e.base, sub))
        case Item():
            return Item(replaced(e.base, sub), tuple(replaced(i, sub) for i in e.index))
        case Span():
            return Span(*(replaced(x, sub) for x in (e.lower, e.upper, e.step)))
    return e


def substituted(s: Statement, read: Callable[[Atom], Any], write: Callable[[Var], Var] = lambda x: x) -> Statement:
    """Substitute the atoms that a statement reads and the targets that it writes; its blocks stay unchanged.

    What `read` gives for an array is an array, where one has to stand.
    """

    def made(x: Atom) -> Atom:
        """The target for a leaf of a result."""
        return write(x) if isinstance(x, Var) else x

    def index(entries: tuple[Index, ...]) -> tuple[Index, ...]:
        """Substitute in an index."""
        return tuple(replaced(i, read) for i in entries)

    match s:
        case Copy() | Hold():
            return replace(s, target=write(s.target), source=read(s.source))
        case Discrete() | Make():
            return replace(s, target=write(s.target), value=replaced(s.value, read))
        case Real() | Whole():
            return replace(s, target=write(s.target), args=tuple(map(read, s.args)))
        case Load():
            return replace(s, target=write(s.target), array=read(s.array), index=index(s.index))
        case Store():
            return replace(s, array=read(s.array), index=index(s.index), value=read(s.value))
        case View():
            return replace(s, target=write(s.target), base=read(s.base), value=replaced(s.value, read))
        case Call():
            return replace(
                s,
                targets=tuple(map(write, s.targets)),
                args=tuple(mapped(x, read) for x in s.args),
                result=mapped(s.result, made),
            )
        case If():
            return replace(s, test=read(s.test))
        case For():
            return replace(s, target=write(s.target), start=read(s.start), stop=read(s.stop), step=read(s.step))
        case While():
            return replace(s, test=read(s.test))
        case Effect():
            return replace(s, args=tuple(map(read, s.args)))
        case Barrier():
            return replace(s, arrays=tuple(map(read, s.arrays)))
        case Opaque():
            inputs = tuple((name, read(x)) for name, x in s.inputs)
            return replace(s, inputs=inputs, outputs=tuple((name, write(x)) for name, x in s.outputs))
        case Accumulate():
            return replace(s, array=read(s.array), args=tuple(map(read, s.args)))
        case Push():
            return replace(s, values=tuple(map(read, s.values)))
        case Columns():
            targets = tuple(map(write, s.targets))
            return replace(s, targets=targets, start=read(s.start), stop=read(s.stop), step=read(s.step))
    return s


def reads(s: Statement) -> list[Atom]:
    """Return the atoms that a statement itself reads (not the ones its blocks read)."""
    match s:
        case Copy():
            return [s.source]
        case Discrete() | Make():
            return list(atoms_of(s.value))
        case Real() | Whole() | Effect():
            return list(s.args)
        case Load():
            return [s.array, *(x for i in s.index for x in atoms_of(i))]
        case Store():
            return [s.array, *(x for i in s.index for x in atoms_of(i)), s.value]
        case View():
            return [s.base, *atoms_of(s.value)]
        case Call():
            return [x for tree in s.args for x in leaves(tree)]
        case Opaque():
            return [x for _, x in s.inputs]
        case Barrier():
            return list(s.arrays)
        case If():
            return [s.test]
        case For() | Reserve() | Columns():
            return [s.start, s.stop, s.step]
        case Push():
            return list(s.values)
        case Keep():
            return [s.array]
        case Hold():
            return [s.source]
        case Accumulate():
            return [s.array, *s.args]
    return []


def writes(s: Statement) -> tuple[Var, ...]:
    """Return the variables that a statement itself assigns."""
    match s:
        case Copy() | Discrete() | Real() | Load() | View() | Make() | Whole() | For() | Kept() | Hold():
            return (s.target,)
        case Call() | Opaque() | Pop() | Columns():
            return s.targets
    return ()


def variables(f: Function) -> list[Var]:
    """Return all variables of a function, in the order of their first occurrence."""
    found: dict[Var, None] = {x: None for p in f.parameters for x in leaves(p) if isinstance(x, Var)}
    for s in statements(f.body):
        found |= {x: None for x in [*writes(s), *reads(s)] if isinstance(x, Var)}
    return list(found)
