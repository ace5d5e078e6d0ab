"""Distinct names for variables, and the types of terms, which the rules of Figs. 10 and 11 presuppose.

The paper assumes Barendregt's convention: all bound variables differ from each other and from the free ones. Its rules
move a term's continuation under the binders of the term, which could capture variables otherwise. Its terms are
untyped; here a continuation has an argument type, so the types of calls and of `case` have to be known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stages.calculus.checker.check import Checker
from stages.calculus.checker.formation import Environment
from stages.calculus.continuations.terms import Assign, Gradient, Read, Ref
from stages.calculus.language import terms as t
from stages.calculus.language.declarations import Declarations
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.languages import LANGUAGES
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Names", "Types", "renamed", "replaced"]


class Names:
    """Gives every variable a unique name, its own if that is free."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def new(self, name: str) -> str:
        """The name itself, or the first of x', x'2, x'3, .. that is free; `_` is never used, and stays."""
        if name == "_":
            return name
        tries = itertools.chain([name], (f"{name}'{k}" if k > 1 else f"{name}'" for k in itertools.count(1)))
        found = next(x for x in tries if x not in self.taken)
        self.taken.add(found)
        return found


def renamed(term: Term, names: Names, at: Mapping[str, Term] | None = None) -> Term:
    """Rename all variables that a term binds; `at` replaces the free ones."""
    at = at or {}

    def bind(*xs: str) -> tuple[list[str], Mapping[str, Term]]:
        """Fresh names for bound variables, and `at` extended by them."""
        new = [names.new(x) for x in xs]
        return new, {**at, **{x: Var(y) for x, y in zip(xs, new, strict=True)}}

    match term:
        case Var(x):
            return at.get(x, term)
        case t.Lambda(x, kind, body):
            (y,), inner = bind(x)
            return t.Lambda(y, kind, renamed(body, names, inner))
        case t.Let(x, value, body):
            value = renamed(value, names, at)
            (y,), inner = bind(x)
            return t.Let(y, value, renamed(body, names, inner))
        case t.Letrec(functions, body):
            new, inner = bind(*(f.name for f in functions))
            made = []
            for f, y in zip(functions, new, strict=True):
                p = names.new(f.parameter)
                made.append(t.Function(y, f.type, p, renamed(f.body, names, {**inner, f.parameter: Var(p)})))
            return t.Letrec(tuple(made), renamed(body, names, inner))
        case t.Case(scrutinee, branches):
            scrutinee, cases = renamed(scrutinee, names, at), []
            for branch in branches:
                new, inner = bind(*branch.variables)
                cases.append(t.Branch(branch.name, tuple(new), renamed(branch.body, names, inner)))
            return t.Case(scrutinee, tuple(cases))
    return _with_parts(term, lambda part: renamed(part, names, at))


def replaced(term: Term, at: Mapping[str, Term]) -> Term:
    """Substitute terms for variables, in a term that binds only `_`."""
    return renamed(term, Names(set()), at)


def _with_parts(term: Term, change: Callable[[Term], Term]) -> Term:
    """Apply `change` to all direct parts of a term without binders."""
    match term:
        case t.Tuple(first, second):
            return t.Tuple(change(first), change(second))
        case t.Apply(function, argument):
            return t.Apply(change(function), change(argument))
        case t.Fst(part) | t.Snd(part) | Ref(part) | Read(part):
            return type(term)(change(part))
        case Assign(first, second) | Gradient(first, second):
            return type(term)(change(first), change(second))
        case t.Operation(name, arguments) | t.Discrete(name, arguments):
            return type(term)(name, tuple([change(a) for a in arguments]))
        case t.Con(kind, name, arguments):
            return t.Con(kind, name, tuple([change(a) for a in arguments]))
    assert isinstance(term, (t.Star, t.Literal, t.Integer)), term
    return term


@dataclass
class Types(Checker):
    """The type checker, extended to remember the type of every term object that it has seen."""

    found: dict[int, Type] = field(default_factory=dict)

    @classmethod
    def of(cls, term: Term, environment: Environment, declarations: Declarations, language: str) -> Mapping[int, Type]:
        """The types of the parts of a term; objects with parts must not occur twice in it."""
        checker = cls(declarations, LANGUAGES[language])
        try:
            checker.infer(term, environment)
        except RecursionError:
            raise IllTyped(term, "the term is nested too deeply to transform: name its parts by let") from None
        return checker.found

    def rule(self, term: Term, env: Environment, held: Environment) -> tuple[Type, frozenset[str]]:
        """The type of a term, remembered."""
        kind, used = super().rule(term, env, held)
        self.found[id(term)] = kind
        return kind, used
