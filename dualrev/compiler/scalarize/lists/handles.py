"""Containers of arrays and of lists -> containers of handles, and a heap for the items of each type.

    d = {}; rows = []               the same, of ints
    y = x * 2.0; d[k] = y           y = the handle of a new item, whose elements go to the heap; d[k] = y
    d[k][0] += z                    a window of the heap, heap[start[d[k]] : ...], is written to
    rows[i].append(x)               the item moves to the end of the heap where it has no room, and keeps its handle

So two names of an item are two equal handles, and each reads what the other one writes. A dict of handles is opaque,
a list of them is a list of ints. An item that is no new array (an argument, a view, the result of a call) is copied,
which nobody sees as long as nothing is written to it or to an item; else it is refused. So is a view of an item that
is read after the heap may have moved, if an item is written to.

A container that is an argument, is returned, or has an unknown use, stays and is refused.
"""

from __future__ import annotations

import ast
from collections import Counter

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.names import readable
from dualrev.compiler.scalarize.alias_anf import makes_new, sharing, written_arrays
from dualrev.compiler.scalarize.builder import named
from dualrev.compiler.scalarize.lists.heap import LIST_METHODS, Heap, item_of
from dualrev.compiler.scalarize.lists.heap_statements import HeapStatements
from dualrev.compiler.scalarize.lists.struct_of_lists import METHODS, names_in
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array, is_list

__all__ = ["by_handles"]

_VIEWS = ("items", "keys", "values")
#: Methods of dicts, with the number of their arguments, the dict among them.
_OF_DICTS = {("get", 3), ("pop", 2), ("pop", 3), ("setdefault", 3), ("update", 2), ("copy", 1), ("clear", 1)}
_OF_DICTS |= {("popitem", 1), *((name, 1) for name in _VIEWS)}
#: Methods that give an item, and the place of their argument that may be this item.
_GIVING = {"get": 2, "pop": 2, "setdefault": 2}
_KNOWN = "of a {0}, items, {1} and loops over it are known"
_USES = {"dict": "`in`, len, its methods", "list": "append, insert, pop, slices, len"}


def by_handles(lowered: Lowered, of: dict[str, NumbaType], apart: bool) -> tuple[Lowered, set[str]]:
    """Return the function with handles in its containers, whose types change, too; `apart` as in lower.py.

    Gives also the lists that are new, whose indices are never out of range.
    """
    unchecked = set[str]()
    while True:  # lists of lists of lists are lists of lists of handles afterwards
        every = list(anf.walk(lowered.body))
        heaps = [heap for heap in _heaps(lowered, of, every) if _is_known(lowered, of, heap, every)]
        if not heaps:
            return lowered, unchecked
        for heap in heaps:
            _check_memory(lowered, of, heap, every, apart)
        lowered, more = HeapStatements(lowered, of, heaps).function()
        unchecked |= more


def _heaps(lowered: Lowered, of: dict[str, NumbaType], every: list[anf.Stmt]) -> list[Heap]:
    """The types of items, with the containers of them and the variables that are items."""
    named = {x for s in every for x in names_in(s)} - set(lowered.parameters)
    found: dict[NumbaType, Heap] = {}
    for x in sorted(named & of.keys()):
        item = item_of(of[x])
        if item is not None:
            key = (is_list(item), item.dtype, getattr(item, "ndim", 1))
            found.setdefault(key, Heap(item, dict(of), lowered.refs)).containers.add(x)
    for heap in found.values():
        _flow(lowered, heap, every)
    return list(found.values())


