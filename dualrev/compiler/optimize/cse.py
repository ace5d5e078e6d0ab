"""Common subexpression elimination, loads included (core -> core).

    a = x[i]              a = x[i]
    b = x[i]              c = mul(a, a)
    c = mul(a, b)

An element that is used several times is then one variable, whose cotangent is summed before it is added to the shadow
of the array once; and one number is recorded where two of the same would be. An operation is known again if it stands
where the first one has been executed, and neither what it reads nor its memory has changed in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, contents
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Index, Method, Var
from dualrev.compiler.ir.core.nodes import (
    Block,
    Call,
    Discrete,
    For,
    Function,
    If,
    Load,
    Opaque,
    Real,
    Statement,
    Store,
    While,
)
from dualrev.compiler.ir.core.traverse import (
    blocks,
    expressions,
    leaves,
    reads,
    statements,
    substituted,
    with_blocks,
    writes,
)

__all__ = ["without_repetition"]


def without_repetition(f: Function, memory: Memory, together: Iterable[tuple[Var, ...]] = ()) -> Function:
    """Eliminate the common subexpressions of `f`; `together`: groups of parameters that may share memory."""
    return replace(f, body=_Elimination(f, memory, Classes(f, memory, together)).block(f.body, {}))


class _Elimination:
    def __init__(self, f: Function, memory: Memory, classes: Classes) -> None:
        self.memory, self.classes = memory, classes
        times: dict[Var, int] = {}
        for s in statements(f.body):
            for x in writes(s):
                times[x] = times.get(x, 0) + 1
        fixed = {x for p in f.parameters for x in leaves(p)} | set(leaves(f.result))
        for s in statements(f.body):
            if isinstance(s, Call):  # it stays the statement that others know
                fixed |= set(reads(s))
        local = _read_after(f.body)
        self.once = {x for x, n in times.items() if n == 1 and x not in fixed and x in local}
        self.instead: dict[Atom, Var] = {}
        #: How often variables and classes of arrays have been changed.
        self.version: dict[Representative, int] = {}

    def block(self, body: Block, known: dict[Hashable, tuple[Var, int]]) -> Block:
        """Eliminate known expressions in a block; `known` gains the expressions that it computes."""
        made: list[Statement] = []
        for s in body:
            match s:
                case If():
                    test = substituted(s, self.read)
                    made.append(with_blocks(test, [self.block(b, dict(known)) for b in blocks(s)]))
                    self.change((s,))
                case For() | While():
                    made.append(self.loop(s, known))
                case Call():
                    self.change((s,))
                    made.append(s)
                case _:
                    made += self.statement(substituted(s, self.read), known)
        return tuple(made)

    def loop(self, s: For | While, known: dict[Hashable, tuple[Var, int]]) -> Statement:
        """Eliminate in a loop: no iteration may reuse an expression over what another iteration changes."""
        bounds = substituted(s, self.read) if isinstance(s, For) else s
        self.change((s,))
        # no cotangent flows through the condition of a while: its iterations take nothing from there
        made = with_blocks(bounds, [self.block(b, dict(known)) for b in blocks(s)])
        made = substituted(made, self.read) if isinstance(s, While) else made
        self.change((s,))
        return made

    def statement(self, s: Statement, known: dict[Hashable, tuple[Var, int]]) -> list[Statement]:
        """Drop a statement whose expression is available, else record the expression as available."""
        key = self.key(s)
        (target,) = writes(s) if key is not None else (None,)
        if key in known and target in self.once:
            x, version = known[key]
            if self.version.get(x, 0) == version:
                self.instead[target] = x
                return []
        self.change((s,))
        if key is not None and target in self.once:
            known[key] = target, self.version[target]
        if isinstance(s, Store) and s.op == "=" and isinstance(s.value, Var) and self._is_known_as(s):
            load = self.key(Load(s.value, s.array, s.index, s.line))  # what has just been written
            known[load] = s.value, self.version.get(s.value, 0)
        return [s]

    def _is_known_as(self, s: Store) -> bool:
        """Whether a load of the element just stored would give the stored variable (store-to-load forwarding)."""
        return s.value in self.once and s.value.type == s.array.type.dtype

    def read(self, x: Atom) -> Atom:
        """The variable that replaces an eliminated target; any other atom itself."""
        return self.instead.get(x, x)

    def change(self, body: Iterable[Statement]) -> None:
        """Give a new version to each variable that statements assign and each alias class that they write."""
        for s in statements(tuple(body)):
            arrays: list[Atom] = [*self.memory.changed(s)]
            if isinstance(s, Opaque) and s.changes:
                arrays += [x for _, x in s.inputs if is_array(x)]
            for x in [*writes(s), *map(self.classes.find, arrays)]:
                self.version[x] = self.version.get(x, 0) + 1

    def key(self, s: Statement) -> Hashable:
        """The key of an operation for value numbering; None if it must be executed each time."""
        match s:
            case Load():
                what: tuple[Hashable, ...] = (s.array, s.index)
            case Real():
                what = (s.rule.name, s.spelling, s.checked)
            case Discrete() if not any(map(_calls, expressions(s.value))):
                what = (s.value, s.repeated)
            case _:
                return None
        read = tuple((_exact(x), self.version.get(x, 0)) for x in reads(s))
        seen = tuple(self.version.get(self.classes.find(x), 0) for x in contents(s))
        return type(s), s.target.type, what, read, seen


def _read_after(body: Block) -> set[Var]:
    """Variables that are read only in the block that assigns them, and after the assignment.

    Of others a later iteration, or what follows a branch, may read what was assigned before.
    """
    every = Counter(_reads((*statements(body),)))
    found: set[Var] = set()

    def visit(block: Block) -> None:
        after: Counter[Atom] = Counter()  # the reads that follow in the same block
        for s in reversed(block):
            found.update(x for x in writes(s) if after[x] == every[x])
            for b in blocks(s):
                visit(b)
            after.update(_reads(statements((s,))))

    visit(body)
    return found


def _reads(some: Iterable[Statement]) -> Iterator[Atom]:
    """The atoms that statements themselves read, loop tests and exits included."""
    return (x for s in some for x in (*reads(s), *_ends(s)))


def _ends(s: Statement) -> tuple[Atom, ...]:
    """The atoms that a loop reads as its test and its exit flags."""
    test = (s.test,) if isinstance(s, While) else ()
    return (*test, *s.exits) if isinstance(s, (For, While)) else ()


def _calls(e: Index) -> bool:
    return isinstance(e, Method) or (isinstance(e, Applied) and e.function != "len")


def _exact(x: Atom) -> Hashable:
    """A key for an atom that tells equal constants of different kinds apart: 1 and 1.0, 0.0 and -0.0."""
    return (repr(x.value), x.type) if isinstance(x, Constant) else x
