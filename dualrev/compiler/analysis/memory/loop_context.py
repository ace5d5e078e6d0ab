"""Cached facts for the passes over one loop of the reverse sweep: shadows, primals, memory, dependence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn, Protocol

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes
from dualrev.compiler.analysis.ssa import Loop, Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Global, Node, Var
from dualrev.compiler.ir.core.nodes import For, Function, Statement, While
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.verify import check

__all__ = ["LoopContext"]


class FunctionFacts(Protocol):
    """Facts about the function that a loop belongs to (ad/reverse/gradient_context.py)."""

    f: Function
    classes: Classes
    cotangents: dict[Var, Var]

    @property
    def parameters(self) -> list[Any]:
        """Leaves of the parameters."""

    @property
    def order(self) -> dict[Var, int]:
        """Program order of the variables."""

    @property
    def dependence(self) -> Dependence:
        """Dependence analysis of the function."""

    def cotangent(self, x: Var) -> Var:
        """The cotangent variable of a scalar, or the shadow of an array."""

    def crossing(self, s: For | While) -> set[Var]:
        """Active scalars that are live across a loop's boundary, or loop-carried."""


class LoopContext:
    """Facts about one loop of a function's reverse sweep.

    facts        what is known of the function
    source       the loop of the function that it reverses, if it has no direction yet: see optimize/loop_direction.py
    commutes     whether its iterations may come in any order
    """

    def __init__(self, facts: FunctionFacts, source: Loop | None = None) -> None:
        self.facts, self.source = facts, source
        self.commutes = False
        self._analysed: tuple[For, Dependence] | None = None

    @cached_property
    def shadows(self) -> dict[Any, Any]:
        """Shadow arrays, each with the alias class of its primal array."""
        facts = self.facts
        return {d: facts.classes.find(self.original(x)) for x, d in facts.cotangents.items() if is_array(x)}

    @cached_property
    def primal(self) -> dict[Any, Var]:
        """Primal variables, by their cotangents and shadows."""
        return {d: x for x, d in self.facts.cotangents.items()}

    def original(self, x: Any) -> Any:
        """The primal variable that a residual (residuals.py) is an earlier value of; any other variable itself."""
        return x if isinstance(x, Global) or x in self.facts.order or x.of is None else x.of

    def memory(self, array: Any) -> Any:
        """Memory that an array lies in: whether it is a shadow, and the alias class."""
        is_shadow = array in self.shadows
        return is_shadow, self.shadows[array] if is_shadow else self.facts.classes.find(self.original(array))

    def dependence(self, s: For) -> Dependence:
        """Dependence analysis of a loop of the reverse sweep."""
        if self._analysed is None or self._analysed[0] is not s:
            of = replace(self.facts.f, parameters=(), body=(s,), result=Node(()))
            outer, primal = self.facts.dependence, lambda x: self.original(self.primal.get(x, x))
            self._analysed = s, Dependence(Versions(of), outer, primal)
        return self._analysed[1]

    # For the pass manager

    def is_loop(self, s: Statement) -> bool:
        """Whether a statement is a loop that passes over loops take."""
        return isinstance(s, For)

    def shown(self, made: Sequence[Statement]) -> str:
        """Print the statements that replace the loop, as a function."""
        f = self.facts.f
        return show(replace(f, name=f"{f.name}_loop", parameters=(), body=tuple(made), result=Node(())))

    def verify(self, made: Sequence[Statement]) -> None:
        """Verify the statements that replace the loop (AssertionError); they may read variables assigned before it."""

        def refuse(s: Statement, why: str) -> NoReturn:
            """Raise for an ill-formed statement."""
            raise AssertionError(f"{self.facts.f.name}, line {s.line}: {type(s).__name__}: {why}")

        check(replace(self.facts.f, body=tuple(made)), refuse)
