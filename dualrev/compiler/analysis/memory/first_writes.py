"""First writes to fresh arrays.

What stood there need not come back, if np.empty has made the array: it is nothing. Nor has its cotangent to be 0 before
the store: what made the array has no operand. The stores into an array between its making and what else may write its
memory (a call, or a store by another name for it) are first ones if no element is written twice:

    a = np.empty(n)                     one store writes each element once if the counters of all loops that are not
    a[0] = x                            around np.empty are indices, as they are or plus a constant, and never negative;
    for i in range(1, n):               two stores write different elements if an index of one is a constant that the
        a[i] = f(a[i - 1])              other one does not reach
"""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

from dualrev.compiler.analysis.memory.alias import Classes, Memory
from dualrev.compiler.analysis.ssa import Loop, Value, Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Constant, Field, Operator, Var
from dualrev.compiler.ir.core.nodes import Discrete, For, Function, Make, Statement, Store
from dualrev.compiler.ir.core.traverse import statements

__all__ = ["first_stores"]

#: An index: a constant (None, its value), or a counter (its loop, the first number that it gives); None for others.
_Entry: TypeAlias = "tuple[Loop | None, int] | None"


def first_stores(f: Function, versions: Versions, classes: Classes, memory: Memory) -> dict[Store, bool]:
    """First writes to the elements of new arrays; True if the old content is undefined (np.empty)."""
    changes: dict[Any, list[Statement]] = {}
    for s in statements(f.body):
        for x in memory.changed(s):
            changes.setdefault(classes.find(x), []).append(s)
    found: dict[Store, bool] = {}
    for s in statements(f.body):
        if isinstance(s, Make) and is_array(s.target):
            some = _before_others(s, changes.get(classes.find(s.target), []), versions)
            if some and _all_first(some, s, versions):
                found |= dict.fromkeys(some, _is_empty(s))
    return found


def _before_others(maker: Make, changes: list[Statement], versions: Versions) -> list[Store]:
    """Stores into a new array that end, with their loops, before anything else may write its memory."""
    made = versions.made[maker][maker.target]
    around = versions.enclosing_loops(versions.region_of[maker])
    mine = [s for s in changes if isinstance(s, Store) and versions.at(s, s.array) is made]
    after = versions.extent[maker][1]
    others = [versions.extent[s][0] for s in changes if s not in mine]
    limit = min((p for p in others if p > after), default=None)

    def end(s: Store) -> int:
        """The last position of a store, or of the outermost loop around it that is inside the allocation's loops."""
        inner = [loop for loop in versions.enclosing_loops(versions.region_of[s]) if loop not in around]
        return versions.extent[inner[0] if inner else s][1]

    return [s for s in mine if limit is None or end(s) < limit]


def _is_empty(s: Make) -> bool:
    """Whether an operation is `np.empty` or `np.empty_like`, perhaps transposed."""
    value = s.value.base if isinstance(s.value, Field) else s.value
    return isinstance(value, Applied) and value.function in ("np.empty", "np.empty_like")


def _all_first(stores: list[Store], maker: Make, versions: Versions) -> bool:
    """Whether the stores write each element at most once."""
    made = versions.made[maker][maker.target]
    around = versions.enclosing_loops(versions.region_of[maker])
    places = []
    for s in stores:
        loops = [loop for loop in versions.enclosing_loops(versions.region_of[s]) if loop not in around]
        place = [_entry(x, s, loops, versions) for x in s.index]
        counters = {x[0] for x in place if x is not None}
        if s.op != "=" or versions.at(s, s.array) is not made or not all(loop in counters for loop in loops):
            return False
        places.append(place)
    return all(_apart(p, q) for p, q in itertools.combinations(places, 2))


def _entry(x: Any, s: Store, loops: list[Loop], versions: Versions) -> _Entry:
    """An index as a constant or as a counter with its first value; None for others."""
    if isinstance(x, Constant):
        return (None, x.value) if type(x.value) is int and x.value >= 0 else None
    v = versions.reads[s].get(x) if isinstance(x, Var) else None
    offset = 0
    if v is not None and v.kind == "op" and isinstance(v.statement, Discrete):
        v, offset = _sum(v.statement, versions)
    if v is None or v.kind != "counter" or v.statement not in loops:
        return None
    loop = v.statement
    assert isinstance(loop, For)
    regular = isinstance(loop.start, Constant) and type(loop.start.value) is int and loop.step == Constant(1)
    first = loop.start.value + offset if regular and isinstance(loop.start, Constant) else -1
    return (loop, first) if first >= 0 else None


def _sum(s: Discrete, versions: Versions) -> tuple[Value | None, int]:
    """Value and constant of `i + 1` or `i - 1`."""
    match s.value:
        case Operator("+" | "-" as symbol, (Var() as x, Constant(value))) if type(value) is int:
            return versions.reads[s].get(x), value if symbol == "+" else -value
    return None, 0


def _apart(p: list[_Entry], q: list[_Entry]) -> bool:
    """Whether two stores write different elements: different constants, or a constant below a counter's first value."""
    for a, b in zip(p, q, strict=True):
        if a is not None and b is not None:
            both_fixed = a[0] is None and b[0] is None and a[1] != b[1]
            if both_fixed or (a[0] is None and b[0] is not None and a[1] < b[1]):
                return True
            if b[0] is None and a[0] is not None and b[1] < a[1]:
                return True
    return False
