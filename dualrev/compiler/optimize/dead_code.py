"""Dead code elimination: stores into arrays that nothing reads, and scalar operations that only they need.

Core -> core. A Jacobian needs the tangents of a result, and not the result itself:

    y = np.empty(n)                         y = np.empty(n)
    for i in range(n):                      for i in range(n):
        s = exp(x[i])                           s = exp(x[i])
        y[i] = s + 1.0                          t_y[i] = s * t_x[i]
        t_y[i] = s * t_x[i]

The allocation stays, since other arrays have its shape. All statements that may raise an error stay, too.

Statements with an effect are marked, and all that they need: what assigns the variables that they read, the statements
around them, and the stores into arrays that may share memory with an array that they read. The rest is swept. Callers
and callees may read all arrays that they have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, contents
from dualrev.compiler.frontend.reading.njit_options import kept
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Atom,
    Comparison,
    Constant,
    Field,
    Global,
    Index,
    Item,
    Operator,
    Var,
)
from dualrev.compiler.ir.core.nodes import (
    Block,
    Copy,
    Discrete,
    For,
    Function,
    Hold,
    If,
    Load,
    Make,
    Real,
    Statement,
    Store,
    View,
    While,
)
from dualrev.compiler.ir.core.traverse import blocks, leaves, parts, reads, statements, with_blocks, writes

__all__ = ["acts", "without_dead_code"]


def without_dead_code(f: Function, memory: Memory, unread: Collection[Var] = ()) -> Function:
    """Eliminate stores into arrays that nothing reads, and the operations that only they need.

    `unread` are parameters whose last elements nobody reads after the function.
    """
    if kept(f.origin.dispatcher).get("boundscheck"):  # a store may raise, and a load
        return f
    return replace(f, body=_swept(f.body, _Needed(f, Classes(f, memory), unread).statements))


def acts(s: Statement) -> bool:
    """Whether a statement may raise, or have effects; false only if that is certain."""
    match s:
        case Real():
            return s.checked and any(symbol in s.rule.value for symbol in ("/", "%", "**"))
        case Discrete():
            return not _is_harmless(s.value)
        case Make():
            return any(isinstance(x, Var) for x in reads(s))
        case For():
            return not isinstance(s.step, Constant)  # it may be 0
    return not isinstance(s, (Copy, Load, Store, If))


def _is_harmless(e: Index) -> bool:
    """Whether an expression certainly raises nothing: arithmetic without division, comparisons and extents."""
    match e:
        case Comparison():
            return all(map(_is_harmless, parts(e)))
        case Operator():
            return not {*"/%"} & {*e.symbol} and all(map(_is_harmless, parts(e)))
        case Item(Field(Var(), "shape"), (Constant(),)):
            return True
    return isinstance(e, (Var, Constant, Global))


def _seen(s: Statement) -> list[Atom]:
    """Arrays whose elements a statement reads, or makes known to other functions."""
    match s:
        case Copy() | View() | Hold() | Make(_, Applied("np.empty_like" | "np.zeros_like", (Var(),))):
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

    def __init__(self, f: Function, classes: Classes, unread: Collection[Var]) -> None:
        self.statements: set[Statement] = set()
        self._waiting: list[Statement] = []
        self._classes = classes
        self._makers: dict[Var, list[Statement]] = {}
        self._stores: dict[Representative, list[Statement]] = {}
        self._owners: dict[Statement, Statement] = {}
        every = [*statements(f.body)]
        for s in every:
            for x in writes(s):
                self._makers.setdefault(x, []).append(s)
            if isinstance(s, Store):
                self._stores.setdefault(classes.find(s.array), []).append(s)
            self._owners |= dict.fromkeys((t for inner in blocks(s) for t in inner), s)
        outside = [x for tree in (*f.parameters, f.result) for x in leaves(tree) if x not in unread]
        self._variables(leaves(f.result))
        self._elements(filter(is_array, outside))
        for s in every:
            if not isinstance(s, Store) and (isinstance(s, (Make, While)) or acts(s)):
                self._mark(s)
        while self._waiting:
            s = self._waiting.pop()
            self._variables(reads(s))
            self._elements(_seen(s))
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

    def _variables(self, some: Iterable[Atom]) -> None:
        """Mark what assigns these variables."""
        for x in some:
            for s in self._makers.pop(x, ()) if isinstance(x, Var) else ():
                self._mark(s)

    def _elements(self, some: Iterable[Atom]) -> None:
        """Mark the stores into these arrays."""
        for x in some:
            for s in self._stores.pop(self._classes.find(x), ()):
                self._mark(s)


def _swept(body: Block, needed: set[Statement]) -> Block:
    return tuple(with_blocks(s, [_swept(inner, needed) for inner in blocks(s)]) for s in body if s in needed)
