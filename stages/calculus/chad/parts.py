r"""The parts that the rules of CHAD share: cotangents of environments and of pairs, dual terms, linear bodies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from stages.calculus.chad.images import Environment, Images
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Parts", "Typed"]

#: D[t], and the type of t.
Typed = tuple[Term, Type]


class Parts(Images):
    """The parts of rules; a subclass says how the cotangent of an environment is represented."""

    @abstractmethod
    def environment_type(self, scope: Environment) -> Type:
        """D[G]2"""

    @abstractmethod
    def rule(self, term: Term, scope: Environment) -> Typed:
        """D[t] and the type of t, in an environment."""

    @abstractmethod
    def zero_of(self, scope: Environment) -> Term:
        """0 : D[G]2"""

    @abstractmethod
    def plus(self, left: Term, right: Term) -> Term:
        """b + b' : D[G]2"""

    @abstractmethod
    def one_hot(self, scope: Environment, place: int, z: Term) -> Term:
        """{x: z} : D[G]2, for the variable x of this index."""

    @abstractmethod
    def leaving(
        self, scope: Environment, added: Environment, kind: Type, e: Term, use: Callable[[Sequence[Term]], Term]
    ) -> Term:
        """The function of D[kind]2 that leaves the scope of the added variables."""

    # The cotangents of pairs: in `efficient`, they are sparse

    def pair(self, both: ty.Pair, first: Term, second: Term) -> Term:
        """(b, b') : D[(s, t)]2"""
        return t.Tuple(first, second)

    def halved(self, z: Term, use: Callable[[Term, Term], Term]) -> Term:
        """The halves of z : D[(s, t)]2"""
        return use(t.Fst(z), t.Snd(z))

    # Parts of the rules

    def dual(self, value: Term, kind: Type, back: Callable[[Term], Term]) -> Typed:
        r"""(value, \_(z : D[kind]2). back z), and kind"""
        return t.Tuple(value, self.linear(kind, back)), kind

    def linear(self, kind: Type, body: Callable[[Term], Term]) -> Term:
        r"""\_(z : D[kind]2). body z"""
        z = self.fresh("z")
        return t.LinearLambda(z, self.cotangent(kind), body(Var(z)))

    def opened(
        self, terms: Sequence[Term], scope: Environment
    ) -> tuple[list[Var], list[Var], list[Type], Callable[[Term], Term]]:
        """x1..xn, d1..dn, their types, and the function that puts let (xi, di) = D[ti] in .. around a term."""
        made = [self.rule(term, scope) for term in terms]
        names = [(self.fresh("x"), self.fresh("d")) for _ in terms]

        def around(body: Term) -> Term:
            """let (x1, d1) = D[t1] in .. in body"""
            for pattern, (value, _) in zip(reversed(names), reversed(made), strict=True):
                body = let(pattern, value, body)
            return body

        return [Var(x) for x, _ in names], [Var(d) for _, d in names], [kind for _, kind in made], around

    def constructors(self, kind: Type) -> tuple[Constructor, ...]:
        """The constructors of a sum or data type of the program."""
        found = self.source.constructors(kind)
        assert found is not None
        return found

    def total(self, parts: Sequence[Term], scope: Environment) -> Term:
        """b1 + .. + bn : D[G]2"""
        if not parts:
            return self.zero_of(scope)
        made = parts[0]
        for part in parts[1:]:
            made = self.plus(made, part)
        return made

    def then(self, b: Term, kind: Type, use: Callable[[Term], Term]) -> Term:
        r"""(\_(w : kind). use w) b, which is let w = b in use w, in linear bodies."""
        w = self.fresh("w")
        return t.Apply(t.LinearLambda(w, kind, use(Var(w))), b)

    def sum_of(self, parts: list[Term]) -> Term:
        """b1 + .. + bn, of one or more cotangents."""
        made = parts[0]
        for part in parts[1:]:
            made = t.Plus(made, part)
        return made
