r"""Reverse AD by shift and reset in the metalanguage: Wang et al. 2019, Fig. 10.

The rules are in direct style, as in Fig. 9, but their results are in continuation-passing style, as in Fig. 11: shift_
captures, and <..>_ delimits, Python's continuations, by greenlets (stages/relatives/continuations/control.py). `_`
marks the metalanguage, as the paper's overline does.

    D[e1 * e2] = shift_ k in let (y1, y1') = D[e1] in let (y2, y2') = D[e2] in
                 let (y, y') = (y1 * y2, ref 0) in k_ (y, y'); y1' += !y' * y2; y2' += !y' * y1
    D[\y. e] = \y. \k. <k D[e]>_                    D[e1 e2] = shift_ k in (D[e1] D[e2]) (\~a. k_ a)
    D[let y = e1 in e2] = shift_ k in let y = D[e1] in <k_ D[e2]>_
    D[case e of ..] = shift_ k in let~ k1 = \~a. k_ a in case D[e] of {y1 -> <k1 D[e1]>_; ..}
    D[letrec f = \x. e1 in e2] = shift_ k in letrec f = \x. \k1. <k1 D[e1]>_ in <k_ D[e2]>_             section 4.3
    everything else keeps its structure; ref, ! and := are bound in place by a let, as in cps.py
    Transform(f) = \x. let (x, x') = (x, ref 0) in <(D[f] (x, x')) (\z. let (z, z') = z in z' := 1.0)>_; !x'

Every k is called once, so one-shot continuations suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stages.calculus.continuations.cps import Cps, State, Then
from stages.calculus.continuations.terms import Assign, Read, Ref
from stages.calculus.language import terms as t
from stages.calculus.language.terms import Term, Var
from stages.relatives.continuations.control import reset, shift

__all__ = ["Meta"]


class Meta(Cps):
    """Reverse AD by shift and reset in Python: Fig. 10. ImportError without greenlet."""

    name = "meta"

    def cps(self, term: Term, s: State, then: Then) -> Term:
        """<then D[e]>_"""
        made: Term = reset(lambda: then(self.d(term), s))
        return made

    def d(self, term: Term) -> Term:
        """D[e]"""
        match term:
            case t.Var() | t.Star() | t.Integer():
                return term
            case t.Literal():
                return self.constant(term)
            case t.Operation(op, arguments):
                return self.shift(lambda k: self.operated(op, self.each_of(arguments), (), lambda y, s: k(y)))
            case t.Lambda(y, kind, body):
                return self.with_k(y, kind, self.types[id(body)], lambda k1, s: self.cps(body, s, self.applied(k1)))
            case t.Apply(e1, e2):
                return self.shift(lambda k: self.call(self.each_of((e1, e2)), self.reified(_only(k), self.typed(term))))
            case t.Let(y, e1, e2):
                return self.shift(lambda k: t.Let(y, self.d(e1), self.cps(e2, (), _only(k))))
            case t.Fst(e) | t.Snd(e):
                return type(term)(self.d(e))
            case Ref(e) | Read(e):
                return self.kept("r", type(term)(self.d(e)))
            case Assign(e1, e2):
                return self.kept("u", Assign(*self.each_of((e1, e2))))
            case t.Tuple(e1, e2):
                return t.Tuple(*self.each_of((e1, e2)))
            case t.Con(kind, name, arguments):
                return self.constructor(kind, name, tuple(self.each_of(arguments)))
            case t.Discrete(_, arguments):
                return self.on_values(term, self.each_of(arguments))
            case t.Case(e, branches):
                return self.shift(lambda k: self.choose_one(e, branches, self.reified(_only(k), self.typed(term))))
            case t.Letrec(functions, body):
                made = tuple([self.recursive_one(f) for f in functions])
                return self.shift(lambda k: t.Letrec(made, self.cps(body, (), _only(k))))
        raise AssertionError(term)

    def each_of(self, terms: tuple[Term, ...]) -> list[Term]:
        """D[e1], .., D[en]"""
        return [self.d(term) for term in terms]

    def shift(self, body: Callable[[Callable[[Term], Term]], Term]) -> Term:
        """shift_ k in body"""
        made: Term = shift(body)
        return made

    def call(self, mn: list[Term], k: Term) -> Term:
        """(m n) k"""
        return t.Apply(t.Apply(*mn), k)

    def kept(self, name: str, value: Term) -> Term:
        """shift_ k in let r = value in k_ r"""
        return self.shift(lambda k: self.bound(name, value, (), _only(k)))

    def choose_one(self, e: Term, branches: tuple[t.Branch, ...], whole: Term) -> Term:
        """let~ k1 = .. in case D[e] of ..; the let also encloses the continuation of D[e]"""
        k1 = whole if isinstance(whole, Var) else Var(self.fresh("k"))
        made = [t.Branch(self.image(b.name), b.variables, self.cps(b.body, (), self.applied(k1))) for b in branches]
        case = t.Case(self.d(e), tuple(made))
        return case if k1 is whole else t.Let(k1.name, whole, case)


def _only(k: Callable[[Term], Term]) -> Callable[..., Any]:
    """k, called without a state."""
    return lambda m, s: k(m)
