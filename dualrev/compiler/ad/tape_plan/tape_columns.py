"""Tape in columns: a loop of known length records into arrays, with one element for each iteration.

    push x, y         saved_1[i - start] = x          and in the reverse sweep          x = saved_1[i - start]
                      saved_2[i - start] = y                                            y = saved_2[i - start]

The tape has room for the columns before the loop begins. So no iteration depends on where the one before has stopped,
the reversed iterations may come in any order if nothing else asks for one (loop_dependence.py), and LLVM can make
vectors of them. A loop that may end early, or that records in a branch or in an inner loop, pushes: how many words
these are is not known.

Columns are written before the last stores of an iteration into arrays of the function. LLVM takes a column for any
memory: if it were written after them, the next iteration could not have what this one has stored in a register.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Comparison, Constant, Expr, Operator, Var
from dualrev.compiler.ir.core.nodes import (
    Block,
    Call,
    Columns,
    Copy,
    Discrete,
    Effect,
    For,
    If,
    Load,
    Pop,
    Push,
    Real,
    Statement,
    Store,
)
from dualrev.compiler.ir.core.traverse import reads, statements, writes

__all__ = ["Saved", "filled", "is_measured", "read_back"]

#: The columns of a loop: those of its first Push, of its second one, ...
Saved = list[tuple[Var, ...]]


def is_measured(s: For, body: Block) -> bool:
    """Whether the number of words that a loop records is known before it; `body` is its own forward sweep."""
    if s.exits or s.step not in (Constant(1), Constant(-1)):
        return False
    if any(types.unliteral(x.type) != types.int64 for x in (s.target, s.start, s.stop)):
        return False
    inner = list(statements(body))
    pushes = [t for t in inner if isinstance(t, Push)]
    if not pushes or any(t not in body for t in pushes):
        return False
    return not any(isinstance(t, Columns) or (isinstance(t, Effect) and t.raises) or _records(t) for t in inner)


def filled(s: For, body: Block) -> tuple[Columns, Block, Saved]:
    """The tape columns of a loop, and its forward sweep with stores into them in place of pushes."""
    saved: Saved = []
    made: list[Statement] = []
    last = _last_stores(body)
    for t in body:
        if isinstance(t, Push):
            columns = tuple(_column(x) for x in t.values)
            saved.append(columns)
            made += [Store(a, (_round(s),), x, t.line) for a, x in zip(columns, t.values, strict=True)]
        elif t not in last:
            made.append(t)
    made += last
    every = tuple(a for columns in saved for a in columns)
    return Columns(every, s.start, s.stop, s.step, s.line), tuple(made), saved


def read_back(s: For, code: Block, saved: Saved) -> Block:
    """The reversed body of a loop, with loads from its columns in place of pops.

    `s` has the bounds by the names that they have there.
    """
    left = list(saved)
    made: list[Statement] = []
    for t in code:
        if isinstance(t, Pop):
            made += [Load(x, a, (_round(s),), t.line) for x, a in zip(t.targets, left.pop(), strict=True)]
        else:
            made.append(t)
    return tuple(made)


def _last_stores(body: Block) -> list[Store]:
    """Stores that can sink to the end of a block: nothing but scalars is read or written after them."""
    found: list[Store] = []
    wrote: set[Var] = set()
    for t in reversed(body):
        if isinstance(t, Store) and wrote.isdisjoint(reads(t)):
            found.insert(0, t)
        elif not isinstance(t, Push):
            inner = list(statements((t,)))
            if not all(_is_of_numbers(u) for u in inner):
                break
            wrote |= {x for u in inner for x in writes(u)}
    return found


def _is_of_numbers(s: Statement) -> bool:
    """Whether a statement is scalar code that raises nothing."""
    match s:
        case Real():
            return not s.checked
        case Copy():
            return not is_array(s.target)
        case Discrete():
            return isinstance(s.value, Comparison) and not any(map(is_array, reads(s)))
    return isinstance(s, If)


def _records(s: Statement) -> bool:
    return isinstance(s, Call) and s.tape


def _column(x: Atom) -> Var:
    return Var("saved_{k}", types.Array(types.unliteral(x.type), 1, "C"))


def _round(s: For) -> Expr:
    """The index of an iteration, from 0."""
    if s.step == Constant(-1):
        return Operator("-", (s.start, s.target))
    return s.target if s.start == Constant(0) else Operator("-", (s.target, s.start))
