r"""Deltas that lose sharing: Krawiec et al. 2022, Figs. 7 and 8.

    D[R] = (R, Delta)            data Delta = Zero | OneHot Int | Scale R Delta | Add Delta Delta
    D[r] = (r, Zero)
    D[s + t] = let (x, u) = D[s] in let (y, v) = D[t] in (x + y, Add u v)
    D[s * t] = let (x, u) = D[s] in let (y, v) = D[t] in (x * y, Add (Scale y u) (Scale x v))
    D[op(t1, .., tn)]: Fig. 14's sum, Add (Scale (d1op(x1, .., xn)) u1) .. (Scale (dnop(x1, .., xn)) un)
    everything else as in forward AD

    type DeltaMap = Array R                                       the paper's vector: a number for each input scalar
    eval : Delta -> R -o (DeltaMap ->R DeltaMap)                  eval_2
    eval Zero = \_(x : R). id                                     eval (OneHot i) = \_(x : R). addAt i x
    eval (Scale y u) = \_(x : R). eval u (x y)                    eval (Add u v) = \_(x : R). eval v x . eval u x

    Wrap[\(x : s). t] = \(x : s). let (x, n) = initVars_s (x, 0) in let (y, d) = Deinterleave_t D[t]
        in (y, linear(\(z : t). lookup_s (allocate n (freeze . d z), x)))

A number that is used twice has one Delta in memory, and eval visits it twice: 2^n visits for n doublings (section 5.3).
The paper's eval_2 : R -> Delta -> R^a -o R^a takes x first. Here the Delta comes first, so that the type shows that
eval is linear in x (Lemma 10) and, as in the paper, uses the vector exactly once.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.deltas.deltas import Deltas
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, Definition
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["InArrays", "Unshared"]


class InArrays(Deltas):
    """DeltaMap = Array R, which eval updates in place."""

    def collection(self) -> Type:
        """Array R"""
        return ty.Array(self.coefficient())

    def codomain(self) -> Type:
        """DeltaMap ->R DeltaMap"""
        return ty.Resource(self.map, self.map)

    def final_map(self) -> Type:
        """IArray R"""
        return ty.FrozenArray(self.coefficient())

    def added(self, constructor: str) -> t.Branch:
        r"""OneHot(i) -> \_(x : R). \R(m : DeltaMap). modify(i, \(y : R). x + y, m)"""
        place = t.Lambda("y", self.coefficient(), t.Plus(Var("x"), Var("y")))
        body = t.ResourceLambda("m", self.map, t.Primitive("modify", (Var("i"), place, Var("m"))))
        return t.Branch(constructor, ("i",), t.LinearLambda("x", self.coefficient(), body, "eval"))

    def allocating(self) -> Definition:
        r"""allocate n f: the result of f on an array of n zeros"""
        f = ty.Resource(self.map, ty.Bang(self.final_map()))
        made = t.ResourceLambda("m", self.collection(), t.Apply(Var("f"), Var("m")))
        body = t.Primitive("alloc", (Var("n"), self.nothing(), made))
        kind = ty.Arrow(ty.INT, ty.Arrow(f, self.final_map()))
        curried = t.Lambda("n", ty.INT, t.Lambda("f", f, body))
        return Definition(self.own("allocate").name, kind, curried)

    def pulled_back(self, d: Term, target: Type, n: Term, finish: Callable[[Term], Term]) -> Term:
        r"""linear(\(z : t). rebuild (allocate n (\R(m : DeltaMap). freeze(finish(d z m)))))"""
        z, m = self.fresh("z"), self.fresh("m")
        done = t.Primitive("freeze", (finish(t.Apply(t.Apply(d, Var(z)), Var(m))),))
        run = t.ResourceLambda(m, self.map, done)
        allocated = t.Apply(t.Apply(self.own("allocate"), n), run)
        return t.Claim(t.Lambda(z, target, t.Apply(Var(self.rebuild), allocated)))

    def lookup(self, m: Term, x: Term) -> Term:
        """m @ i, for the id i of the input x"""
        return t.Primitive("at", (m, t.Apply(self.own("idOf"), t.Snd(x))))


class Unshared(InArrays):
    """Deltas without sharing: Figs. 7 and 8."""

    name = "delta"

    def constructors(self) -> tuple[Constructor, ...]:
        """Zero | OneHot Int | Scale R Delta | Add Delta Delta"""
        return Constructor("Zero", ()), Constructor("OneHot", (ty.INT,)), *self.scaled()

    def entry(self, i: Term) -> Term:
        """OneHot i"""
        return self.made("OneHot", i)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let (x, n) = initVars (x, 0) in .."""
        self.define(self.evaluating(self.added("OneHot")), self.allocating(), self.id_of("OneHot"))
        n, e, y, d = (self.fresh(name) for name in ("n", "y", "y", "d"))
        back = self.pulled_back(Var(d), target, Var(n), lambda m: m)
        made: Term = let((y, d), self.deinterleave(target, Var(e)), t.Tuple(self.found(target, y, Var(e)), back))
        return self.prepared(x, source, n, t.Let(e, inner(), made))
