"""Stores that write an element for the first time: what stood there is nothing, so that it need not come back.

An array that np.empty has made holds nothing. All stores into it are first ones if no element is written twice:

    a = np.empty(n)                     one store writes each element once if the counters of all loops that are not
    a[0] = x                            around np.empty are indices, as they are or plus a constant, and never negative;
    for i in range(1, n):               two stores write different elements if an index of one is a constant that the
        a[i] = f(a[i - 1])              other one does not reach
"""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

from dualrev.compiler.analyses.memory import Classes, Memory, is_array
from dualrev.compiler.analyses.versions import Loop, Value, Versions
from dualrev.compiler.core.atoms import Applied, Constant, Field, Operator, Var
from dualrev.compiler.core.terms import Call, Discrete, For, Function, Make, Statement, Store, Whole
from dualrev.compiler.core.walks import statements

__all__ = ["first_stores"]

#: An index: a constant (None, its value), or a counter (its loop, the first number that it gives); None for others.
_Entry: TypeAlias = "tuple[Loop | None, int] | None"


def first_stores(f: Function, versions: Versions, classes: Classes, memory: Memory) -> set[Statement]:
    """The stores of a function that write elements that hold nothing yet."""
    stores: dict[Any, list[Store]] = {}
    makers: dict[Any, list[Any]] = {}
    spoilt = {classes.find(x) for x in versions.parameters if is_array(x)}
    for s in statements(f.body):
        if isinstance(s, Store):
            stores.setdefault(classes.find(s.array), []).append(s)
        elif isinstance(s, (Make, Whole)) and is_array(s.target):
            makers.setdefault(classes.find(s.target), []).append(s)
        elif isinstance(s, Call):
            spoilt |= {classes.find(x) for x in [*s.targets, *memory.changed(s)] if is_array(x)}
    found: set[Statement] = set()
    for key, some in stores.items():
        made = makers.get(key, [])
        if key not in spoilt and len(made) == 1 and _is_empty(made[0]) and _all_first(some, made[0], versions):
            found |= set(some)
    return found


def _is_empty(s: Make | Whole) -> bool:
    """Whether an operation is np.empty or np.empty_like, perhaps transposed."""
    if isinstance(s, Whole):
        return False
    value = s.value.base if isinstance(s.value, Field) else s.value
    return isinstance(value, Applied) and value.function in ("np.empty", "np.empty_like")


def _all_first(stores: list[Store], maker: Make, versions: Versions) -> bool:
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
    """The value and the constant of `i + 1` or `i - 1`."""
    match s.value:
        case Operator("+" | "-" as symbol, (Var() as x, Constant(value))) if type(value) is int:
            return versions.reads[s].get(x), value if symbol == "+" else -value
    return None, 0


def _apart(p: list[_Entry], q: list[_Entry]) -> bool:
    """Whether two stores write different elements: an index is a constant, and lies before the other's first."""
    for a, b in zip(p, q, strict=True):
        if a is not None and b is not None:
            both_fixed = a[0] is None and b[0] is None and a[1] != b[1]
            if both_fixed or (a[0] is None and b[0] is not None and a[1] < b[1]):
                return True
            if b[0] is None and a[0] is not None and b[1] < a[1]:
                return True
    return False
