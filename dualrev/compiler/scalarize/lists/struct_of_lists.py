"""Split lists of tuples into a list for each component, all of the same length (struct of arrays).

    s.append((x, k))     s_0.append(x); s_1.append(k)
    s[k]                 (s_0[k], s_1[k])

What has no such form stays, and is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.operations import Const, Let, Slice, Store, blocks, ends, reads, walk, writes
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_list

__all__ = ["METHODS", "by_leaves", "is_known_use", "names_in"]

#: Methods, and which of their arguments is an item; None if there is none.
METHODS = {"append": 1, "insert": 2, "pop": None, "reverse": None, "clear": None, "copy": None}


def by_leaves(lowered: Lowered, of: dict[str, Any]) -> None:
    """Split the lists of tuples, in the body and in the types `of` its variables."""
    found = {x for x, kind in of.items() if _is_of_tuples(kind)} - {*lowered.parameters, lowered.result}
    every = list(walk(lowered.body))
    while lost := [(x, s) for s in every for x in found & names_in(s) if not is_known_use(s, x, found)]:
        for x, s in lost:
            _blame(lowered, s, x)
            found.discard(x)
    if found:
        _Leaves(lowered, of, found).block(lowered.body)
        for x in found:
            del of[x]


def _blame(lowered: Lowered, s: Any, x: str) -> None:
    """Record the unsupported method of a list for its refusal, under all names of the list."""
    if isinstance(s, Let) and s.op == "method" and s.args[0] == x and s.info[0] not in METHODS:
        why = f"of a list of tuples, {', '.join(METHODS)}, items, len and loops over it are known"
        said = f".{s.info[0]}() of a list of tuples", why, "a loop, or a list for each place in the tuples", s.line
        lowered.blamed.setdefault(x, said)
    elif isinstance(s, Let) and s.op == "copy" and (other := lowered.blamed.keys() & {s.target, s.args[0]}):
        lowered.blamed.setdefault(x, lowered.blamed[other.pop()])


def _is_of_tuples(kind: NumbaType) -> bool:
    """Whether a type is a list of tuples of numbers."""
    item: Any = kind.dtype if is_list(kind) else None
    if type(item) not in (types.Tuple, types.UniTuple) or not len(item):
        return False
    return all(isinstance(x, NUMBERS) for x in item.types)


def names_in(s: Any) -> set[Any]:
    """Variables that a statement itself reads or writes, the statements in its blocks excluded."""
    return {x for x in [*reads(s), *ends(s), *writes(s)] if isinstance(x, str)}


def is_known_use(s: Any, x: str, found: set[str]) -> bool:
    """Whether a statement uses a list in a way that the lists which it is split into support."""
    if isinstance(s, Store):
        return s.array == x and s.value != x and not isinstance(s.index[0], Slice) and isinstance(s.value, str)
    if not isinstance(s, Let):
        return False
    if s.op == "copy":
        return {s.target, s.args[0]} <= found
    if s.op == "list":
        return s.target == x and all(isinstance(y, str) for y in s.args if s.info == "items") and x not in s.args
    if s.op == "method":
        item = METHODS.get(s.info[0], 0)
        given = item if item is not None and item < len(s.args) else None
        fits = s.info[1] == () and s.info[0] in METHODS and s.args[0] in found and x not in s.args[1:]
        new = (s.target in found) is (s.info[0] == "copy")
        return fits and new and (given is None or isinstance(s.args[given], str))
    if s.op == "getitem":
        part = isinstance(s.info[0], Slice)
        return s.args[0] in found and x not in s.info and (s.target in found) is part
    if s.op == "plain":
        asked = [n.args[0] for n in ast.walk(s.info) if isinstance(n, ast.Call) and ast.unparse(n.func) == "len"]
        names = [n for n in ast.walk(s.info) if isinstance(n, ast.Name) and n.id == x]
        return all(any(n is y for y in asked) for n in names)
    return s.op == "func" and s.info == ("len", ()) and s.target != x


class _Leaves:
    def __init__(self, lowered: Lowered, of: dict[str, Any], found: set[str]) -> None:
        self.names, self.of = lowered.names, of
        self.lists: dict[str, list[str]] = {}
        for x in sorted(found):
            kind = of[x]
            self.lists[x] = [lowered.names.fresh(f"{{}}_{k}", x) for k in range(len(kind.dtype))]
            for y, part in zip(self.lists[x], kind.dtype.types, strict=True):
                of[y] = types.ListType(part) if isinstance(kind, types.ListType) else types.List(part)

    def block(self, body: list[Any]) -> None:
        """Rewrite the statements of a block, in place."""
        made: list[Any] = []
        for s in body:
            for inner in blocks(s):
                self.block(inner)
            named = [x for x in names_in(s) if x in self.lists]
            made += self.statement(s, named) if named else [s]
        body[:] = made

    def statement(self, s: Any, named: list[str]) -> list[Any]:
        """Rewrite one statement to statements on the component lists."""
        x = s.array if isinstance(s, Store) else s.target if s.target in self.lists else named[0]
        leaves = self.lists[x]
        if isinstance(s, Store):
            return self.each(leaves, s.value, s.line, lambda y, t: Store(y, s.index, t, s.line))
        if s.op == "plain":
            names = {x: leaves[0] for x in named for leaves in [self.lists[x]]}
            tree = to_python.substitute(s.info, lambda n: to_python.name(names[n]) if n in names else None)
            return [Let(s.target, "plain", tuple(names.get(y, y) for y in s.args), tree, s.line)]
        if s.op == "func":
            return [Let(s.target, s.op, (leaves[0],), s.info, s.line)]
        if s.op == "list" and s.info == "items":
            return self.display(leaves, s)
        if s.op == "list":
            return [Let(y, s.op, s.args, s.info, s.line) for y in leaves]
        if s.op == "copy" or s.target in self.lists:
            return [
                Let(y, s.op, (z, *s.args[1:]), s.info, s.line)
                for y, z in zip(leaves, self.lists[s.args[0]], strict=True)
            ]
        item = METHODS[s.info[0]] if s.op == "method" else None
        if item is not None:

            def method(y: str, t: str) -> Let:
                """Method call on one component list."""
                return Let(self.temp(types.none), "method", (y, *s.args[1:item], t), s.info, s.line)

            return self.each(leaves, s.args[item], s.line, method)
        return self.read(leaves, s)

    def temp(self, kind: NumbaType) -> str:
        """Return a fresh temporary of type `kind`."""
        name = self.names.temporary()
        self.of[name] = kind
        return name

    def each(self, leaves: list[str], item: Any, line: int, make: Callable[[str, str], Any]) -> list[Any]:
        """Make a statement for each component list; all components of the item are loaded before."""
        parts = [self.temp(self.of[y].dtype) for y in leaves]
        first = [Let(t, "getitem", (item,), (Const(k),), line) for k, t in enumerate(parts)]
        return [*first, *(make(y, t) for y, t in zip(leaves, parts, strict=True))]

    def display(self, leaves: list[str], s: Let) -> list[Any]:
        """Lower `[(x, k), (y, n)]`."""
        made: list[Any] = []
        for k, y in enumerate(leaves):
            parts = [self.temp(self.of[item].types[k]) for item in s.args]
            made += [Let(t, "getitem", (item,), (Const(k),), s.line) for t, item in zip(parts, s.args, strict=True)]
            made.append(Let(y, "list", tuple(parts), "items", s.line))
        return made

    def read(self, leaves: list[str], s: Let) -> list[Any]:
        """Lower `s[k]` and `s.pop()`; also `reverse` and `clear`, which return nothing."""
        gives = s.op == "getitem" or s.info[0] == "pop"
        parts = [self.temp(self.of[y].dtype if gives else types.none) for y in leaves]
        made: list[Any] = [Let(t, s.op, (y, *s.args[1:]), s.info, s.line) for t, y in zip(parts, leaves, strict=True)]
        return [*made, Let(s.target, "tuple", tuple(parts), None, s.line)] if gives else made
