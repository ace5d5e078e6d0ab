"""Cost model for recomputation, and for comparing the work of two functions."""

from __future__ import annotations

from collections.abc import Hashable

from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Block,
    Call,
    Copy,
    Discrete,
    For,
    Function,
    If,
    Keep,
    Load,
    Make,
    Pop,
    Push,
    Real,
    Statement,
    Store,
    While,
    Whole,
)
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import blocks, leaves, statements

__all__ = ["Cost"]


_COSTLY, _ROUNDS = 8.0, 16.0  # operations of a sine, iterations of a loop: there are no numbers for them here
_WORK = {Load: 1.0, Store: 1.0, Discrete: 0.5, Push: 2.0, Pop: 2.0}


class Cost:
    """Cost of operations, and of the functions of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[Hashable, bool] = {}
        self._work: dict[Hashable, float] = {}

    def operation(self, s: Real) -> bool:
        """Whether a real operation is cheap to recompute."""
        if s.rule.cheap:
            return True
        exponent = s.args[1] if s.rule.name == "pow" else None
        return isinstance(exponent, Constant) and isinstance(exponent.value, int) and abs(exponent.value) <= 4

    def call(self, s: Call) -> bool:
        """Whether a call is cheap to recompute: a short scalar callee without loops, arrays and costly operations."""
        if self.program.gradient(s) is not None:
            return False
        key = self.program.key(s)
        if key not in self._known:
            self._known[key] = False  # while it is looked at: a recursive function is not
            self._known[key] = self._function(self.program.function(s))
        return self._known[key]

    def _function(self, f: Function) -> bool:
        body = list(statements(f.body))
        if len(body) > 60 or any(is_array(x) for p in f.parameters for x in leaves(p)):
            return False
        return all(
            isinstance(s, (Copy, Discrete, If))
            or (isinstance(s, Real) and s.rule.cheap)
            or (isinstance(s, Call) and self.call(s))
            for s in body
        )

    def work(self, body: Block) -> float:
        """Estimate the operations of a block, for comparison with a block that has similar loops."""
        return sum(map(self._statement, body))

    def _statement(self, s: Statement) -> float:
        match s:
            case For() | While():
                return _ROUNDS * sum(map(self.work, blocks(s)))
            case If():
                return 0.5 + 0.5 * sum(map(self.work, blocks(s)))
            case Real():
                return 1.0 if self.operation(s) else _COSTLY
            case Make() | Whole() | Accumulate() | Keep():
                return _ROUNDS
            case Call():
                return self._called(s)
        return _WORK.get(type(s), 0.0)

    def _called(self, s: Call) -> float:
        gradient = self.program.gradient(s)
        if gradient is not None:
            return 4.0 * self.work(gradient.of.body)
        key = self.program.key(s)
        if key not in self._work:
            self._work[key] = 0.0  # while it is looked at: a recursive call counts once
            self._work[key] = self.work(self.program.function(s).body)
        return 1.0 + self._work[key]
