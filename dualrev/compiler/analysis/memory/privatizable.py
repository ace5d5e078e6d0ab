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

from typing import Any

from dualrev.compiler.analysis.memory.alias import Classes
from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Constant, Field, Item, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Function, Load, Make, Opaque, Statement, Store
from dualrev.compiler.ir.core.traverse import leaves, reads, statements, variables, writes

__all__ = ["is_scratch"]


def is_scratch(x: Any, s: For, f: Function, versions: Versions, classes: Classes) -> bool:
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
    return _Rounds(names, _size(maker, versions), versions).covers(s.body)


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


def _size(s: Make, versions: Versions) -> Value | int | None:
    """Length of a new vector: an int or an SSA value; None if it is not known."""
    match s.value:
        case Applied("np.empty" | "np.zeros" | "np.ones", (Var() as n, *_)):
            return _origin(s, n, versions)
        case Applied("np.empty" | "np.zeros" | "np.ones", (Constant(int() as n), *_)):
            return n
        case Applied("np.empty_like" | "np.zeros_like", (Var() as y,)):
            v = _origin(s, y, versions)
            if v is not None and v.kind == "op" and isinstance(v.statement, Make):
                return _size(v.statement, versions)
    return None


def _origin(s: Statement, x: Any, versions: Versions) -> Value | None:
    """SSA value of a variable at a statement, with copies seen through."""
    v = versions.reads[s].get(x)
    while v is not None and v.kind == "op" and isinstance(v.statement, Copy):
        source = v.statement.source
        if not isinstance(source, Var):
            break
        v = versions.reads[v.statement].get(source)
    return v


class _Rounds:
    """Accesses to an array of known length in the iterations of a loop."""

    def __init__(self, names: set[Var], size: Value | int | None, versions: Versions) -> None:
        self.names, self.size, self.versions = names, size, versions

    def covers(self, body: Block) -> bool:
        """Whether a block writes all elements of the array before it reads one."""
        some = [s for s in body if _uses(s, self.names)]
        first = some[0]
        if not isinstance(first, For) or first.exits or first.target in self._assigned(first):
            return False
        return self._is_whole(first) or (len(some) == 1 and self.covers(first.body))

    def _assigned(self, s: For) -> set[Var]:
        return {y for t in statements(s.body) for y in writes(t)}

    def _is_whole(self, s: For) -> bool:
        """Whether a loop over the whole length writes each element before reading it, or lower ones."""
        if s.start != Constant(0) or s.step != Constant(1) or not self._is_size(s):
            return False
        some = [t for t in s.body if _uses(t, self.names)]
        first = some[0]
        if not isinstance(first, Store) or first.op != "=" or not self._is_at(first, s.target):
            return False
        return all(self._stays_below(t, s.target, {s.target}) for t in some[1:])

    def _is_size(self, s: For) -> bool:
        if isinstance(s.stop, Constant):
            return bool(s.stop.value == self.size)
        v = _origin(s, s.stop, self.versions)
        if v is None or v is self.size:
            return v is not None
        return v.kind == "op" and v.statement is not None and _is_length(v.statement, self.names)

    def _is_at(self, s: Load | Store, counter: Any) -> bool:
        return s.array in self.names and len(s.index) == 1 and s.index[0] is counter

    def _stays_below(self, s: Statement, counter: Var, known: set[Var]) -> bool:
        """Whether a statement accesses only elements at the counter, or at inner counters that stay below it."""
        if not _uses(s, self.names):
            return True
        if isinstance(s, (Load, Store)):
            return any(self._is_at(s, k) for k in known)
        if not isinstance(s, For) or s.target in self._assigned(s):
            return False
        start = s.start.value if isinstance(s.start, Constant) else -1
        below = s.stop is counter and s.step == Constant(1) and type(start) is int and start >= 0
        inner = known | {s.target} if below else known
        return all(self._stays_below(t, counter, inner) for t in s.body)
