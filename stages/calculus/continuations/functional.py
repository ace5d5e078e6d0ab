r"""Reverse AD without mutable cells: Wang et al. 2019, section 3.6, in continuation-passing style.

A continuation returns a map of contributions to the cotangents of numbers, by their ids:

    D[R] = (R, Int)                     D[s -> t] = (D[s], Int) -> ((D[t], Int) -> Map Int R) -> Map Int R
    D[c] K i = K_ (c, -1) i             constants share an id, since nobody looks up their cotangents
    D[e1 * e2] K i = D[e1]_ (\p1. D[e2]_ (\p2 i. let (y1, i1) = p1 in let (y2, i2) = p2 in let y = y1 * y2 in
                         let m = K_ (y, i) (i +# 1) in let z = lookup(i, m) in m ++ {i1 -> z * y2} ++ {i2 -> z * y1}))
    everything else as in Fig. 11 (cps.py)
    Transform(f) = \x. let m = D[f]_ (\m. (m ((x, 0), 1)) (\((y, j), i). {j -> 1.0})) in lookup(0, m)

Each number gets the next id: the free id i accompanies the value, as in D2 of our paper. The paper says only that ids
are unique. ++ is the union of maps, which adds the values of a common key; looking up a missing key gives 0. A
program's own cells stay cells: a program without cells is transformed to one without.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.continuations.cps import Cps, State, Then, lets
from stages.calculus.continuations.partials import partial, times
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor
from stages.calculus.language.sugar import lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Functional"]

CONTRIBUTIONS = ty.Map(ty.REAL)


class Functional(Cps):
    """Reverse AD without cells: section 3.6."""

    name = "functional"
    language = "maps"

    def scalar(self) -> Type:
        """D[R] = (R, Int)"""
        return ty.Pair(ty.REAL, ty.INT)

    def constant(self, r: Term) -> Term:
        """(r, -1)"""
        return t.Tuple(r, t.Integer(-1))

    def answer(self) -> Type:
        """The answer type of continuations: maps of contributions."""
        return CONTRIBUTIONS

    def operated(self, op: str, ps: list[Term], s: State, then: Then) -> Term:
        """let m = K_ (y, i) (i +# 1) in let z = lookup(i, m) in m ++ {i1 -> z * p1} ++ .. ++ {in -> z * pn}"""
        (i,) = s
        names = [(self.fresh("x"), self.fresh("i")) for _ in ps]
        y, j, m, z = (self.fresh(name) for name in ("y", "i", "m", "z"))
        xs: list[Term] = [Var(x) for x, _ in names]
        whole: Term = Var(m)
        for k, (_, own) in enumerate(names):
            whole = t.Plus(whole, t.Singleton(Var(own), times(Var(z), partial(op, k, xs, Var(y)))))
        rest = then(t.Tuple(Var(y), i), (Var(j),))
        back = t.Let(m, rest, t.Let(z, t.Primitive("lookup", (i, Var(m))), whole))
        there = t.Let(y, t.Operation(op, tuple(xs)), t.Let(j, t.Discrete("+#", (i, t.Integer(1))), back))
        return lets(names, ps, there)

    # The state: the next id

    def with_state(self, kind: Type) -> Type:
        """(kind, Int)"""
        return ty.Pair(kind, ty.INT)

    def packed(self, m: Term, s: State) -> Term:
        """(m, i)"""
        return t.Tuple(m, s[0])

    def taking(self, x: str, kind: Type, body: Callable[[State], Term]) -> t.Lambda:
        """\\(x, i). body"""
        i = self.fresh("i")
        return lambda_((x, i), self.with_state(kind), body((Var(i),)))

    # Transform

    def numbered(self, type_: Type, x: Term, i: Term, use: Callable[[Term, Term], Term]) -> Term:
        """let (x', j) = Interleave (x, i) in use(x', j)"""
        call: Term
        match self.source.expose(type_):
            case ty.Real():
                j = self.fresh("i")
                return t.Let(j, t.Discrete("+#", (i, t.Integer(1))), use(t.Tuple(x, i), Var(j)))
            case ty.Unit() | ty.Int():
                return use(x, i)
            case ty.Pair(first, second):
                v, w = self.fresh("x"), self.fresh("y")
                inner = self.numbered(
                    first,
                    Var(v),
                    i,
                    lambda a, j: self.numbered(second, Var(w), j, lambda b, k: use(t.Tuple(a, b), k)),
                )
                return let((v, w), x, inner)
            case ty.Named() as data:
                given, result = ty.Pair(data, ty.INT), ty.Pair(self.type(data), ty.INT)

                def make() -> Term:
                    """Interleave for the data type, as a function."""
                    v, j = self.fresh("v"), self.fresh("i")
                    return lambda_((v, j), given, self.numbered_data(data, Var(v), Var(j)))

                call = t.Apply(self.recursive("Interleave", data, ty.Arrow(given, result), make), t.Tuple(x, i))
            case other:
                call = self.numbered_data(other, x, i)
        y, j = self.fresh("y"), self.fresh("i")
        return let((y, j), call, use(Var(y), Var(j)))

    def numbered_data(self, type_: Type, x: Term, i: Term) -> Term:
        """case x of {C(y1, ..) -> (DC(Interleave y1, ..), the next id); ..}"""

        def branch(c: Constructor, ys: list[Var]) -> Term:
            """Interleave the fields of a constructor."""

            def fields(k: int, made: tuple[Term, ...], i: Term) -> Term:
                """Interleave the fields from the k-th on, with the next id i."""
                if k == len(ys):
                    return t.Tuple(self.constructor(type_, c.name, made), i)
                return self.numbered(c.fields[k], ys[k], i, lambda y, j: fields(k + 1, (*made, y), j))

            return fields(0, (), i)

        return self.each(type_, x, branch)

    def looked_up(self, type_: Type, x: Term, m: Var) -> Term:
        """Collect x from the map"""
        match self.source.expose(type_):
            case ty.Real():
                return t.Primitive("lookup", (t.Snd(x), m))
            case ty.Unit() | ty.Int():
                return x
            case ty.Pair(first, second):
                return self.halves(x, lambda v, w: t.Tuple(self.looked_up(first, v, m), self.looked_up(second, w, m)))
            case ty.Named() as data:
                given = ty.Pair(self.type(data), CONTRIBUTIONS)

                def make() -> Term:
                    """Collect for the data type, as a function."""
                    v, n = self.fresh("v"), Var(self.fresh("m"))
                    return lambda_((v, n.name), given, self.looked_up_data(data, Var(v), n))

                return t.Apply(self.recursive("Collect", data, ty.Arrow(given, data), make), t.Tuple(x, m))
            case other:
                return self.looked_up_data(other, x, m)

    def looked_up_data(self, type_: Type, x: Term, m: Var) -> Term:
        """case x of {DC(y1, ..) -> C(Collect y1, ..); ..}"""
        part = lambda f, y: self.looked_up(f, y, m)  # noqa: E731
        return self.each(type_, x, lambda c, ys: self.same(type_, c, ys, part), image=True)

    def seeded(self, y: Term, z: Term) -> Term:
        """{i -> z}"""
        return t.Singleton(t.Snd(y), z)

    def unseeded(self) -> Term:
        """The empty map."""
        return t.Zero(CONTRIBUTIONS)

    def joined(self, seeds: list[Term]) -> Term:
        """The union of maps."""
        made = seeds[0] if seeds else self.unseeded()
        for seed in seeds[1:]:
            made = t.Plus(made, seed)
        return made

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let (x, i) = Interleave (x, 0) in let m = D[e]_ (\\y i. Seed (y, ct)) i in Collect (x, m)"""

        def body(v: Var, ct: Var) -> Term:
            """Interleave the input, compute the map of contributions, and collect the cotangents."""

            def rest(dual: Term, i: Term) -> Term:
                """The program after the input has been interleaved."""
                y, m = self.fresh("y"), self.fresh("m")
                there = inner(x, source, (i,), lambda made, s: t.Let(y, made, self.seed(target, Var(y), ct)))
                return t.Let(x, dual, t.Let(m, there, self.looked_up(source, Var(x), Var(m))))

            return self.numbered(source, v, t.Integer(0), rest)

        return self.given(x, body)
