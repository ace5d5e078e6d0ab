"""Per-callee dependence summaries: the arguments that each result and each changed array may depend on.

    def g(x, d, out):
        out[0] = x * d[0]        out    x, d, out
        d[0] = 1.0               d      d
        return d[1]              result d

As in activity.py, this is without regard to the order of statements, and arrays that may share memory are one. So an
array that a function changes is not active only because another argument is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, given
from dualrev.compiler.ir.core.atom_types import is_array, is_real, is_real_array
from dualrev.compiler.ir.core.atoms import Atom, Global, Var
from dualrev.compiler.ir.core.nodes import Call, Copy, Function, Load, Real, Statement, Store, View, Whole
from dualrev.compiler.ir.core.traverse import leaves, statements

__all__ = ["carries", "made_of", "sources"]


def made_of(s: Call, memory: Memory) -> list[tuple[Atom, frozenset[int]]]:
    """Results and changed arguments of a call, each with the indices of the arguments that it may depend on."""
    inputs, results = given(s), leaves(s.result)
    every = frozenset(range(len(inputs)))
    if memory.program.gradient(s) is not None or memory.program.function(s).opaque or memory.is_draw(s):
        return [(x, every) for x in (*results, *memory.changed(s))]
    f = memory.program.function(s)
    nothing = (frozenset[int](),) * (len(results) + len(inputs))
    found = memory.flows.value(memory.program.key(s), lambda: nothing, lambda: _of_function(f, memory))
    writes = (False,) * len(results) + tuple(memory.effects(s).writes)
    made = zip((*results, *inputs), found, writes, strict=True)
    return [
        (x, of) for k, (x, of, wrote) in enumerate(made) if isinstance(x, (Var, Global)) and (k < len(results) or wrote)
    ]


def _of_function(f: Function, memory: Memory) -> tuple[frozenset[int], ...]:
    """Indices of the parameters that each result, and then each parameter at the end, may depend on."""
    classes, order = Classes(f, memory), list(statements(f.body))
    of: dict[Representative, frozenset[int]] = {}

    def key(x: Atom) -> Representative:
        """An array's alias class; any other atom itself."""
        return classes.find(x) if is_array(x) else x

    def found(x: Atom) -> frozenset[int]:
        """Parameter indices found so far for an atom."""
        return of.get(key(x), frozenset()) if carries(x) else frozenset()

    def add(x: Atom, more: frozenset[int]) -> bool:
        """Add parameter indices to an atom; whether that changed anything."""
        if not carries(x) or more <= found(x):
            return False
        of[key(x)] = found(x) | more
        return True

    inputs = [x for p in f.parameters for x in leaves(p)]
    for k, x in enumerate(inputs):
        add(x, frozenset([k]))
    changing = True
    while changing:
        changing = False
        for s in order:
            for x, more in _made(s, memory, found):
                changing |= add(x, more)
    return tuple(map(found, (*leaves(f.result), *inputs)))


def _made(s: Statement, memory: Memory, found: Callable[[Atom], frozenset[int]]) -> list[tuple[Atom, frozenset[int]]]:
    """Transfer function of a statement: the atoms that it assigns, with the parameters that they depend on."""
    if isinstance(s, Store):
        return [(s.array, found(s.value))]
    if isinstance(s, Call):
        inputs = [found(x) for x in given(s)]
        return [(x, frozenset().union(*(inputs[k] for k in of))) for x, of in made_of(s, memory)]
    of = sources(s)
    return [(s.target, frozenset().union(*map(found, of)))] if of else []  # type: ignore[union-attr]


def carries(x: object) -> TypeGuard[Var]:
    """Whether an atom can carry a derivative at all."""
    return isinstance(x, Var) and (is_real(x) or is_real_array(x))


def sources(s: Statement) -> list[Atom]:
    """Operands through which the target of an operation has a derivative."""
    match s:
        case Copy():
            return [s.source]
        case Real():
            return [x for x, partial in zip(s.args, s.rule.partials, strict=True) if partial != "0.0"]
        case Load():
            return [s.array]
        case View():
            return [s.base]
        case Whole():
            return list(s.args)
    return []
