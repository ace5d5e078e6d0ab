"""Lazy shadows of local arrays: the reverse sweep allocates them, where it needs them.
The forward sweep neither makes nor keeps them. If the reverse sweep reads no elements of the arrays themselves, they
are not kept, either.

    for k in range(n):                         for k in range(n - 1, -1, -1):
        y = np.empty(x.shape)                      y = np.empty(x.shape)       made again, for its shape
        for i in ...: y[i] = c * x[i]              d_y = np.zeros_like(y)
        for i in ...: x[i] += y[i]                 ...

An iteration's temporary arrays are so: one statement makes the memory, and only views of it are other names. No
function needs its shadow on the way forward (analysis/memory/shadow_flow.py), and no other iteration, branch or loop
has a value of it.
"""

from __future__ import annotations

from dualrev.compiler.ad.reverse.gradient_context import Facts, Fused
from dualrev.compiler.analysis.memory.alias import Representative, given
from dualrev.compiler.analysis.ssa import Region, Value
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Var
from dualrev.compiler.ir.core.nodes import Call, Make, View, While
from dualrev.compiler.ir.core.traverse import leaves, statements

__all__ = ["can_be_made_again", "late_arrays"]


def late_arrays(facts: Facts, joint: bool) -> dict[Representative, Value]:
    """Arrays with lazy shadows, by alias class; arrays that live as long as the call have none."""
    versions, find = facts.versions, facts.classes.find
    out = {find(x) for x in [*facts.parameters, *facts.results] if is_array(x)}
    for s in statements(facts.f.body):
        if isinstance(s, Call):
            out |= {find(x) for x in _carried(facts, s)}
    made: dict[Representative, list[Value]] = {}
    counts: dict[Var, int] = {}
    for v in versions.values:
        if not is_array(v.variable):
            continue
        key = find(v.variable)
        if v.kind == "op" and isinstance(v.statement, (Make, View, Call)):
            counts[v.variable] = counts.get(v.variable, 0) + 1
            if not isinstance(v.statement, View):
                made.setdefault(key, []).append(v)
            if counts[v.variable] > 1 or _is_before(v.region):
                out.add(key)
        elif v.kind == "op" or v.used:
            out.add(key)
    found = {key: values[0] for key, values in made.items() if len(values) == 1 and key not in out}
    return {key: v for key, v in found.items() if v.domain is not None or not joint}


def _carried(facts: Facts, s: Call) -> list[Atom]:
    """Arrays of a call whose shadows the forward sweep needs for it."""
    arrays, results = given(s), leaves(s.result)
    unit = facts.callee(s, facts)
    if unit is not None and not isinstance(unit, Fused):
        arrays = [x for k, x in enumerate(arrays) if unit.takes_shadow(k)]
        results = [x for k, x in enumerate(results) if unit.gives_shadow(k)]
    return [x for x in [*arrays, *results] if is_array(x)]


def _is_before(region: Region | None) -> bool:
    """Whether a block is, or is nested in, the condition block of a `while`."""
    while region is not None:
        if isinstance(region.owner, While) and region.block is region.owner.before:
            return True
        region = region.parent
    return False


def can_be_made_again(v: Value) -> bool:
    """Whether the array can be reallocated: it is `np.empty`, which costs nothing and reads no elements."""
    made = v.statement.value if isinstance(v.statement, Make) else None
    return isinstance(made, Applied) and made.function == "np.empty"
