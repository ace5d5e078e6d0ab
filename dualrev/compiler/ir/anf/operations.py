"""A-normal form (ANF): the IR that a numba function is lowered to and expanded in; anf_to_core.py types it.

A function in A-normal form. An atom is the name of a variable or a constant; every operation has atoms for arguments
and a name for its result, so that numba can tell the type of every intermediate value.

    block      a list of statements
    Let        target = op(args)          one operation; `info` says more, depending on op
    Store      array[index] = value       the only statement that changes memory, with Call
    If         if test: then else: orelse
    For        for target in range(start, stop, step): body
    While      while (test_block; test): body
    Effect     raise, print: what happens in the forward sweep only
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

from dualrev.compiler.types.aliases import AccessPath, NumbaType

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
    """A literal constant: a number, a bool, None or a string."""

    value: Any


@dataclass(frozen=True)
class Member(Const):
    """Field name of a store `x.value = y`, as the only entry of its index."""


@dataclass(frozen=True)
class Ref:
    """A global that dispatcher.py binds in the emitted module: a function or a frozen array of the user's program.

    `path` leads from the differentiated function to the value: dispatcher.py follows it.
    """

    name: str
    value: Any = field(compare=False, repr=False)
    path: AccessPath = ()


Atom = str | Const | Ref


class OfElements(str):
    """An elementwise operator of arrays: as in numpy, a division by zero raises no error."""

    __slots__ = ()


@dataclass(frozen=True)
class Slice:
    """A slice `lower:upper:step` in an index; None for an omitted part."""

    lower: Atom | None
    upper: Atom | None
    step: Atom | None

    def atoms(self) -> list[Atom]:
        """Atoms of the parts that are not omitted."""
        return [x for x in (self.lower, self.upper, self.step) if x is not None]


Index = tuple[Any, ...]  # of Atom, Slice, Ellipsis and None


@dataclass(eq=False)
class Let:
    """Operation `target = op(args)`."""

    target: str
    op: str
    args: tuple[Any, ...]
    info: Any
    line: int


@dataclass(eq=False)
class Store:
    """Store `array[index] op value`, where `op` is `=`, `+=` or `-=`."""

    array: str
    index: Index
    value: Atom
    line: int
    op: str = "="


@dataclass(eq=False)
class If:
    """Branch on a condition."""

    test: Atom
    then: list[Any]
    orelse: list[Any]
    line: int


@dataclass(eq=False)
class For:
    """Loop over `range(start, stop, step)`, which ends early after an iteration that has set one of `exits`.

    A `parallel` loop is over prange: the user says that its iterations may run at the same time. Or it is over
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
    """Loop with a condition, which `test_block` computes without effects."""

    test_block: list[Any]
    test: Atom
    body: list[Any]
    exits: list[str]
    line: int


@dataclass(eq=False)
class Effect:
    """Effect of the forward sweep: `raise` or `print`, as text with atoms in braces; `assert` is an If with a raise."""

    text: str
    args: tuple[Atom, ...]
    line: int
    raises: bool = False


@dataclass(frozen=True)
class Written:
    """Opaque expression over renamed variables, unchanged by passes; `refusal` as in Opaque.

    A `pure` one has no effects; the effects of others are unknown. A `fixed` one does the same in another run.
    """

    tree: ast.expr
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line
    pure: bool = True
    fixed: bool = False


@dataclass(eq=False)
class Opaque:
    """Opaque Python statements over renamed variables: they read `args` and assign `targets`; nodes.py says more."""

    targets: list[str]
    args: tuple[str, ...]
    code: list[ast.stmt]
    line: int
    changes: bool
    unknown: bool
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line


@dataclass(eq=False)
class Call:
    """Call of another numba function in expanded core: `targets = function(*args)`.

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
    """A tuple or an object's leaves in expanded core: its parts, and the class of a named tuple."""

    parts: tuple[Any, ...]
    cls: Ref | None = None
    kind: NumbaType = field(default=None, compare=False)  # the type of the object whose leaves these are: leaves.py


def leaves(tree: Any) -> list[Any]:
    """Return the atoms of a tree."""
    if isinstance(tree, Node):
        return [x for part in tree.parts for x in leaves(part)]
    return [tree]


@dataclass(frozen=True)
class Star:
    """Call with unpacked tuples, `g(x, *t)`: it becomes `op` when the tuples' lengths are known.

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
        """Bind arguments to parameters, in the parameters' order; the last atoms are the keyword arguments.

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
    """Return the blocks directly inside a statement."""
    if isinstance(s, If):
        return [s.then, s.orelse]
    if isinstance(s, For):
        return [s.body]
    if isinstance(s, While):
        return [s.test_block, s.body]
    return []


def walk(block: list[Any]) -> Iterator[Any]:
    """Walk the statements of a block in program order, nested ones after their owner."""
    for s in block:
        yield s
        for inner in blocks(s):
            yield from walk(inner)


def index_atoms(index: Index) -> list[Atom]:
    """Return the atoms in an index."""
    atoms: list[Atom] = []
    for entry in index:
        if isinstance(entry, Slice):
            atoms.extend(entry.atoms())
        elif entry is not None and entry is not Ellipsis:
            atoms.append(entry)
    return atoms


def reads(s: Any) -> list[Atom]:
    """Return the atoms that a statement itself reads (not the ones its blocks read)."""
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
    """Return the atoms that end a loop: its exit flags, and the condition of a While, which the loop computes."""
    if isinstance(s, While):
        return [s.test, *s.exits]
    return list(s.exits) if isinstance(s, For) else []


def writes(s: Any) -> list[str]:
    """Return the variables that a statement itself assigns."""
    if isinstance(s, (Let, For)):
        return [s.target]
    return list(s.targets) if isinstance(s, (Call, Opaque)) else []
