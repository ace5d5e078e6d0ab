r"""Triple numbers for reverse AD: a number, its tangent, and its Delta. Krawiec et al. 2022, sections 5.3.3 and 8.6.

    D[R] = (R, R, Delta)         data Delta = Zero | Scale (R, R) Delta | Add Delta Delta | Var Int
    D[r] = pure (r, 0, Zero)
    D[op(t1, .., tn)] = do {(xi, xi', ui) <- D[ti]; let (y, y') = F[op(x1, .., xn)];
                            let (pi, pi') = F[di op(x1, .., xn)];
                            w <- deltaLet (Add (Scale (p1, p1') u1) .. (Scale (pn, pn') un)); pure (y, y', Var w)}
    everything else as in arrays.py

    type DeltaMap = Array (R, R)
    eval (Scale (y, y') u) = \_((x, x') : (R, R)). eval u (x y, x' y + x y')            the others as before
    Wrap[\(x : s). t] = \(x, dx : (s, s)). ((y, y'), linear(\(z : t). (g, g')))

The factors in a Delta carry tangents, and eval computes with them: it returns the gradient g, the pullback of z, and
its tangent g' in the direction dx: the Hessian of z . t at x, times dx. So one pass computes both derivatives, without
translating a translation. The paper only names triples of numbers, x, x' and x'' (triple.py); here the paper's step
from forward to reverse AD, a Delta in place of a derivative, is applied to them. F is the F of triple.py.
"""

from __future__ import annotations

from stages.calculus.deltas.arrays import Arrays
from stages.calculus.deltas.back import Back
from stages.calculus.deltas.terms import Do
from stages.calculus.deltas.triple import Twice
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.sugar import FALSE, if_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Second"]


class Second(Arrays, Twice):
    """A value, a tangent, and a Delta whose factors have tangents."""

    name = "triple-delta"

    def scalar(self) -> Type:
        """D[R] = (R, R, Delta)"""
        return ty.Pair(ty.REAL, ty.Pair(ty.REAL, self.delta))

    def coefficient(self) -> Type:
        """(R, R)"""
        return ty.Pair(ty.REAL, ty.REAL)

    def nothing(self) -> Term:
        """(0, 0)"""
        return t.Tuple(t.Literal(0.0), t.Literal(0.0))

    def times(self, y: Term, x: Term) -> Term:
        """(x y, x' y + x y'), as a linear body in (x, x')"""
        first, second = t.Fst(y), t.Snd(y)
        sums = t.Plus(super().times(first, t.Snd(x)), super().times(second, t.Fst(x)))
        return t.Tuple(super().times(first, t.Fst(x)), sums)

    def is_zero(self, x: Term) -> Term:
        """Whether both numbers are 0."""
        return if_(super().is_zero(t.Fst(x)), super().is_zero(t.Snd(x)), FALSE)

    def constant(self, r: Term) -> Term:
        """(r, 0, Zero)"""
        return t.Tuple(r, t.Tuple(t.Literal(0.0), self.made("Zero")))

    def bound(self, op: str, xs: list[Var], us: list[Var]) -> Term:
        """do {let (y, y') = ..; ..; w <- deltaLet (..); pure (y, y', Var w)}"""

        def made(y: Var, ps: list[Term]) -> Term:
            """Bind the Delta of the operation's value y, with the partial derivatives ps."""
            total = self.added_up([self.term_of(p, t.Snd(u)) for p, u in zip(ps, us, strict=True)])
            w = self.fresh("u")
            value = t.Tuple(t.Fst(y), t.Tuple(t.Snd(y), self.made("Var", Var(w))))
            return Do(w, t.Apply(self.own("deltaLet"), total), self.pure(value))

        return self.with_partials(op, [t.Tuple(x, t.Fst(u)) for x, u in zip(xs, us, strict=True)], made)

    def term_of(self, p: Term, u: Term) -> Term:
        """Scale p u; the tangent of a constant is 0, and a factor 1 is not written."""
        if p == t.Literal(1.0):
            return u
        return self.made("Scale", t.Tuple(p, t.Literal(0.0)) if isinstance(p, t.Literal) else p, u)

    # The wrapper

    def zip(self, type_: Type, x: Term, dx: Term) -> Term:
        """(x, dx, Zero) for a real; otherwise Interleave of forward AD."""
        if isinstance(self.source.expose(type_), ty.Real):
            return t.Tuple(x, t.Tuple(dx, self.made("Zero")))
        return super().zip(type_, x, dx)

    def given(self, type_: Type) -> Type:
        """The argument type of initVars: the data after zip."""
        return self.type(type_)

    def started(self, x: Term, i: Term) -> Term:
        """(x, dx, Var i)"""
        return t.Tuple(t.Fst(x), t.Tuple(t.Fst(t.Snd(x)), self.entry(i)))

    def prepared(self, x: str, source: Type, next_id: str, body: Term) -> Term:
        """let x = zip x in let (x, next_id) = initVars (x, 0) in .."""
        inner = super().prepared(x, source, next_id, body)
        return self.halves(Var(x), lambda v, w: t.Let(x, self.zip(source, v, w), inner))

    def looked_up(self, source: Type, x: Term, m: Term) -> Term:
        """(g, g')"""

        def part(name: str, projection: type[t.Fst | t.Snd]) -> Term:
            """The function that looks up one component of the input's cotangents."""

            def leaf(m: Term, u: Term) -> Term:
                """The component of the cotangent at the id of u."""
                return projection(t.Primitive("at", (m, t.Apply(self.own("idOf"), t.Snd(t.Snd(u))))))

            return Back(name, self, leaf, given=self.final_map())(source, x, m)

        return t.Tuple(part("lookup", t.Fst), part("lookupTangent", t.Snd))

    def output(self, x: Term) -> Term:
        r"""let (v, _, u) = x in (v, \_(z : R). eval u (z, 0))"""
        v, u, z = self.fresh("x"), self.fresh("u"), self.fresh("z")
        back = t.Apply(t.Apply(self.own("eval"), Var(u)), t.Tuple(Var(z), t.Zero(ty.REAL)))
        return let((v, ("_", u)), x, t.Tuple(Var(v), t.LinearLambda(z, ty.REAL, back)))

    def found(self, target: Type, y: str, image: Term) -> Term:
        """(y, y')"""
        first = Back("first", self, lambda u: t.Fst(t.Snd(u)), lambda _: t.Integer(0))
        return t.Tuple(Var(y), first(target, image))
