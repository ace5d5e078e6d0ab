r"""D4 defunctionalised: section 8.2, Fig. 10.

    D[R] = (R, (Int, Contrib))                   data Contrib = Nil | Cons R (Int, Contrib) Contrib
    D[r] i = ((r, (i, [])), i + 1)
    D[op(t1, .., tn)] i = let ((x1, u1), i1) = D[t1] i in .. in let ((xn, un), in) = D[tn] i(n-1)
        in ((op(x1, .., xn), (in, [(d1op(x1, .., xn)(1), u1), .., (dnop(x1, .., xn)(1), un)])), in + 1)

    Staged = Array (Contrib, R)                  ids that were not called have ([], 0)
    SCall (i, c) a = \R(m). modify i (\(_, a'). (c, a + a')) m
    SApply [] = \_(z : R). id
    SApply ((p, u) : c) = \_(z : R). SCall u (z p) . SApply c z
    SResolve i_out = loop (i_out - 1)
        where loop i = if i < 0 then id else \R(m). letR (!(c, a), m) = get i m in loop (i - 1) (SApply c a m)

    Interleave_R x i = (((x, (i, [])), \m. snd (m @ i)), i + 1)
    Wrap: as in collectorless

SApply is the paper's meaning of a Contrib: the backpropagator that the list represents. Backpropagators have three
forms. Two of them do nothing, and become []. An operation's backpropagator is linear in z, so its partial derivatives
at 1 determine it; the forward pass computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.collectorless import Collectorless

__all__ = ["Contrib"]


class Contrib(Collectorless):
    """D4 defunctionalised: section 8.2."""

    name = "contrib"
    language = "D4"

    def backpropagator(self) -> Type:
        """(Int, Contrib)"""
        return ty.Pair(ty.INT, self.contrib)

    @property
    def contrib(self) -> ty.Named:
        """Contrib"""
        return self.own_type("Contrib")

    def delayed(self) -> Type:
        """(Contrib, R)"""
        return ty.Pair(self.contrib, ty.REAL)

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Contrib and Staged"""
        nil, cons = Constructor("Nil", ()), Constructor("Cons", (ty.REAL, self.backpropagator(), self.contrib))
        return {self.contrib.name: DataType(self.contrib.name, (), (nil, cons)), **super().synonyms()}

    # On terms

    def nil(self) -> Term:
        """[]"""
        return t.Con(self.contrib, "Nil", ())

    def contributions(self, op: str, xs: list[Var], us: list[Var]) -> Term:
        """[(d1op(x1, .., xn)(1), u1), .., (dnop(x1, .., xn)(1), un)]"""
        made = self.nil()
        for k, u in reversed(list(enumerate(us, 1))):
            made = t.Con(self.contrib, "Cons", (t.Partial(op, k, tuple(xs), t.Literal(1.0)), u, made))
        return made

    def constant_at(self, r: Term, i: Term) -> Term:
        """((r, (i, [])), i + 1)"""
        return self.pure(t.Tuple(r, t.Tuple(i, self.nil())), self.next(i))

    def operation_at(self, op: str, xs: list[Var], ds: list[Var], i: Term) -> Term:
        """((op(x1, .., xn), (i, [..])), i + 1)"""
        dual = t.Tuple(t.Operation(op, tuple(xs)), t.Tuple(i, self.contributions(op, xs, ds)))
        return self.pure(dual, self.next(i))

    # The interface

    def interface(self) -> tuple[Definition, ...]:
        """SAlloc, SCall, SApply, SResolve"""
        return self.allocating(), self.calling(), self.applying(), *self.resolving()

    def unused(self) -> Term:
        """([], 0)"""
        return t.Tuple(self.nil(), t.Literal(0.0))

    def called_with(self) -> tuple[str, Type]:
        """The name and type of the contributions that a delayed call stores."""
        return "c", self.contrib

    def applying(self) -> Definition:
        """SApply c"""
        z, p, rest = Var("z"), Var("p"), t.Apply(self.own("SApply"), Var("rest"))
        scaled = t.Partial("mul", 1, (t.Literal(1.0), p), z)  # z p, linear in z
        both = t.Compose(self.call(Var("u"), scaled), t.Apply(rest, z))
        branches = (
            t.Branch("Nil", (), t.LinearLambda("z", ty.REAL, self.zero())),
            t.Branch("Cons", ("p", "u", "rest"), t.LinearLambda("z", ty.REAL, both)),
        )
        body = t.Lambda("c", self.contrib, t.Case(Var("c"), branches))
        return Definition(self.own("SApply").name, ty.Arrow(self.contrib, self.linear()), body)

    def resolved_at(self, f: Term, a: Term, m: Term) -> Term:
        """SApply c a m"""
        return t.Apply(t.Apply(t.Apply(self.own("SApply"), f), a), m)

    # The wrapper

    def entry(self, x: Term, i: Term, rebuild: Callable[[Term], Term]) -> Term:
        """(((x, (i, [])), rebuild i), i + 1)"""
        return self.pure(t.Tuple(t.Tuple(x, t.Tuple(i, self.nil())), rebuild(i)), self.next(i))
