"""Well-typed programs with vectors: calculus_generator.py, with vectors that are built, indexed and summed up."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from programs.calculus.calculus_choices import DATA
from programs.calculus.calculus_generator import FORMS, Closed, Environment, Open, Writer
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Program
from stages.calculus.language.sugar import if_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import INT, REAL, Type, Vector
from stages.calculus.language.values import Elements

__all__ = ["closed_program_with_vectors", "closed_programs_with_vectors", "open_terms_with_vectors"]


class VectorWriter(Writer):
    """Makes types, terms and values with vectors."""

    def type(self, size: int, functions: bool = True) -> Type:
        """A vector one time in five."""
        if size > 0 and self.chance(5):
            return Vector(self.type(size - 2, functions))
        return super().type(size, functions)

    def value(self, type_: Type, depth: int) -> Any:
        """Return a value of the type; a vector has up to four elements, and sometimes none."""
        if isinstance(type_, Vector):
            return Elements(tuple([self.value(type_.element, depth - 1) for _ in range(self.below(5))]))
        return super().value(type_, depth)

    def term(self, wanted: Type, env: Environment, size: int) -> Term:
        """A term of the type."""
        if size <= 0:
            return self.leaf(wanted, env)
        return self.pick((*FORMS, *[VectorWriter.indexed] * 4, *[VectorWriter.summed] * 3))(self, wanted, env, size - 1)

    def leaf(self, wanted: Type, env: Environment) -> Term:
        """build(2, ..) of leaves, for a vector that is no variable."""
        found = [atom for atom, kind in self.atoms(env) if kind == wanted]
        if not isinstance(wanted, Vector):
            return super().leaf(wanted, env)
        if found and not self.chance(4):
            return self.pick(found)
        return self.built(wanted, env, 0)

    def made(self, wanted: Type, env: Environment, size: int) -> Term:
        """build(n, ..), where a vector is wanted."""
        return self.built(wanted, env, size) if isinstance(wanted, Vector) else super().made(wanted, env, size)

    def built(self, wanted: Vector, env: Environment, size: int) -> Term:
        """build(n, f)"""
        i = self.name()
        element = self.term(wanted.element, {**env, i: INT}, size)
        return t.Primitive("build", (t.Integer(self.below(4)), t.Lambda(i, INT, element)))

    def vector(self, env: Environment, size: int, element: Type | None = None) -> tuple[Term, Vector]:
        """A vector, of a variable if there is one."""
        found = [(a, k) for a, k in self.atoms(env) if isinstance(k, Vector) and element in (None, k.element)]
        if found and not self.chance(4):
            return self.pick(found)
        kind = Vector(element or self.type(1))
        return self.built(kind, env, size), kind

    def indexed(self, wanted: Type, env: Environment, size: int) -> Term:
        """let v = .. in if size(v) <# 1 then .. else index(v, .. %# size(v))"""
        m, n, k = self.shares(size, 3)
        made, kind = self.vector(env, m, wanted)
        v = self.own("v")
        length = t.Primitive("size", (Var(v),))
        inner: Environment = {**env, v: kind}
        at = t.Primitive("index", (Var(v), t.Discrete("%#", (self.term(INT, inner, n), length))))
        empty = t.Discrete("<#", (length, t.Integer(1)))
        return t.Let(v, made, if_(empty, self.term(wanted, inner, k), at))

    def summed(self, wanted: Type, env: Environment, size: int) -> Term:
        r"""letrec f = \i. if i <# 1 then .. else let x = index(v, i -# 1) in let y = f (i -# 1) in .. in f (size(v))"""
        m, n, k = self.shares(size, 3)
        made, kind = self.vector(env, m)
        v, f, i = (self.own(name) for name in "vfi")
        x, y = self.distinct(2)
        inner: dict[str, Type] = {**env, v: kind}
        start = self.term(wanted, inner, n)
        rest = self.term(wanted, {**inner, x: kind.element, y: wanted}, k)
        below = t.Discrete("-#", (Var(i), t.Integer(1)))
        body = t.Let(x, t.Primitive("index", (Var(v), below)), t.Let(y, t.Apply(Var(f), below), rest))
        whole = if_(t.Discrete("<#", (Var(i), t.Integer(1))), start, body)
        function = t.Function(f, ty.Arrow(INT, wanted), i, whole)
        return t.Let(v, made, t.Letrec((function,), t.Apply(Var(f), t.Primitive("size", (Var(v),)))))


def closed_program_with_vectors(choices: bytes, size: int = 14) -> Closed:
    """The program of these choices, from a vector and more to a real and more."""
    writer = VectorWriter(choices)
    source = ty.Pair(Vector(writer.pick((REAL, REAL, ty.Pair(REAL, REAL), Vector(REAL)))), writer.first_order(2))
    target = ty.Pair(REAL, writer.first_order(2))
    x = writer.name()
    form = writer.pick((Writer.term, Writer.lets, VectorWriter.summed))
    term = t.Lambda(x, source, form(writer, target, {x: source}, writer.size(size)))
    return Closed(Program(term, DATA), source, target, writer.value(source, 3))


def closed_programs_with_vectors() -> st.SearchStrategy[Closed]:
    """Programs with an input."""
    return st.binary(min_size=150, max_size=600).map(closed_program_with_vectors)


def open_terms_with_vectors() -> st.SearchStrategy[Open]:
    """Terms with free variables."""
    return st.binary(min_size=150, max_size=600).map(_open)


def _open(choices: bytes) -> Open:
    writer = VectorWriter(choices)
    environment = {writer.name(): writer.type(3) for _ in range(writer.below(5))}
    wanted = writer.type(3)
    term = writer.term(wanted, environment, writer.size(8))
    return Open(term, wanted, environment, writer.first_order(2), frozenset(writer.names))
