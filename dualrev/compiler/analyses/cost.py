"""What is cheap enough to be computed twice."""

from __future__ import annotations

from collections.abc import Hashable

from dualrev.compiler.analyses.memory import is_array
from dualrev.compiler.core.program import Program
from dualrev.compiler.core.terms import Call, Constant, Copy, Discrete, Function, If, Real
from dualrev.compiler.core.walks import leaves, statements

__all__ = ["Cost"]


class Cost:
    """The cost of operations and of the functions of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[Hashable, bool] = {}

    def operation(self, s: Real) -> bool:
        """Whether an operation of real numbers is cheap."""
        if s.rule.cheap:
            return True
        exponent = s.args[1] if s.rule.name == "pow" else None
        return isinstance(exponent, Constant) and isinstance(exponent.value, int) and abs(exponent.value) <= 4

    def call(self, s: Call) -> bool:
        """Whether a call is: of a short function of numbers without loops, arrays and costly operations."""
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
