r"""Dual-numbers forward AD, the mirror image of D1: section 2, Fig. 1 (b).

    D[R] = (R, R)                       a value and its tangent
    D[r] = (r, 0.0)
    D[op(t1, .., tn)] = let (x1, d1) = D[t1] in .. in let (xn, dn) = D[tn]
                        in (op(x1, .., xn), d1op(x1, .., xn)(d1) + .. + dnop(x1, .., xn)(dn))
    everything else as in D1

    Interleave_t : (t, t) -> D[t], Deinterleave_t : D[t] -> (t, t): zip and unzip
    Wrap[\(x : s). t] = \(x, dx : (s, s)). let x = Interleave_s (x, dx) in Deinterleave_t (D[t])

Wrap : (s -> t) ~> ((s, s) -> (t, t)), from value and tangent to value and tangent. The tangent of an Int is 0; the
tangent of a sum or data type has the same constructors as its value.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, Program
from stages.calculus.language.sugar import lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d1 import D1

__all__ = ["Forward"]


class Forward(D1):
    """Dual-numbers forward AD: Fig. 1 (b)."""

    name = "forward"
    language = "D1"

    def scalar(self) -> Type:
        """D[R] = (R, R)"""
        return ty.Pair(ty.REAL, ty.REAL)

    def constant(self, r: Term) -> Term:
        """(r, 0.0)"""
        return t.Tuple(r, t.Literal(0.0))

    def operation(self, op: str, xs: list[Var], ds: list[Var]) -> Term:
        """(op(x1, .., xn), the tangent)"""
        args = tuple(xs)
        sums: list[Term] = [t.Partial(op, k, args, d) for k, d in enumerate(ds, 1)]
        made = sums[0]
        for term in sums[1:]:
            made = t.Operation("add", (made, term))
        return t.Tuple(t.Operation(op, args), made)

    # The wrapper

    def zip(self, type_: Type, x: Term, dx: Term) -> Term:
        """Interleave (x, dx)"""
        match self.source.expose(type_):
            case ty.Real():
                return t.Tuple(x, dx)
            case ty.Unit() | ty.Int():
                return x
            case ty.Pair(first, second):
                return self.halves(
                    x,
                    lambda v, w: self.halves(
                        dx, lambda dv, dw: t.Tuple(self.zip(first, v, dv), self.zip(second, w, dw))
                    ),
                )
            case ty.Vector(element):
                j = self.fresh("j")
                v, w = (t.Primitive("index", (part, Var(j))) for part in (x, dx))
                return t.Primitive("build", (t.Primitive("size", (x,)), t.Lambda(j, ty.INT, self.zip(element, v, w))))
            case ty.Named() as data:
                given = ty.Pair(data, data)

                def make() -> Term:
                    """Interleave for the data type, as a function."""
                    v, dv = self.fresh("v"), self.fresh("d")
                    return lambda_((v, dv), given, self.zipped(data, Var(v), Var(dv)))

                kind = ty.Arrow(given, self.type(data))
                return t.Apply(self.recursive("Interleave", data, kind, make), t.Tuple(x, dx))
            case other:
                return self.zipped(other, x, dx)

    def zipped(self, type_: Type, x: Term, dx: Term) -> Term:
        """case x of {C(y1, .., yn) -> case dx of {C(z1, .., zn) -> ..}; ..}"""
        return self.each(
            type_, x, lambda c, ys: self.each(type_, dx, lambda other, zs: self.pairs(type_, c, ys, other, zs))
        )

    def pairs(self, type_: Type, c: Constructor, ys: list[Var], other: Constructor, zs: list[Var]) -> Term:
        """DC(Interleave (y1, z1), ..); a tangent with another constructor counts as 0."""
        tangents: list[Term] = (
            list(zs) if other.name == c.name else [self.zeros(f, y) for f, y in zip(c.fields, ys, strict=True)]
        )
        parts = [self.zip(f, y, z) for f, y, z in zip(c.fields, ys, tangents, strict=True)]
        return self.constructor(type_, c.name, tuple(parts))

    def unzip(self, type_: Type, x: Term) -> Term:
        """Deinterleave x"""
        match self.source.expose(type_):
            case ty.Real():
                return x
            case ty.Unit():
                return t.Tuple(x, x)
            case ty.Int():
                return t.Tuple(x, t.Integer(0))
            case ty.Pair(first, second):
                return self.halves(x, lambda v, w: self.collected([(first, v), (second, w)], _pair))
            case ty.Vector(element):
                w = self.fresh("w")
                both = t.Tuple(self.mapped(Var(w), t.Fst), self.mapped(Var(w), t.Snd))
                return t.Let(w, self.mapped(x, lambda v: self.unzip(element, v)), both)
            case ty.Named() as data:

                def make() -> Term:
                    """Deinterleave for the data type, as a function."""
                    v = self.fresh("v")
                    return t.Lambda(v, self.type(data), self.unzipped(data, Var(v)))

                kind = ty.Arrow(self.type(data), ty.Pair(data, data))
                return t.Apply(self.recursive("Deinterleave", data, kind, make), x)
            case other:
                return self.unzipped(other, x)

    def unzipped(self, type_: Type, x: Term) -> Term:
        """case x of {DC(y1, .., yn) -> .. (C(x1, .., xn), C(d1, .., dn)); ..}"""

        def branch(c: Constructor, ys: list[Var]) -> Term:
            """Deinterleave the fields of a constructor."""
            made = lambda parts: t.Con(type_, c.name, tuple(parts))  # noqa: E731
            return self.collected(list(zip(c.fields, ys, strict=True)), made)

        return self.each(type_, x, branch, image=True)

    def collected(self, parts: list[tuple[Type, Var]], make: Callable[[list[Term]], Term]) -> Term:
        """let (x1, d1) = Deinterleave p1 in .. in (make(x1, ..), make(d1, ..))"""
        names = [(self.fresh("x"), self.fresh("d")) for _ in parts]
        made: Term = t.Tuple(make([Var(x) for x, _ in names]), make([Var(d) for _, d in names]))
        for pattern, (kind, part) in reversed(list(zip(names, parts, strict=True))):
            made = let(pattern, self.unzip(kind, part), made)
        return made

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let x = Interleave (x, dx) in Deinterleave (D[t]), for the parameter (x, dx)."""
        y = self.fresh("y")
        made: Term = t.Let(y, inner(), self.unzip(target, Var(y)))
        return self.halves(Var(x), lambda v, w: t.Let(x, self.zip(source, v, w), made))

    @classmethod
    def wrap(cls, program: Program) -> Program:
        """Wrap[P] : (s, s) -> (t, t) for a program P : s -> t without functions in s and t; IllTyped for others."""
        made = super().wrap(program)
        assert isinstance(made.term, t.Lambda)
        doubled = t.Lambda(made.term.name, ty.Pair(made.term.type, made.term.type), made.term.body)
        return Program(doubled, made.declarations, made.definitions)


def _pair(parts: list[Term]) -> Term:
    """(x, y)"""
    return t.Tuple(parts[0], parts[1])
