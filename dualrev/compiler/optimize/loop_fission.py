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
from typing import Any

from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.ir.core.atoms import Applied, Constant, Item, Operator, Span, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Load, Real, Statement, Store, View
from dualrev.compiler.ir.core.traverse import reads, writes

__all__ = ["split_loop"]

_CHEAP = {"add", "sub", "mul", "neg", "pos"}
_SPREADS = {"runtime.spread", "runtime.spread_evenly"}


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
        added = {self.memory(t.array) for t in self.adds}
        for k, t in enumerate(self.body):
            if isinstance(t, Load) and self.memory(t.array) in added:
                return [self.s]
            if isinstance(t, Store) and t not in self.adds:
                before, after = (any(map(self.loads(t), part)) for part in (self.body[:k], self.body[k + 1 :]))
                if (before and after) or self.memory(t.array) in added:
                    return [self.s]
                last += [t] if before else []
        later = [t for group in groups[1:] for t in group] + last
        parts = [tuple(t for t in self.body if t not in later)]
        parts += [self.part([*group, *(last if group is groups[-1] else [])]) for group in groups[1:]]
        if not all(map(_is_cheap, parts[1:])) or self.hands_on(parts[1:]):
            return [self.s]
        return [replace(self.s, body=part) for part in parts]

    def groups(self) -> list[list[Store]]:
        """Partition of the accumulating stores, one group for each loop; no two in a group overlap."""
        found: list[list[Store]] = [[]]
        for t in self.adds:
            group = next((g for g in found if not any(self.overlap(t, u) for u in g)), None)
            if group is None:
                found.append(group := [])
            group.append(t)
        return found

    def overlap(self, t: Store, u: Store) -> bool:
        """Whether two stores go to one array, with indices that differ only along the counter's axis."""
        if self.shadows[t.array] != self.shadows[u.array]:
            return False
        one, other = self.place(t), self.place(u)
        return one is not None and other is not None and one[0] == other[0] and one[1] != other[1]

    def place(self, t: Store) -> tuple[Any, Any] | None:
        """Root array of an element, its indices along other axes, and its indices along the counter's axis.

        None if the counter is not one of the indices, alone or with something added.
        """
        index = [self.written_out(i) for i in t.index]
        (axis, *more) = [k for k, i in enumerate(index) if self.is_along(i)] or [-1, -1]
        x = self.at.original(self.at.primal[t.array])
        if more:
            return None
        own, others = [index[axis]], [(*index[:axis], *index[axis + 1 :])]
        while (made := self.made(x)) is not None:
            x = self.at.original(made.base)
            if isinstance(made.value, Item):
                spans = [k for k, i in enumerate(made.value.index) if isinstance(i, Span)]
                ints = [k for k, i in enumerate(made.value.index) if isinstance(i, (Var, Constant))]
                if len(spans) + len(ints) < len(made.value.index):
                    return None
                axis = spans[axis] if axis < len(spans) else axis + len(ints)
                entries = dict(enumerate(made.value.index))
                own.append(entries.pop(axis, None))
                others.append(tuple(entries.items()))
        return (x, others), own

    def made(self, x: Any) -> View | None:
        """The single definition of an array as a view or as a spread one (runtime.spread); None if it is neither."""
        found = self.at.facts.definitions.get(x, [])
        if x in self.at.facts.parameters or len(found) != 1:
            return None  # `c = c[::-1]` of a parameter: it is that, or what is given for it
        if not isinstance(found[0], View) or not isinstance(found[0].base, Var):
            return None
        value, base = found[0].value, found[0].base
        is_part = isinstance(value, Item) and value.base is base
        is_spread = isinstance(value, Applied) and value.function in _SPREADS and base.type.ndim == x.type.ndim
        return found[0] if is_part or is_spread else None

    def written_out(self, i: Any) -> Any:
        """The expression behind an index that the iteration computes; else the index itself."""
        found = [t for t in self.body if i in writes(t)]
        return found[0].value if len(found) == 1 and isinstance(found[0], Discrete) else i

    def is_along(self, i: Any) -> bool:
        """Whether an index is the loop counter plus or minus a loop-invariant term."""
        target = self.s.target
        if not isinstance(i, Operator):
            return i is target
        return i.symbol in ("+", "-") and i.args[0] is target and not any(i.args[1] in writes(t) for t in self.body)

    # Parts of the iteration

    def memory(self, array: Any) -> Any:
        """Alias class of an array, and whether it is a class of shadows."""
        is_shadow = array in self.shadows
        return is_shadow, self.shadows[array] if is_shadow else self.at.facts.classes.find(self.at.original(array))

    def hands_on(self, parts: list[Block]) -> bool:
        """Whether a part reads a loop-carried variable: its accumulation would be repeated in each part."""
        wrote = {x for t in self.body for x in writes(t)}
        for part in parts:
            there: set[Any] = {self.s.target}
            for t in part:
                if not (wrote - there).isdisjoint(reads(t)):
                    return True
                there |= set(writes(t))
        return False

    def loads(self, s: Store) -> Callable[[Statement], bool]:
        """A predicate for loads from the memory that a store writes."""
        return lambda t: isinstance(t, Load) and self.memory(t.array) == self.memory(s.array)

    def part(self, chosen: list[Statement]) -> Block:
        """Backward slice of the iteration for the chosen statements."""
        found: list[Statement] = []
        needed: set[Any] = set()
        for t in reversed(self.body):
            if t in chosen or not needed.isdisjoint(writes(t)):
                needed = needed.difference(writes(t)) | set(reads(t))
                found.append(t)
        return tuple(reversed(found))


def _is_cheap(body: Block) -> bool:
    """Whether a part of an iteration is cheap enough to recompute in another loop."""
    return all(t.rule.name in _CHEAP for t in body if isinstance(t, Real))
