"""Must-analysis of cotangents that are not symbolic zeros: docs/conventions.md, rules 3 and 4.

That is, of the operations that have a contribution to their result in any case.

A cotangent to which nothing has contributed is 0, and takes no part: 0 times a partial that is infinite or NaN is 0
there, as on the tape. Compiled code has no mark for "nothing yet". So it asks, while it runs, whether a cotangent is 0;
but only where the partial may be infinite or NaN (finiteness.py), and where something does not contribute in any case.
Where something does, a 0 was computed, and nothing hides the NaN that it gives with an infinite partial.

From the end of the function to its start, with the set of scalars that something contributes to in any case:

    y = op(a, b)    if y is one of them, a and b are; y is not, before
    if              what is so on both sides
    a loop          what is so at its end, and again at the end of each of its iterations

What an array's shadow holds, and what a call contributes, is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dualrev.compiler.analysis.activity import Activity
from dualrev.compiler.ir.core.atoms import Constant, Var
from dualrev.compiler.ir.core.known_zeros import ALONG, PRODUCTS, times
from dualrev.compiler.ir.core.nodes import Block, Copy, For, Function, If, Real, Statement, Store, While
from dualrev.compiler.ir.core.traverse import writes

__all__ = ["NOTHING", "Known", "Reached"]


@dataclass(frozen=True)
class Known:
    """The caller's knowledge about a function, by the indices of its result leaves and of its argument leaves."""

    reached: tuple[bool, ...] = ()  # results to which something contributes in any case
    wild: tuple[bool, ...] = ()  # arguments that may be infinite or NaN


NOTHING = Known()


class Reached:
    """Operations whose result always has a contribution when the reverse sweep comes to them."""

    def __init__(self, f: Function, results: Iterable[Var], activity: Activity) -> None:
        """`results`: the function's results that have a contribution at its end."""
        self._activity = activity
        self._found: dict[Statement, set[Var]] = {}
        self._block(f.body, set(results))

    def has(self, s: Statement, x: Var) -> bool:
        """Whether the result x of a statement always has a contribution."""
        return x in self._found.get(s, ())

    def _block(self, body: Block, after: set[Var]) -> set[Var]:
        """Backward transfer function of a block: the contributed-to scalars before it, from the ones after it."""
        for s in reversed(body):
            after = self._statement(s, after)
        return after

    def _statement(self, s: Statement, after: set[Var]) -> set[Var]:
        match s:
            case If():
                return self._block(s.then, after) & self._block(s.orelse, after)
            case For() | While():
                return self._loop(s, after)
            case Store():
                return after
        made = set(writes(s))
        self._found[s] = made & after
        before = after - made
        if isinstance(s, (Real, Copy)) and s.target in after:
            before |= {x for x in _contributing(s) if self._activity.has(x)}
        return before

    def _loop(self, s: For | While, after: set[Var]) -> set[Var]:
        head = after
        while True:
            new = after & self._block(s.body, head)
            if isinstance(s, While):
                new = self._block(s.before, new)
            if new == head:
                return head
            head = new


def _contributing(s: Real | Copy) -> list[Var]:
    """Operands that get a contribution whenever the result of an operation has one."""
    if isinstance(s, Copy):
        return [s.source] if isinstance(s.source, Var) else []
    return [x for k, x in enumerate(s.args) if isinstance(x, Var) and not _may_be_zero(s, k)]


def _may_be_zero(s: Real, k: int) -> bool:
    """Whether the k-th partial is 0 wherever it is computed, or is a tangent, which may be a known zero."""
    if s.rule in PRODUCTS:
        return times(s.rule, k) is not ALONG
    exponent = s.args[1] if s.rule.name == "pow" and k == 0 else None
    return s.rule.partials[k] == "0.0" or (isinstance(exponent, Constant) and exponent.value == 0)
