"""Definite assignment: initial values for loop-carried variables that may be read before they are assigned.

    for i in range(n):                      z = 0.0
        if i == 0:                          for i in range(n):
            z = x                               if i == 0:
        else:                                       z = x
            z = z * 0.5                         else:
        s += z                                      z = z * 0.5
                                                s += z

Such a variable is carried from one iteration to the next, and has no value in the first one. What is carried may be
recorded where an iteration starts; numba compiles no function whose text reads a variable before it is assigned. The
initial value is 0, which numba leaves in a variable that was never assigned.

An iteration of a parallel loop takes nothing over from another one: its initial values stand in its body.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from numba.core import types

from dualrev.compiler.ir.anf.to_python import dtype_name
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Constant, Field, Global, Pack, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, For, Function, If, Make, Statement, View, While
from dualrev.compiler.ir.core.traverse import blocks, leaves, reads, statements, with_blocks, writes

__all__ = ["exposed", "with_initial_values"]

_I64 = types.int64


def with_initial_values(f: Function) -> Function:
    """Initialise each variable that a loop may carry into its first iteration."""
    parameters = {x for p in f.parameters for x in leaves(p) if isinstance(x, Var)}
    return replace(f, body=_Initial(f).block(f.body, parameters))


class _Initial:
    def __init__(self, f: Function) -> None:
        self.f = f

    def block(self, body: Block, known: set[Var]) -> Block:
        """Initialise in a block outside of sequential loops; `known` gains the variables that its text assigns."""
        made: list[Statement] = []
        for s in body:
            match s:
                case For(parallel=True) if private := self._private(s, known):
                    inside = known | set(private) | {s.target}
                    first = tuple(t for x in private for t in _initial(x, s.line))
                    made.append(replace(s, body=(*first, *self.block(s.body, inside))))
                case For() | While():
                    missing = [x for x in dict.fromkeys(_read_before(s, set(known))) if _has_zero(x)]
                    made += [t for x in missing for t in _initial(x, s.line)]
                    made.append(s)
                case If():
                    made.append(with_blocks(s, [self.block(b, set(known)) for b in blocks(s)]))
                case _:
                    made.append(s)
            known |= {x for t in statements((s,)) for x in writes(t)}
        return tuple(made)

    def _private(self, s: For, known: set[Var]) -> list[Var]:
        """Privatisable variables of a parallel loop that an iteration may read unassigned."""
        inside = {x for t in statements(s.body) for x in writes(t)} - known
        outside = {x for t in _outside(self.f.body, s) for x in (*reads(t), *writes(t)) if isinstance(x, Var)}
        outside |= {x for x in leaves(self.f.result) if isinstance(x, Var)}
        read = dict.fromkeys(exposed(s.body, {s.target}))
        return [x for x in read if x in inside - outside and _has_zero(x)]


def _outside(body: Block, loop: For) -> Iterable[Statement]:
    """The statements of a body outside of a loop."""
    for s in body:
        if s is not loop:
            yield s
            for inner in blocks(s):
                yield from _outside(inner, loop)


def _read_before(s: Statement, known: set[Var]) -> Iterable[Var]:
    """Variables that the text of a statement reads before assigning them; `known` gains those that it assigns."""
    yield from (x for x in reads(s) if isinstance(x, Var) and x not in known)
    if isinstance(s, For):
        known.add(s.target)
    inner = blocks(s)
    branches = [known] if not isinstance(s, If) else [set(known), set(known)]
    for k, body in enumerate(inner):
        here = branches[k % len(branches)]
        for t in body:
            yield from _read_before(t, here)
        if isinstance(s, While) and k == 0 and isinstance(s.test, Var) and s.test not in here:
            yield s.test
    known |= {x for branch in branches for x in branch} | set(writes(s))


def exposed(body: Block, assigned: set[Var]) -> Iterable[Var]:
    """Upward-exposed reads of a block, on some path; `assigned` gains the variables that every path assigns."""
    for s in body:
        yield from (x for x in reads(s) if isinstance(x, Var) and x not in assigned)
        match s:
            case If():
                branches = [set(assigned), set(assigned)]
                for branch, inner in zip(branches, blocks(s), strict=True):
                    yield from exposed(inner, branch)
                assigned |= branches[0] & branches[1]
            case For():
                yield from exposed(s.body, assigned | {s.target})
            case While():
                yield from exposed(s.before, assigned)
                yield from (x for x in (s.test,) if isinstance(x, Var) and x not in assigned)
                yield from exposed(s.body, set(assigned))
            case _:
                assigned |= set(writes(s))


def _has_zero(x: Var) -> bool:
    if is_array(x):
        return x.type.mutable and isinstance(x.type.dtype, types.Number | types.Boolean)
    return isinstance(x.type, types.Float | types.Integer | types.Boolean)


def _initial(x: Var, line: int) -> Block:
    """Emit an initial value: 0, or an empty array of the same layout."""
    if is_array(x):
        shape, dtype = Pack((Constant(0, _I64),) * x.type.ndim), Global(dtype_name(x.type.dtype), None, ())
        empty = Applied("np.empty", (shape, dtype))
        if x.type.layout != "F":
            return (Make(x, empty, line),)
        turned = Var("_", x.type.copy(layout="C"))
        return Make(turned, empty, line), View(x, turned, Field(turned, "T"), line)
    zero = {types.float64: 0.0, types.int64: 0, types.boolean: False}
    if x.type in zero:
        return (Copy(x, Constant(zero[x.type], x.type), line),)
    return (Discrete(x, Applied(dtype_name(x.type), (Constant(0, _I64),)), line),)
