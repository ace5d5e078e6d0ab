"""Residuals: the values that cross from the forward to the reverse sweep of a function, and their names in both.

A block pushes its values at its end, all together, and the reverse of the block takes them first: so whatever happens
in between, inner blocks and called functions included, has been taken from the tape before.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ad.reverse.adjoint import Adjoint
from dualrev.compiler.ad.reverse.gradient_context import Facts
from dualrev.compiler.ad.tape_plan.mincut_plan import Subject
from dualrev.compiler.ad.tape_plan.needed_values import Needs
from dualrev.compiler.analysis.ssa import Region, Value
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Constant, Var
from dualrev.compiler.ir.core.nodes import While

__all__ = ["Crossing"]

_I64 = types.int64
_ZERO, _ONE, _MINUS = Constant(0, _I64), Constant(1, _I64), Constant(-1, _I64)


class Crossing:
    """Residuals of a function: the values that cross between its sweeps, and their names in both."""

    def __init__(self, facts: Facts, adjoint: Adjoint, subject: Subject, needs: Needs) -> None:
        self.facts, self.adjoint, self.joint, self.given = facts, adjoint, subject.joint, subject.given
        self.versions = facts.versions
        self.needs = needs
        self.plan = self.needs.plan
        self.names: dict[Value, Var] = {}  # what values are called that the reverse sweep needs
        self.held: set[Value] = set()  # values whose variable changes while they are needed
        self._choose_names()
        self.recorded: dict[Region, list[Value]] = {}  # by the block that records them
        for v in sorted(self.plan.recorded, key=self.versions.order):
            region = v.region
            if isinstance(region.owner, While) and region is self.versions.regions[region.owner, 0]:
                region = self.versions.regions[region.owner, 1]
            self.recorded.setdefault(region, []).append(v)

    def _choose_names(self) -> None:
        """Name each value that the reverse sweep uses: its own variable, unless that is reassigned."""
        assigned: dict[Var, list[int]] = {}
        for v in self.versions.values:
            if v.kind in ("op", "counter"):
                assigned.setdefault(v.variable, []).append(v.position)
        plan = self.plan
        free = {v for v in self.needs.needs if v.kind == "param" or v in self.given}
        free |= {u for v in plan.again for u in plan.dependencies(v) if u.kind == "param" or u in self.given}
        if self.given:  # they may be later versions of parameters, which then have other names
            free |= set(self.versions.parameters.values())
        for v in sorted(plan.recorded | plan.again | plan.alive | free, key=self.versions.order):
            first, last = (0, self.versions.clock) if v.domain is None else self.versions.extent[v.domain]
            later = (p for p in assigned.get(v.variable, []) if p > v.position)
            if v.kind == "trips":
                self.names[v] = Var("trips_{k}", _I64)
            elif any(first <= p <= last for p in later):
                self.names[v] = Var("{}_{k}", v.variable.type, v.variable)
                if v not in plan.again and (self.joint or (v.kind != "param" and v not in self.given)):
                    self.held.add(v)
            else:
                self.names[v] = v.variable

    def name(self, v: Value) -> Var:
        """The variable of a value in the reverse sweep."""
        return self.names.get(v, v.variable)

    def shadow(self, v: Value) -> Var:
        """The shadow of an array in the reverse sweep."""
        return self.facts.cotangent(self.name(v))

    def words(self, recorded: list[Value]) -> tuple[Var, ...]:
        """The scalars among recorded values, as the tape has them."""
        return tuple(self.names[v] for v in recorded if not is_array(v.variable))

    def kept(self, v: Value) -> list[Var]:
        """The arrays that go to the tape for a recorded array: itself, its shadow, or both."""
        itself, shadow = self.needs.kept(v)
        return [self.names[v]] * itself + [self.shadow(v)] * shadow
