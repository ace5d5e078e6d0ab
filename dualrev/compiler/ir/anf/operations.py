"""The language that a numba function is lowered to, and in which it is expanded; anf_to_core.py makes typed core of it.

A function in A-normal form. An atom is the name of a variable or a constant; every operation has atoms for arguments
and a name for its result, so that numba can tell the type of every intermediate value.

    block      a list of statements
    Let        target = op(args)          one operation; `info` says more, depending on op
    Store      array[index] = value       the only statement that changes memory, with Call
    If         if test: then else: orelse
    For        for target in range(start, stop, step): body
    While      while (test_block; test): body
    Effect     raise, assert, print: what happens in the forward sweep only
    Opaque     statements of Python, which stay as they are: no derivative goes through them

There is no break, continue or early return: to_anf.py has turned them into flags, and a loop ends after the iteration
that has set one of its `exits`. A variable may be assigned many times.

Operations, by the pass that leaves them there:

    to_anf.py   copy plain written binop iop unary func getitem attr method tuple list literal call star ufunc
    lower.py  copy plain prim load view alloc array call      (no tuples; elementwise work has become loops)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    *[
        "Atom",
        "Call",
        "Const",
        "Effect",
        "For",
        "If",
        "Let",
        "Member",
        "Node",
        "OfElements",
        "Opaque",
        "Ref",
        "Slice",
        "Star",
        "Stmt",
        "Store",
        "While",
        "Written",
    ],
    *["blocks", "ends", "index_atoms", "leaves", "reads", "walk", "writes"],
]


@dataclass(frozen=True)
class Const:
    """A constant in the text: a number, a bool, None or a string."""

    value: Any


@dataclass(frozen=True)
class Member(Const):
    """The name of a field that is written, as the only entry of an index: x.value = y."""


@dataclass(frozen=True)
class Ref:
    """A name that dispatcher.py binds in the emitted module: a function or a frozen array of the user's program.

    `path` leads from the differentiated function to the value: dispatcher.py follows it.
    """

    name: str
    value: Any = field(compare=False, repr=False)
    path: tuple[Any, ...] = ()


Atom = str | Const | Ref


class OfElements(str):
    """An operator between elements of arrays: as in numpy, a division by zero is no error there."""

    __slots__ = ()


@dataclass(frozen=True)
class Slice:
    """lower:upper:step in an index; None where nothing is written."""

    lower: Atom | None
    upper: Atom | None
    step: Atom | None

    def atoms(self) -> list[Atom]:
        """The parts that are written."""
        return [x for x in (self.lower, self.upper, self.step) if x is not None]


Index = tuple[Any, ...]  # of Atom, Slice, Ellipsis and None


@dataclass(eq=False)
class Let:
    """target = op(args)."""

    target: str
    op: str
    args: tuple[Any, ...]
    info: Any
    line: int


@dataclass(eq=False)
class Store:
    """array[index] op value, where op is =, += or -=."""

    array: str
    index: Index
    value: Atom
    line: int
    op: str = "="


@dataclass(eq=False)
class If:
    """A branch."""

    test: Atom
    then: list[Any]
    orelse: list[Any]
    line: int


@dataclass(eq=False)
class For:
    """A loop over range(start, stop, step), which ends early after an iteration that has set one of `exits`.

    A `parallel` one is over prange: the user says that its iterations may run at the same time. Or it is over
    `elements` of arrays, which numba runs so.
    """

    target: str
    start: Atom
    stop: Atom
    step: Atom
    body: list[Any]
    exits: list[str]
    line: int
    parallel: bool = False
    elements: bool = False


@dataclass(eq=False)
class While:
    """A loop with a condition; test_block has no effects."""

    test_block: list[Any]
    test: Atom
    body: list[Any]
    exits: list[str]
    line: int


@dataclass(eq=False)
class Effect:
    """Raise, assert or print: text with atoms in braces; nothing of it is differentiated."""

    text: str
    args: tuple[Atom, ...]
    line: int
    raises: bool = False


@dataclass(frozen=True)
class Written:
    """An expression with our names for variables, which stays as it is; `refusal` as in Opaque.

    One that is `pure` changes nothing; of others nobody knows. One that is `fixed` does the same in another run.
    """

    tree: ast.expr
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line
    pure: bool = True
    fixed: bool = False


@dataclass(eq=False)
class Opaque:
    """Statements with our names for variables, of which they read `args` and assign `targets`; nodes.py says more."""

    targets: list[str]
    args: tuple[str, ...]
    code: list[ast.stmt]
    line: int
    changes: bool
    unknown: bool
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line


@dataclass(eq=False)
class Call:
    """targets = function(*args): the call of another numba function, in expanded core.

    `args` are trees: an atom, or a Node of trees; `targets` are the leaves of the result from left to right.
    """

    targets: list[str]
    function: Ref
    args: list[Any]
    result: Any  # the tree of the result, with the targets as leaves
    line: int
    types: tuple[Any, ...] | None = None  # of the arguments, where there are complex numbers, which are tuples here


@dataclass(frozen=True)
class Node:
    """A tuple in expanded core, or the leaves of an object: its parts, and the class if it is a named tuple."""

    parts: tuple[Any, ...]
    cls: Ref | None = None
    kind: Any = field(default=None, compare=False)  # the type of the object whose leaves these are: leaves.py


def leaves(tree: Any) -> list[Any]:
    """The atoms of a tree."""
    if isinstance(tree, Node):
        return [x for part in tree.parts for x in leaves(part)]
    return [tree]


@dataclass(frozen=True)
class Star:
    """A call with tuples in place of some arguments, g(x, *t): it becomes `op` when the tuples' lengths are known.

    `names` and `defaults` are the parameters of the callee; the table's functions have none here. `rest` is the last
    of them if it is `*rest`.
    """

    op: str
    callee: Any  # a Ref, or the name of a function of the table
    stars: tuple[bool, ...]
    keywords: tuple[str, ...]
    names: tuple[str, ...]
    defaults: dict[str, Atom]
    rest: str = ""

    def bound(
        self, atoms: list[Atom], refuse: Callable[[str], Any], packed: Callable[[list[Atom]], Atom]
    ) -> list[Atom]:
        """The arguments in the order of the parameters; the last atoms are those that are given by keyword.

        `packed` makes a tuple of those that `*rest` takes.
        """
        count = len(atoms) - len(self.keywords)
        more = dict(zip(self.keywords, atoms[count:], strict=True))
        if self.rest:
            own = len(self.names) - 1
            atoms = [*atoms[: min(own, count)], *[None] * (own - count), packed(atoms[own:count])]  # type: ignore[list-item]
            count = len(atoms)
        given = {name: x for name, x in zip(self.names, atoms[:count], strict=False) if x is not None}
        if count > len(self.names) or set(more) - set(self.names) or set(more) & set(given):
            refuse("it has other parameters")
        found = {**self.defaults, **given, **more}
        for name in self.names:
            if name not in found:
                refuse(f"the argument {name} is missing")
        return [found[name] for name in self.names]


Stmt = Let | Store | Call | If | For | While | Effect | Opaque


def blocks(s: Any) -> list[list[Any]]:
    """The blocks directly inside a statement."""
    if isinstance(s, If):
        return [s.then, s.orelse]
    if isinstance(s, For):
        return [s.body]
    if isinstance(s, While):
        return [s.test_block, s.body]
    return []


def walk(block: list[Any]) -> Iterator[Any]:
    """All statements of a block, those inside of others after them, in program order."""
    for s in block:
        yield s
        for inner in blocks(s):
            yield from walk(inner)


def index_atoms(index: Index) -> list[Atom]:
    """The atoms in an index."""
    atoms: list[Atom] = []
    for entry in index:
        if isinstance(entry, Slice):
            atoms.extend(entry.atoms())
        elif entry is not None and entry is not Ellipsis:
            atoms.append(entry)
    return atoms


def reads(s: Any) -> list[Atom]:
    """The atoms that a statement itself reads (not those of its blocks)."""
    if isinstance(s, Let):
        atoms = list(s.args)
        if s.op in ("getitem", "load", "view") and isinstance(s.info, tuple):
            atoms += index_atoms(s.info)
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


def ends(s: Any) -> list[Atom]:
    """The atoms that end a loop: its flags, and the condition of a While, which is computed in the loop."""
    if isinstance(s, While):
        return [s.test, *s.exits]
    return list(s.exits) if isinstance(s, For) else []


def writes(s: Any) -> list[str]:
    """The variables that a statement itself assigns."""
    if isinstance(s, (Let, For)):
        return [s.target]
    return list(s.targets) if isinstance(s, (Call, Opaque)) else []
