"""Atoms of A-normal form, which operations are applied to: names, constants, values of the user's program; indices."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import EllipsisType
from typing import TypeAlias

from dualrev.compiler.types.aliases import AccessPath, NumbaType, UserValue

__all__ = [
    "Atom",
    "Const",
    "Entry",
    "Index",
    "Member",
    "Node",
    "Ref",
    "Slice",
    "Tree",
    "atom_of",
    "index_atoms",
    "leaves",
    "variables",
]


@dataclass(frozen=True)
class Const:
    """A literal constant: a number, a bool, None or a string."""

    value: UserValue


@dataclass(frozen=True)
class Member(Const):
    """Field name of a store `x.value = y`, as the only entry of its index."""


@dataclass(frozen=True)
class Ref:
    """A global that dispatcher.py binds in the emitted module: a function or a frozen array of the user's program.

    `path` leads from the differentiated function to the value: dispatcher.py follows it.
    """

    name: str
    value: UserValue = field(compare=False, repr=False)
    path: AccessPath = ()


Atom: TypeAlias = str | Const | Ref


@dataclass(frozen=True)
class Slice:
    """A slice `lower:upper:step` in an index; None for an omitted part."""

    lower: Atom | None
    upper: Atom | None
    step: Atom | None

    def atoms(self) -> list[Atom]:
        """Atoms of the parts that are not omitted."""
        return [x for x in (self.lower, self.upper, self.step) if x is not None]


#: An entry of a subscript, and all of them.
Entry: TypeAlias = Atom | Slice | EllipsisType | None
Index: TypeAlias = tuple[Entry, ...]


def atom_of(entry: Entry) -> Atom:
    """Return an index entry that has to be an atom, as in the index of an element."""
    assert isinstance(entry, (str, Const, Ref)), entry
    return entry


def index_atoms(index: Index) -> list[Atom]:
    """Return the atoms in an index."""
    atoms: list[Atom] = []
    for entry in index:
        if isinstance(entry, Slice):
            atoms.extend(entry.atoms())
        elif entry is not None and not isinstance(entry, EllipsisType):
            atoms.append(entry)
    return atoms


@dataclass(frozen=True)
class Node:
    """A tuple or an object's leaves in expanded core: its parts, and the class of a named tuple."""

    parts: tuple[Tree, ...]
    cls: Ref | None = None
    kind: NumbaType = field(default=None, compare=False)  # the type of the object whose leaves these are: leaves.py


#: An atom, or a tuple's or an object's leaves.
Tree: TypeAlias = Atom | Node


def leaves(tree: Tree) -> list[Atom]:
    """Return the atoms of a tree."""
    if isinstance(tree, Node):
        return [x for part in tree.parts for x in leaves(part)]
    return [tree]


def variables(tree: Tree) -> list[str]:
    """Return the leaves of a tree that are variables; for the target of an operation, these are all leaves."""
    return [x for x in leaves(tree) if isinstance(x, str)]
