"""Preparation of a thread function for both sweeps (core -> core).

before                                     after
a = np.empty(4), in a loop                 before the loop: on a device, a thread has one such array
u = state_x; ... u[i] ...                  ... state_x[i] ...
t = rows_1 if k == 1 else IndexError       t = rows_1: on a device, no thread raises that
barrier                                    barrier a, b: the arrays that a block shares
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Constant, Var
from dualrev.compiler.ir.core.nodes import Barrier, Block, Copy, Effect, Function, If, Make, Statement
from dualrev.compiler.ir.core.traverse import (
    blocks,
    reads,
    replaced,
    rewritten,
    statements,
    substituted,
    with_blocks,
    writes,
)
from dualrev.compiler.ir.names import is_generated
from dualrev.diagnostics.quoting import raising

__all__ = ["prepared", "without_barriers"]

_OUTSIDE = raising("IndexError", "tuple index out of range")


def prepared(f: Function, shared: tuple[Var, ...]) -> Function:
    """Prepare a thread function, whose parameters `shared` are the arrays that a block shares."""
    f = _without_copies(_with_arrays_first(f))
    return replace(f, body=_with_barriers(_without_checks(f.body), shared))


def _with_barriers(body: Block, arrays: tuple[Var, ...]) -> Block:
    """Write the arrays that a block shares into its barriers."""
    return tuple(
        replace(s, arrays=arrays)
        if isinstance(s, Barrier)
        else with_blocks(s, [_with_barriers(b, arrays) for b in blocks(s)])
        for s in body
    )


def without_barriers(body: Block) -> Block:
    """Leave the barriers out of a block."""
    return tuple(with_blocks(s, map(without_barriers, blocks(s))) for s in body if not isinstance(s, Barrier))


def _with_arrays_first(f: Function) -> Function:
    """Hoist local arrays of constant shape to the beginning: a thread has each of them once, as on a device."""
    every = list(statements(f.body))
    times = Counter(x for s in every for x in writes(s))
    known = {
        s.target: s.source
        for s in every
        if isinstance(s, Copy) and isinstance(s.source, Constant) and times[s.target] == 1
    }
    made = {
        s: replace(s, value=replaced(s.value, lambda x: known.get(x, x) if isinstance(x, Var) else x))
        for s in every
        if isinstance(s, Make)
    }
    hoisted = {s: t for s, t in made.items() if not any(isinstance(x, Var) for x in reads(t))}

    def left(body: Block) -> Block:
        """Leave the hoisted statements out of a block."""
        return tuple(with_blocks(s, map(left, blocks(s))) for s in body if s not in hoisted)

    return replace(f, body=(*hoisted.values(), *left(f.body))) if hoisted else f


def _without_copies(f: Function) -> Function:
    """Replace other names of parameters by these: of arrays, and those that the compiler has made."""
    times = Counter(x for s in statements(f.body) for x in writes(s))
    names: dict[Atom, Atom] = {x: x for x in f.parameters if isinstance(x, Var) and not times[x]}
    for s in statements(f.body):
        source = names.get(s.source) if isinstance(s, Copy) and times[s.target] == 1 else None
        if isinstance(s, Copy) and isinstance(source, Var) and source.type == s.target.type:
            names |= {s.target: source} if is_array(source) or is_generated(s.target.name) else {}

    def left(body: Block) -> Block:
        """Leave the copies out of a block."""
        return tuple(
            with_blocks(s, map(left, blocks(s))) for s in body if not (isinstance(s, Copy) and s.target in names)
        )

    return replace(f, body=rewritten(left(f.body), lambda s: substituted(s, lambda x: names.get(x, x))))


def _without_checks(body: Block) -> Block:
    """Leave out the checks of indices of tuples."""
    found: list[Statement] = []
    for s in body:
        s = with_blocks(s, map(_without_checks, blocks(s)))
        last = s.orelse if isinstance(s, If) else ()
        is_check = isinstance(s, If) and len(last) == 1 and isinstance(last[0], Effect) and last[0].text == _OUTSIDE
        found += s.then if is_check else (s,)  # type: ignore[union-attr]
    return tuple(found)
