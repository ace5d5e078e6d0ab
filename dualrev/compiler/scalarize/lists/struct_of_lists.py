"""Split lists of tuples into a list for each component, all of the same length (struct of arrays).

    s.append((x, k))     s_0.append(x); s_1.append(k)
    s[k]                 (s_0[k], s_1[k])

What has no such form stays, and is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.messages import Words
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.ir.names import Names
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_list

__all__ = ["METHODS", "by_leaves", "is_known_use", "names_in"]

#: Methods, and which of their arguments is an item; None if there is none.
METHODS = {"append": 1, "insert": 2, "pop": None, "reverse": None, "clear": None, "copy": None}


def by_leaves(lowered: Lowered, of: dict[str, NumbaType]) -> Lowered:
    """Return the function with its lists of tuples split, and with the types `of` new variables."""
    found = {x for x, kind in of.items() if _is_of_tuples(kind)} - {*lowered.parameters, lowered.result}
    every = list(anf.walk(lowered.body))
    blamed = dict(lowered.blamed)
    while lost := [(x, s) for s in every for x in found & names_in(s) if not is_known_use(s, x, found)]:
        for x, s in lost:
            _blame(blamed, s, x)
            found.discard(x)
    if not found:
        return replace(lowered, blamed=blamed)
    body = rewritten(lowered.body, _Leaves(lowered.names, of, found).statement)
    for x in found:
        del of[x]
    return replace(lowered, body=body, blamed=blamed)


def _blame(blamed: dict[str, Words], s: anf.Stmt, x: str) -> None:
    """Record the unsupported method of a list for its refusal, under all names of the list."""
    if isinstance(s, anf.CallMethod) and s.args[0] == x and s.method not in METHODS:
        why = f"of a list of tuples, {', '.join(METHODS)}, items, len and loops over it are known"
        said = f".{s.method}() of a list of tuples", why, "a loop, or a list for each place in the tuples", s.line
        blamed.setdefault(x, said)
    elif isinstance(s, anf.Copy) and (other := blamed.keys() & {s.target, s.args[0]}):
        blamed.setdefault(x, blamed[other.pop()])


def _is_of_tuples(kind: NumbaType) -> bool:
    """Whether a type is a list of tuples of numbers."""
    item: NumbaType = kind.dtype if is_list(kind) else None
    if type(item) not in (types.Tuple, types.UniTuple) or not len(item):
        return False
    return all(isinstance(x, NUMBERS) for x in item.types)


def names_in(s: anf.Stmt) -> set[str]:
    """Variables that a statement itself reads or writes, the statements in its blocks excluded."""
    return {x for x in [*anf.reads(s), *anf.ends(s), *anf.writes(s)] if isinstance(x, str)}


def is_known_use(s: anf.Stmt, x: str, found: set[str]) -> bool:
    """Whether a statement uses a list in a way that the lists which it is split into support."""
    if isinstance(s, anf.Store):
        return s.array == x and s.value != x and not isinstance(s.index[0], anf.Slice) and isinstance(s.value, str)
    if not isinstance(s, anf.Let):
        return False
    if isinstance(s, anf.Copy):
        return {s.target, s.args[0]} <= found
    if isinstance(s, (anf.MakeList, anf.AllocList)):
        variables = isinstance(s, anf.AllocList) or all(isinstance(y, str) for y in s.items)
        return s.target == x and variables and x not in s.args
    if isinstance(s, anf.CallMethod):
        item = METHODS.get(s.method, 0)
        given = item if item is not None and item < len(s.args) else None
        fits = s.keywords == () and s.method in METHODS and s.args[0] in found and x not in s.args[1:]
        new = (s.target in found) is (s.method == "copy")
        return fits and new and (given is None or isinstance(s.args[given], str))
    if isinstance(s, anf.GetItem):
        part = isinstance(s.index[0], anf.Slice)
        return s.args[0] in found and x not in s.index and (s.target in found) is part
    if isinstance(s, anf.Discrete):
        asked = [n.args[0] for n in ast.walk(s.tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "len"]
        names = [n for n in ast.walk(s.tree) if isinstance(n, ast.Name) and n.id == x]
        return all(any(n is y for y in asked) for n in names)
    return isinstance(s, anf.CallKnown) and s.function == "len" and s.target != x


class _Leaves:
    def __init__(self, names: Names, of: dict[str, NumbaType], found: set[str]) -> None:
        self.names, self.of = names, of
        self.lists: dict[str, list[str]] = {}
        for x in sorted(found):
            kind = of[x]
            self.lists[x] = [names.fresh(f"{{}}_{k}", x) for k in range(len(kind.dtype))]
            for y, part in zip(self.lists[x], kind.dtype.types, strict=True):
                of[y] = types.ListType(part) if isinstance(kind, types.ListType) else types.List(part)

    def statement(self, s: anf.Stmt) -> list[anf.Stmt]:
        """Rewrite one statement to statements on the component lists."""
        named = [x for x in names_in(s) if x in self.lists]
        if not named:
            return [s]
        if isinstance(s, anf.Store):
            return self.each(self.lists[s.array], s.value, s.line, lambda y, t: anf.Store(y, s.index, t, s.line))
        assert isinstance(s, anf.Let), "numba types no list in another statement"
        leaves = self.lists[s.target if s.target in self.lists else named[0]]
        if isinstance(s, anf.Discrete):
            names = {x: leaves[0] for x in named for leaves in [self.lists[x]]}
            tree = to_python.renamed(s.tree, names)
            return [anf.Discrete(s.target, tuple(names.get(y, y) for y in s.args), tree, s.line)]
        if isinstance(s, anf.CallKnown):
            return [s.on(leaves[0])]
        if isinstance(s, anf.MakeList):
            return self.display(leaves, s)
        if isinstance(s, anf.AllocList):
            return [s.to(y) for y in leaves]
        if isinstance(s, anf.Copy) or s.target in self.lists:
            return [s.on(z, *s.args[1:], target=y) for y, z in zip(leaves, self.lists[s.args[0]], strict=True)]
        item = METHODS[s.method] if isinstance(s, anf.CallMethod) else None
        if item is not None:

            def method(y: str, t: str) -> anf.Let:
                """Method call on one component list."""
                made: anf.Let = s.on(y, *s.args[1:item], t, target=self.temp(types.none))
                return made

            return self.each(leaves, s.args[item], s.line, method)
        return self.read(leaves, s)

    def temp(self, kind: NumbaType) -> str:
        """Return a fresh temporary of type `kind`."""
        name = self.names.temporary()
        self.of[name] = kind
        return name

    def each(
        self, leaves: list[str], item: anf.Atom, line: int, make: Callable[[str, str], anf.Stmt]
    ) -> list[anf.Stmt]:
        """Make a statement for each component list; all components of the item are loaded before."""
        parts = [self.temp(self.of[y].dtype) for y in leaves]
        first = [anf.GetItem(t, item, (anf.Const(k),), line) for k, t in enumerate(parts)]
        return [*first, *(make(y, t) for y, t in zip(leaves, parts, strict=True))]

    def display(self, leaves: list[str], s: anf.Let) -> list[anf.Stmt]:
        """Lower `[(x, k), (y, n)]`."""
        made: list[anf.Stmt] = []
        for k, y in enumerate(leaves):
            parts = [self.temp(self.of[item].types[k]) for item in s.args]
            made += [anf.GetItem(t, item, (anf.Const(k),), s.line) for t, item in zip(parts, s.args, strict=True)]
            made.append(anf.MakeList(y, tuple(parts), s.line))
        return made

    def read(self, leaves: list[str], s: anf.Let) -> list[anf.Stmt]:
        """Lower `s[k]` and `s.pop()`; also `reverse` and `clear`, which return nothing."""
        gives = isinstance(s, anf.GetItem) or (isinstance(s, anf.CallMethod) and s.method == "pop")
        parts = [self.temp(self.of[y].dtype if gives else types.none) for y in leaves]
        made: list[anf.Stmt] = [s.on(y, *s.args[1:], target=t) for t, y in zip(parts, leaves, strict=True)]
        return [*made, anf.MakeTuple(s.target, tuple(parts), s.line)] if gives else made
