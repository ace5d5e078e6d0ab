r"""Efficient CHAD: the cotangent of an environment is accumulated in an array.

Smeding and Vákár 2024: the rules of rules.py and functions.py, with

    D[G]2           = Array Acc ->R Array Acc                     EVM: what adds to accumulators, one for each variable
    0, +            = id, composition
    {xi: z}         = addk i z                                    a += z, for the accumulator a of xi
    leave xi: z of b, and add d z       = take i (\z. d z) b      after b, empties the accumulator, and uses its content
    D[(s, t)]2      = Both D[s]2 D[t]2                            sparse: 0 is not (0, 0)

    data Acc = Empty | A1 t1 | A2 t2 ..                           a constructor for each type of variables
    addk  : Int -> tk -o D[G]2 = \i. \_(z). \R(a). modify i (\b. Ak(z) + b) a
    readk : Acc -o tk          = \_(a). case a of {Ak(z) -> z; .. -> 0}
    take  : Int -> (Acc -> D[G]2) -> D[G]2 -> D[G]2
    take i f b = \R(a). letR a = b a in letR (!z, a) = get i a in f z (set i 0 a)
    run   : Int -> D[G]2 -> IArray Acc       = \n. \b. alloc n 0 (\R(a). freeze (b a))

    Wrap[\(x : s). t] = \(x : s). let (y, e) = D[t] in (y, linear(\(z : t). dense (x, (run n (e (sparse z))) @ 0)))

Variables are numbered from the outermost to the innermost of a function, so that an accumulator is a place on a stack,
whose depth n is known. A function's body has an array of its own, with an accumulator for each variable that it
captures; F(zs) has their contents. An addition of two cotangents visits what both have, and nothing else: summed over a
program that costs no more than the program does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stages.calculus.chad.accumulators import Accumulators
from stages.calculus.chad.images import Captured, Environment
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.occurrences import free

__all__ = ["Efficient"]


class Efficient(Accumulators):
    """CHAD with an array of accumulators."""

    name, language = "efficient-chad", "D4"
    changed = ((ty.Arrow,), (ty.Arrow, ty.Pair))

    def rule(self, term: Term, scope: Environment) -> tuple[Term, Type]:
        """D[t] and the type of t; counts accumulators."""
        self.deepest = max(self.deepest, len(scope))
        return super().rule(term, scope)

    def leaving(
        self, scope: Environment, added: Environment, kind: Type, e: Term, use: Callable[[Sequence[Term]], Term]
    ) -> Term:
        r"""linear(\(z). take i1 (\a1. .. take in (\an. use(read a1, .., read an)) id) (e z))"""
        z, names = self.fresh("z"), [self.fresh("a") for _ in added]
        body = use([self.read(t_, Var(a)) for a, (_, t_) in zip(names, added, strict=True)])
        for k in reversed(range(len(added))):
            before = t.Apply(e, Var(z)) if k == 0 else self.zero_of(scope)
            body = t.Apply(t.Apply(self.own("take"), t.Integer(len(scope) + k)), t.Lambda(names[k], self.acc, body))
            body = t.Apply(body, before)
        return t.Claim(t.Lambda(z, self.cotangent(kind), body))

    # Functions

    def captured(self, term: Term, group: Environment, scope: Environment) -> tuple[int, ...]:
        """The free variables of the functions."""
        names = free(term)
        if isinstance(term, t.Letrec):
            names = {x for f in term.functions for x in free(f.body) - {f.parameter}} - {f for f, _ in group}
        places = {x: k for k, (x, _) in enumerate(scope)}
        return tuple(sorted(places[x] for x in names))

    def function(
        self, closure: Captured, group: Environment, x: str, source: Type, body: Term
    ) -> tuple[t.Lambda, Type]:
        r"""The primal of \(x : source). body, and the type of the body, with its own accumulators."""
        outer, self.deepest = self.deepest, 0
        made = super().function(closure, group, x, source, body)
        self.deepest = outer
        return made

    def returning(self, closure: Captured, inner: Environment, group: int, kind: Type, e: Term) -> Term:
        r"""linear(\(z). (\a. (F(read (a @ 0), ..) + .., read (a @ n))) (run n (e z)))"""
        a, n = self.fresh("a"), len(closure.places)
        parts = [self.read(t_, t.Primitive("at", (Var(a), t.Integer(k)))) for k, (_, t_) in enumerate(inner)]
        made = self.sum_of([t.Con(self.closure, closure.name, tuple(parts[:n])), *parts[n : n + group]])
        return self.collected(a, self.cotangent(kind), e, t.Tuple(made, parts[-1]))

    def collected(self, a: str, kind: Type, e: Term, body: Term) -> Term:
        r"""linear(\(z : kind). (\a. body) (run n (e z)))"""
        z = self.fresh("z")
        run = t.Apply(t.Apply(self.own("run"), t.Integer(self.deepest)), t.Apply(e, Var(z)))
        return t.Claim(t.Lambda(z, kind, t.Apply(t.Lambda(a, ty.FrozenArray(self.acc), body), run)))

    def reopened(self, closure: Captured, zs: Sequence[Term]) -> Term:
        """addk1 i1 z1 . .."""
        parts = [self.one_hot(closure.outside, place, z) for place, z in zip(closure.places, zs, strict=True)]
        return self.total(parts, closure.outside)

    # The wrapper

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        r"""let (y, e) = D[t] in (y, linear(\(z : t). dense (x, (run n (e (sparse z))) @ 0)))"""
        self.scope = ((x, source),)
        y, e, z, a, d, given = (self.fresh(name) for name in ("y", "d", "z", "a", "d", "x"))
        made = inner()
        content = self.read(source, t.Primitive("at", (Var(a), t.Integer(0))))
        c = self.fresh("z")
        body = t.Let(c, content, self.dense(source, Var(given), Var(c)))
        back = self.collected(a, target, Var(d), body)
        seeded = t.LinearLambda(z, target, t.Apply(Var(e), self.sparse(target, Var(z))))
        return t.Let(given, Var(x), let((y, e), made, t.Let(d, seeded, t.Tuple(Var(y), back))))
