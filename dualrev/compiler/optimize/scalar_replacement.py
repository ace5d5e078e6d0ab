"""Scalar replacement of loop-carried shadow elements (core -> core, in the reverse sweep).

    for i in range(n - 1, 0, -1):   kept = d_x[n - 1]
        d_x[i - 1] += c * d_x[i]    for i in range(n - 1, 0, -1):
                                        kept = d_x[i - 1] + c * kept
                                        d_x[i - 1] = kept

The next iteration would have to wait until the element is in memory, and load it again, which takes longer than the
sum. It is the same element if the indices differ by what the counter changes by, and it holds what was left there if
whatever else is stored goes to other elements: two places differ if two of their indices differ by a constant, and
neither is below 0, which would mean another element. So it is in the reverse of recurrences, and of tables that are
filled from element to element.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numba.core import types

from dualrev.compiler.analysis.dependence import Access, Answer, Dependence
from dualrev.compiler.analysis.memory.alias import Representative
from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.ir.core.atoms import Atom, Comparison, Constant, Operator, Var
from dualrev.compiler.ir.core.builder import ZERO
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, If, Load, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import reads, statements, writes
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["replace_by_scalars"]

_I64 = types.int64
_STEPS: dict[Atom, int] = {Constant(1, _I64): 1, Constant(-1, _I64): -1}


def replace_by_scalars(at: LoopContext, s: For) -> Block:
    """Replace loop-carried elements by scalars; the loop, after the statements that initialise these."""
    wrote = {s.target} | {x for t in statements(s.body) for x in writes(t)}
    if s.step not in _STEPS or s.exits or not wrote.isdisjoint((s.start, s.stop)):
        return (s,)
    before: list[Statement] = []
    for array in _accessed(at, s, wrote):
        accesses = _Accesses(at.dependence(s), s, array)
        for last in reversed([t for t in s.body if isinstance(t, Store) and t.array is array]):
            if found := accesses.read_next(last):
                begin, s = accesses.loop(found, last)
                before += begin
                break
    return (*before, s)


def _accessed(at: LoopContext, s: For, wrote: set[Var]) -> list[Var]:
    """Shadows that an iteration loads from and stores to, with no other access to their alias class."""
    shadows = at.shadows
    arrays: dict[Representative, set[Var | None]] = {}
    for t in s.body:
        used = {x for u in statements((t,)) for x in (*reads(u), *writes(u)) if isinstance(x, Var) and x in shadows}
        for x in used:
            plain = isinstance(t, (Load, Store)) and used == {t.array}
            arrays.setdefault(shadows[x], set()).add(x if plain else None)
    alone = [x for some in arrays.values() if len(some) == 1 for x in some if x is not None]
    loaded, stored = ({t.array for t in s.body if isinstance(t, kind)} for kind in (Load, Store))
    return [x for x in alone if x in loaded & stored and x not in wrote and x.type.dtype == types.float64]


@dataclass
class _Accesses:
    """Accesses to one array in the iterations of a loop."""

    dependence: Dependence
    s: For
    array: Var

    def read_next(self, last: Store) -> list[Load | Store]:
        """Accesses of the next iteration to the element stored here, in order; none if it has to be loaded again.

        That iteration loads it, and until then and since then nothing else may be stored to the same place.
        """
        k, here = self.s.body.index(last), self.dependence.access(last)
        before = self.dependence.in_iteration(here, self.s, -1)
        if None in map(self.dependence.affine, before.index):
            return []
        found = [t for t in self._of(self.s.body[:k]) if self._same_element(t, before) == "always"]
        is_read = found and not (isinstance(found[0], Store) and found[0].op == "=")
        is_left = self._is_left(self.s.body[:k], before, found) and self._is_left(self.s.body[k + 1 :], here, [])
        return found if is_read and is_left and any(isinstance(t, Load) for t in found) else []

    def _of(self, body: Block) -> list[Load | Store]:
        return [t for t in body if isinstance(t, (Load, Store)) and t.array is self.array]

    def _same_element(self, t: Load | Store, element: Access) -> Answer:
        return self.dependence.same_element(self.dependence.access(t), element)

    def _is_left(self, body: Block, element: Access, besides: list[Load | Store]) -> bool:
        """Whether no other store of the block may overwrite the element."""
        others = (t for t in self._of(body) if t not in besides and isinstance(t, Store))
        return all(self._same_element(t, element) == "never" for t in others)

    def loop(self, found: list[Load | Store], last: Store) -> tuple[Block, For]:
        """The scalar's initialisation before the loop, and the loop with the scalar in place of the element."""
        kept, s = Var("kept_{k}", types.float64), self.s
        some, test = Var("_", types.boolean), Comparison((">" if _STEPS[s.step] < 0 else "<",), (s.start, s.stop))
        load = self._at_start(found[0], kept)
        body: list[Statement] = []
        for t in s.body:
            if t is last:
                old = Var("_", types.float64)
                body += [Load(old, t.array, t.index, t.line)] * (t.op != "=")
                body += _stored(last, old, kept)
            elif t in found:
                body += _stored(t, kept, kept) if isinstance(t, Store) else [Copy(t.target, kept, t.line)]
            else:
                body.append(t)
        begin = Copy(kept, ZERO, s.line), Discrete(some, test, s.line), If(some, load, (), s.line)
        return begin, replace(s, body=tuple(body))

    def _at_start(self, access: Load | Store, target: Var) -> Block:
        """Load the element that the first iteration reads."""
        made: list[Statement] = []
        index: list[Atom] = []
        for x, n in filter(None, map(self.dependence.affine, self.dependence.access(access).index)):
            first = self.s.start if x is self.s.target else x
            if first is None or isinstance(first, Constant):
                index.append(Constant((first.value if first else 0) + n, _I64))
            elif n:
                place = Var("_", _I64)
                index.append(place)
                value = Operator("+" if n > 0 else "-", (first, Constant(abs(n), _I64)))
                made.append(Discrete(place, value, access.line))
            else:
                index.append(first)
        return (*made, Load(target, access.array, tuple(index), access.line))


def _stored(s: Store, old: Var, new: Var) -> list[Statement]:
    """A store whose new element value is kept in `new`; `old` holds the value before it."""
    if s.op == "=":
        return [s, Copy(new, s.value, s.line)]
    rule = "add" if s.op == "+=" else "sub"
    return [Real(new, PRIMITIVES[rule], s.op[0], (old, s.value), s.line), replace(s, op="=", value=new)]
