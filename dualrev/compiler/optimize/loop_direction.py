"""Direction of a reversed loop: upwards if its iterations commute, else downwards (core -> core).

    for i in range(n):          ->      for i in range(n):                  if its iterations may come in any order
        x[i] = ...                          d_x[i] ...
                                        last = n - 1                        if not: from the last one to the first
                                        for i in range(last, -1, -1):
                                            d_x[i] ...

Compilers like loops that run upwards: LLVM makes vectors of more of them. Sums of cotangents are left in any order.
"""

from __future__ import annotations

from dataclasses import replace

from numba.core import types

from dualrev.compiler.analysis.memory.loop_context import LoopContext
from dualrev.compiler.analysis.memory.loop_dependence import order_free
from dualrev.compiler.ir.core.atoms import Atom, Constant, Operator, Var
from dualrev.compiler.ir.core.nodes import Block, Discrete, For

__all__ = ["choose_direction", "moved"]

_ZERO, _ONE, _MINUS = (Constant(k, types.int64) for k in (0, 1, -1))


def choose_direction(at: LoopContext, s: For) -> Block:
    """Choose the direction of a reversed loop; `s` has the bounds and step 1 of the loop that it reverses."""
    if at.source is None:
        return (s,)
    at.commutes = order_free(at, s.body)
    if at.commutes:
        return (s,)
    last, before = moved(s.stop, -1, s.line)
    low, more = (_MINUS, ()) if s.start == _ZERO else moved(s.start, -1, s.line)
    return (*before, *more, replace(s, start=last, stop=low, step=_MINUS))


def moved(x: Atom, by: int, line: int) -> tuple[Atom, Block]:
    """An atom for `x + 1` or `x - 1`, with the statements that compute it."""
    if isinstance(x, Constant):
        return Constant(x.value + by, types.int64), ()
    made = Var("_", types.int64)
    return made, (Discrete(made, Operator("+" if by > 0 else "-", (x, _ONE)), line),)
