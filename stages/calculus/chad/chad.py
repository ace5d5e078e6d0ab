r"""CHAD: the cotangent of an environment is a tuple with a part for each variable.

Vákár and Smeding 2022: the rules of rules.py and functions.py, with

    D[x1 : t1, .., xn : tn]2 = (((), D[t1]2), .., D[tn]2)         0 and + of tuples: part by part
    {x: z}                   = (((), 0), .., z, .., 0)
    leave x: zx of b, and add d zx      = (\_(w). fst w + d (snd w)) b
    F(zs)                               has a field for each variable of G
    Wrap[\(x : s). t]        = \(x : s). let (y, e) = D[t] in (y, \_(z). snd (e z))

Each of 0, + and {x: z} costs O(size of D[G]2), however few of the variables a term uses. `efficient` mends that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stages.calculus.chad.functions import Functions
from stages.calculus.chad.images import Captured, Environment
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Chad"]


class Chad(Functions):
    """CHAD, with tuples as cotangents of environments."""

    name, language = "chad", "D1"

    def environment_type(self, scope: Environment) -> Type:
        """D[G]2"""
        made: Type = ty.UNIT
        for _, kind in scope:
            made = ty.Pair(made, self.cotangent(kind))
        return made

    def zero_of(self, scope: Environment) -> Term:
        """0 : D[G]2"""
        return t.Zero(self.environment_type(scope))

    def plus(self, left: Term, right: Term) -> Term:
        """b + b' : D[G]2"""
        return t.Plus(left, right)

    def one_hot(self, scope: Environment, place: int, z: Term) -> Term:
        """(((), 0), .., z, .., 0)"""
        made: Term = t.Tuple(self.zero_of(scope[:place]), z)
        for _, kind in scope[place + 1 :]:
            made = t.Tuple(made, t.Zero(self.cotangent(kind)))
        return made

    def leaving(
        self, scope: Environment, added: Environment, kind: Type, e: Term, use: Callable[[Sequence[Term]], Term]
    ) -> Term:
        r"""\_(z). (\_(w). w0 + use(w1, .., wn)) (e z)"""

        def leave(w: Term) -> Term:
            """w0 + use(w1, .., wn)"""
            outer, parts = split(w, len(added))
            return self.plus(outer, use(parts))

        return self.linear(kind, lambda z: self.then(t.Apply(e, z), self.environment_type(scope + added), leave))

    def returning(self, closure: Captured, inner: Environment, group: int, kind: Type, e: Term) -> Term:
        r"""\_(z). (\_(w). (F(w1, .., wn) + f1 + .., x)) (e z)"""

        def back(w: Term) -> Term:
            """(F(w1, .., wn) + f1 + .., x)"""
            _, parts = split(w, len(inner))
            n = len(closure.fields)
            made = t.Con(self.closure, closure.name, tuple(parts[:n]))
            return t.Tuple(self.sum_of([made, *parts[n : n + group]]), parts[-1])

        return self.linear(kind, lambda z: self.then(t.Apply(e, z), self.environment_type(inner), back))

    def captured(self, term: Term, group: Environment, scope: Environment) -> tuple[int, ...]:
        """All variables of the scope."""
        return tuple(range(len(scope)))

    def reopened(self, closure: Captured, zs: Sequence[Term]) -> Term:
        """(((), z1), .., zn)"""
        made: Term = t.Star()
        for z in zs:
            made = t.Tuple(made, z)
        return made

    # The wrapper

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        r"""let (y, e) = D[t] in (y, \_(z). snd (e z))"""
        self.scope = ((x, source),)
        y, e = self.fresh("y"), self.fresh("d")
        back = self.linear(target, lambda z: t.Snd(t.Apply(Var(e), z)))
        if not self.has_choice(source):
            return let((y, e), inner(), t.Tuple(Var(y), back))
        given, z = self.fresh("x"), self.fresh("z")
        total = t.Plus(t.Apply(back, Var(z)), self.zeros(source, Var(given)))
        whole = t.Tuple(Var(y), t.Claim(t.Lambda(z, target, total)))
        return t.Let(given, Var(x), let((y, e), inner(), whole))


def split(w: Term, n: int) -> tuple[Term, list[Term]]:
    """The last n parts of a tuple ((w0, w1), .., wn), and w0."""
    parts: list[Term] = []
    for _ in range(n):
        parts.insert(0, t.Snd(w))
        w = t.Fst(w)
    return w, parts
