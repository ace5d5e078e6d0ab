"""Determinism analysis: functions that draw random numbers, or have effects, that a second run does not repeat.

Reverse and forward mode run a function once, so that its value and its derivative are of the same numbers. Some
derivatives run it again: a pullback, the rows of a Jacobian, a checkpoint. There, a function has to set the seed
itself, before it draws: not in a branch, and in its own body.
"""

from __future__ import annotations

from collections.abc import Hashable

from numba.core import types

from dualrev.compiler.analysis.opaque_flows import is_opaque_atom
from dualrev.compiler.ir.core.atoms import Global
from dualrev.compiler.ir.core.nodes import Call, Function, Opaque, Statement
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import blocks, leaves, reads, statements
from dualrev.rules.library.random.drawing import generator_of, is_draw

__all__ = ["done_anew", "draws_anew"]


def done_anew(f: Function, program: Program) -> tuple[Function, Statement] | None:
    """Find a statement whose effects a second run does not repeat; None, or the function and the statement in it.

    It changes a container that is an argument, or does what nobody knows.
    """
    return _changing(f, program, set()) or _unknown(f, program, set())


def _changing(f: Function, program: Program, seen: set[Hashable]) -> tuple[Function, Statement] | None:
    """Find a statement that may change a container passed as an argument; with the function that it is in."""
    given = [x for p in f.parameters for x in leaves(p) if is_opaque_atom(x)]
    if all(isinstance(x.type, types.UnicodeType) for x in given):
        return None
    for s in statements(f.body):
        if isinstance(s, Opaque) and s.changes:
            return f, s
        if isinstance(s, Call) and any(map(is_opaque_atom, reads(s))):
            if program.gradient(s) is not None:
                return f, s
            if (key := program.key(s)) not in seen:
                seen.add(key)
                if (found := _changing(program.function(s), program, seen)) is not None:
                    return found
    return None


def _unknown(f: Function, program: Program, seen: set[Hashable]) -> tuple[Function, Statement] | None:
    """Find a statement with unknown effects; with the function that it is in."""
    for s in statements(f.body):
        if isinstance(s, Opaque) and s.unknown:
            return f, s
        if isinstance(s, Call) and program.gradient(s) is None and (key := program.key(s)) not in seen:
            seen.add(key)
            if (found := _unknown(program.function(s), program, seen)) is not None:
                return found
    return None


def draws_anew(f: Function, program: Program) -> bool:
    """Whether a function draws from a random generator that it has not seeded before, in its own body."""
    seeded: set[str] = set()
    for s in f.body:
        drawn = _drawn(Function("", (), (s,), f.result, False), program, set())
        if isinstance(s, Call) and not blocks(s) and _is_seed(s):
            seeded |= drawn
        if drawn - seeded:
            return True
    return False


def _is_seed(s: Call) -> bool:
    return isinstance(s.function, Global) and s.function.value.py_func.__name__ in ("np_seed", "py_seed")


def _drawn(f: Function, program: Program, seen: set[Hashable]) -> set[str]:
    """The random generators that a function or its callees use."""
    found: set[str] = set()
    for s in statements(f.body):
        if not isinstance(s, Call) or program.gradient(s) is not None:
            continue
        if isinstance(s.function, Global) and is_draw(s.function.value):
            found.add(generator_of(s.function.value))
        elif (key := program.key(s)) not in seen:
            seen.add(key)
            found |= _drawn(program.function(s), program, seen)
    return found
