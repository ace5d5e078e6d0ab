r"""Static fusion: a function as a single operation, by eval at compile time. Krawiec et al. 2022, section 8.7, Fig. 15.

    f : (R, .., R) -> R = \(x1, .., xn). e
    f : (D[R], .., D[R]) -> M D[R] = \((x1, u1), .., (xn, un)).
        let .. in                                             e's operations on numbers, without Deltas
        let .. in                                             what eval 1 of e's Delta multiplies and adds: p1, .., pn
        do {w <- deltaLet (Add (Scale p1 u1) .. (Scale pn un)); pure (y, Var w)}

The figure runs D[e] and then eval, each time that f is called, and says that a compiler could fuse the two, since one
makes the Delta that the other takes apart. Here that happens when f is compiled: D[e] is run on names instead of
numbers (straight.py), and eval, the Python function of stages/relatives/deltas/delta_map.py, on a Delta whose factors
are names. Both write down the operations that they would compute, and no Delta is left but Fig. 14's sum. An
input that f does not use has no term in it.

f is straight-line code: lets, pairs, operations on numbers, and calls of functions that are straight-line code, too. A
branch, a recursion, a vector or data have no Delta at compile time: IllTyped. A result of several numbers binds a sum
for each of them. The figure's own example prints x + sin x as the value of x sin x.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stages.calculus.deltas.monadic import Translation
from stages.calculus.deltas.straight import Code, Number, Straight
from stages.calculus.deltas.terms import Do
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.text.printer import mark
from stages.calculus.transformations.transform import Transformation
from stages.relatives.deltas.delta_data import Var as Id

__all__ = ["fused_function"]


def fused_function(D: Transformation, f: t.Function, known: Mapping[str, t.Function]) -> t.Function:  # noqa: N803
    """D[f] for a straight-line function f from numbers to numbers, as a single operation. IllTyped for others."""
    if not isinstance(D, Translation):
        raise IllTyped(f.body, f"functions are fused for delta-map and delta-array, not for {D.name}")
    image = D.type(f.type)
    assert isinstance(image, ty.Arrow)
    return t.Function(f.name, image, f.parameter, Fusion(D, f, known).body(), f.parameters)


class Fusion:
    """The body of one fused function.

    us, opened    the Deltas of the argument's numbers; how they are taken from the argument
    sums          the sums that are bound, with the names of their ids
    """

    def __init__(self, D: Translation, f: t.Function, known: Mapping[str, t.Function]) -> None:  # noqa: N803
        self.D, self.f = D, f
        self.us: list[Term] = []
        self.opened: list[tuple[tuple[str, str], Term]] = []
        self.sums: list[tuple[str, Term]] = []
        self.argument = self.dual(f.type.argument, Var(f.parameter))
        self.straight = Straight(Code(D.fresh), known, len(self.us), active=(f.name,))

    def body(self) -> Term:
        """let (x1, u1) = .. in .. do {w <- deltaLet (Add ..); pure (y, Var w)}"""
        try:
            value = self.straight.run(self.f.body, {self.f.parameter: self.argument})
        except IllTyped as error:
            raise IllTyped(error.term, error.reason, mark(self.f.body, error.term)) from None
        made: Term = self.D.pure(self.result(value))
        for w, u in reversed(self.sums):
            made = Do(w, t.Apply(self.D.own("deltaLet"), u), made)
        made = self.straight.code.around(made)
        for pattern, x in reversed(self.opened):
            made = let(pattern, x, made)
        return made

    def dual(self, type_: Type, x: Term) -> Any:
        """The argument at compile time: a Number with an id for each of its numbers."""
        match self.D.source.expose(type_):
            case ty.Real():
                pattern = (self.D.fresh("x"), self.D.fresh("u"))
                self.opened.append((pattern, x))
                self.us.append(Var(pattern[1]))
                return Number(Var(pattern[0]), Id(len(self.us) - 1))
            case ty.Pair(first, second):
                return self.dual(first, t.Fst(x)), self.dual(second, t.Snd(x))
            case ty.Unit():
                return ()
        raise self.refused("argument")

    def result(self, v: Any) -> Term:
        """The value with a dual number for each number: Fig. 14's sum of the p that eval finds."""
        if isinstance(v, tuple):
            return t.Tuple(self.result(v[0]), self.result(v[1])) if v else t.Star()
        if not isinstance(v, Number):
            raise self.refused("result")
        pairs = zip(self.straight.eval(v.delta, len(self.us)), self.us, strict=True)
        terms: list[Term] = [self.D.made("Scale", p, u) for p, u in pairs if p is not None]
        if not terms:
            return self.D.constant(v.x)
        self.sums.append((self.D.fresh("u"), self.D.added_up(terms)))
        return t.Tuple(v.x, self.D.made("Var", Var(self.sums[-1][0])))

    def refused(self, what: str) -> IllTyped:
        """The error for a function that is none of numbers."""
        return IllTyped(self.f.body, f"{self.f.name} cannot be fused: its {what} is not made of numbers and pairs")
