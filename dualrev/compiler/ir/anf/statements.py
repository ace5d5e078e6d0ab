"""Statements of A-normal form beside operations: stores, branches, loops, effects; what each reads and writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dualrev.compiler.ir.anf.atoms import Atom, Index, Ref, Tree, index_atoms, leaves
from dualrev.compiler.ir.anf.operations import GetItem, Let, Load, View
from dualrev.compiler.types.aliases import NumbaTypes

__all__ = [
    "BARRIER",
    "Call",
    "Effect",
    "For",
    "If",
    "Opaque",
    "Stmt",
    "Store",
    "While",
    "blocks",
    "ends",
    "reads",
    "walk",
    "writes",
]

#: The marker of a barrier: runtime/markers.py.
BARRIER = "runtime.barrier"


@dataclass(frozen=True, eq=False)
class Store:
    """Store `array[index] op value`, where `op` is `=`, `+=` or `-=`."""

    array: str
    index: Index
    value: Atom
    line: int
    op: str = "="


@dataclass(frozen=True, eq=False)
class If:
    """Branch on a condition."""

    test: Atom
    then: list[Stmt]
    orelse: list[Stmt]
    line: int


@dataclass(frozen=True, eq=False)
class For:
    """Loop over `range(start, stop, step)`, which ends early after an iteration that has set one of `exits`.

    A `parallel` loop is over prange: the user says that its iterations may run at the same time. Or it is over
    `elements` of arrays, which numba runs so.
    """

    target: str
    start: Atom
    stop: Atom
    step: Atom
    body: list[Stmt]
    exits: list[str]
    line: int
    parallel: bool = False
    elements: bool = False


@dataclass(frozen=True, eq=False)
class While:
    """Loop with a condition, which `test_block` computes without effects."""

    test_block: list[Stmt]
    test: Atom
    body: list[Stmt]
    exits: list[str]
    line: int


@dataclass(frozen=True, eq=False)
class Effect:
    """Effect: `raise` or `print` in the forward sweep, as text with atoms in braces; `assert` is an If with a raise.

    Text that begins with BARRIER is a barrier of threads.
    """

    text: str
    args: tuple[Atom, ...]
    line: int
    raises: bool = False


@dataclass(frozen=True, eq=False)
class Opaque:
    """Opaque Python statements over renamed variables: they read `args` and assign `targets`; nodes.py says more."""

    targets: list[str]
    args: tuple[str, ...]
    code: list[ast.stmt]
    line: int
    changes: bool
    unknown: bool
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line


@dataclass(frozen=True, eq=False)
class Call:
    """Call of another numba function in expanded core: `targets = function(*args)`.

    `args` are trees: an atom, or a Node of trees; `targets` are the leaves of the result from left to right.
    """

    targets: list[str]
    function: Ref
    args: list[Tree]
    result: Tree  # the tree of the result, with the targets as leaves
    line: int
    types: NumbaTypes | None = None  # of the arguments, where there are complex numbers, which are tuples here


Stmt: TypeAlias = Let | Store | Call | If | For | While | Effect | Opaque


def blocks(s: Stmt) -> list[list[Stmt]]:
    """Return the blocks directly inside a statement."""
    if isinstance(s, If):
        return [s.then, s.orelse]
    if isinstance(s, For):
        return [s.body]
    if isinstance(s, While):
        return [s.test_block, s.body]
    return []


def walk(block: Sequence[Stmt]) -> Iterator[Stmt]:
    """Walk the statements of a block in program order, nested ones after their owner."""
    for s in block:
        yield s
        for inner in blocks(s):
            yield from walk(inner)


def reads(s: Stmt) -> list[Atom]:
    """Return the atoms that a statement itself reads (not the ones its blocks read)."""
    if isinstance(s, Let):
        atoms = list(s.args)
        if isinstance(s, (GetItem, Load, View)):
            atoms += index_atoms(s.index)
        return atoms
    if isinstance(s, Store):
        return [s.array, *index_atoms(s.index), s.value]
    if isinstance(s, If):
        return [s.test]
    if isinstance(s, For):
        return [s.start, s.stop, s.step]
    if isinstance(s, (Effect, Opaque)):
        return list(s.args)
    if isinstance(s, Call):
        return [x for arg in s.args for x in leaves(arg)]
    return []


def ends(s: Stmt) -> list[Atom]:
    """Return the atoms that end a loop: its exit flags, and the condition of a While, which the loop computes."""
    if isinstance(s, While):
        return [s.test, *s.exits]
    return list(s.exits) if isinstance(s, For) else []


def writes(s: Stmt) -> list[str]:
    """Return the variables that a statement itself assigns."""
    if isinstance(s, (Let, For)):
        return [s.target]
    return list(s.targets) if isinstance(s, (Call, Opaque)) else []
