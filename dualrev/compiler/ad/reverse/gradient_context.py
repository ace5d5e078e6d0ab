"""Results of the analyses of a function at given activity, for its reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeGuard

from numba.core import types

from dualrev.compiler.analysis.activity import Activity
from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.memory.alias import Classes, Memory, given
from dualrev.compiler.analysis.memory.first_writes import first_stores
from dualrev.compiler.analysis.ssa import Region, Versions
from dualrev.compiler.analysis.values.finiteness import Wild
from dualrev.compiler.analysis.values.nonzero_cotangents import Known, Reached
from dualrev.compiler.ir.core.atom_types import is_real, is_real_array
from dualrev.compiler.ir.core.atoms import Atom, Global, Symbol, Var
from dualrev.compiler.ir.core.nodes import Block, Call, For, Function, Store, While
from dualrev.compiler.ir.core.traverse import leaves, reads, statements, variables, writes

__all__ = ["Callee", "Facts", "Fused"]


@dataclass(eq=False)
class Fused:
    """Both sweeps of a fused loop, and their contributions to the cotangents of scalars from outside of it."""

    statements: Block
    totals: dict[Var, Var]


class Callee(Protocol):
    """Forward/reverse pair of a callee, with its calling convention."""

    forward: Symbol
    reverse: Symbol

    @property
    def uses_tape(self) -> bool:
        """Whether the functions take the tape."""

    @property
    def primal_suffices(self) -> bool:
        """Whether the forward sweep may call the function itself."""

    def takes_shadow(self, k: int) -> bool:
        """Whether the forward function takes the shadow of the k-th leaf of the arguments."""

    def gives_shadow(self, k: int) -> bool:
        """Whether the forward function returns the shadow of the k-th leaf of the results."""

    def needs(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the arguments."""

    def reads_content(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf of the arguments."""

    def needs_result(self, k: int) -> bool:
        """Whether the reverse function takes the k-th leaf of the results, an array."""

    def reads_result(self, k: int) -> bool:
        """Whether the reverse function reads elements of the k-th leaf of the results as they were at the return."""


@dataclass
class Facts:
    """Results of the analyses of a function (aliases, activity, SSA, finiteness), at given activity.

    `cotangents` grows by those that are asked for.
    """

    f: Function
    memory: Memory
    classes: Classes
    activity: Activity
    versions: Versions
    wild: Wild
    reached: Reached
    wanted: frozenset[int]  # the leaves of the result whose cotangents are given
    callee: Callable[[Call, Facts], Callee | Fused | None]
    #: Cotangent of each active scalar, shadow of each active array, as far as they were asked for.
    cotangents: dict[Var, Var]
    #: By call: the leaves of its arguments whose old elements nobody needs afterwards.
    spent: dict[Call, frozenset[int]] = field(default_factory=dict)

    def spending(self, spent: dict[Call, frozenset[int]]) -> Facts:
        """Return the same results where these calls need not restore these leaves of their arguments."""
        made = copy(self)  # with all that is cached
        made.spent = spent
        return made

    @cached_property
    def parameters(self) -> list[Var]:
        """Leaves of the parameters."""
        return [x for p in self.f.parameters for x in leaves(p)]

    @cached_property
    def results(self) -> list[Atom]:
        """Leaves of the result."""
        return leaves(self.f.result)

    @cached_property
    def order(self) -> dict[Var, int]:
        """Program order of the variables."""
        return {x: k for k, x in enumerate(variables(self.f))}

    @cached_property
    def dependence(self) -> Dependence:
        """Dependence analysis of the function."""
        return Dependence(self.versions)

    @cached_property
    def firsts(self) -> dict[Store, bool]:
        """First writes to the elements of new arrays; True if the old content is undefined."""
        return first_stores(self.f, self.dependence, self.classes, self.memory)

    @cached_property
    def occurs(self) -> dict[Var, list[Region]]:
        """Regions in which each active scalar occurs."""
        found: dict[Var, list[Region]] = {}
        for s in statements(self.f.body):
            for x in {x for x in [*reads(s), *writes(s)] if isinstance(x, Var)}:
                if self.is_scalar(x):
                    found.setdefault(x, []).append(self.versions.region_of[s])
        return found

    def is_scalar(self, x: Atom) -> TypeGuard[Var]:
        """Whether an atom is an active scalar: it has a cotangent."""
        return is_real(x) and self.activity.has(x)

    def has_shadow(self, x: Atom) -> TypeGuard[Var]:
        """Whether an atom is an active array: it has a shadow."""
        return is_real_array(x) and self.activity.has(x)

    def shares(self, x: Atom) -> TypeGuard[Var | Global]:
        """Whether an argument may alias arrays that have shadows."""
        return is_real_array(x) and (self.activity.has_class(x) if isinstance(x, Global) else self.activity.has(x))

    def cotangent(self, x: Var) -> Var:
        """The cotangent variable of a scalar, or the shadow variable of an array."""
        if x not in self.cotangents:
            self.cotangents[x] = Var("d_{}", types.float64 if is_real(x) else x.type, x)
        return self.cotangents[x]

    def crossing(self, s: For | While) -> set[Var]:
        """Active scalars that occur both inside and outside of a loop, or are loop-carried."""
        found = set()
        for x, regions in self.occurs.items():
            inner = [r for r in regions if r.is_inside(s)]
            header = self.versions.headers[s].get(x)
            outside = len(inner) < len(regions) or x in self.parameters or x in self.results
            if inner and (outside or (header is not None and header.used)):
                found.add(x)
        return found

    def sorted(self, some: Iterable[Var]) -> list[Var]:
        """Variables of the function in program order, so that the output does not depend on addresses."""
        return sorted(some, key=lambda x: self.order[x])

    def known_of(self, s: Call) -> Known:
        """The caller's knowledge about a call: reached results, and arguments that may be infinite or NaN."""
        reached = tuple(isinstance(x, Var) and self.reached.has(s, x) for x in leaves(s.result))
        return Known(reached, tuple(map(self.wild.has, given(s))))
