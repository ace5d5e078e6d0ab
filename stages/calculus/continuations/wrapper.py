r"""Transform: from D[f] to the gradient, with cotangents accumulated in cells.

    Interleave_R x = (x, ref 0)            Seed_R ((y, d), z) = d += z               Collect_R (x, d) = !d
    Transform[\(x : s). e] = \(x : s, ct : t). let x = Interleave x in reset(let y = D[e] in Seed (y, ct)); Collect x

and for pairs, sums and data part by part; discrete data stays itself. The paper has s = t = R and ct = 1, and writes
z' := 1.0 where we add: an output may stand there twice. The cotangent of an Int is the Int, and means nothing; where a
cotangent has another constructor than the output, it counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.checker.check import check
from stages.calculus.continuations.terms import Read, Ref, add_to, sequence
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Program
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.sugar import lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d1 import D1

__all__ = ["DUAL", "Reverse"]

#: D[R]
DUAL = ty.Pair(ty.REAL, ty.Cell(ty.REAL))


class Reverse(D1):
    """Transform, for a transformation with D[R] = (R, Ref R)."""

    def scalar(self) -> Type:
        """D[R] = (R, Ref R)"""
        return DUAL

    def constant(self, r: Term) -> Term:
        """D[r] = (r, ref 0)"""
        return t.Tuple(r, Ref(t.Literal(0.0)))

    def interleave_cells(self, type_: Type, x: Term) -> Term:
        """Interleave x"""
        match self.source.expose(type_):
            case ty.Real():
                return self.constant(x)
            case ty.Unit() | ty.Int():
                return x
            case ty.Pair(s, u):
                return self.halves(x, lambda v, w: t.Tuple(self.interleave_cells(s, v), self.interleave_cells(u, w)))
            case ty.Named() as data:
                return self.by_function("Interleave", data, data, self.type(data), self.interleave_cells, x)
            case other:
                return self.interleaved(other, x)

    def interleaved(self, type_: Type, x: Term) -> Term:
        """case x of {C(y1, ..) -> DC(Interleave y1, ..); ..}"""
        parts = self.interleave_cells
        return self.each(
            type_,
            x,
            lambda c, ys: self.constructor(
                type_, c.name, tuple([parts(f, y) for f, y in zip(c.fields, ys, strict=True)])
            ),
        )

    def collect(self, type_: Type, x: Term) -> Term:
        """Collect x"""
        match self.source.expose(type_):
            case ty.Real():
                return Read(t.Snd(x))
            case ty.Unit() | ty.Int():
                return x
            case ty.Pair(s, u):
                return self.halves(x, lambda v, w: t.Tuple(self.collect(s, v), self.collect(u, w)))
            case ty.Named() as data:
                return self.by_function("Collect", data, self.type(data), data, self.collect, x)
            case other:
                return self.each(other, x, lambda c, ys: self.same(other, c, ys, self.collect), image=True)

    def by_function(
        self, name: str, data: ty.Named, source: Type, target: Type, parts: Callable[[Type, Term], Term], x: Term
    ) -> Term:
        """A call of the function that does this for a data type, and calls itself on its parts."""

        def make() -> Term:
            """The function for the data type."""
            v = self.fresh("v")
            if name == "Interleave":
                return t.Lambda(v, source, self.interleaved(data, Var(v)))
            return t.Lambda(v, source, self.each(data, Var(v), lambda c, ys: self.same(data, c, ys, parts), image=True))

        return t.Apply(self.recursive(name, data, ty.Arrow(source, target), make), x)

    def seed(self, type_: Type, y: Term, z: Term) -> Term:
        """Seed (y, z), for a y that may be written more than once"""
        match self.source.expose(type_):
            case ty.Real():
                return self.seeded(y, z)
            case ty.Unit() | ty.Int():
                return self.unseeded()
            case ty.Pair(s, u):

                def both(v: Var, w: Var) -> Term:
                    """Seed both halves of a pair."""
                    return self.halves(z, lambda a, b: self.joined([self.seed(s, v, a), self.seed(u, w, b)]))

                return self.halves(y, both)
            case ty.Named() as data:
                given = ty.Pair(self.type(data), data)

                def make() -> Term:
                    """Seed for the data type, as a function."""
                    v, w = self.fresh("y"), self.fresh("z")
                    return lambda_((v, w), given, self.seeds(data, Var(v), Var(w)))

                function = self.recursive("Seed", data, ty.Arrow(given, self.answer()), make)
                return t.Apply(function, t.Tuple(y, z))
            case other:
                return self.seeds(other, y, z)

    def seeds(self, type_: Type, y: Term, z: Term) -> Term:
        """case y of {DC(y1, ..) -> case z of {C(z1, ..) -> Seed (y1, z1); ..}; ..}"""

        def parts(fields: tuple[Type, ...], same: bool, ys: list[Var], zs: list[Var]) -> Term:
            """Seed the fields of equal constructors; a cotangent with another constructor counts as 0."""
            if not same:
                return self.unseeded()
            return self.joined([self.seed(f, v, w) for f, v, w in zip(fields, ys, zs, strict=True)])

        return self.each(
            type_,
            y,
            lambda c, ys: self.each(type_, z, lambda other, zs: parts(c.fields, c.name == other.name, ys, zs)),
            image=True,
        )

    def given(self, x: str, use: Callable[[Var, Var], Term]) -> Term:
        """let (x1, ct) = x in use(x1, ct)"""
        v, ct = self.fresh("x"), self.fresh("ct")
        return let((v, ct), Var(x), use(Var(v), Var(ct)))

    # How cotangents are kept: functional.py has maps instead

    def answer(self) -> Type:
        """The answer type of continuations."""
        return ty.UNIT

    def seeded(self, y: Term, z: Term) -> Term:
        """y' += z"""
        return add_to(t.Snd(y), z)

    def unseeded(self) -> Term:
        """The term that adds nothing."""
        return t.Star()

    def joined(self, seeds: list[Term]) -> Term:
        """The seeds, one after the other."""
        return sequence(seeds)

    @classmethod
    def wrap(cls, program: Program) -> Program:
        """Transform[P] : (s, t) -> s for a program P : s -> t without functions in s and t; IllTyped for others."""
        try:
            made = super().wrap(program)
        except RecursionError:
            raise IllTyped(program.term, "the term is nested too deeply to transform: put parts in functions") from None
        assert isinstance(made.term, t.Lambda)
        both = ty.Pair(made.term.type, cls.result(program))
        return Program(t.Lambda(made.term.name, both, made.term.body), made.declarations, made.definitions)

    @classmethod
    def result(cls, program: Program) -> Type:
        """t, for a program s -> t."""
        kind = program.declarations.expose(check(program, cls.reads))
        assert isinstance(kind, ty.Arrow)
        return kind.result
