r"""Functions from D[t] back to t that act on each number: lookup, primal, delta and others (Figs. 1 and 16).

back_R x = leaf x            back_() x = x            back_Int x = whole x
back_(s, t) (x, y) = (back_s x, back_t y)             back_(Vector t) v = map back_t v
back_T x = case x of {DC(y1, .., yn) -> C(back y1, .., back yn); ..}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.sugar import lambda_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.transform import Transformation

__all__ = ["Back"]


@dataclass(frozen=True)
class Back:
    """The function of this name, for one transformation.

    `given` is the type of an additional first argument of leaf, if it has one.
    """

    name: str
    of: Transformation
    leaf: Callable[..., Term]
    whole: Callable[[Term], Term] = lambda n: n
    given: Type | None = None

    def __call__(self, type_: Type, x: Term, *given: Term) -> Term:
        """back x, for terms that may be written more than once"""
        match self.of.source.expose(type_):
            case ty.Real():
                return self.leaf(*given, x)
            case ty.Unit():
                return x
            case ty.Int():
                return self.whole(x)
            case ty.Pair(s, u):
                return self.of.halves(x, lambda v, w: t.Tuple(self(s, v, *given), self(u, w, *given)))
            case ty.Vector(element):
                y = self.of.fresh("y")
                return self.of.mapped_image(element, x, lambda v: t.Let(y, v, self(element, Var(y), *given)))
            case ty.Named() as data:
                argument = self.of.type(data)
                whole = argument if self.given is None else ty.Pair(self.given, argument)
                function = self.of.recursive(self.name, data, ty.Arrow(whole, data), lambda: self.function(data, whole))
                return t.Apply(function, t.Tuple(given[0], x) if given else x)
            case other:
                return self.fields(other, x, *given)

    def function(self, data: Type, whole: Type) -> Term:
        """The function for a data type."""
        m, v = self.of.fresh("m"), self.of.fresh("v")
        if self.given is None:
            return t.Lambda(v, whole, self.fields(data, Var(v)))
        return lambda_((m, v), whole, self.fields(data, Var(v), Var(m)))

    def fields(self, type_: Type, x: Term, *given: Term) -> Term:
        """case x of {DC(y1, .., yn) -> C(back y1, .., back yn); ..}"""
        part = lambda f, y: self(f, y, *given)  # noqa: E731
        return self.of.each(type_, x, lambda c, ys: self.of.same(type_, c, ys, part), image=True)
