"""Legalise lists of numbers: arrays that support only the operations of lists.

A list is what `[x, y]`, `[]` or a comprehension makes. It may be indexed, changed, measured, gone over, summed, made
an array of, and passed to a function that reads it; its indices are checked, as numba checks those of lists.
`lists_in` finds them before anything is written, and gives them the types of arrays; those that grow get a variable
for their length (growable.py).
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder, line_of_variable
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_list
from dualrev.diagnostics.quoting import raising

__all__ = [
    "GROWING",
    "INSTEAD_OF_GROWING",
    "METHODS",
    "Lists",
    "check_places",
    "check_unpacked",
    "check_unpacked_dicts",
    "is_harmless",
    "lists_in",
    "refuse_unpacked",
]

#: The methods of lists that grow, and how many arguments they have, with the list.
METHODS = {"append": 2, "pop": 1, "clear": 1, "lengthen": 2}
#: Those that make a list longer or shorter.
_CHANGING = {*METHODS, "insert", "remove"}
#: Why a use of such a list is refused, and what to write instead.
GROWING = "of lists that grow, only those of numbers are known that have one name, and grow or shrink at their end"
INSTEAD_OF_GROWING = "an array (np.empty) and its length"

_READING = ("copy", "count", "index")
_WHY = "of lists, only those of numbers are known that are indexed, gone over, summed or made arrays of"
_INSTEAD = "an array (np.empty, np.array)"
#: Functions that make something new of a list, as they do of an array.
_ALLOWED = {"len", "sum", "sorted", "np.array", "np.asarray", "np.cross", "np.interp", "np.percentile", "np.quantile"}


@dataclass
class Lists:
    """Lists of numbers in a function.

    names     all variables that are lists
    typed     those of numba.typed
    made      those that an operation of core makes, which alone writes to them
    lengths   the variables for the lengths of those that grow
    within    lists and places in them that are inside, because a loop goes over the list's length
    unchecked lists whose indices are never out of range: those of a heap
    """

    names: set[str]
    typed: set[str]
    made: set[str]
    lengths: dict[str, str] = field(default_factory=dict)
    within: set[tuple[str, str]] = field(default_factory=set)
    unchecked: set[str] = field(default_factory=set)

    def __contains__(self, x: object) -> bool:
        return x in self.names

    def kind(self, x: str, array: NumbaType) -> NumbaType:
        """Numba's list type for a list, whose type is an array type here."""
        return types.ListType(array.dtype) if x in self.typed else types.List(array.dtype)


def lists_in(lowered: Lowered, of: dict[str, NumbaType]) -> Lists:
    """Find the lists of numbers of a function; their types `of` the variables become array types."""
    every = list(anf.walk(lowered.body))
    _check_calls(lowered, of, every)
    names = {x for x, kind in of.items() if is_list(kind) and isinstance(kind.dtype, NUMBERS)}
    _check_parameters(lowered, names)
    names -= _odd(lowered, of, names - set(lowered.parameters), every)
    typed = {x for x, kind in of.items() if isinstance(kind, types.ListType)}
    found = Lists(
        names, typed, {s.target for s in every if isinstance(s, (anf.MakeList, anf.AllocList)) and s.target in names}
    )
    _handed_on(lowered, found.made, every)
    for x in names:
        of[x] = types.Array(of[x].dtype, 1, "C")
    if lowered.result in names:
        line = line_of_variable(lowered, str(lowered.result))
        lowered.source.refuse(line, "a list that is returned", _WHY, _INSTEAD)
    for s in every:
        if isinstance(s, anf.CallMethod) and s.base in names - found.lengths.keys() and s.method in _CHANGING:
            found.lengths[s.base] = n = lowered.names.fresh("{}_n", s.base)
            of[n] = types.int64
    _check_names(lowered, found, every)
    found.within = {(x, k) for x, k in _gone_over(lowered, every) if x not in found.lengths}
    return found


