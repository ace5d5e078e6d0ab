r"""The rules of CHAD for data; functions.py has those for functions.

Vákár and Smeding 2022. If G |- t : s then D[G]1 |- D[t] : (D[s]1, D[s]2 -o D[G]2), with the types of images.py.

    D[x]            = (x, \_(z). {x: z})                          the cotangent of the environment that is z at x
    D[r], D[()]     = (r, \_(z). 0)                               likewise discrete results
    D[op(ts)]       = let (xi, di) = D[ti] in (op(xs), \_(z). d1 (d1op(xs)(z)) + .. + dn (dnop(xs)(z)))
    D[(s, t)]       = let (x, d) = D[s] in let (y, e) = D[t] in ((x, y), \_(z). d (fst z) + e (snd z))
    D[fst t]        = let (x, d) = D[t] in (fst x, \_(z). d (z, 0))                                      likewise snd
    D[let x = s in t] = let (x, d) = D[s] in let (y, e) = D[t] in (y, \_(z). leave x: zx of e z, and add d zx)
    D[C(ts)]        = let (xi, di) = D[ti] in (C(xs), \_(z). case z of {C(zs) -> d1 z1 + ..; .. -> 0})
    D[case s of {C(xs) -> t; ..}] = let (y, d) = D[s] in case y of {C(xs) -> let (y, e) = D[t] in
                                        (y, \_(z). leave xs: zs of e z, and add d (C(zs))); ..}

`leave x` takes x's part zx from the cotangent of (G, x), and what remains is one of G. A subclass says how the
cotangent of an environment is represented.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from stages.calculus.chad.images import Environment
from stages.calculus.chad.parts import Parts, Typed
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Declarations
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Rules"]


class Rules(Parts):
    """The rules of CHAD for any representation of the cotangents of environments."""

    reads = "Fig. 4"

    def __init__(self, c: Type, declarations: Declarations | None = None, taken: frozenset[str] = frozenset()) -> None:
        super().__init__(c, declarations, taken)
        self.scope: Environment = ()

    # Terms

    def term(self, term: Term) -> Term:
        """D[t], in the environment `scope`."""
        return self.rule(term, self.scope)[0]

    def rule(self, term: Term, scope: Environment) -> Typed:
        """D[t] and the type of t, in an environment."""
        match term:
            case t.Var(name):
                place = max(k for k, (x, _) in enumerate(scope) if x == name)
                kind = scope[place][1]
                return self.dual(term, kind, lambda z: self.one_hot(scope, place, z))
            case t.Star() | t.Integer() | t.Literal():
                kind = {t.Star: ty.UNIT, t.Integer: ty.INT, t.Literal: ty.REAL}[type(term)]
                return self.dual(term, kind, lambda z: self.zero_of(scope))
            case t.Operation(op, arguments):
                return self.operation(op, arguments, scope)
            case t.Discrete(name, arguments):
                xs, _, _, around = self.opened(arguments, scope)
                made, kind = self.dual(
                    t.Discrete(name, tuple(xs)), DISCRETE[name].result, lambda z: self.zero_of(scope)
                )
                return around(made), kind
            case t.Tuple(first, second):
                (x, y), (d, e), kinds, around = self.opened([first, second], scope)
                made, kind = self.dual(
                    t.Tuple(x, y),
                    ty.Pair(*kinds),
                    lambda z: self.halved(z, lambda v, w: self.plus(t.Apply(d, v), t.Apply(e, w))),
                )
                return around(made), kind
            case t.Fst(pair) | t.Snd(pair):
                return self.projection(term, pair, scope)
            case t.Let(x, value, body):
                return self.binding(x, value, body, scope)
            case t.Con(kind, name, arguments):
                return self.construction(kind, name, arguments, scope)
            case t.Case(scrutinee, branches):
                return self.choice_of(scrutinee, branches, scope)
        return self.functional(term, scope)

    @abstractmethod
    def functional(self, term: Term, scope: Environment) -> Typed:
        """D[t] for functions and calls."""

    # The rules

    def operation(self, op: str, arguments: Sequence[Term], scope: Environment) -> Typed:
        """D[op(ts)]"""
        xs, ds, _, around = self.opened(arguments, scope)

        def back(z: Term) -> Term:
            """d1 (d1op(xs)(z)) + .. + dn (dnop(xs)(z))"""
            parts: list[Term] = [t.Apply(d, t.Partial(op, k, tuple(xs), z)) for k, d in enumerate(ds, 1)]
            return self.total(parts, scope)

        return around(self.dual(t.Operation(op, tuple(xs)), ty.REAL, back)[0]), ty.REAL

    def projection(self, term: Term, pair: Term, scope: Environment) -> Typed:
        """D[fst t], D[snd t]"""
        (x,), (d,), (whole,), around = self.opened([pair], scope)
        both = self.source.expose(whole)
        assert isinstance(both, ty.Pair)
        if isinstance(term, t.Fst):
            zero = t.Zero(self.cotangent(both.second))
            made = self.dual(t.Fst(x), both.first, lambda z: t.Apply(d, self.pair(both, z, zero)))
        else:
            zero = t.Zero(self.cotangent(both.first))
            made = self.dual(t.Snd(x), both.second, lambda z: t.Apply(d, self.pair(both, zero, z)))
        return around(made[0]), made[1]

    def binding(self, x: str, value: Term, body: Term, scope: Environment) -> Typed:
        """D[let x = s in t]"""
        bound, kind = self.rule(value, scope)
        d, added = self.fresh("d"), ((x, kind),)
        made, target = self.rule(body, scope + added)
        y, e = self.fresh("y"), self.fresh("d")
        back = self.leaving(scope, added, target, Var(e), lambda zs: t.Apply(Var(d), zs[0]))
        return let((x, d), bound, let((y, e), made, t.Tuple(Var(y), back))), target

    def construction(self, kind: Type, name: str, arguments: Sequence[Term], scope: Environment) -> Typed:
        """D[C(ts)]"""
        xs, ds, _, around = self.opened(arguments, scope)

        def back(z: Term) -> Term:
            """case z of {C(zs) -> d1 z1 + .. + dn zn; .. -> 0}"""
            branches = []
            for c in self.constructors(kind):
                zs = tuple([self.fresh("z") for _ in c.fields])
                parts: list[Term] = [t.Apply(d, Var(w)) for d, w in zip(ds, zs, strict=False)]
                body = self.total(parts, scope) if c.name == name else self.zero_of(scope)
                branches.append(t.Branch(self.named_in(kind, 1, c.name), zs, body))
            return t.Case(z, tuple(branches))

        return around(self.dual(t.Con(self.type(kind), self.named_in(kind, 0, name), tuple(xs)), kind, back)[0]), kind

    def choice_of(self, scrutinee: Term, branches: Sequence[t.Branch], scope: Environment) -> Typed:
        """D[case s of {C(xs) -> t; ..}]"""
        (y,), (d,), (kind,), around = self.opened([scrutinee], scope)
        fields = {c.name: c.fields for c in self.constructors(kind)}
        made, target = [], None
        for branch in branches:
            added = tuple(zip(branch.variables, fields[branch.name], strict=True))
            image = self.named_in(kind, 1, branch.name)

            def use(zs: Sequence[Term], image: str = image) -> Term:
                """d (C(zs))"""
                return t.Apply(d, t.Con(self.cotangent(kind), image, tuple(zs)))

            body, target = self.rule(branch.body, scope + added)
            v, e = self.fresh("y"), self.fresh("d")
            if added:
                body = let((v, e), body, t.Tuple(Var(v), self.leaving(scope, added, target, Var(e), use)))
            made.append(t.Branch(self.named_in(kind, 0, branch.name), branch.variables, body))
        assert target is not None
        return around(t.Case(y, tuple(made))), target
