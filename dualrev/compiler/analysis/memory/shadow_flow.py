"""Shadow flow: arrays whose shadows the forward sweep (augmented primal) of a callee takes or returns.

There a shadow goes where its array goes: into views, under other names, to the results. A function that only reads and
writes elements, and hands arrays on to functions that do no more, has no use for the shadows of its arguments:

    def smooth(x, out):                   def slope(x):
        for i in range(1, len(x)):            out = np.empty(len(x))
            out[i] = x[i] - x[i - 1]          smooth(x, out)
                                              return out          a new array, of which nobody else knows

Nor need it make one for a result that is a new array under a single name: who calls it can make it whenever it needs
it. So the arrays of recursive functions and of loops have no shadows before the reverse sweep
(ad/tape_plan/late_shadows.py).
"""

from __future__ import annotations

from dualrev.compiler.analysis.memory.alias import Carried, Memory, given
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.nodes import (
    Call,
    Discrete,
    Effect,
    For,
    Function,
    If,
    Load,
    Make,
    Real,
    Statement,
    Store,
    While,
    Whole,
)
from dualrev.compiler.ir.core.traverse import leaves, reads, statements, writes

__all__ = ["carried"]


def carried(s: Call, memory: Memory) -> Carried:
    """Shadows that cross a call in the augmented primal."""
    every = Carried(frozenset(range(len(given(s)))), frozenset(range(len(leaves(s.result)))))
    if memory.program.gradient(s) is not None:
        return every
    f = memory.program.function(s)
    if f.opaque or f.again or any(isinstance(t, For) and t.parallel for t in f.body):
        return every
    nothing = Carried(frozenset(), frozenset())
    return memory.carried.value(memory.program.key(s), lambda: nothing, lambda: _of_function(f, memory))


def _of_function(f: Function, memory: Memory) -> Carried:
    """Shadows that cross a call of `f`: of arrays that are moved in its body, and of results that are not new."""
    inputs = [x for p in f.parameters for x in leaves(p)]
    results = leaves(f.result)
    moved = {x for x in results if x in inputs or results.count(x) > 1}
    written: set[Atom] = set(inputs)
    for s in statements(f.body):
        moved |= _moved(s, memory)
        moved |= written.intersection(writes(s))
        written.update(writes(s))
    new = {x for s in f.body if isinstance(s, (Make, Whole, Call)) for x in writes(s)} - moved
    return Carried(
        frozenset(k for k, x in enumerate(inputs) if is_array(x) and x in moved),
        frozenset(k for k, x in enumerate(results) if is_array(x) and x not in new),
    )


def _moved(s: Statement, memory: Memory) -> set[Atom]:
    """Arrays whose shadows the forward sweep of a statement takes or makes."""
    match s:
        case Load() | Store() | Real() | Discrete() | Make() | Whole() | Effect() | If() | For() | While():
            return set()
        case Call():
            of = carried(s, memory)
            taken = {x for k, x in enumerate(given(s)) if k in of.arguments}
            return taken | {x for k, x in enumerate(leaves(s.result)) if k in of.results and isinstance(x, Var)}
    return {x for x in [*reads(s), *writes(s)] if is_array(x)}