def _check_calls(lowered: Lowered, of: dict[str, NumbaType], every: list[anf.Stmt]) -> None:
    """Refuse a call that returns a list of floats, or a tuple with a list of numbers; a list of ints is opaque."""
    for s in every:
        kind = of.get(s.target) if isinstance(s, (anf.CallUser, anf.CallStarred, anf.OpaqueExpr)) else None
        inside = kind.types if isinstance(kind, types.BaseTuple) else ()
        floats = is_list(kind) and isinstance(kind.dtype, types.Float)
        if floats or any(is_list(x) and isinstance(x.dtype, NUMBERS) for x in inside):
            lowered.source.refuse(s.line, "a list that a call returns", _WHY, _INSTEAD)


def _odd(lowered: Lowered, of: dict[str, NumbaType], names: set[str], every: list[anf.Stmt]) -> set[str]:
    """Lists without floats, in uses that arrays do not support: they stay opaque (opaque_statements.py)."""
    discrete = {x for x in names if not isinstance(of[x].dtype, types.Float)}
    found: set[str] = set()
    for s in every:
        known = not isinstance(s, anf.Opaque)
        if isinstance(s, anf.Let):
            known = (
                isinstance(
                    s, (anf.Copy, anf.MakeList, anf.AllocList, anf.AsList, anf.CallKnown, anf.Discrete, anf.Window)
                )
                or (isinstance(s, (anf.CallUser, anf.CallStarred)) and s.target not in discrete)
                or (isinstance(s, anf.GetItem) and s.args[0] in names)
                or (isinstance(s, anf.CallMethod) and s.method in (*_CHANGING, *_READING, "reverse", "sort", "extend"))
            )
        if not known:
            found |= discrete & {x for x in [*anf.reads(s), *anf.writes(s)] if isinstance(x, str)}
    same = [
        {s.target, s.args[0]}
        for s in every
        if isinstance(s, (anf.Copy, anf.AsList, anf.GetItem)) and {s.target, s.args[0]} <= discrete
    ]
    count = -1
    while count < len(found):
        count = len(found)
        found = found.union(*(pair for pair in same if pair & found))
    return found


def check_unpacked_dicts(lowered: Lowered, of: dict[str, NumbaType]) -> None:
    """Refuse `u, v = d` of a dict, which gives keys and not d[0] and d[1]."""
    for s in anf.walk(lowered.body):
        if isinstance(s, anf.GetItem) and s.unpacked is not None and isinstance(of.get(s.args[0]), types.DictType):
            what, why = "this assignment to several names", "they are the keys of the dict"
            lowered.source.refuse(s.line, what, why, "a list of them: list(d)")


def check_unpacked(lowered: Lowered, of: dict[str, NumbaType]) -> None:
    """Refuse `u, v = ys` of a list of anything but numbers: its length is known at run time only."""
    for s in anf.walk(lowered.body):
        kind = of.get(s.args[0]) if isinstance(s, anf.GetItem) and s.unpacked is not None else None
        if is_list(kind) and not isinstance(kind.dtype, NUMBERS):
            refuse_unpacked(lowered, s.line)


def refuse_unpacked(lowered: Lowered, line: int) -> None:
    """Refuse `u, v = ys` where the number of items is not known."""
    why = "how many items the list has is not known before"
    lowered.source.refuse(line, "this assignment to several names", why, "its items one by one: ys[0]")


def _check_parameters(lowered: Lowered, names: set[str]) -> None:
    """Refuse the mutation of a list that is an argument: it would have to be written back."""
    given = names & set(lowered.parameters)
    every = list(anf.walk(lowered.body)) if given else []
    while more := {s.target for s in every if isinstance(s, anf.Copy) and s.args[0] in given} - given:
        given |= more
    for s in every:
        method = isinstance(s, anf.CallMethod) and s.args[0] in given and s.method not in _READING
        if method or (isinstance(s, anf.Store) and s.array in given):
            what = "a change of a list that is an argument"
            lowered.source.refuse(s.line, what, "the caller's list would have to change, too", "a copy: list(ys)")


def _handed_on(lowered: Lowered, made: set[str], every: list[anf.Stmt]) -> None:
    """Add the temporaries to which `ys, zs = [], []` assigns new lists before these have their names."""
    uses = Counter(x for s in every for x in anf.reads(s) if isinstance(x, str))
    uses -= Counter(s.array for s in every if isinstance(s, anf.Store) and s.array in made)  # of comprehensions
    bound = Counter(x for s in every for x in anf.writes(s))
    for s in every:
        if not isinstance(s, anf.Copy):
            continue
        once = s.source in made and uses[s.source] == 1
        if once and lowered.names.is_temporary(s.target) and (uses[s.target], bound[s.target]) == (1, 1):
            made.add(s.target)


