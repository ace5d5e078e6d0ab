"""Cached facts for the passes over one loop of the reverse sweep: shadows, primals, memory, dependence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn, Protocol, TypeAlias, overload

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes, Representative
from dualrev.compiler.analysis.ssa import Loop, Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Global, Node, Var
from dualrev.compiler.ir.core.nodes import For, Function, Statement, While
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.core.verify import check

__all__ = ["LoopContext", "MemoryKey"]

#: Memory of the reverse sweep: whether it is that of shadows, and the alias class of the function's arrays.
MemoryKey: TypeAlias = tuple[bool, Representative]


class FunctionFacts(Protocol):
    """Facts about the function that a loop belongs to (ad/reverse/gradient_context.py)."""

    f: Function
    classes: Classes
    cotangents: dict[Var, Var]

    @property
    def parameters(self) -> list[Var]:
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
    def shadows(self) -> dict[Var, Representative]:
        """Shadow arrays, each with the alias class of its primal array."""
        facts = self.facts
        return {d: facts.classes.find(self.original(x)) for x, d in facts.cotangents.items() if is_array(x)}

    @cached_property
    def primal(self) -> dict[Var, Var]:
        """Primal variables, by their cotangents and shadows."""
        return {d: x for x, d in self.facts.cotangents.items()}

    @overload
    def original(self, x: Var) -> Var: ...
    @overload
    def original(self, x: Var | Global) -> Var | Global: ...
    def original(self, x: Var | Global) -> Var | Global:
        """The primal variable that a residual (residuals.py) is an earlier value of; any other variable itself."""
        return x if isinstance(x, Global) or x in self.facts.order or x.of is None else x.of

    def memory(self, array: Var | Global) -> MemoryKey:
        """Memory that an array lies in: whether it is a shadow, and the alias class."""
        if isinstance(array, Var) and array in self.shadows:
            return True, self.shadows[array]
        return False, self.facts.classes.find(self.original(array))

    def dependence(self, s: For) -> Dependence:
        """Dependence analysis of a loop of the reverse sweep."""
        if self._analysed is None or self._analysed[0] is not s:
            of = replace(self.facts.f, parameters=(), body=(s,), result=Node(()))
            self._analysed = s, Dependence(Versions(of), self.facts.dependence, self._primal)
        return self._analysed[1]

    def _primal(self, x: Var) -> Var:
        return self.original(self.primal.get(x, x))

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
