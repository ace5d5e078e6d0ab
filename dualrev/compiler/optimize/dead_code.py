"""Dead code elimination: stores into arrays that nothing reads, and scalar operations that only they need.

Core -> core. A Jacobian needs the tangents of a result, and not the result itself:

    y = np.empty(n)                         y = np.empty(n)
    for i in range(n):                      for i in range(n):
        s = exp(x[i])                           s = exp(x[i])
        y[i] = s + 1.0                          t_y[i] = s * t_x[i]
        t_y[i] = s * t_x[i]

The allocation stays, since other arrays have its shape. All statements that may raise an error stay, too.

A store is dead if nothing reads an element of an array that may share its memory, and if neither a caller nor a callee
has that memory. Then, from the statements that have an effect, all that they need is marked, and the rest is swept.
"""

from __future__ import annotations

from dataclasses import replace

from dualrev.compiler.analysis.memory.alias import Classes, Memory, contents
from dualrev.compiler.frontend.reading.njit_options import kept
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Comparison, Constant, Field, Item, Operator, Var
from dualrev.compiler.ir.core.nodes import (
    Block,
    Copy,
    Discrete,
    For,
    Function,
    If,
    Load,
    Make,
    Real,
    Statement,
    Store,
    View,
    While,
)
from dualrev.compiler.ir.core.traverse import blocks, leaves, reads, statements, with_blocks, writes

__all__ = ["acts", "without_dead_code"]


def without_dead_code(f: Function, memory: Memory) -> Function:
    """Eliminate dead stores, and the operations that only they need."""
    dead = _dead_stores(f, memory)
    if not dead or kept(f.origin.dispatcher).get("boundscheck"):  # a store, too, may raise then
        return f
    return replace(f, body=_swept(f.body, _Needed(f, dead).statements))


def acts(s: Statement) -> bool:
    """Whether a statement may raise, or have effects; false only if that is certain."""
    match s:
        case Real():
            return s.checked and any(symbol in s.rule.value for symbol in ("/", "%", "**"))
        case Discrete(_, Item(Field(Var(), "shape"), (Constant(),))):
            return False
        case Discrete():
            return not isinstance(s.value, (Comparison, Operator)) or bool({*"/%"} & {*getattr(s.value, "symbol", "")})
        case Make():
            return any(isinstance(x, Var) for x in reads(s))
    return not isinstance(s, (Copy, Load, Store, If, For))


def _dead_stores(f: Function, memory: Memory) -> set[Statement]:
    classes = Classes(f, memory)
    outside = [x for tree in (*f.parameters, f.result) for x in leaves(tree)]
    live = {classes.find(x) for x in outside if is_array(x)}
    every = [*statements(f.body)]
    live |= {classes.find(x) for s in every for x in _seen(s)}
    return {s for s in every if isinstance(s, Store) and classes.find(s.array) not in live}


def _seen(s: Statement) -> list[Atom]:
    """Arrays whose elements a statement reads, or makes known to other functions."""
    match s:
        case Copy() | View() | Make(_, Applied("np.empty_like" | "np.zeros_like", (Var(),))):
            return []  # another name for the memory, or its shape
        case Load() | Discrete():
            return [*contents(s)]
        case Make():
            return [x for x in reads(s) if is_array(x)]
        case Store():
            return [s.value] if is_array(s.value) else []
    return [x for x in (*reads(s), *writes(s)) if is_array(x)]


class _Needed:
    """Mark phase: the statements with effects, and those that they need."""

    def __init__(self, f: Function, dead: set[Statement]) -> None:
        self.statements: set[Statement] = set()
        self._makers: dict[Var, list[Statement]] = {}
        self._owners: dict[Statement, Statement] = {}
        every = [*statements(f.body)]
        for s in every:
            for x in writes(s):
                self._makers.setdefault(x, []).append(s)
            self._owners |= dict.fromkeys((t for b in blocks(s) for t in b), s)
        self._waiting: list[Statement] = []
        for tree in (*f.parameters, f.result):
            self._variables(leaves(tree))
        for s in every:
            if s not in dead and (isinstance(s, (Store, Make, While)) or acts(s)):
                self._mark(s)
        while self._waiting:
            s = self._waiting.pop()
            self._variables(reads(s))
            if isinstance(s, While):
                self._variables([s.test])
            if isinstance(s, (For, While)):
                self._variables(s.exits)
            if s in self._owners:
                self._mark(self._owners[s])

    def _mark(self, s: Statement) -> None:
        if s not in self.statements:
            self.statements.add(s)
            self._waiting.append(s)

    def _variables(self, some: list[Atom] | tuple[Var, ...]) -> None:
        for x in some:
            for s in self._makers.get(x, ()) if isinstance(x, Var) else ():
                self._mark(s)


def _swept(body: Block, needed: set[Statement]) -> Block:
    return tuple(with_blocks(s, [_swept(inner, needed) for inner in blocks(s)]) for s in body if s in needed)