def _flow(lowered: Lowered, heap: Heap, every: list[anf.Stmt]) -> None:
    """Find what holds an item: views of containers, tuples with a key, and variables."""
    lets = [s for s in every if isinstance(s, anf.Let)]
    views = {
        s.target: s.method
        for s in lets
        if isinstance(s, anf.CallMethod) and s.method in _VIEWS and _of(s, heap.containers)
    }
    heap.views |= views.keys()
    listed = {s.target for s in lets if isinstance(s, anf.AsList) and views.get(s.args[0]) == "items"}
    heap.views |= listed
    heap.pairs |= {s.target for s in lets if isinstance(s, anf.GetItem) and _of(s, listed)}
    heap.pairs |= {
        s.target for s in lets if isinstance(s, anf.CallMethod) and s.method == "popitem" and _of(s, heap.containers)
    }
    copies = [(s.target, s.args[0]) for s in lets if isinstance(s, anf.Copy)]
    while more := {x for x, y in copies if y in heap.pairs} - heap.pairs:
        heap.pairs |= more
    heap.items |= {x for s in every for x in [*heap.put(s), *heap.taken(s)] if isinstance(x, str)}
    heap.outer -= heap.views | heap.pairs
    fixed = {*lowered.parameters, *({lowered.result} - heap.items)}
    heap.items -= set(lowered.parameters)
    while (
        more := {x for pair in copies if heap.items & {*pair} for x in pair if isinstance(x, str)} - heap.items - fixed
    ):
        heap.items |= more


def _of(s: anf.Let, names: set[str]) -> bool:
    return bool(s.args) and s.args[0] in names


# Which uses are known


def _is_known(lowered: Lowered, of: dict[str, NumbaType], heap: Heap, every: list[anf.Stmt]) -> bool:
    """Whether all uses of the containers and their items are known; else the refusal of a container names one."""
    held = heap.containers | heap.views | heap.pairs
    if not any(heap.put(s) for s in every) or heap.outer & {*lowered.parameters, lowered.result}:
        return False
    for s in every:
        names = names_in(s)
        strange = [x for x in names & held if not _is_known_use(s, x, heap)]
        strange += [x for x in names & heap.items if not heap.is_item(of.get(x)) or not _is_item_use(s, x, heap)]
        if strange:
            _blame(lowered, heap, s, strange[0])
            return False
    if lowered.result in held:
        _blame(lowered, heap, [s for s in every if lowered.result in names_in(s)][-1], str(lowered.result))
        return False
    return True


def _blame(lowered: Lowered, heap: Heap, s: anf.Stmt, x: str) -> None:
    """Let the refusal of the containers name a use that is not known."""
    for c in heap.containers:
        kind = "dict" if heap.is_dict(c) else "list"
        what = f"this use of a {kind} of {'lists' if is_list(heap.item) else 'arrays'}"
        if x in heap.items:
            what = f"this use of an item of a {kind}"
        why = _KNOWN.format(kind, _USES[kind])
        instead = "one of these, or an array with one more axis"
        if isinstance(s, (anf.CallUser, anf.CallStarred)):
            instead = "the items as arguments, or an array with one more axis"
        lowered.blamed.setdefault(c, (what, why, instead, s.line))


def _is_known_use(s: anf.Stmt, x: str, heap: Heap) -> bool:
    """Whether a statement does with a container, or a view of one, what can be done with one of ints."""
    if isinstance(s, anf.Store):
        base = s.array == x and x not in (s.value, *s.index) and not isinstance(s.index[0], anf.Slice)
        return base or (s.array in heap.outer and s.value == x)
    if not isinstance(s, anf.Let):
        return False
    if names_in(s) & heap.outer:
        return (
            isinstance(s, (anf.OpaqueExpr, anf.MakeList, anf.AllocList, anf.GetItem, anf.CallMethod))
            and x not in heap.views | heap.pairs
        )
    if x in heap.pairs:
        return s.target == x or isinstance(s, anf.Copy) or (isinstance(s, anf.GetItem) and s.target not in heap.pairs)
    if x in heap.views:
        return isinstance(s, (anf.CallMethod, anf.AsList, anf.GetItem)) or (
            isinstance(s, anf.CallKnown) and s.function == "len"
        )
    if isinstance(s, anf.Discrete):
        return _asks_only(s.tree, x, heap.is_dict(x))
    if isinstance(s, anf.CallKnown):
        return s.function == "len"
    return _is_use_of_dict(s, x, heap) if heap.is_dict(x) else _is_use_of_list(s, x, heap)


