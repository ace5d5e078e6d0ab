"""Rematerialise short conditionals instead of taping their phi: max(x, 0.0), or a factor that depends on a test.

if c:                   the same in the reverse sweep, before w is read: c and x have to be there, not w
    w = x
else:
    w = 1.0 - x
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.analysis.cost_model import Cost
from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.ir.core.atoms import Atom, Constant, Var
from dualrev.compiler.ir.core.nodes import Copy, Discrete, If, Load, Real, Statement
from dualrev.compiler.ir.core.traverse import reads, statements, writes

__all__ = ["LIMIT", "sources"]

#: How many statements such a branch has at most, with those of branches in it.
LIMIT = 8


def sources(v: Value, versions: Versions, cost: Cost) -> list[Value] | None:
    """Live-ins of the `if` that defines phi `v`; None if it must not be recomputed.

    Whether elements that it reads are still there, is another question.
    """
    if not isinstance(v.statement, If) or v.kind != "join" or not _is_number(v.variable):
        return None
    every = list(statements((v.statement,)))
    if len(every) > LIMIT + 1 or not all(_is_cheap(s, cost) for s in every):
        return None
    joined = [v, *(u for s in every[1:] if isinstance(s, If) for u in versions.joins[s].values())]
    if any(len(u.parts) < 2 for u in joined):
        return None
    read = [u for s in every for u in versions.reads[s].values()] + [part for u in joined for part in u.parts]
    return [u for u in dict.fromkeys(read) if not u.region.is_inside(v.statement)]


def _is_cheap(s: Statement, cost: Cost) -> bool:
    """Whether a statement is cheap to recompute: scalars from scalars at little cost, or the load of a scalar."""
    cheap = isinstance(s, Copy | Discrete | If | Load) or (isinstance(s, Real) and cost.operation(s))
    read = reads(s)[1:] if isinstance(s, Load) else reads(s)
    return cheap and all(map(_is_number, [*read, *writes(s)]))


def _is_number(x: Atom) -> bool:
    if isinstance(x, Constant):
        return isinstance(x.value, bool | int | float)
    return isinstance(x, Var) and isinstance(x.type, types.Number | types.Boolean)