def _check_names(lowered: Lowered, lists: Lists, every: list[anf.Stmt]) -> None:
    """Refuse an alias of a growable list."""
    if not lists.lengths:
        return
    uses = Counter(x for s in every for x in anf.reads(s) if isinstance(x, str))
    for s in every:
        if isinstance(s, anf.Copy) and s.target in lists:
            (source,) = s.args
            fresh = source in lists.made and source not in lists.lengths
            used = uses[source] - sum(isinstance(t, anf.Store) and t.array == source for t in every)
            if (s.target in lists.lengths or source in lists.lengths) and not (fresh and used == 1):
                lowered.source.refuse(s.line, "a second name for a list that grows", GROWING, INSTEAD_OF_GROWING)


def _gone_over(lowered: Lowered, every: list[anf.Stmt]) -> set[tuple[str, str]]:
    """Lists and in-bounds indices of `for k in range(len(ys))`, where neither is assigned again."""
    lengths = {s.target: s.args[0] for s in every if isinstance(s, anf.CallKnown) and s.function == "len"}
    once = {x for x, count in Counter(x for s in every for x in anf.writes(s)).items() if count == 1}
    return {
        (lengths[s.stop], s.target)
        for s in every
        if isinstance(s, anf.For)
        and (s.start, s.step) == (anf.Const(0), anf.Const(1))
        and lowered.names.is_temporary(str(s.stop))
        if s.stop in lengths and {lengths[s.stop], s.stop, s.target} <= once
    }


def check_places(code: ScalarBuilder, lists: Lists, s: anf.Stmt) -> None:
    """Refuse uses of a list that its array does not support, and emit the bounds checks of its indices."""
    if not lists.names or not any(x in lists for x in anf.reads(s)):
        return
    of_item = isinstance(s, anf.Store) and len(s.index) == 1 and not isinstance(s.index[0], anf.Slice)
    if isinstance(s, anf.Store) and s.array in lists and of_item and s.value not in lists:
        if s.array not in lists.made:
            _check_place(code, s.array, anf.atom_of(s.index[0]), "setitem", s.line)
        return
    if isinstance(s, anf.Store) and s.array not in lists:  # a part of an array, as assign.py has it
        return
    if isinstance(s, anf.Let):
        if isinstance(s, (anf.Copy, anf.MakeList, anf.AllocList, anf.MakeTuple, anf.CallUser)) or (
            isinstance(s, anf.CallKnown) and s.function in _ALLOWED
        ):
            return
        if isinstance(s, anf.GetItem) and (s.args[0] in lists.made or not isinstance(s.index[0], anf.Slice)):
            if s.args[0] not in lists.made and (s.args[0], s.index[0]) not in lists.within:
                _check_place(code, s.args[0], anf.atom_of(s.index[0]), "getitem", s.line)
            return
        if isinstance(s, anf.Discrete) and is_harmless(s.tree, lists):
            return
    grows = isinstance(s, anf.CallMethod)
    code.refuse(s.line, "a list that grows or changes" if grows else "this use of a list", _WHY, _INSTEAD)


def is_harmless(tree: ast.expr, lists: Lists) -> bool:
    """Whether a condition uses lists only for their lengths and for membership tests."""
    inside = [x for node in ast.walk(tree) if _asks_length(node) for x in ast.walk(node)]
    inside += [x.comparators[0] for x in ast.walk(tree) if isinstance(x, ast.Compare) and _is_membership(x)]
    names = [x for x in ast.walk(tree) if isinstance(x, ast.Name) and x.id in lists]
    return all(any(x is y for y in inside) for x in names)


def _asks_length(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _is_membership(node: ast.Compare) -> bool:
    return len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn))


def _check_place(code: ScalarBuilder, array: str, place: anf.Atom, what: str, line: int) -> None:
    test = code.plain("k >= a.size or k < -a.size", line, types.boolean, k=place, a=array)
    code.add(anf.If(test, [anf.Effect(raising("IndexError", f"{what} out of range"), (), line, True)], [], line))
