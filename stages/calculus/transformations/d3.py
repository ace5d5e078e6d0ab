r"""D3, the Cayley-transformed transformation: Fig. 9.

    D[R] = (R, (Int, R -o (Staged -> Staged)))
    D[t]: as in D2, with id in place of 0 and composition in place of +

    Staged = (c, Map Int (R -o (Staged -> Staged), R))
    SCall (i, f) x (c, m) = (c, insertWith i (f, x) m)     SCotan g (c, m) = (g c, m)         g : c -> c
    SResolve u = loop (u (0, {})), with loop (c, m) as SResolve in D2, and f a (c, m without i) in place of the sum

    Interleave_t : (t, (t -> t) -o (Staged -> Staged)) -> Int -> (D[t], Int)
    Interleave_R (x, d) i = ((x, (i, \_(z : R). d (\(a : R). z + a))), i + 1)
    Interleave_(s, t) ((x, y), d) i =
        let (x', i') = Interleave_s (x, \_(f : s -> s). d (\(v, w : (s, t)). (f v, w))) i
        in let (y', i'') = Interleave_t (y, \_(f : t -> t). d (\(v, w : (s, t)). (v, f w))) i' in ((x', y'), i'')
    Deinterleave, Wrap: as in D2

insertWith is section 5's "insert, or update": (f, x) at a new key, and x added to the argument at a known one.
"""

from __future__ import annotations

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, Definition
from stages.calculus.language.sugar import lambda_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d2 import D2

__all__ = ["D3"]


class D3(D2):
    """Cayley-transformed: Fig. 9."""

    name = "D3"
    language = "D3"

    def codomain(self) -> Type:
        """Staged -> Staged"""
        return ty.Arrow(self.staged, self.staged)

    def zero(self) -> Term:
        """id : Staged -> Staged"""
        return t.Identity(self.staged)

    def plus(self, left: Term, right: Term) -> Term:
        """Composition"""
        return t.Compose(left, right)

    # The interface

    def cotan(self) -> Definition:
        """SCotan g (c, m) = (g c, m)"""
        change = ty.Arrow(self.c, self.c)
        body = lambda_(("c", "m"), self.staged, t.Tuple(t.Apply(Var("g"), Var("c")), Var("m")))
        return Definition(
            self.own("SCotan").name, ty.Linear(change, self.codomain()), t.LinearLambda("g", change, body)
        )

    def calling(self) -> Definition:
        """SCall (i, f) x (c, m) = (c, insertWith i (f, x) m)"""
        more = t.Primitive("insertWith", (Var("i"), t.Tuple(Var("f"), Var("x")), Var("m")))
        body = t.LinearLambda("x", ty.REAL, lambda_(("c", "m"), self.staged, t.Tuple(Var("c"), more)))
        return Definition(
            self.own("SCall").name,
            ty.Arrow(self.backpropagator(), self.linear()),
            lambda_(("i", "f"), self.backpropagator(), body),
        )

    def resolving(self) -> tuple[Definition, ...]:
        """SResolve and its loop."""
        resolve = t.Claim(t.Lambda("u", self.codomain(), t.Apply(self.own("loop"), t.Apply(Var("u"), self.nothing()))))
        return self.loop(self.c), Definition(self.own("SResolve").name, ty.Linear(self.codomain(), self.c), resolve)

    def nothing(self) -> Term:
        """(0, {})"""
        return t.Tuple(t.Zero(self.c), t.Zero(self.calls()))

    def loop(self, result: Type) -> Definition:
        """loop (c, m)"""
        rest = t.Tuple(Var("c"), Var("rest"))
        again = t.Apply(self.own("loop"), t.Apply(t.Apply(Var("f"), Var("a")), rest))
        return Definition(
            self.own("loop").name,
            ty.Arrow(self.staged, result),
            lambda_(("c", "m"), self.staged, self.pop_or(Var("c"), again)),
        )

    # The wrapper

    def given_by(self, part: Type) -> Type:
        """The argument type of a part's backpropagator: a function that adds to the part."""
        return ty.Arrow(part, part)

    def injector(self, d: Term) -> Term:
        r"""\_(z : R). d (\(a : R). z + a)"""
        z, a = self.fresh("z"), self.fresh("a")
        added = t.Lambda(a, ty.REAL, t.Plus(Var(z), Var(a)))
        return t.LinearLambda(z, ty.REAL, t.Apply(d, added), "Interleave")

    def at_first(self, z: Term, first: Type, second: Type) -> Term:
        r"""\(v, w : (s, t)). (f v, w)"""
        v, w = self.fresh("v"), self.fresh("w")
        return lambda_((v, w), ty.Pair(first, second), t.Tuple(t.Apply(z, Var(v)), Var(w)))

    def at_second(self, z: Term, first: Type, second: Type) -> Term:
        r"""\(v, w : (s, t)). (v, f w)"""
        v, w = self.fresh("v"), self.fresh("w")
        return lambda_((v, w), ty.Pair(first, second), t.Tuple(Var(v), t.Apply(z, Var(w))))

    def at_field(self, z: Term, type_: Type, c: Constructor, k: int) -> Term:
        r"""\(v : t). case v of {C(y1, .., yn) -> C(y1, .., f yk, .., yn); .. other constructors unchanged ..}"""
        v = self.fresh("v")

        def branch(other: Constructor, ys: list[Var]) -> Term:
            """Apply z to field k of the constructor C; other fields and constructors stay."""
            parts: list[Term] = [t.Apply(z, y) if other.name == c.name and n == k else y for n, y in enumerate(ys)]
            return t.Con(type_, other.name, tuple(parts))

        return t.Lambda(v, type_, self.each(type_, Var(v), branch))

    def resolved(self, d: Term, target: Type, source: Type, x: Term) -> Term:
        r"""\_(z : t). SResolve (d z); if 0 depends on x, \(z : t). loop (d z (zeros x, {}))"""
        if not self.has_choice(source):
            return super().resolved(d, target, source, x)
        z = self.fresh("z")
        start = t.Tuple(self.zeros(source, x), t.Zero(self.calls()))
        return t.Claim(t.Lambda(z, target, t.Apply(self.own("loop"), t.Apply(t.Apply(d, Var(z)), start))))
