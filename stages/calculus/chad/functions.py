r"""The rules of CHAD for functions, with the closures of images.py.

    D[s t]          = let (f, d) = D[s] in let (x, e) = D[t] in let (y, b) = f x in
                      (y, \_(z). (\_(w). d (fst w) + e (snd w)) (b z))             (\_(w). ..) b: let w = b in ..
    D[\(x : s). t]  = (\(x : D[s]1). let (y, e) = D[t] in (y, \_(z). (F(zs), zx) of e z), open)
                                        F(zs): the parts of the captured variables; open adds them to those of G
    D[letrec f = \(x : s). u in t]: f is a variable of both, with a cotangent zf : Closure
                      D[\(x : s). u] as above, with F(zs) + zf in place of F(zs)
                      D[t] as in let, with open zf as what is added

Recursion is no part of the two papers' languages. The rule treats f as a variable that its own body captures, so that
each call returns the cotangents of what f has captured, to the call around it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from stages.calculus.chad.images import Captured, Environment
from stages.calculus.chad.parts import Typed
from stages.calculus.chad.rules import Rules
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Declarations, Definition, Synonym
from stages.calculus.language.kinds import first_order
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Functions"]


class Functions(Rules):
    """The rules of CHAD for functions."""

    def __init__(self, c: Type, declarations: Declarations | None = None, taken: frozenset[str] = frozenset()) -> None:
        super().__init__(c, declarations, taken)
        self.closures: list[Captured] = []

    @abstractmethod
    def captured(self, term: Term, group: Environment, scope: Environment) -> tuple[int, ...]:
        """The variables of the scope that a function captures, by their indices."""

    @abstractmethod
    def returning(self, closure: Captured, inner: Environment, group: int, kind: Type, e: Term) -> Term:
        """The function of D[kind]2 that returns the closure's cotangent, and the argument's."""

    @abstractmethod
    def reopened(self, closure: Captured, zs: Sequence[Term]) -> Term:
        """The cotangent of the environment around a function, from a closure's fields."""

    def functional(self, term: Term, scope: Environment) -> Typed:
        """D[t] for functions and calls."""
        match term:
            case t.Apply(function, argument):
                return self.application(function, argument, scope)
            case t.Lambda(x, source, body):
                closure = self.capture(term, (), scope)
                made, target = self.function(closure, (), x, source, body)
                return self.dual(made, ty.Arrow(source, target), lambda z: t.Apply(self.opener(closure), z))
            case t.Letrec(functions, body):
                return self.recursion(term, functions, body, scope)
        raise AssertionError(term)

    def application(self, function: Term, argument: Term, scope: Environment) -> Typed:
        """D[s t]"""
        (f, x), (d, e), (kind, _), around = self.opened([function, argument], scope)
        arrow = self.source.expose(kind)
        assert isinstance(arrow, ty.Arrow)
        y, b = self.fresh("y"), self.fresh("d")
        both = ty.Pair(self.closure, self.cotangent(arrow.argument))
        add = lambda w: self.plus(t.Apply(d, t.Fst(w)), t.Apply(e, t.Snd(w)))  # noqa: E731
        made, target = self.dual(Var(y), arrow.result, lambda z: self.then(t.Apply(Var(b), z), both, add))
        return around(let((y, b), t.Apply(f, x), made)), target

    def function(
        self, closure: Captured, group: Environment, x: str, source: Type, body: Term
    ) -> tuple[t.Lambda, Type]:
        r"""The primal of \(x : source). body, and the type of the body, for a function of a group of letrec."""
        inner = (*self.inside(closure), *group, (x, source))
        made, target = self.rule(body, inner)
        y, e = self.fresh("y"), self.fresh("d")
        back = self.returning(closure, inner, len(group), target, Var(e))
        return t.Lambda(x, self.type(source), let((y, e), made, t.Tuple(Var(y), back))), target

    def recursion(self, term: Term, functions: Sequence[t.Function], body: Term, scope: Environment) -> Typed:
        """D[letrec f1 = .. and .. in t]"""
        group = tuple([(f.name, f.type) for f in functions])
        closure, made = self.capture(term, group, scope), []
        for f in functions:
            lambda_, _ = self.function(closure, group, f.parameter, f.type.argument, f.body)
            type_ = self.type(f.type)
            assert isinstance(type_, ty.Arrow)
            made.append(t.Function(f.name, type_, f.parameter, lambda_.body))
        inner, target = self.rule(body, scope + group)
        y, e = self.fresh("y"), self.fresh("d")
        use = lambda zs: t.Apply(self.opener(closure), self.sum_of(list(zs)))  # noqa: E731
        back = self.leaving(scope, group, target, Var(e), use)
        return t.Letrec(tuple(made), let((y, e), inner, t.Tuple(Var(y), back))), target

    def called(self, function: Term, x: Term) -> Callable[..., Term]:
        """A function that makes D[function x]."""
        return lambda: self.term(t.Apply(function, x))

    def whole(self, term: Term) -> Term:
        r"""D[t] of a program; for a function of data, D[t] of its body, whose environment is the parameter."""
        if isinstance(term, t.Lambda) and first_order(term.type, self.source):
            self.scope = ((term.name, term.type),)
            return t.Lambda(term.name, self.type(term.type), self.term(term.body))
        return self.term(term)

    # Closures

    def capture(self, term: Term, group: Environment, scope: Environment) -> Captured:
        """A new constructor of Closure."""
        places = self.captured(term, group, scope)
        fields = tuple([self.cotangent(scope[k][1]) for k in places])
        self.closures.append(Captured(f"F{len(self.closures) + 1}", fields, places, scope))
        return self.closures[-1]

    def inside(self, closure: Captured) -> Environment:
        """The captured variables, as the outermost variables of a function's body."""
        return tuple([closure.outside[k] for k in closure.places])

    def opener(self, closure: Captured) -> Var:
        """The name of the function that adds a closure's fields to the cotangent of the environment."""
        return self.own(f"open{closure.name[1:]}")

    def synonyms(self) -> dict[str, DataType | Synonym]:
        """Closure, if it is used."""
        if not self.uses_closures:
            return {}
        made = (Constructor("Closed", ()), *(Constructor(c.name, c.fields) for c in self.closures))
        return {self.closure.name: DataType(self.closure.name, (), made)}

    def interface(self) -> tuple[Definition, ...]:
        r"""openk = \_(c : Closure). case c of {Fk(zs) -> ..; .. -> 0}"""
        made = []
        for closure in self.closures:
            zs = tuple([f"z{k}" for k in range(1, len(closure.fields) + 1)])
            zero = self.zero_of(closure.outside)
            branches = [t.Branch("Closed", (), zero)]
            for other in self.closures:
                if other is closure:
                    branches.append(t.Branch(closure.name, zs, self.reopened(closure, [Var(z) for z in zs])))
                else:
                    branches.append(t.Branch(other.name, ("_",) * len(other.fields), zero))
            body = t.LinearLambda("c", self.closure, t.Case(Var("c"), tuple(branches)))
            kind = ty.Linear(self.closure, self.environment_type(closure.outside))
            made.append(Definition(self.opener(closure).name, kind, body))
        return tuple(made)
