"""First writes to fresh arrays.

What stood there need not come back, if np.empty has made the array: it is nothing. Nor has its cotangent to be 0 before
the store: what made the array has no operand. The stores into an array between its making and what else may write its
memory (a call, or a store by another name for it) are first ones if no element is written twice:

    a = np.empty(n)                     one store writes each element once if it never writes one in two iterations of
    a[0] = x                            a loop that is not around np.empty (analysis/dependence.py);
    for i in range(1, n):               two stores write different elements if they never write one in any two
        a[i] = f(a[i - 1])              iterations
"""

from __future__ import annotations

import itertools

from dualrev.compiler.analysis.dependence import Access, Dependence
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative
from dualrev.compiler.analysis.ssa import Loop, Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Field
from dualrev.compiler.ir.core.nodes import Function, Make, Statement, Store
from dualrev.compiler.ir.core.traverse import statements

__all__ = ["first_stores"]


def first_stores(f: Function, dependence: Dependence, classes: Classes, memory: Memory) -> dict[Store, bool]:
    """First writes to the elements of new arrays; True if the old content is undefined (np.empty)."""
    changes: dict[Representative, list[Statement]] = {}
    for s in statements(f.body):
        for x in memory.changed(s):
            changes.setdefault(classes.find(x), []).append(s)
    found: dict[Store, bool] = {}
    for s in statements(f.body):
        if isinstance(s, Make) and is_array(s.target):
            some = _before_others(s, changes.get(classes.find(s.target), []), dependence.versions)
            if some and _all_first(some, s, dependence):
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


def _all_first(stores: list[Store], maker: Make, dependence: Dependence) -> bool:
    """Whether the stores write each element at most once."""
    versions = dependence.versions
    made = versions.made[maker][maker.target]
    around = versions.enclosing_loops(versions.region_of[maker])
    loops = {s: versions.enclosing_loops(versions.region_of[s])[len(around) :] for s in stores}
    elements = {s: dependence.access(s) for s in stores}

    def once(s: Store) -> bool:
        """Whether each iteration writes another element."""
        x = elements[s]
        return s.op == "=" and x.root is made and all(_differ(dependence, x, x, across=loop) for loop in loops[s])

    def apart(s: Store, t: Store) -> bool:
        """Whether two stores never write one element."""
        common = next((loop for loop in loops[s] if loop in loops[t]), None)
        return _differ(dependence, elements[s], elements[t], within=common)

    return all(map(once, stores)) and all(apart(s, t) for s, t in itertools.combinations(stores, 2))


def _differ(dependence: Dependence, a: Access, b: Access, **loops: Loop | None) -> bool:
    return dependence.same_element(a, b, **loops) == "never"