def _is_use_of_dict(s: anf.Let, x: str, heap: Heap) -> bool:
    if isinstance(s, anf.OpaqueExpr):
        return s.target == x and heap.starts(s)
    if isinstance(s, anf.CallMethod):
        name, keywords = s.method, s.keywords
        if keywords or (name, len(s.args)) not in _OF_DICTS or (x in s.args[1:] and name != "update"):
            return False
        return {*s.args[:2]} <= heap.containers if name == "update" else s.args[0] in heap.containers
    return isinstance(s, (anf.AsList, anf.Copy)) or (isinstance(s, anf.GetItem) and s.args[0] == x and x not in s.index)


def _is_use_of_list(s: anf.Let, x: str, heap: Heap) -> bool:
    if isinstance(s, anf.Copy):
        return {s.target, s.args[0]} <= heap.containers
    if isinstance(s, (anf.MakeList, anf.AllocList)):
        return s.target == x and x not in s.args
    if isinstance(s, anf.AsList):
        return s.target == x
    if isinstance(s, anf.BinOp):
        return s.target in heap.containers and s.symbol in ("+", "*")
    if isinstance(s, anf.CallMethod):
        new = (s.target in heap.containers) is (s.method == "copy")
        return s.keywords == () and s.method in METHODS and s.args[0] in heap.containers and x not in s.args[1:] and new
    part = isinstance(s, anf.GetItem) and isinstance(s.index[0], anf.Slice)
    return isinstance(s, anf.GetItem) and s.args[0] == x and x not in s.index and (s.target in heap.containers) is part


def _asks_only(tree: ast.expr, x: str, is_dict: bool) -> bool:
    """Whether a condition reads the length or the keys of a container only."""
    every = list(ast.walk(tree))
    asked = [n.args[0] for n in every if isinstance(n, ast.Call) and ast.unparse(n.func) == "len"]
    if is_dict:
        asked += [
            n.comparators[0] for n in every if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.In | ast.NotIn)
        ]
    return all(any(n is y for y in asked) for n in every if isinstance(n, ast.Name) and n.id == x)


def _is_item_use(s: anf.Stmt, x: str, heap: Heap) -> bool:
    """Whether a statement does with an item what can be done with a window of the heap, or with a list of now."""
    if isinstance(s, anf.Store):
        return s.array not in heap.items or not (is_list(heap.item) and isinstance(s.index[0], anf.Slice))
    if not isinstance(s, anf.Let) or isinstance(s, anf.MakeObject):
        return not isinstance(s, (anf.For, anf.Opaque)) and not anf.blocks(s)
    if isinstance(s, (anf.OpaqueExpr, anf.MakeList, anf.AllocList, anf.AsList, anf.CallMethod)) and (
        x in heap.put(s) or x in heap.taken(s)
    ):
        return True
    if isinstance(s, anf.Discrete):
        compared = [op for n in ast.walk(s.tree) if isinstance(n, ast.Compare) for op in n.ops]
        return not any(isinstance(op, (ast.Is, ast.IsNot)) for op in compared)
    if not is_list(heap.item) or (s.target == x and x not in s.args):
        return not isinstance(s, anf.OpaqueExpr) or s.target == x
    if isinstance(s, anf.CallMethod):
        own = s.args[0] == x and s.method in LIST_METHODS and x not in s.args[1:]
        return own or (s.args[0] in heap.items and s.method == "extend")
    return isinstance(s, (anf.Copy, anf.CallKnown, anf.GetItem, anf.BinOp, anf.InplaceOp, anf.CallUser))


# Which memory items share with something else


def _check_memory(lowered: Lowered, of: dict[str, NumbaType], heap: Heap, every: list[anf.Stmt], apart: bool) -> None:
    """Refuse items that may share memory with other arrays, and late views of items, if something writes to them."""
    foreign = [(s, x) for s in every for x in _foreign(lowered, s, heap)]
    alias = sharing(lowered, of, apart)
    first, *others = sorted({*heap.items, *(x for _, x in foreign)})
    for x in others:
        alias.join(first, x)
    changed = written_arrays(lowered, of)
    if is_list(heap.item):
        changed |= {s.args[0] for s in every if isinstance(s, (anf.CallMethod, anf.InplaceOp))} & heap.items
        changed |= {s.array for s in every if isinstance(s, anf.Store)} & heap.items
    if not any(alias.same(first, x) for x in changed):
        return
    it, of_them = ("array", "arrays") if is_array(heap.item) else ("list", "lists")
    kinds = " or ".join(sorted({"dict" if heap.is_dict(x) else "list" for x in heap.containers}))
    for s, x in foreign:
        why = f"the {kinds} would have to hold the {it} itself, and one that may share its memory is written to"
        lowered.source.refuse(s.line, f"this {it} in a {kinds} of {of_them}", why, _copy_of(x))
    if is_array(heap.item):
        bound = [x for s in every if not (isinstance(s, anf.InplaceOp)) for x in anf.writes(s)]
        once = {x for x, count in Counter(bound).items() if count == 1}
        _Views(lowered, of, heap, once).block(lowered.body)


