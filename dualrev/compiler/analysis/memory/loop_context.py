"""Cached facts for the passes over one loop of the reverse sweep: shadows, primals, signs, distinct elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn, Protocol

from dualrev.compiler.analysis.memory.alias import Classes
from dualrev.compiler.analysis.ssa import Loop
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant, Global, Item, Node, Operator, Var
from dualrev.compiler.ir.core.nodes import Discrete, For, Function, Statement, View, While
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
    def definitions(self) -> dict[Any, list[Statement]]:
        """Definitions of each variable: the statements that write it."""

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

    def has_distinct_elements(self, x: Any) -> bool:
        """Whether the elements of an array certainly do not overlap (windows do, and steps of 0)."""
        todo, seen = [x], set[Any]()
        while todo:
            x = todo.pop()
            if x in seen or x.type.layout in "CF":
                continue
            seen.add(x)
            made = self.facts.definitions.get(x, [])
            if x in self.facts.parameters or not made:
                return False
            if not all(isinstance(t, View) and isinstance(t.value, Item) and t.value.base is t.base for t in made):
                return False
            todo += [t.base for t in made if isinstance(t, View)]
        return True

    def is_nonnegative(self, x: Any, seen: frozenset[Any] = frozenset()) -> bool:
        """Whether an integer is certainly nonnegative: a constant, an upward counter that starts so, or a sum of these.

        A value computed from itself, in a loop, is not known; `seen` are the variables on the way to `x`.
        """
        if not isinstance(x, Var):
            return isinstance(x, Constant) and x.value >= 0
        if x in self.facts.parameters or x in seen:
            return False
        seen |= {x}

        def is_nonnegative_there(s: Statement) -> bool:
            """Whether a definition assigns a nonnegative value."""
            match s:
                case For(start=start, step=Constant(value=step)):
                    return step > 0 and self.is_nonnegative(start, seen)
                case Discrete(value=Operator("+", args)):
                    return all(self.is_nonnegative(y, seen) for y in args)
            return False

        made = self.facts.definitions.get(x, [])
        return bool(made) and all(map(is_nonnegative_there, made))

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
