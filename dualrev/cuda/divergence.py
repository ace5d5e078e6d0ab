"""Divergence analysis: what may differ between threads, by what it is computed from, and below what tests.

    k = 0
    if cuda.threadIdx.x > 3:      k differs, though no operand of it does
        k = 1

A test that is the same for all threads of a block sends all of them the same way: barriers may stand below it. Threads
that are in the same iteration of a loop have one counter, though the loop may end for one of them before the others.
"""

from __future__ import annotations

from collections.abc import Iterable

from dualrev.compiler.analysis.memory.alias import Classes, Representative
from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Atom, Var
from dualrev.compiler.ir.core.nodes import Block, For, Function, If, Make, Statement, Store, While
from dualrev.compiler.ir.core.traverse import blocks, reads, statements, writes

__all__ = ["Varying"]


class Varying:
    """Divergence of a function: what may differ between threads for which these parameters differ.

    variables    variables that may differ at some time, and arrays of the thread, by their memory
    values       values that may differ in the same iteration of all loops around
    """

    def __init__(self, f: Function, classes: Classes, versions: Versions, parameters: Iterable[Var]) -> None:
        self.classes, self.versions = classes, versions
        self._own = {classes.find(s.target) for s in statements(f.body) if isinstance(s, Make)}
        self.variables: set[Atom | Representative] = {*parameters}
        count = -1
        while count < len(self.variables):
            count = len(self.variables)
            self._visit(f.body, False)
        self.values: set[Value] = set()
        count = -1
        while count < len(self.values):
            count = len(self.values)
            self.values.update(v for v in versions.values if v not in self.values and self._is_new(v))

    def differs(self, s: Statement) -> bool:
        """Whether threads may take different ways at a branch or a loop."""
        some = self.variables
        match s:
            case If() | While():
                return s.test in some or (isinstance(s, While) and any(x in some for x in s.exits))
            case For():
                return any(x in some for x in (s.start, s.stop, s.step, *s.exits))
        return False

    def _key(self, x: Atom) -> Atom | Representative:
        """The memory of an array of the thread; any other atom itself."""
        of = self.classes.find(x) if is_array(x) else x
        return of if of in self._own else x

    def _visit(self, body: Block, under: bool) -> None:
        """Visit a block, `under` a test that may differ."""
        for s in body:
            below = under or any(self._key(x) in self.variables for x in reads(s)) or self.differs(s)
            if below:
                self.variables.update(writes(s))
                if isinstance(s, Store) and self._key(s.array) in self._own:
                    self.variables.add(self._key(s.array))
            for inner in blocks(s):
                self._visit(inner, below if isinstance(s, If | For | While) else under)

    def _is_new(self, v: Value) -> bool:
        """Whether a value is found to differ."""
        s, read = v.statement, self.versions.reads.get(v.statement, {})
        match v.kind:
            case "param":
                return v.variable in self.variables
            case "op":
                own = (x for x in reads(s) if is_array(x) or x not in read)
                return any(self._key(x) in self.variables for x in own) or any(x in self.values for x in read.values())
            case "counter":
                return any(read.get(x) in self.values for x in (s.start, s.step))
            case "header":
                return any(x in self.values for x in v.parts)
        return self.differs(s) or any(x in self.values for x in v.parts)
