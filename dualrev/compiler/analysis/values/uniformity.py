"""Uniformity analysis: values that vary over the lanes of vector mode, if some parameters do (ad/vector_mode.py).

A variable varies if it may depend on a parameter that does; a class of arrays that may share memory (alias.py) varies
as a whole. This is without regard to the order of statements, so that what a sweep records varies where another one
takes it: under the same name. For this, both sweeps of a function are looked at together, and so are their two calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from dualrev.compiler.analysis.activity import carries, sources
from dualrev.compiler.analysis.fixpoint import FixedPoint
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, given
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Atom, Var
from dualrev.compiler.ir.core.nodes import Accumulate, Call, Discrete, Function, Make, Pop, Statement, Store
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, reads, statements

__all__ = ["Flags", "Flow", "Key", "Site", "Varying", "ends_of"]

#: Of each end of a call, or of a function: whether it varies.
Flags: TypeAlias = tuple[bool, ...]


@dataclass(frozen=True)
class Site:
    """A call site: one call, or the calls of both sweeps of one function."""

    calls: tuple[Call, ...]

    @property
    def both(self) -> bool:
        """Whether the site has the calls of both sweeps."""
        return len(self.calls) == 2

    @property
    def ends(self) -> list[Atom]:
        """Result and argument leaves of the calls."""
        return [x for s in self.calls for x in (*leaves(s.result), *given(s))]


def ends_of(f: Function) -> list[Atom]:
    """Result and parameter leaves of a function."""
    return [*leaves(f.result), *(x for p in f.parameters for x in leaves(p))]


@dataclass(frozen=True)
class Key:
    """Memoisation key of a site: its callees, and the ends that vary before the analysis."""

    functions: tuple[Hashable, ...]
    flags: Flags


class Varying:
    """Uniformity summaries of the functions of a program."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program, self.memory = program, memory
        self._known = FixedPoint[Flags]()

    def key(self, site: Site, flags: Flags) -> Key:
        """The key of a site with these varying ends."""
        return Key(tuple(map(self.program.key, site.calls)), flags)

    def is_known(self, site: Site) -> bool:
        """Whether the core of a site's callees is known."""
        return not any(self.program.gradient(s) is not None or self.program.function(s).opaque for s in site.calls)

    def inside(self, site: Site, flags: Flags) -> Flow:
        """Uniformity analysis of a site's callees, with these ends varying."""
        functions = tuple(map(self.program.function, site.calls))
        ends = [x for f in functions for x in ends_of(f)]
        return Flow(self, functions, [x for x, flag in zip(ends, flags, strict=True) if flag])

    def flags(self, site: Site, flags: Flags) -> Flags:
        """Ends of a site that vary after its calls. For recursive functions, the least fixpoint."""
        if not self.is_known(site):
            count = len(leaves(site.calls[0].result))
            return (*map(carries, site.ends[:count]), *flags[count:])
        least = (False,) * len(flags)
        return self._known.value(self.key(site, flags), lambda: least, lambda: self.inside(site, flags).flags())


class Flow:
    """Uniformity of the variables of a function, or of both its sweeps together."""

    def __init__(self, whole: Varying, functions: tuple[Function, ...], varied: Iterable[Atom]) -> None:
        self.whole, self.functions = whole, functions
        body = tuple(s for f in functions for s in f.body)
        self._classes = Classes(replace(functions[0], body=body), whole.memory)
        order = list(statements(body))
        self._taken = {x for s in order if isinstance(s, Pop) for x in s.targets}
        both: dict[Call, list[Call]] = {}
        for s in order:
            if isinstance(s, Call) and s.of is not None:
                both.setdefault(s.of, []).append(s)
        self._sites = {s: Site(tuple(some)) for some in both.values() for s in some}
        self._varied = {self._key(x) for x in varied}
        count = -1
        while count < len(self._varied):
            count = len(self._varied)
            for s in order:
                self._varied |= {self._key(x) for x in self._spreads(s) if carries(x)}

    def flags(self) -> Flags:
        """Varying flags of the functions' ends."""
        return tuple(self.varies(x) for f in self.functions for x in ends_of(f))

    def _key(self, x: Atom) -> Representative:
        return self._classes.find(x) if is_array(x) else x

    def varies(self, x: Atom | None) -> TypeGuard[Var]:
        """Whether an atom varies over the lanes."""
        return carries(x) and self._key(x) in self._varied

    def _spreads(self, s: Statement) -> list[Atom]:
        """Transfer function of a statement: the atoms that it makes vary."""
        match s:
            case Store():
                if s.op == "=" and s.value in self._taken and self.varies(s.array):
                    return [s.value]  # an old element, which comes back
                return [s.array] if self.varies(s.value) else []
            case Accumulate():
                return [s.array] if any(map(self.varies, s.args)) else []
            case Make():
                copied = isinstance(s.value, Applied) and s.value.function == "np.copy"
                return [s.target] if copied and any(map(self.varies, reads(s))) else []
            case Discrete():  # constant in pieces
                return [s.target] if any(self.varies(x) for x in reads(s) if not is_array(x)) else []
            case Call():
                site = self.site(s)
                flags = self.flags_at(site)
                found = self.whole.flags(site, flags) if any(flags) else flags
                return [x for x, flag in zip(site.ends, found, strict=True) if flag]
        return [s.target] if any(map(self.varies, sources(s))) else []  # type: ignore[union-attr]

    # Calls

    def site(self, s: Call) -> Site:
        """The call site of a call, with its partner in the other sweep if it has one."""
        return self._sites.get(s) or Site((s,))

    def flags_at(self, site: Site) -> Flags:
        """Varying flags of a site's ends; of its results only shadows, to which others may contribute."""
        found = []
        for s in site.calls:
            found += [site.both and is_array(x) and self.varies(x) for x in leaves(s.result)]
            found += map(self.varies, given(s))
        return tuple(found)
