"""Loop fission of stencil adjoints, so that each loop vectorises (core -> core, in the reverse sweep).

    for i in range(n):              for i in range(n):
        c = k * d_y[i]                  c = k * d_y[i]
        d_x[i - 1] += c                 d_x[i - 1] += c
        d_x[i + 1] += c             for i in range(n):
                                        c = k * d_y[i]
                                        d_x[i + 1] += c

That is the reverse of a stencil. What one iteration adds to, the next one but one adds to again: no two iterations may
run at the same time, and LLVM makes no vectors of them. The loops on the right have iterations with elements of their
own. What they share is computed in each of them; so it has to be cheap.

A loop is split if its iterations may come in any order (loop_dependence.py): then all iterations may do their first
part before one does its second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Load, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import reads, writes

__all__ = ["split_loop"]

_CHEAP = {"add", "sub", "mul", "neg", "pos"}


def split_loop(at: LoopContext, s: For) -> Block:
    """Fission of a reversed loop whose iterations may run in any order; the loop unchanged if that does not pay."""
    if not at.commutes or not all(isinstance(t, (Real, Copy, Discrete, Load, Store)) for t in s.body):
        return (s,)
    return tuple(_Split(at, s).loops())


class _Split:
    def __init__(self, at: LoopContext, s: For) -> None:
        self.at, self.s, self.body = at, s, s.body
        self.shadows = at.shadows
        self.adds = [t for t in s.body if isinstance(t, Store) and t.op == "+=" and t.array in self.shadows]

    def loops(self) -> list[For]:
        """The loops after fission; only the original one if fission is not legal, not cheap, or not needed."""
        groups = self.groups()
        if len(groups) == 1:
            return [self.s]
        last: list[Statement] = []  # stores that the loads before them are not to see; others come first
        added = {self.at.memory(t.array) for t in self.adds}
        for k, t in enumerate(self.body):
            if isinstance(t, Load) and self.at.memory(t.array) in added:
                return [self.s]
            if isinstance(t, Store) and t not in self.adds:
                before, after = (any(map(self.loads(t), part)) for part in (self.body[:k], self.body[k + 1 :]))
                if (before and after) or self.at.memory(t.array) in added:
                    return [self.s]
                last += [t] if before else []
        later = [t for group in groups[1:] for t in group] + last
        parts = [tuple(t for t in self.body if t not in later)]
        parts += [self.part([*group, *(last if group is groups[-1] else [])]) for group in groups[1:]]
        if not all(map(_is_cheap, parts[1:])) or self.hands_on(parts[1:]):
            return [self.s]
        return [replace(self.s, body=part) for part in parts]

    def groups(self) -> list[list[Store]]:
        """Partition of the accumulating stores, one group for each loop; no two in a group are near."""
        found: list[list[Store]] = [[]]
        for t in self.adds:
            group = next((g for g in found if not any(self.is_near(t, u) for u in g)), None)
            if group is None:
                found.append(group := [])
            group.append(t)
        return found

    def is_near(self, t: Store, u: Store) -> bool:
        """Whether two iterations may add to one element by two stores, which differ only along the counter's axis."""
        if self.shadows[t.array] != self.shadows[u.array]:
            return False
        dependence = self.at.dependence(self.s)
        a, b = (dependence.in_function(dependence.access(x)) for x in (t, u))
        axes = [k for k, answer in enumerate(dependence.by_axis(a, b)) if answer != "always"]
        moving = len(axes) == 1 and all(dependence.moves_with(x.index[axes[0]], self.s) for x in (a, b))
        return moving and dependence.same_element(a, b, across=self.s) == "may"

    # Parts of the iteration

    def hands_on(self, parts: list[Block]) -> bool:
        """Whether a part reads a loop-carried variable: its accumulation would be repeated in each part."""
        wrote = {x for t in self.body for x in writes(t)}
        for part in parts:
            there: set[Var] = {self.s.target}
            for t in part:
                if not (wrote - there).isdisjoint(reads(t)):
                    return True
                there |= set(writes(t))
        return False

    def loads(self, s: Store) -> Callable[[Statement], bool]:
        """A predicate for loads from the memory that a store writes."""
        return lambda t: isinstance(t, Load) and self.at.memory(t.array) == self.at.memory(s.array)

    def part(self, chosen: list[Statement]) -> Block:
        """Backward slice of the iteration for the chosen statements."""
        found: list[Statement] = []
        needed: set[Atom] = set()
        for t in reversed(self.body):
            if t in chosen or not needed.isdisjoint(writes(t)):
                needed = needed.difference(writes(t)) | set(reads(t))
                found.append(t)
        return tuple(reversed(found))


def _is_cheap(body: Block) -> bool:
    """Whether a part of an iteration is cheap enough to recompute in another loop."""
    return all(t.rule.name in _CHEAP for t in body if isinstance(t, Real))
