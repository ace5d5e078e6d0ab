"""Privatisable arrays: scratch arrays of which each iteration of a loop writes all elements before it reads one.

    t = np.empty(m)                     for i in range(n):
    for i in range(n):                      t = np.empty(m)
        for k in range(m):                  for k in range(m):
            t[k] = f(x[i], k)                   t[k] = f(x[i], k)
        s += g(t)                           s += g(t)

mean the same: no number goes from iteration to iteration by such an array. The conditions, of an array with one axis:

    alone       one statement makes it, other names for it are copies of that one, and only the loop uses it
    all of it   in each iteration, the first statement that uses it is a loop, over its length, that writes an element
                in each of its iterations, or a loop whose iterations are such, when nothing uses the array after it
    in order    in that loop, only elements are read that it has written: the one of its counter, after it is
                written, and those of counters of inner loops up to that
"""

from __future__ import annotations

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes
from dualrev.compiler.analysis.values.linear_bounds import Form, is_natural, minus
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Field, Item, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Function, Load, Make, Opaque, Statement, Store
from dualrev.compiler.ir.core.traverse import blocks, leaves, reads, statements, variables, writes

__all__ = ["is_scratch"]


def is_scratch(x: Atom, s: For, f: Function, dependence: Dependence, classes: Classes) -> bool:
    """Whether `x` is privatisable in loop `s` at the top of `f` (each iteration writes before it reads)."""
    if not isinstance(x, Var) or x.type.ndim != 1:
        return False
    names = {y for y in variables(f) if is_array(y) and classes.find(y) is classes.find(x)}
    fixed = {*leaves(f.result), *(y for p in f.parameters for y in leaves(p))}
    if x not in names or names & fixed:  # x may share memory with a frozen array
        return False
    outside = [t for t in f.body if t is not s and _uses(t, names)]
    makers = [t for t in statements(f.body) if not names.isdisjoint(writes(t))]
    inside = [t for t in statements(s.body) if isinstance(t, Opaque) and _uses(t, names)]
    if outside != makers or len(makers) != len(names) or inside:
        return False
    maker, *others = makers
    if not isinstance(maker, Make) or not all(isinstance(t, Copy) for t in others):
        return False
    return _Scratch(names, dependence).covers(s.body)


def _uses(s: Statement, names: set[Var]) -> bool:
    """Whether a statement uses an array other than for its length."""
    some = (t for t in statements((s,)) if not _is_length(t, names))
    return any(not names.isdisjoint(y for y in (*reads(t), *writes(t)) if isinstance(y, Var)) for t in some)


def _is_length(s: Statement, names: set[Var]) -> bool:
    match s:
        case Discrete(_, Applied("len", (Var() as y,)) | Item(Field(Var() as y, "shape"), (Constant(0),))):
            return y in names
        case Make(_, Applied("np.empty_like" | "np.zeros_like", (Var() as y,))):
            return y in names
    return False


class _Scratch:
    """Accesses to an array in the iterations of a loop."""

    def __init__(self, names: set[Var], dependence: Dependence) -> None:
        self.names, self.dependence = names, dependence

    def covers(self, body: Block) -> bool:
        """Whether a block writes all elements of the array before it reads one."""
        some = [s for s in body if _uses(s, self.names)]
        first = some[0]
        if not isinstance(first, For) or first.exits:
            return False
        return self._is_whole(first) or (len(some) == 1 and self.covers(first.body))

    def _is_whole(self, s: For) -> bool:
        """Whether a loop over the whole length writes each element before reading it, or lower ones."""
        first, *others = [t for t in statements(s.body) if _uses(t, self.names) and not blocks(t)]
        if s.start != Constant(0) or s.step != Constant(1) or first not in s.body or not isinstance(first, Store):
            return False
        element, counter = self.dependence.access(first), self.dependence.counter_of(s)
        whole = self.dependence.form(s, s.stop) == self.dependence.extent(element.root, 0)
        return (
            whole
            and first.op == "="
            and element.index == (counter,)
            and all(self._is_below(t, counter) for t in others)
        )

    def _is_below(self, s: Statement, counter: Form) -> bool:
        """Whether a statement only accesses an element up to the counter."""
        if not isinstance(s, (Load, Store)):
            return False
        (index,) = self.dependence.access(s).index
        return index is not None and is_natural(index) and is_natural(minus(counter, index))