def _copy_of(x: str) -> str:
    """Copy of an array, as text for a cure: the array is no fresh one."""
    name = readable(x).strip("_")
    if name.isidentifier():
        return f"y = {name}.copy() above, and y in its place"
    return "a copy, which does not see what is written to the other: .copy() behind it"


def _foreign(lowered: Lowered, s: anf.Stmt, heap: Heap) -> list[str]:
    """The names of arrays that become items in a statement, and are not new."""
    found = [named(x) for x in heap.put(s) if x not in heap.items]
    if isinstance(s, anf.Let) and s.target in heap.items and s.target not in heap.taken(s) and not heap.keeps(s):
        new = (
            makes_new(s)
            if is_array(heap.item)
            else isinstance(
                s, (anf.MakeList, anf.AllocList, anf.CallKnown, anf.BinOp, anf.CallMethod, anf.CallUser, anf.AsList)
            )
        )
        part = isinstance(s, anf.GetItem) and is_list(heap.item) and isinstance(s.index[0], anf.Slice)
        if not (new or part):
            found.append(s.args[0] if isinstance(s, anf.Copy) and isinstance(s.args[0], str) else s.target)
    return found


class _Views:
    """Views of items: each of them is read before the heap may move."""

    def __init__(self, lowered: Lowered, of: dict[str, NumbaType], heap: Heap, once: set[str]) -> None:
        self.lowered, self.of, self.heap, self.once, self.views = lowered, of, heap, once, set[str]()

    def block(self, body: list[anf.Stmt]) -> None:
        """Collect the views of a block, and refuse those that outlive a move of the heap."""
        for k, s in enumerate(body):
            for inner in anf.blocks(s):
                self.block(inner)
            if isinstance(s, anf.Let) and self._is_view(s):
                self.views.add(s.target)
                self._check(s, body[k + 1 :])

    def _is_view(self, s: anf.Let) -> bool:
        kind, heap = self.of.get(s.target), self.heap
        inside = kind.types if isinstance(kind, types.BaseTuple) else [kind]
        if s.target in heap.items or s.target == self.lowered.result or isinstance(s, anf.InplaceOp):
            return False
        if not any(map(_holds_array, inside)):
            return False
        return not (is_array(kind) and makes_new(s)) and any(x in heap.items or x in self.views for x in s.args)

    def _check(self, s: anf.Let, rest: list[anf.Stmt]) -> None:
        """Refuse a view that is read behind a statement that makes an item, or outside of its block."""
        reading = [k for k, t in enumerate(rest) if any(s.target in anf.reads(u) for u in anf.walk([t]))]
        inside = sum(s.target in anf.reads(u) for u in anf.walk(rest))
        everywhere = sum(s.target in anf.reads(u) for u in anf.walk(self.lowered.body))
        between = rest[: reading[-1] + bool(anf.blocks(rest[reading[-1]]))] if reading else []
        late = any(self.heap.grows(t) for t in anf.walk(between))
        if late or inside < everywhere or s.target not in self.once:
            kind = "dict" if any(map(self.heap.is_dict, self.heap.containers)) else "list"
            why = f"it may be read after the {kind} has got another array, when its memory has moved"
            instead = "the view again, where it is read, such as d[k][1:] or s[i][1:]"
            self.lowered.source.refuse(s.line, f"this view of an array in a {kind}", why, instead)


def _holds_array(kind: NumbaType) -> bool:
    return is_array(kind) or (isinstance(kind, types.BaseTuple) and any(map(_holds_array, kind.types)))
