"""Winners of cuda.atomic.max and min: which thread gets the cotangent of a largest element (core -> core).

    kernel                       thread function         core
    cuda.atomic.max(y, i, v)     y[...][...][i] = v      won = cuda.atomic.max(y_max, i, v) == v and ...
                                                         if won: y[...][...][i] = v

After the launch, y[i] is the largest of what it was before, and of the values of all threads. Its cotangent goes to one
thread whose value is as large. If there is none, it stays that of the element before the launch.

The adjoint is launched twice, with a copy `y_max` of y from before the launch of the kernel. The first time, threads
end after their forward sweeps, and leave the largest values in y_max. The second time, y_max does not change, so the
old value that cuda.atomic.max returns is the largest; and of equal values, that of the first thread to count wins. Both
times, threads run the same instructions, so their values have the same bits. y after the launch of the kernel itself
may differ in the last one: a device rounds x * y + z once or twice, as its compiler likes.

As in numba, a NaN is no candidate, and an element that is NaN stays.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import EllipsisType

from numba.core import types

from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core.atoms import Atom, Constant, Span, Var
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, Function, If, Opaque, Statement, Store
from dualrev.compiler.ir.core.traverse import blocks, statements, with_blocks, writes
from dualrev.compiler.ir.names import Names
from dualrev.cuda.accesses import KINDS, is_mark

__all__ = ["Scratch", "is_claim", "with_claims"]

_REFUSAL = ("an atomic operation", "no derivative goes through it", "cuda.atomic.add")


@dataclass(frozen=True)
class Scratch:
    """Names of two arrays beside an array: the largest values, or the smallest, and counts of who has claimed them."""

    best: str
    claims: str

    @staticmethod
    def of(names: Names, x: str) -> Scratch:
        """Generate names for an array."""
        return Scratch(names.fresh(f"{x}_best"), names.fresh(f"{x}_claims"))


def is_claim(s: Statement) -> bool:
    """Whether a statement decides if a thread wins."""
    return isinstance(s, Opaque) and s.refusal is _REFUSAL


def with_claims(f: Function, given: Mapping[Var, Scratch], refuse: Callable[[int, str, str, str], object]) -> Function:
    """Let one thread store an extreme element: those of the arrays `given`, parameters of f, with their scratch."""
    assigned: dict[Var, list[Statement]] = {}
    for s in statements(f.body):
        for x in writes(s):
            assigned.setdefault(x, []).append(s)

    def root(s: Store) -> tuple[str | None, Var | None]:
        """The kind of an access, and the parameter that it is an access to; None if it is a part of one."""
        x: Atom = s.array
        depth = 0
        while isinstance(x, Var) and x not in parameters:
            made, *more = assigned.get(x, [s])
            if more or not (isinstance(made, Copy) or is_mark(made)):
                return KINDS[depth], None
            depth += is_mark(made)
            x = made.source if isinstance(made, Copy) else made.base
        return KINDS[depth], x if isinstance(x, Var) else None

    parameters: Collection[object] = {*f.parameters}

    def claimed(body: Block) -> Block:
        """Rewrite a block."""
        made: list[Statement] = []
        for s in body:
            kind, x = root(s) if isinstance(s, Store) and isinstance(s.array.type.dtype, types.Float) else (None, None)
            if not isinstance(s, Store) or kind not in ("max", "min"):
                made.append(with_blocks(s, map(claimed, blocks(s))))
            elif x is None or x not in given:
                what, why = f"cuda.atomic.{kind} of a part of an array", "only whole arguments of the kernel are read"
                refuse(
                    s.line, what, why, f"cuda.atomic.{kind}(y, (i, j), value), not row = y[i]; y is no field of records"
                )
            else:
                made += _claim(s, kind, given[x])
        return tuple(made)

    return replace(f, body=claimed(f.body))


def _claim(s: Store, kind: str, scratch: Scratch) -> list[Statement]:
    """Statements that decide whether a thread wins, and store its value if so."""
    code: list[Statement] = []
    inputs: list[tuple[str, Atom]] = []
    for k, i in enumerate(s.index):
        assert not isinstance(i, Span | EllipsisType | None), "an index of cuda.atomic is a number"
        if isinstance(i, Var | Constant):
            inputs.append((f"i{k}", i))
        else:
            whole = Var("_", types.int64)
            code.append(Discrete(whole, i, s.line))
            inputs.append((f"i{k}", whole))
    index = ", ".join(name for name, _ in inputs)
    index = index if len(inputs) == 1 else f"({index})"
    value = f"{to_python.dtype_name(s.array.type.dtype)}(v)"
    largest = f"cuda.atomic.{kind}({scratch.best}, {index}, {value}) == {value}"
    text = f"won = {largest} and cuda.atomic.add({scratch.claims}, {index}, 1) == 0"
    won = Var("won_{k}", types.boolean)
    code.append(
        Opaque((("won", won),), (*inputs, ("v", s.value)), tuple(ast.parse(text).body), True, True, _REFUSAL, s.line)
    )
    return [*code, If(won, (s,), (), s.line)]
