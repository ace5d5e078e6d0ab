r"""Lazy towers: all derivatives at once. Krawiec et al. 2022, section 8.6, after Karczmarczuk 1998.

    D[R] = Tower        data Tower = T R (() -> Tower)     x(t) at t = 0, and the tower of x'(t), made when asked for
    D[r] = T(r, nothing)                                       nothing () = T(0, nothing)
    D[op(s1, .., sn)] = op_T (D[s1], .., D[sn]), with one definition for each operation:
        op_T (x1, .., xn) = T(op(value x1, .., value xn), \(). let dxi = rest xi in let y = op_T (x1, .., xn) in
                              D[dx1 * d1op(x1, .., xn) + .. + dxn * dnop(x1, .., xn)])
    everything else as in forward AD

    value (T(x, d)) = x                   rest (T(x, d)) = d ()
    nth (k, x) = if k < 1 then value x else nth (k - 1, rest x)
    Wrap[\(x : s). t] = \(x, dx : (s, s)). let y = D[t] at x = T(x, \(). T(dx, nothing)) in \(k : Int). nth_t (k, y)

Wrap gives a function of k: the k-th derivative of the program along x + t dx at t = 0. The rule of an operation is the
chain rule, a term of the source language (continuations/partials.py), and D applies to it again: mul_T calls mul_T and
add_T, sin_T calls cos_T. So finitely many definitions serve all orders, where pairs, triples and quadruples need a new
rule for each. The result is a program of the source language.

The paper names the tower, without details. In Karczmarczuk's Haskell, a tower is evaluated once and kept. Here it is
made again for each use, so the k-th derivative takes time exponential in k. stages/relatives/towers.py keeps it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from dualrev.rules.primitives import PRIMITIVES
from stages.calculus.continuations.partials import mentions, partial, times
from stages.calculus.deltas.back import Back
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.sugar import Pattern, if_, lambda_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.forward import Forward

__all__ = ["Tower"]

_THUNK = "u"


class Tower(Forward):
    """Forward AD with lazy towers of derivatives: section 8.6."""

    name = "tower"
    language = "source"

    @functools.cached_property
    def operations(self) -> dict[str, Definition | None]:
        """The definitions of op_T, by operation; None for those that interface has yet to make."""
        return {}

    def scalar(self) -> ty.Named:
        """D[R] = Tower"""
        return self.own_type("Tower")

    def thunk(self) -> Type:
        """() -> Tower"""
        return ty.Arrow(ty.UNIT, self.scalar())

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """data Tower = T R (() -> Tower)"""
        name = self.scalar().name
        return {name: DataType(name, (), (Constructor("T", (ty.REAL, self.thunk())),))}

    def made(self, x: Term, rest: Term) -> Term:
        """T(x, rest)"""
        return t.Con(self.scalar(), "T", (x, rest))

    def later(self, body: Term) -> Term:
        r"""\(). body"""
        return t.Lambda(self.fresh(_THUNK), ty.UNIT, body)

    def call(self, name: str, x: Term) -> Term:
        """A function of this transformation, applied."""
        return t.Apply(self.own(name), x)

    # On terms

    def constant(self, r: Term) -> Term:
        """T(r, nothing)"""
        return self.made(r, self.own("nothing"))

    def term(self, term: Term) -> Term:
        """D[t]"""
        if isinstance(term, t.Operation):
            return self.call(self.operator(term.name), _tuple([self.term(a) for a in term.arguments]))
        return super().term(term)

    def scalars(self, arguments: tuple[Term, ...], use: Callable[[list[Var], list[Var]], Term]) -> Term:
        """let x1 = value D[s1] in .. in use(x1..xn, ..), for operations with a discrete result"""
        names = [self.fresh("x") for _ in arguments]
        made = use([Var(x) for x in names], [])
        for name, argument in zip(reversed(names), reversed(arguments), strict=True):
            made = t.Let(name, self.call("value", self.term(argument)), made)
        return made

    def operator(self, op: str) -> str:
        """The name of op_T, which interface will define."""
        self.operations.setdefault(op, None)
        return f"{op}_T"

    def defined(self, op: str, count: int) -> Definition:
        r"""op_T = \(x1, .., xn). T(op(value x1, ..), \(). ..)"""
        xs, ds, y = [self.fresh("x") for _ in range(count)], [self.fresh("d") for _ in range(count)], self.fresh("y")
        sums = [times(Var(d), partial(op, k, [Var(x) for x in xs], Var(y))) for k, d in enumerate(ds)]
        chain = functools.reduce(lambda left, right: t.Operation("add", (left, right)), sums)
        body = self.term(chain)
        if mentions(chain, y):
            body = t.Let(y, self.call(self.operator(op), _tuple([Var(x) for x in xs])), body)
        for x, d in zip(reversed(xs), reversed(ds), strict=True):
            body = t.Let(d, self.call("rest", Var(x)), body)
        value = t.Operation(op, tuple([self.call("value", Var(x)) for x in xs]))
        towers: Type = self.scalar()
        for _ in range(count - 1):
            towers = ty.Pair(self.scalar(), towers)
        pattern: Pattern = xs[-1]
        for x in reversed(xs[:-1]):
            pattern = (x, pattern)
        function = lambda_(pattern, towers, self.made(value, self.later(body)))
        return Definition(self.own(self.operator(op)).name, ty.Arrow(towers, self.scalar()), function)

    def interface(self) -> tuple[Definition, ...]:
        """value, rest, nothing and nth, and op_T for each operation that is used, also by another op_T."""
        tower, w, k = self.scalar(), self.fresh("w"), self.fresh("k")

        def taken(use: Callable[[Var, Var], Term]) -> Term:
            r"""\(w : Tower). case w of {T(x, d) -> ..}"""
            x, d = self.fresh("x"), self.fresh("d")
            return t.Lambda(w, tower, t.Case(Var(w), (t.Branch("T", (x, d), use(Var(x), Var(d))),)))

        again = self.call("nth", t.Tuple(t.Discrete("-#", (Var(k), t.Integer(1))), self.call("rest", Var(w))))
        choice = if_(t.Discrete("<#", (Var(k), t.Integer(1))), self.call("value", Var(w)), again)
        numbered = ty.Pair(ty.INT, tower)
        made = (
            (("value", ty.Arrow(tower, ty.REAL), taken(lambda x, _: x))),
            (("rest", ty.Arrow(tower, tower), taken(lambda _, d: t.Apply(d, t.Star())))),
            (("nothing", self.thunk(), self.later(self.made(t.Literal(0.0), self.own("nothing"))))),
            (("nth", ty.Arrow(numbered, ty.REAL), lambda_((k, w), numbered, choice))),
        )
        while op := next((op for op, known in self.operations.items() if known is None), None):
            self.operations[op] = self.defined(op, len(PRIMITIVES[op].partials))
        common = [Definition(self.own(name).name, kind, term) for name, kind, term in made]
        return (*common, *[d for d in self.operations.values() if d is not None])

    # The wrapper

    def zip(self, type_: Type, x: Term, dx: Term) -> Term:
        r"""T(x, \(). T(dx, nothing)) for a real; otherwise Interleave of forward AD."""
        if isinstance(self.source.expose(type_), ty.Real):
            return self.made(x, self.later(self.constant(dx)))
        return super().zip(type_, x, dx)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        r"""let x = Interleave (x, dx) in let y = D[t] in \(k : Int). nth (k, y)"""
        y, k = self.fresh("y"), self.fresh("k")
        nth = Back("nth", self, lambda k, u: self.call("nth", t.Tuple(k, u)), given=ty.INT)
        found = t.Let(y, inner(), t.Lambda(k, ty.INT, nth(target, Var(y), Var(k))))
        return self.halves(Var(x), lambda v, dv: t.Let(x, self.zip(source, v, dv), found))


def _tuple(parts: list[Term]) -> Term:
    """(t1, (t2, .. tn))"""
    return functools.reduce(lambda right, left: t.Tuple(left, right), reversed(parts))
