"""Flatten growable lists of arrays: one list of all their elements, and lists of offsets and of axis lengths.

    s.append(a)      s_start.append(len(s_all)); s_size.append(len(a)); and the elements of a go to s_all
    s[k]             np.array(s_all[s_start[k] : s_start[k] + s_size[k]])

So an item is a copy, where numba has the array itself: nobody can tell as long as neither is written to. A list of
which that is not known stays, and is refused (alias_anf.py says it).
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.operations import Const, For, Let, Slice, Store, blocks, walk
from dualrev.compiler.scalarize.alias_anf import read_only
from dualrev.compiler.scalarize.lists.struct_of_lists import METHODS, is_known_use, names_in
from dualrev.compiler.types.predicates import NUMBERS, is_array

__all__ = ["by_elements"]

_INT = types.int64


def by_elements(lowered: Lowered, of: dict[str, Any], apart: bool) -> None:
    """Flatten the lists of arrays, in the body and in the types `of` its variables; `apart` as in lower.py."""
    found = {x for x, kind in of.items() if _is_of_arrays(kind)} - {*lowered.parameters, lowered.result}
    every = list(walk(lowered.body))
    while lost := {x for s in every for x in found & names_in(s) if not is_known_use(s, x, found)}:
        found -= lost
    if not found:
        return
    items = {y for s in every if names_in(s) & found for y in names_in(s) if is_array(of.get(y))}
    if not read_only(lowered, of, items, apart):
        x = min(found)
        line = next(s.line for s in every if x in names_in(s))
        why = "an array that is put there, or an item, is written to or passed on, and which share memory is not known"
        lowered.source.refuse(line, "this list of arrays", why, "copies: s.append(a.copy())")
    _Elements(lowered, of, found).block(lowered.body)
    for x in found:
        del of[x]


def _is_of_arrays(kind: Any) -> bool:
    """Whether a type is a list of C-ordered arrays of numbers."""
    item: Any = kind.dtype if isinstance(kind, (types.List, types.ListType)) else None
    return bool(is_array(item) and item.ndim > 0 and item.layout == "C" and isinstance(item.dtype, NUMBERS))


class _Elements:
    """Statement rewriter: uses of a list of arrays become uses of its flat lists, emitted to `out`."""

    def __init__(self, lowered: Lowered, of: dict[str, Any], found: set[str]) -> None:
        self.names, self.of, self.out = lowered.names, of, list[Any]()
        self.displays: dict[str, Let] = {}  # lists that are written out, or empty, until they get a name
        self.all: dict[str, str] = {}
        self.places: dict[str, list[str]] = {}  # the lists of beginnings, and of lengths for each axis
        for x in sorted(found):
            kind = of[x]
            words = ["all", "start", *(f"size{k}" for k in range(kind.dtype.ndim))]
            self.all[x], *self.places[x] = (lowered.names.fresh(f"{{}}_{word}", x) for word in words)
            make = types.ListType if isinstance(kind, types.ListType) else types.List
            of[self.all[x]] = make(kind.dtype.dtype)
            of.update(dict.fromkeys(self.places[x], make(_INT)))

    def block(self, body: list[Any]) -> None:
        """Rewrite the statements of a block, in place."""
        before, self.out = self.out, []
        for s in body:
            for inner in blocks(s):
                self.block(inner)
            named = [x for x in names_in(s) if x in self.all]
            if named:
                self.statement(s, named)
            else:
                self.out.append(s)
        body[:], self.out = self.out, before

    def let(self, op: str, args: tuple[Any, ...], info: Any, line: int, kind: Any, target: str = "") -> str:
        """Emit an operation."""
        target = target or self.names.temporary()
        self.of.setdefault(target, kind)
        self.out.append(Let(target, op, args, info, line))
        return target

    def statement(self, s: Any, named: list[str]) -> None:
        """Rewrite one statement."""
        if isinstance(s, Store):
            for y, value in zip(self.places[s.array], self.added(s.array, s.value, s.line), strict=True):
                self.out.append(Store(y, s.index, value, s.line))
        elif s.op == "plain":
            names = {x: self.places[x][0] for x in named}
            tree = to_python.substitute(s.info, lambda n: to_python.name(names[n]) if n in names else None)
            self.let("plain", tuple(names.get(y, y) for y in s.args), tree, s.line, None, s.target)
        elif s.op == "func":
            self.let(s.op, (self.places[s.args[0]][0],), s.info, s.line, None, s.target)
        elif s.op == "list" and (s.info == "items" or s.args == (Const(0),)):
            self.displays[s.target] = s
        elif s.op == "list":
            for y in self.places[s.target]:
                self.let(s.op, s.args, s.info, s.line, None, y)
            self.empty(self.all[s.target], s.line)
        elif s.op == "copy" and s.args[0] in self.displays:
            self.display(s.target, self.displays[s.args[0]])
        elif s.op == "copy" or s.target in self.all:
            self.another(s)
        else:
            self.item(s)

    def display(self, x: str, s: Let) -> None:
        """Lower `x = [a, b]` or `x = []`."""
        for y in (self.all[x], *self.places[x]):
            self.empty(y, s.line)
        for a in s.args if s.info == "items" else ():
            self.method(x, "append", (), a, s.line)

    def empty(self, x: str, line: int) -> None:
        """Emit `x = []`, a list that grows."""
        made = self.let("list", (Const(0),), None, line, self.of[x])
        self.let("copy", (made,), None, line, None, x)

    def another(self, s: Let) -> None:
        """Lower a copy of a list of arrays, or another name for it."""
        source, whole = s.args[0], (Slice(None, None, None),)
        self.let("getitem", (self.all[source],), whole, s.line, None, self.all[s.target])
        for y, z in zip(self.places[s.target], self.places[source], strict=True):
            self.let(s.op, (z, *s.args[1:]), s.info, s.line, None, y)

    def item(self, s: Let) -> None:
        """Lower `s[k]` and methods."""
        x = s.args[0]
        place = METHODS[s.info[0]] if s.op == "method" else None
        if place is not None:
            self.method(x, s.info[0], s.args[1:place], s.args[place], s.line)
            return
        gives = s.op == "getitem" or s.info[0] == "pop"
        kind = _INT if gives else types.none
        found = [self.let(s.op, (y, *s.args[1:]), s.info, s.line, kind) for y in self.places[x]]
        if gives:
            self.read(s, self.all[x], found[0], found[1:])
        elif s.info[0] == "clear":
            self.let(s.op, (self.all[x],), s.info, s.line, types.none)

    def method(self, x: str, name: str, more: tuple[Any, ...], a: Any, line: int) -> None:
        """Lower `append` or `insert` of an array."""
        for y, value in zip(self.places[x], self.added(x, a, line), strict=True):
            self.let("method", (y, *more, value), (name, ()), line, types.none)

    def added(self, x: str, a: Any, line: int) -> list[str]:
        """Append the elements of an array to the flat list; return its offset and its axis lengths."""
        kind = self.of[a]
        start = self.let("func", (self.all[x],), ("len", ()), line, _INT)
        shape = self.let("attr", (a,), "shape", line, types.UniTuple(_INT, kind.ndim))
        sizes = [self.let("getitem", (shape,), (Const(k),), line, _INT) for k in range(kind.ndim)]
        flat = a
        if kind.ndim > 1:
            flat = self.let("func", (a,), ("np.ravel", ()), line, types.Array(kind.dtype, 1, "C"))
        n, before = self.let("func", (flat,), ("len", ()), line, _INT), self.out
        k, self.out = self.names.temporary(), []
        self.of[k] = _INT
        value = self.let("getitem", (flat,), (k,), line, kind.dtype)
        self.let("method", (self.all[x], value), ("append", ()), line, types.none)
        before.append(For(k, Const(0), n, Const(1), self.out, [], line))
        self.out = before
        return [start, *sizes]

    def read(self, s: Let, every: str, start: str, sizes: list[str]) -> None:
        """Lower an item: `target` = a copy of the array at an offset."""
        kind, n = self.of[s.target], sizes[0]
        for size in sizes[1:]:
            n = self.let("binop", (n, size), "*", s.line, _INT)
        end = self.let("binop", (start, n), "+", s.line, _INT)
        part = self.let("getitem", (every,), (Slice(start, end, None),), s.line, types.List(kind.dtype))
        if kind.ndim == 1:
            self.let("func", (part,), ("np.array", ()), s.line, None, s.target)
            return
        flat = self.let("func", (part,), ("np.array", ()), s.line, types.Array(kind.dtype, 1, "C"))
        shape = self.let("tuple", tuple(sizes), None, s.line, types.UniTuple(_INT, kind.ndim))
        self.let("func", (flat, shape), ("np.reshape", ()), s.line, None, s.target)
