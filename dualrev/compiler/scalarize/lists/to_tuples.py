"""Replace lists of arrays, tuples or lists by tuples, where their length is known at compile time.

    s = [a, b]               s = (a, b)
    s[k], len(s), x in loops the same of a tuple; an item is the array that was put there, not a copy
    s = np.split(a, 2)       the same, of views of a

A list stays what it is (handles.py) if it may grow or change, if a list in it may grow, if it is passed on, or if it
has several lengths.
"""

from __future__ import annotations

import ast
from collections import defaultdict

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.scalarize.lists.heap import CHANGING
from dualrev.compiler.scalarize.lists.struct_of_lists import names_in
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_array, is_list

__all__ = ["SPLITTING", "as_tuples"]

#: Functions that make a list of views.
SPLITTING = ("np.split", "np.array_split", "np.vsplit", "np.hsplit", "np.dsplit")


def as_tuples(lowered: Lowered, of: dict[str, NumbaType]) -> tuple[list[anf.Stmt], set[str]]:
    """Return the body with tuples for lists of known length, whose types change, too, and the names of these."""
    every = list(anf.walk(lowered.body))
    found = {x for x, kind in of.items() if _is_of_items(kind)} - {*lowered.parameters, lowered.result}
    if not found:
        return lowered.body, set()
    counts = _lengths(every, found, of)
    growing = _growing(every, found, of)
    for s in every:
        for x in names_in(s) & counts.keys():
            if x in growing or not _is_known_use(s, x, counts, of):
                counts.pop(x, None)
    copies = [s for s in every if isinstance(s, anf.Copy)]
    while lost := {x for s in copies if _is_copy(s, counts, found) for x in (s.target, s.source) if x in counts}:
        for x in lost:
            del counts[x]
    for x, n in counts.items():
        of[x] = types.UniTuple(_item(of[x].dtype), n)
    for s in every:
        if isinstance(s, anf.GetItem) and s.base in counts:
            _check_place(lowered, s, n := counts[s.base])
            if s.unpacked not in (None, n):
                what, why = "this assignment to several names", f"the list has {n} items"
                lowered.source.refuse(s.line, what, why, "a name for each of them")

    def packed(s: anf.Stmt) -> list[anf.Stmt]:
        """The statement, which makes a tuple of the items of a list."""
        return [anf.MakeTuple(s.target, s.items, s.line)] if isinstance(s, anf.MakeList) and s.target in counts else [s]

    return rewritten(lowered.body, packed), set(counts)


def _growing(every: list[anf.Stmt], found: set[str], of: dict[str, NumbaType]) -> set[str]:
    """The lists in which a list may become longer or shorter, under any of its names."""
    lists = {x for x, kind in of.items() if is_list(kind)}
    same, changed = Sets[str](), set[str]()
    for s in (s for s in every if isinstance(s, anf.Let) and s.args):
        if isinstance(s, (anf.Copy, anf.GetItem, anf.MakeList, anf.AllocList)) and s.target in lists:
            for x in lists.intersection(x for x in s.args if isinstance(x, str)):
                same.join(s.target, x)
        if s.args[0] in lists and (
            isinstance(s, anf.InplaceOp) or (isinstance(s, anf.CallMethod) and s.method in CHANGING)
        ):
            changed.add(s.args[0])
    return {x for x in found if any(same.same(x, y) for y in changed)}


def _is_of_items(kind: NumbaType) -> bool:
    """Whether a type is a list of items other than numbers that a tuple can hold."""
    if not isinstance(kind, types.List):
        return False
    item = kind.dtype
    if isinstance(item, types.List):
        return isinstance(item.dtype, NUMBERS)
    parts = item.types if isinstance(item, types.BaseTuple) else [item]
    return not isinstance(item, NUMBERS) and all(is_array(x) or isinstance(x, NUMBERS) for x in parts)


def _item(kind: NumbaType) -> NumbaType:
    """Type of an item as a component of a tuple: a list of numbers is an array."""
    return types.Array(kind.dtype, 1, "C") if isinstance(kind, types.List) else kind


def _lengths(every: list[anf.Stmt], found: set[str], of: dict[str, NumbaType]) -> dict[str, int]:
    """Lists with one known length in all their definitions, through copies."""
    made: defaultdict[str, set[int | None]] = defaultdict(set)
    copies: list[tuple[str, anf.Atom]] = []
    for s in every:
        for x in set(anf.writes(s)) & found:
            if isinstance(s, anf.Copy):
                copies.append((x, s.args[0]))
            else:
                made[x].add(_length(s, of) if isinstance(s, anf.Let) else None)
    for _ in range(len(copies) + 1):
        for x, y in copies:
            made[x] |= made[y] if y in found else {None}
    return {x: n for x, ns in made.items() if len(ns) == 1 for n in ns if n is not None}


def _length(s: anf.Let, of: dict[str, NumbaType]) -> int | None:
    """Number of items that an operation puts into a list; None if not known."""
    if isinstance(s, anf.MakeList):
        return len(s.args) if all(_fits(of.get(x), of[s.target].dtype) for x in s.args if isinstance(x, str)) else None
    if not isinstance(s, anf.CallKnown):
        return None
    if s.function == "np.broadcast_arrays":
        return len(s.args)
    if s.function not in SPLITTING or len(s.args) < 2:
        return None
    many = s.args[1]
    if isinstance(many, anf.Const):
        return many.value if type(many.value) is int and many.value > 1 else None
    kind = of.get(many) if isinstance(many, str) else None
    return len(kind.types) + 1 if isinstance(kind, types.BaseTuple) else None


def _fits(kind: NumbaType, item: NumbaType) -> bool:
    """Whether a value can be an item without conversion."""
    if is_array(kind) and is_array(item):
        return bool((kind.dtype, kind.ndim) == (item.dtype, item.ndim) and item.layout in (kind.layout, "A"))
    if isinstance(kind, types.List):
        return isinstance(item, types.List) and kind.dtype == item.dtype
    return kind is not None and types.unliteral(kind) == item


def _is_known_use(s: anf.Stmt, x: str, counts: dict[str, int], of: dict[str, NumbaType]) -> bool:
    """Whether a statement uses a list in a way that a tuple supports."""
    if not isinstance(s, anf.Let):
        return False
    if isinstance(s, anf.Copy) or (s.target == x and x not in s.args):
        return True
    if isinstance(s, anf.GetItem):
        return not isinstance(s.index[0], anf.Slice) and x not in s.index
    if isinstance(s, anf.Discrete):
        asked = [n.args[0] for n in ast.walk(s.tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "len"]
        names = [n for n in ast.walk(s.tree) if isinstance(n, ast.Name) and n.id == x]
        return all(any(n is y for y in asked) for n in names)
    return isinstance(s, anf.CallKnown) and s.function == "len"


def _is_copy(s: anf.Stmt, counts: dict[str, int], found: set[str]) -> bool:
    """Whether a copy links a list that becomes a tuple with one that does not."""
    if not isinstance(s, anf.Copy) or s.target not in found:
        return False
    return (s.target in counts) is not (s.args[0] in counts)


def _check_place(lowered: Lowered, s: anf.GetItem, n: int) -> None:
    """Refuse a constant index that is out of range."""
    (k,) = s.index
    if isinstance(k, anf.Const) and not -n <= k.value < n:
        lowered.source.refuse(s.line, "this index of a list", f"it has {n} items", "an index inside of it")
