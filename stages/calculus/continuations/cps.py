r"""Reverse AD in continuation-passing style, without any control operators: Wang et al. 2019, Fig. 11.

D[e] is a function of the metalanguage, Python. It maps K, which uses e's value to build a term, to a term. `_` marks
applications in Python, as the paper's overline does; everything else is a term.

    D[R] = (R, Ref R)        D[s -> t] = D[s] -> (D[t] -> ()) -> ()        D[Ref t] = Ref D[t]
    D[c] K = K_ c or K_ (c, ref 0)                  D[y] K = K_ y
    D[e1 * e2] K = D[e1]_ (\p1. D[e2]_ (\p2. let (y1, y1') = p1 in let (y2, y2') = p2 in
                       let (y, y') = (y1 * y2, ref 0) in K_ (y, y'); y1' += !y' * y2; y2' += !y' * y1))
    D[\y. e] K = K_ (\y. \k. D[e]_ (\m. k m))
    D[e1 e2] K = D[e1]_ (\m. D[e2]_ (\n. (m n) (\~a. K_ a)))
    D[let y = e1 in e2] K = D[e1]_ (\y1. let y = y1 in D[e2]_ K)
    D[fst e] K = D[e]_ (\y. K_ (fst y))             snd, inl, inr, data and discrete operations likewise
    D[ref e] K = D[e]_ (\y. let r = ref y in K_ r)  !e and e := e' likewise
    D[(e1, e2)] K = D[e1]_ (\y1. D[e2]_ (\y2. K_ (y1, y2)))
    D[case e of ..] K = let~ k = \~a. K_ a in D[e]_ (\v. case v of {y1 -> D[e1]_ (\m. k m); ..})
    D[letrec f = \x. e1 in e2] K = letrec f = \x. \k1. D[e1]_ (\m. k1 m) in D[e2]_ K                    section 4.3
    \~a. e a  ~>  e        let~ y = x in e  ~>  e[y := x]                             for variables e: proper tail calls
    Transform(f) = \x. let (x, x') = (x, ref 0) in D[f]_ (\m. (m (x, x')) (\z. let (z, z') = z in z' := 1.0)); !x'

In the paper, D[ref e], D[!e] and D[e1 := e2] pass `ref y`, `!y` and `y1 := y2` themselves to K. Later parts of the
program may then be evaluated before them: (!c, c := 1.0) would read 1.0. Here a let binds them in place.

In functional.py a state accompanies the value: s below, which is empty here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stages.calculus.continuations.distinct import Names, Types, renamed
from stages.calculus.continuations.forward import WithCells
from stages.calculus.continuations.shift_reset import there_and_back
from stages.calculus.continuations.terms import Assign, Read, Ref, sequence
from stages.calculus.continuations.wrapper import Reverse
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.sugar import Pattern, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Cps", "State", "Then"]

State = tuple[Term, ...]
Then = Callable[..., Term]  # K: of a term, and of the state


class Cps(WithCells, Reverse):
    """Reverse AD in continuation-passing style: Fig. 11."""

    name = "cps"
    language = "cells"

    def arrow(self, argument: Type, result: Type) -> Type:
        """D[s -> t] = D[s] -> (D[t] -> ()) -> ()"""
        return ty.Arrow(self.with_state(argument), ty.Arrow(self.continuation(result), self.answer()))

    def continuation(self, result: Type) -> Type:
        """The type of k, whose argument is a D[t]."""
        return ty.Arrow(self.with_state(result), self.answer())

    # Terms

    def term(self, term: Term) -> Term:
        r"""D[e] with the empty continuation, for a function; other terms are eta-expanded first."""
        term = self.prepared(term, {})
        if not isinstance(term, t.Lambda):
            kind = self.source.expose(self.types[id(term)])
            assert isinstance(kind, ty.Arrow)
            x = self.fresh("x")
            inner = self.called(term, Var(x))
            return self.with_k(x, kind.argument, kind.result, lambda k, s: inner(x, kind.argument, s, self.applied(k)))
        return self.cps(term, (), lambda m, s: m)

    def prepared(self, term: Term, environment: dict[str, Type]) -> Term:
        """Rename the term's variables apart, and remember its types."""
        names = Names(set(environment))
        term = renamed(term, names)
        self.types = Types.of(term, environment, self.source, self.reads)
        self.taken |= names.taken
        return term

    def typed(self, term: Term) -> Type:
        """D of the type of a part of the program."""
        return self.type(self.types[id(term)])

    def cps(self, term: Term, s: State, then: Then) -> Term:
        """D[e] K"""
        match term:
            case t.Var() | t.Star() | t.Integer():
                return then(term, s)
            case t.Literal():
                return then(self.constant(term), s)
            case t.Operation(op, arguments):
                return self.all(arguments, s, lambda ps, s: self.operated(op, ps, s, then))
            case t.Lambda(y, kind, body):
                result = self.types[id(body)]
                return then(self.with_k(y, kind, result, lambda k, s: self.cps(body, s, self.applied(k))), s)
            case t.Apply(e1, e2):
                k = lambda: self.reified(then, self.typed(term))  # noqa: E731
                return self.all((e1, e2), s, lambda mn, s: t.Apply(t.Apply(mn[0], self.packed(mn[1], s)), k()))
            case t.Let(y, e1, e2):
                return self.cps(e1, s, lambda y1, s: t.Let(y, y1, self.cps(e2, s, then)))
            case t.Fst(e):
                return self.cps(e, s, lambda y, s: then(t.Fst(y), s))
            case t.Snd(e):
                return self.cps(e, s, lambda y, s: then(t.Snd(y), s))
            case Ref(e):
                return self.cps(e, s, lambda y, s: self.bound("r", Ref(y), s, then))
            case Read(e):
                return self.cps(e, s, lambda y, s: self.bound("r", Read(y), s, then))
            case Assign(e1, e2):
                return self.all((e1, e2), s, lambda ys, s: self.bound("u", Assign(*ys), s, then))
            case t.Tuple(e1, e2):
                return self.all((e1, e2), s, lambda ys, s: then(t.Tuple(*ys), s))
            case t.Con(kind, name, arguments):
                return self.all(arguments, s, lambda ys, s: then(self.constructor(kind, name, tuple(ys)), s))
            case t.Discrete(_, arguments):
                return self.all(arguments, s, lambda ys, s: then(self.on_values(term, ys), s))
            case t.Case(e, branches):
                return self.choose(e, branches, self.reified(then, self.typed(term)), s)
            case t.Letrec(functions, body):
                return t.Letrec(tuple([self.recursive_one(f) for f in functions]), self.cps(body, s, then))
        raise AssertionError(term)

    def all(self, terms: Sequence[Term], s: State, then: Callable[[list[Term], State], Term]) -> Term:
        """D[e1]_ (\\y1. .. D[en]_ (\\yn. then_ (y1, .., yn)))"""
        if not terms:
            return then([], s)
        return self.cps(terms[0], s, lambda y, s: self.all(terms[1:], s, lambda ys, s: then([y, *ys], s)))

    def bound(self, name: str, value: Term, s: State, then: Then) -> Term:
        """let r = value in K_ r"""
        r = self.fresh(name)
        return t.Let(r, value, then(Var(r), s))

    def operated(self, op: str, ps: list[Term], s: State, then: Then) -> Term:
        """let (y1, y1') = p1 in .. in let (y, y') = (op(..), ref 0) in K_ (y, y'); y1' += ..; ..; yn' += .."""
        names = [(self.fresh("x"), self.fresh("d")) for _ in ps]
        y, d = self.fresh("y"), self.fresh("d")
        xs, ds = [Var(x) for x, _ in names], [Var(d) for _, d in names]
        return lets(names, ps, there_and_back(op, xs, ds, (y, d), then(t.Tuple(Var(y), Var(d)), s)))

    def on_values(self, term: t.Discrete, ys: list[Term]) -> Term:
        """An operation with a discrete result, on the values; `real` makes a constant."""
        line = DISCRETE[term.name]
        reals = [k == ty.REAL for k in line.arguments]
        made = t.Discrete(term.name, tuple([t.Fst(y) if real else y for y, real in zip(ys, reals, strict=True)]))
        return self.constant(made) if line.result == ty.REAL else made

    def choose(self, e: Term, branches: tuple[t.Branch, ...], whole: Term, s: State) -> Term:
        """let~ k = .. in D[e]_ (\\v. case v of ..)"""
        k = whole if isinstance(whole, Var) else Var(self.fresh("k"))

        def case(v: Term, s: State) -> Term:
            """The case on v, whose branches all pass their value to k."""
            made = [t.Branch(self.image(b.name), b.variables, self.cps(b.body, s, self.applied(k))) for b in branches]
            return t.Case(v, tuple(made))

        made = self.cps(e, s, case)
        return made if k is whole else t.Let(k.name, whole, made)

    def recursive_one(self, f: t.Function) -> t.Function:
        """f = \\x. \\k1. D[e1]_ (\\m. k1 m)"""
        kind = self.type(f.type)
        assert isinstance(kind, ty.Arrow)
        function = self.with_k(
            f.parameter, f.type.argument, f.type.result, lambda k, s: self.cps(f.body, s, self.applied(k))
        )
        return t.Function(f.name, kind, function.name, function.body)

    # Functions of the target language, and continuations

    def with_k(self, y: str, argument: Type, result: Type, body: Callable[[Var, State], Term]) -> t.Lambda:
        """\\y. \\k. body"""
        k = self.fresh("k")
        continuation = self.continuation(self.type(result))
        return self.taking(y, self.type(argument), lambda s: t.Lambda(k, continuation, body(Var(k), s)))

    def applied(self, k: Var) -> Then:
        r"""\m. k m, in the metalanguage"""
        return lambda m, s: t.Apply(k, self.packed(m, s))

    def reified(self, then: Then, kind: Type) -> Term:
        r"""\~a. K_ a, for an a of this type"""
        a = self.fresh("a")
        called: list[Term] = []

        def body(s: State) -> Term:
            """K_ a, noting a variable that it only applies to a."""
            made = then(Var(a), s)
            if isinstance(made, t.Apply) and made.argument == self.packed(Var(a), s) and isinstance(made.function, Var):
                called.append(made.function)
            return made

        made = self.taking(a, kind, body)
        return called[0] if called else made

    # The state that goes along with a value: there is none

    def with_state(self, kind: Type) -> Type:
        """The argument type of a function that takes this type: without a state here."""
        return kind

    def packed(self, m: Term, s: State) -> Term:
        """The argument of a function call: the value, without a state here."""
        return m

    def taking(self, x: str, kind: Type, body: Callable[[State], Term]) -> t.Lambda:
        """\\x. body"""
        return t.Lambda(x, kind, body(()))

    # Transform

    def on(self, term: Term, *state: Any) -> Term:
        """D[e] K, for a term e in which x has this type."""
        x, kind, s, then = state
        return self.cps(self.prepared(term, {x: kind}), s, then)

    def called(self, function: Term, x: Term) -> Callable[..., Term]:
        """A function that makes D[function x] K from the state and K."""
        return lambda *state: self.on(t.Apply(function, x), *state)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let x = Interleave x in D[e]_ (\\y. let y = y in Seed (y, ct)); Collect x"""

        def body(v: Var, ct: Var) -> Term:
            """Interleave the input, run the program up to the seed, and collect the cotangents."""
            y = self.fresh("y")
            there = inner(x, source, (), lambda m, s: t.Let(y, m, self.seed(target, Var(y), ct)))
            return t.Let(x, self.interleave_cells(source, v), sequence([there], self.collect(source, Var(x))))

        return self.given(x, body)


def lets(patterns: Sequence[Pattern], values: Sequence[Term], body: Term) -> Term:
    """let p1 = e1 in .. in body"""
    for pattern, value in reversed(list(zip(patterns, values, strict=True))):
        body = let(pattern, value, body)
    return body
