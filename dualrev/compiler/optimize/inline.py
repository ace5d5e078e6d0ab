"""Inline calls of small functions (core -> core).

    y = sigmoid(x)          _1 = neg(x)
                            _2 = exp(_1)
                            _3 = add(1.0, _2)
                            y = div(1.0, _3)

Otherwise numba compiles two functions for it, one by one, and each records for itself what the other knows: also what
`scale(x, c)` writes over, which its caller may not need. A function is small if it has few statements, fewer still if
they loop or write to memory, and none that makes an array, raises or calls; what it calls has been put into it before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeGuard, overload

from dualrev.compiler.analysis.memory.alias import given
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Global, Var
from dualrev.compiler.ir.core.nodes import (
    Block,
    Call,
    Copy,
    Discrete,
    For,
    Function,
    If,
    Load,
    Real,
    Statement,
    Store,
    While,
)
from dualrev.compiler.ir.core.traverse import blocks, leaves, statements, substituted, with_blocks, writes
from dualrev.compiler.ir.names import is_generated

__all__ = ["LIMIT", "LIMIT_OF_LOOPS", "inlined", "is_small"]

#: How many statements a small function has at most, and one that loops or writes to memory, whose sweeps are longer.
LIMIT, LIMIT_OF_LOOPS = 32, 12


def is_small(f: Function) -> bool:
    """Whether a function is small enough to inline, and returns scalars only."""
    if f.opaque or f.again or f.checking or any(isinstance(x, Global) or is_array(x) for x in leaves(f.result)):
        return False
    body = list(statements(f.body))
    short = LIMIT_OF_LOOPS if any(isinstance(s, For | Store) for s in body) else LIMIT
    return len(body) <= short and all(map(_is_plain, body))


def _is_plain(s: Statement) -> bool:
    if isinstance(s, For):
        return not s.exits and not s.parallel
    return isinstance(s, Copy | Discrete | Real | Load | Store | If)


def inlined(f: Function, small: Callable[[Call], Function | None]) -> Function:
    """Inline the calls of `f` for which `small` gives a callee."""

    def block(body: Block) -> Block:
        """Inline in the statements of a block."""
        return tuple(t for s in body for t in statement(s))

    def statement(s: Statement) -> Block:
        """Inline a call, or the calls in a statement's blocks."""
        if isinstance(s, Call) and (g := small(s)) is not None and _fits(s, g):
            return _Body(s, g).made()
        inner = blocks(s)
        return (with_blocks(s, map(block, inner)) if inner else s,)

    return replace(f, body=block(f.body)) if any(isinstance(s, Call) for s in statements(f.body)) else f


def _fits(s: Call, g: Function) -> bool:
    """Whether the argument and result types match the callee's exactly, and no argument is a frozen array."""
    args, parameters, results = given(s), _parameters(g), leaves(g.result)
    if len(args) != len(parameters) or len(s.targets) != len(results) or any(isinstance(x, Global) for x in args):
        return False
    pairs = [*zip(args, parameters, strict=True), *zip(s.targets, results, strict=True)]
    return all(x.type == y.type for x, y in pairs)


class _Body:
    """Body of an inlined callee, with fresh variables."""

    def __init__(self, s: Call, g: Function) -> None:
        self.s, self.g = s, g
        self.times = Counter(x for t in statements(g.body) for x in writes(t))
        self.times.update(x for x in _parameters(g) if x in self.times)  # with what they are at the beginning
        # where one statement gives several values
        loops = [t for t in statements(g.body) if isinstance(t, For | While)]
        self.times.update(x for loop in loops for t in statements((loop,)) for x in writes(t))
        self.new: dict[Var, Var] = {}

    def made(self) -> Block:
        """Emit the inlined statements: copies of the arguments, the body, copies to the targets."""
        body: list[Statement] = []
        for x, source in zip(_parameters(self.g), given(self.s), strict=True):
            if isinstance(source, Var) and not self.times[x]:
                self.new[x] = source
            else:
                body.append(Copy(self.variable(x), source, self.s.line))
        *first, last = self.g.body or (None,)
        results = leaves(self.g.result)
        if isinstance(last, Real | Discrete | Load) and results == [last.target] and self.times[last.target] == 1:
            self.new[last.target] = self.s.targets[0]  # nothing is read after that
            return (*body, *self.block((*first, last)))
        body += self.block(self.g.body)
        values = [self.variable(x) for x in results]
        if any(x in self.s.targets for x in values[1:]):  # `a, b = swap(a, b)`
            held = [Var("_", x.type) for x in self.s.targets]
            body += [Copy(x, value, self.s.line) for x, value in zip(held, values, strict=True)]
            values = held
        return (*body, *(Copy(x, value, self.s.line) for x, value in zip(self.s.targets, values, strict=True)))

    def block(self, body: Block) -> Block:
        """Rename the statements of a block; copies of single-assignment variables are propagated."""
        made = []
        for s in body:
            if isinstance(s, Copy) and self.times[s.target] == 1 and self.is_fixed(s.source):
                self.new[s.target] = self.variable(s.source)
            else:
                changed = replace(substituted(s, self.variable, self.variable), line=self.s.line)
                if isinstance(changed, For | While):
                    changed = replace(changed, exits=tuple(map(self.variable, changed.exits)))
                made.append(with_blocks(changed, map(self.block, blocks(s))))
        return tuple(made)

    def is_fixed(self, x: Atom) -> TypeGuard[Var]:
        """Whether an atom is a variable assigned at most once, whose value thus never changes once it is set."""
        return isinstance(x, Var) and (self.times[x] == 1 or (not self.times[x] and x in self.new))

    @overload
    def variable(self, x: Var) -> Var: ...
    @overload
    def variable(self, x: Atom) -> Atom: ...
    def variable(self, x: Atom) -> Atom:
        """Rename a variable of the callee; give it a fresh name at first sight."""
        if isinstance(x, Var) and x not in self.new:
            self.new[x] = Var("_" if is_generated(x.name) or x.of is not None else x.name, x.type)
        return self.new.get(x, x) if isinstance(x, Var) else x


def _parameters(f: Function) -> list[Var]:
    return [x for tree in f.parameters for x in leaves(tree)]
