"""Well-typed programs with mutable cells: calculus_generator.py, with cells that are made, read and written.

A function may hold a cell and write it when it is called, in a recursion too, so that the order of evaluation matters.
"""

from __future__ import annotations

from hypothesis import strategies as st

from programs.calculus.calculus_choices import DATA
from programs.calculus.calculus_generator import FORMS, Closed, Environment, Writer
from stages.calculus.continuations.terms import Assign, Read, Ref
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Program
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import REAL, Type

__all__ = ["closed_programs_with_cells", "program_with_cells"]


class CellWriter(Writer):
    """Makes terms with cells."""

    def term(self, wanted: Type, env: Environment, size: int) -> Term:
        """A term of the type."""
        if size <= 0:
            return self.leaf(wanted, env)
        return self.pick((*FORMS, *[CellWriter.cell] * 3, *[CellWriter.written] * 5))(self, wanted, env, size - 1)

    def atoms(self, env: Environment) -> list[tuple[Term, Type]]:
        """List the atoms, with those that cells hold."""
        held = [(Read(Var(x)), kind.content) for x, kind in env.items() if isinstance(kind, ty.Cell)]
        return [*held, *super().atoms({x: kind for x, kind in env.items() if not isinstance(kind, ty.Cell)})]

    def cell(self, wanted: Type, env: Environment, size: int) -> Term:
        """let c = ref(..) in .."""
        c, kind = self.own("c"), REAL if not self.chance(4) else self.type(1)
        m, n = self.shares(size, 2)
        inner = {**env, c: ty.Cell(kind)}
        return t.Let(c, Ref(self.term(kind, env, m)), self.written(wanted, inner, n))

    def written(self, wanted: Type, env: Environment, size: int) -> Term:
        """let _ = c := .. in .., if there is a cell; a pair (c := .., ..) now and then"""
        cells = [(x, kind.content) for x, kind in env.items() if isinstance(kind, ty.Cell)]
        if not cells:
            return self.made(wanted, env, size)
        c, kind = self.pick(cells)
        m, n = self.shares(size, 2)
        write = Assign(Var(c), self.term(kind, env, m))
        if self.chance(3):
            return t.Snd(t.Tuple(write, self.term(wanted, env, n)))
        return t.Let("_", write, self.term(wanted, env, n))


def program_with_cells(choices: bytes, size: int = 14) -> Closed:
    """The program of these choices, from a few reals to a real or two."""
    writer = CellWriter(choices)
    source = ty.Pair(REAL, writer.first_order(2))
    target = writer.pick((REAL, REAL, ty.Pair(REAL, REAL)))
    x, c = writer.name(), writer.own("c")
    body = writer.written(target, {x: source, c: ty.Cell(REAL)}, writer.size(size))
    first: Term = t.Fst(Var(x))
    return Closed(
        Program(t.Lambda(x, source, t.Let(c, Ref(first), body)), DATA), source, target, writer.value(source, 3)
    )


def closed_programs_with_cells() -> st.SearchStrategy[Closed]:
    """Programs with an input."""
    return st.binary(min_size=150, max_size=600).map(program_with_cells)
