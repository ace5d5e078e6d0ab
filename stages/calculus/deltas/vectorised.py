r"""Reverse AD #1: numbers that carry their derivatives by the whole input. Krawiec et al. 2022, Figs. 5 and 6.

    D_S[R] = (R, S)              a number x and the derivatives of x, one for each scalar of the input S
    D_S[r] = (r, zero)           zero : S, zeros with the structure of the input
    D_S[s + t] = let (x, u) = D[s] in let (y, v) = D[t] in (x + y, u + v)
    D_S[s * t] = let (x, u) = D[s] in let (y, v) = D[t] in (x * y, scale u y + scale v x)
    D_S[op(t1, .., tn)] = let (xi, ui) = D[ti] in (op(x1, .., xn), scale u1 p1 + .. + scale un pn)
    everything else as in forward AD

    zero : S                     scale : S -> R -o S         the paper's (x), which takes the number first
    + : (S, S) -> S              the paper's (+): the sum in the monoid S
    scale_R u z = z u            scale_(s, t) (u, v) z = (scale u z, scale v z)       scale_() and scale_Int u z = 0
    scale_T u z = case u of {C(y1, .., yn) -> C(scale y1 z, .., scale yn z); ..}

    Interleave_R (x, d) = (x, d 1)                    the one-hot of x; d : R -> S puts a number in the place of x
    Deinterleave_R (x, u) = (x, scale u)
    Wrap[\(x : s). t] = \(x : s). let zero = zeros x in
        let x = Interleave_s (x, \(z : s). z + zero) in Deinterleave_t D[t]

The linear functions R -o S of D1 are the same thing as vectors S: d is d 1, and u is \z. scale u z (section 10). So D1
with this change is Fig. 5, and D1's problem with it: n numbers for every operation. The figure scales the one-hots by
the cotangent; here, as D[t] is linear in them, the output's derivatives are scaled, once for each cotangent. zero is a
variable, since it depends on the input where S has a sum (section 5.2). D_S[t] has S in its type, so it cannot be
compiled before S is known (section 8.1; separate.py).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

from stages.calculus.deltas.deltas import factors
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Definition
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.text.printer import show_type
from stages.calculus.transformations.d1 import D1

__all__ = ["Vectorised"]


class Vectorised(D1):
    """Vectorised forward AD, the first version of reverse AD: Figs. 5 and 6."""

    name = "vectorised"

    @functools.cached_property
    def scalings(self) -> dict[str, Definition]:
        """The definitions of scale, by name."""
        return {}

    def scalar(self) -> Type:
        """D_S[R] = (R, S)"""
        return ty.Pair(ty.REAL, self.c)

    @property
    def nothing(self) -> Var:
        """zero : S"""
        return self.own("zero")

    def constant(self, r: Term) -> Term:
        """(r, zero)"""
        return t.Tuple(r, self.nothing)

    def operation(self, op: str, xs: list[Var], us: list[Var]) -> Term:
        """(op(x1, .., xn), scale u1 p1 + .. + scale un pn)"""
        found = zip(us, factors(op, xs), strict=True)
        sums: list[Term] = [u if p is None else t.Apply(t.Apply(self.own("scale"), u), p) for u, p in found]
        return t.Tuple(t.Operation(op, tuple(xs)), self.total(sums))

    def environment(self, types: Mapping[str, Type]) -> dict[str, Type]:
        """D on environments, and zero : S."""
        return {**super().environment(types), self.nothing.name: self.c}

    def around(self, made: Term) -> Term:
        """let zero = 0[S] in D[t]"""
        return t.Let(self.nothing.name, t.Zero(self.c), made)

    # The polytypic function

    def interface(self) -> tuple[Definition, ...]:
        """scale, and the functions for the data types in S."""
        self.scaling(self.own("scale").name, self.c)
        return tuple(self.scalings.values())

    def scaling(self, name: str, type_: Type) -> None:
        r"""scale = \(u : t). .."""
        if name not in self.scalings:
            u, kind = self.fresh("u"), ty.Arrow(type_, ty.Linear(ty.REAL, type_))
            self.scalings[name] = Definition(name, kind, Var(name))  # a data type may refer to itself
            self.scalings[name] = Definition(name, kind, t.Lambda(u, type_, self.scaler(type_, Var(u))))

    def scaler(self, type_: Type, u: Term) -> Term:
        r"""\_(z : R). scale u z"""
        z = self.fresh("z")
        constructors = self.source.constructors(type_)
        if constructors is None:
            return self.opened(type_, u, lambda scaled: t.LinearLambda(z, ty.REAL, scaled(Var(z))))
        part = lambda kind, y: self.times(kind, y, Var(z))  # noqa: E731
        return self.each(type_, u, lambda c, ys: t.LinearLambda(z, ty.REAL, self.same(type_, c, ys, part)))

    def opened(self, type_: Type, u: Term, use: Callable[[Callable[[Term], Term]], Term]) -> Term:
        r"""let (v, w) = u in .. use(\z. scale u z), for the parts of nested pairs"""
        match self.source.expose(type_):
            case ty.Pair(first, second):
                return self.halves(
                    u,
                    lambda v, w: self.opened(
                        first, v, lambda f: self.opened(second, w, lambda g: use(lambda z: t.Tuple(f(z), g(z))))
                    ),
                )
        return use(lambda z: self.times(type_, u, z))

    def times(self, type_: Type, u: Term, z: Term) -> Term:
        """scale u z"""
        match self.source.expose(type_):
            case ty.Real():
                return t.Partial("mul", 1, (t.Literal(1.0), u), z)
            case ty.Unit() | ty.Int() as discrete:
                return t.Zero(discrete)
            case ty.Pair(first, second):
                return t.Tuple(self.times(first, t.Fst(u), z), self.times(second, t.Snd(u), z))
            case ty.Vector():
                raise self.no_vector(u)
            case ty.Named() as data:
                name = self.own("_".join(["scale", *re.findall(r"\w+", show_type(data, ascii=True))])).name
                self.scaling(name, data)
                return t.Apply(t.Apply(Var(name), u), z)
            case other:
                return t.Apply(self.scaler(other, u), z)

    # Fig. 6

    def input(self, x: Term, d: Term) -> Term:
        """(x, d 1)"""
        return t.Tuple(x, t.Apply(d, t.Literal(1.0)))

    def placing(self, part: Type) -> Type:
        """part -> S"""
        return ty.Arrow(part, self.c)

    def placed(self, z: str, part: Type, body: Term) -> Term:
        r"""\(z : part). body"""
        return t.Lambda(z, part, body)

    def start(self, source: Type) -> Term:
        r"""\(z : s). z + zero"""
        z = self.fresh("z")
        return self.placed(z, source, self.plus(Var(z), self.nothing))

    def output(self, x: Term) -> Term:
        """let (v, u) = x in (v, scale u)"""
        v, u = self.fresh("x"), self.fresh("u")
        return let((v, u), x, t.Tuple(Var(v), t.Apply(self.own("scale"), Var(u))))

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let zero = zeros x in .."""
        return t.Let(self.nothing.name, self.zeros(source, Var(x)), super().wrapped(x, source, target, inner))
