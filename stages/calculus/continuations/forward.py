r"""Forward AD with cells: Wang et al. 2019, Fig. 4.

    D[R] = (R, R)                       a value and its tangent
    D[c] = c if c is discrete           D[c] = (c, 0) if it is real          D[y] = y
    D[e1 + e2] = let (y1, y1') = D[e1] in let (y2, y2') = D[e2] in (y1 + y2, y1' + y2')
    D[e1 * e2] = let (y1, y1') = D[e1] in let (y2, y2') = D[e2] in (y1 * y2, y1 * y2' + y1' * y2)
    D[\y. e] = \y. D[e]                 D[e1 e2] = D[e1] D[e2]              D[let y = e1 in e2] = let y = D[e1] in D[e2]
    D[ref e] = ref D[e]                 D[!e] = !D[e]                        D[e1 := e2] = D[e1] := D[e2]
    D[(e1, e2)] = (D[e1], D[e2])        D[fst e] = fst D[e]                  and snd, inl, inr, case likewise
    Transform(f) = \x. let (y, y') = D[f] (x, 1) in y'

This is the calculus' forward AD (transformations/forward.py) with cells, and with partial derivatives written out. A
tangent has its terms in the order of the arguments, y1' * y2 + y2' * y1, for all operations alike.
"""

from __future__ import annotations

from stages.calculus.continuations.partials import mentions, partial, times
from stages.calculus.continuations.terms import Assign, Gradient, Read, Ref
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d1 import D1
from stages.calculus.transformations.forward import Forward

__all__ = ["Fig4", "WithCells"]


class WithCells(D1):
    """The common part of Figs. 4 and 9: cells keep their structure, as everything but scalars does."""

    reads = "cells"

    def type(self, t: Type) -> Type:
        """D[Ref t] = Ref D[t]"""
        return ty.Cell(self.type(t.content)) if isinstance(t, ty.Cell) else super().type(t)

    def term(self, term: Term) -> Term:
        """D[e]"""
        match term:
            case Ref(content):
                return Ref(self.term(content))
            case Read(cell):
                return Read(self.term(cell))
            case Assign(cell, content):
                return Assign(self.term(cell), self.term(content))
        return super().term(term)


class Fig4(WithCells, Forward):
    """Forward AD of Fig. 4, and grad inside of a program as in Fig. 5: it confuses perturbations (section 2.4)."""

    name = "fig4"
    language = "cells"
    reads = "nested"

    def term(self, term: Term) -> Term:
        """D[grad(f, x)] = (snd (D[f] (x, 1.0)), 0.0), regardless of captured tangents."""
        if isinstance(term, Gradient):
            at = t.Tuple(t.Fst(self.term(term.argument)), t.Literal(1.0))
            return self.constant(t.Snd(t.Apply(self.term(term.function), at)))
        return super().term(term)

    def operation(self, op: str, xs: list[Var], ds: list[Var]) -> Term:
        """(op(x1, .., xn), d1 * p1 + .. + dn * pn)"""
        y = self.fresh("y")
        sums = [times(d, partial(op, k, xs, Var(y))) for k, d in enumerate(ds)]
        tangent = sums[0]
        for term in sums[1:]:
            tangent = t.Operation("add", (tangent, term))
        value = t.Operation(op, tuple(xs))
        if mentions(tangent, y):
            return t.Let(y, value, t.Tuple(Var(y), tangent))
        return t.Tuple(value, tangent)
