r"""D3 with sparse cotangents: section 6.

Staged = (Map Int R, Map Int (R -o (Staged -> Staged), R))      the first map has the input's scalars by id
SOneHot i z (c, m) = (insertWith i z c, m)                      in place of SCotan
SResolve u = loop (u ({}, {})) : Map Int R

Interleave_t : t -> Int -> ((D[t], Map Int R -> t), Int)        also returns a function that rebuilds t from its scalars
Interleave_R x i = (((x, (i, SOneHot i)), \a. lookup i a), i + 1)
Interleave_() () i = (((), \a. ()), i)                          Interleave_Int n i = ((n, \a. n), i)
Interleave_(s, t) (x, y) i = let ((x', f), i') = Interleave_s x i in let ((y', g), i'') = Interleave_t y i'
                             in (((x', y'), \a. (f a, g a)), i'')
Interleave_(Vector t) v i = let (w, i') = sequence(map Interleave_t v) i in ((map fst w, \a. map (\(_, f). f a) w), i')
Wrap[\(x : s). t] = \(x : s). let ((x, rebuild), i) = Interleave_s x 0
                              in let (y, d) = Deinterleave_t (fst (D[t] i))
                              in (y, linear(\(z : t). rebuild (SResolve (d z))))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.deltas.terms import InSequence
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.sugar import lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d2 import Use
from stages.calculus.transformations.d3 import D3

__all__ = ["Sparse"]


class Sparse(D3):
    """D3 with sparse cotangents: section 6."""

    name = "sparse"
    language = "D3"

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Staged"""
        return {self.staged.name: Synonym(self.staged.name, ty.Pair(self.collector(), self.calls()))}

    def collector(self) -> Type:
        """Map Int R"""
        return ty.Map(ty.REAL)

    def collected(self) -> Type:
        """The argument type of rebuild: in section 6, the collector itself."""
        return self.collector()

    # The interface

    def cotan(self) -> Definition:
        """SOneHot i z (c, m) = (insertWith i z c, m)"""
        more = t.Primitive("insertWith", (Var("i"), Var("z"), Var("c")))
        body = t.LinearLambda("z", ty.REAL, lambda_(("c", "m"), self.staged, t.Tuple(more, Var("m"))), "Interleave")
        return Definition(self.own("SOneHot").name, ty.Arrow(ty.INT, self.linear()), t.Lambda("i", ty.INT, body))

    def resolving(self) -> tuple[Definition, ...]:
        """SResolve and its loop."""
        start = t.Tuple(t.Zero(self.collector()), t.Zero(self.calls()))
        body = t.Lambda("u", self.codomain(), t.Apply(self.own("loop"), t.Apply(Var("u"), start)))
        kind = ty.Arrow(self.codomain(), self.collector())
        return self.loop(self.collector()), Definition(self.own("SResolve").name, kind, body)

    def lookup(self, i: Term, a: Term) -> Term:
        """The scalar with number i."""
        return t.Primitive("lookup", (i, a))

    # The wrapper

    def number(self, x: Term, i: Term, use: Use, type_: Type) -> Term:
        """let ((x', f), i') = Interleave x i in use((x', f), i')"""
        a = self.fresh("a")

        def rebuild(body: Term) -> Term:
            """The rebuild function with this body."""
            return t.Lambda(a, self.collected(), body)

        match self.source.expose(type_):
            case ty.Real():
                return self.bind(self.entry(x, i, lambda j: rebuild(self.lookup(j, Var(a)))), use)
            case ty.Unit() | ty.Int():
                return use(t.Tuple(x, rebuild(x)), i)
            case ty.Pair(first, second):

                def whole(parts: list[tuple[Term, Term]], j: Term) -> Term:
                    """The dual pair, and the function that rebuilds both halves."""
                    (y, f), (w, g) = parts
                    both = t.Tuple(t.Apply(f, Var(a)), t.Apply(g, Var(a)))
                    return self.pure(t.Tuple(t.Tuple(y, w), rebuild(both)), j)

                def halves(v: Var, w: Var) -> Term:
                    """Interleave both halves of a pair."""
                    return self.numbers([(v, first), (w, second)], i, [], whole)

                return self.bind(self.halves(x, halves), use)
            case ty.Vector(element):
                w, j, n = self.fresh("w"), self.fresh("i"), self.fresh("x")
                computations = self.mapped(
                    x, lambda v: t.Let(n, v, self.computation(lambda k: self.number(Var(n), k, self.pure, element)))
                )
                again = self.mapped(Var(w), lambda v: t.Apply(t.Snd(v), Var(a)))
                both = t.Tuple(self.mapped(Var(w), t.Fst), rebuild(again))
                made = self.take(w, j, t.Apply(InSequence(computations), i), self.pure(both, Var(j)))
                return self.bind(made, use)
            case ty.Named() as data:
                result = ty.Pair(self.type(data), ty.Arrow(self.collected(), data))
                kind = ty.Arrow(data, self.computing(result))

                def make() -> Term:
                    """Interleave for the data type, as a function."""
                    v = self.fresh("v")
                    return t.Lambda(v, data, self.computation(lambda j: self.branches(data, Var(v), j)))

                return self.bind(t.Apply(t.Apply(self.recursive("Interleave", data, kind, make), x), i), use)
            case other:
                return self.bind(self.branches(other, x, i), use)

    def entry(self, x: Term, i: Term, rebuild: Callable[[Term], Term]) -> Term:
        """(((x, (i, SOneHot i)), rebuild i), i + 1)"""
        dual = t.Tuple(x, t.Tuple(i, t.Apply(self.own("SOneHot"), i)))
        return self.pure(t.Tuple(dual, rebuild(i)), self.next(i))

    def numbers(
        self,
        parts: list[tuple[Term, Type]],
        i: Term,
        done: list[tuple[Term, Term]],
        use: Callable[[list[tuple[Term, Term]], Term], Term],
    ) -> Term:
        """let ((x1, f1), i1) = Interleave p1 i in .. in use([(x1, f1), ..], in)"""
        if not parts:
            return use(done, i)
        (x, kind), rest = parts[0], parts[1:]
        y, f, j = self.fresh("x"), self.fresh("f"), self.fresh("i")
        after = self.numbers(rest, Var(j), [*done, (Var(y), Var(f))], use)
        return self.take((y, f), j, self.number(x, i, self.pure, kind), after)

    def branches(self, type_: Type, x: Term, i: Term) -> Term:
        r"""case x of {C(y1, .., yn) -> .. ((DC(x1, .., xn), \a. C(f1 a, .., fn a)), in); ..}"""

        def branch(c: Constructor, ys: list[Var]) -> Term:
            """Interleave the fields of a constructor."""
            a = self.fresh("a")

            def whole(parts: list[tuple[Term, Term]], j: Term) -> Term:
                """The dual constructor, and the function that rebuilds its fields."""
                dual = self.constructor(type_, c.name, tuple([y for y, _ in parts]))
                again = t.Con(type_, c.name, tuple([t.Apply(f, Var(a)) for _, f in parts]))
                return self.pure(t.Tuple(dual, t.Lambda(a, self.collected(), again)), j)

            return self.numbers(list(zip(ys, c.fields, strict=True)), i, [], whole)

        return self.each(type_, x, branch)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let ((x, rebuild), i) = Interleave x 0 in .."""
        i, j, y, w, d = (self.fresh(name) for name in ("i", "i", "y", "y", "d"))
        rebuild = self.fresh("rebuild")
        result = self.rebuilt(Var(rebuild), Var(d), target, Var(i), Var(j))
        made: Term = let((y, d), self.deinterleave(target, Var(w)), t.Tuple(Var(y), result))
        made = let((w, j), inner(Var(i)), made)
        return let(((x, rebuild), i), self.number(Var(x), t.Integer(0), self.pure, source), made)

    def rebuilt(self, rebuild: Term, d: Term, target: Type, inputs: Term, ids: Term) -> Term:
        r"""linear(\(z : t). rebuild (SResolve (d z)))"""
        z = self.fresh("z")
        return t.Claim(t.Lambda(z, target, t.Apply(rebuild, t.Apply(self.own("SResolve"), t.Apply(d, Var(z))))))
