r"""The differentiable curry: D for functions as values, with two cotangents of a function.

Paper:   Alvarez-Picallo, Collins, Vytiniotis and Elliott 2019, "The differentiable curry". Its text was not at hand:
         the rules are those of the definitions that it is known for, and the tests compare them with D4.

A term with functions is compiled to combinators, with curry and apply. The pullback of `apply` returns a cotangent of
the function, and the pullback of `curry` accepts it. A function value is \b. (c, d), where d is a linear map.

    Calls      the cotangent of b => c is a list of calls: an argument, and the cotangent of the result there.
               apply (f, b)  = let (c, d) = f b in (c, \z. ([(b, z)], d z))
               curry f a     = (\b. let (c, d) = f (a, b) in (c, exr . d),
                                \calls. sum of exl (d z), where (_, d) = f (a, b), for (b, z) in calls)
               A cotangent says nothing about how the function was made. But its body runs again for each call: 2^n
               times for n functions, each of which calls the one before.
    Captured   the cotangent of b => c is that of the environment that it captures, a type which only curry knows.
               apply (f, b)  = f b                                 d returns (cotangent of f, cotangent of b)
               curry f a     = (\b. f (a, b), id)
               Nothing runs again. This is also how vlad gives sensitivity to closures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dualrev.rules.primitives import PRIMITIVES
from stages.relatives.elliott.categories import D, Dual, interpret
from stages.relatives.elliott.linear import Linear, Map, plus, zero
from stages.relatives.elliott.terms import APPLY, Compose, Const, Curry, Fork, Op, Term, balanced, variable

__all__ = ["App", "Calls", "Captured", "Lam", "Prim", "Var", "compiled", "gradient"]


@dataclass(frozen=True)
class Var:
    """The variable bound by the i-th enclosing Lam, from 0."""

    i: int


@dataclass(frozen=True)
class Lam:
    """A function of one argument."""

    body: Any


@dataclass(frozen=True)
class App:
    """A call."""

    f: Any
    x: Any


@dataclass(frozen=True)
class Prim:
    """An operation of the table of primitives, by its name."""

    name: str
    args: tuple[Any, ...]


def compiled(t: Any) -> Term:
    r"""The combinators of a term: [\x. t] = curry [t], [t s] = apply . ([t] /\ [s]).

    >>> from stages.relatives.elliott.terms import show
    >>> show(compiled(App(Lam(Prim("mul", (Var(0), Var(1)))), Var(0))))
    'apply . (curry (mul . (exr /\\ exr . exl)) /\\ exr)'
    """
    match t:
        case Var(i):
            return variable(i)
        case Lam(body):
            return Curry(compiled(body))
        case App(f, x):
            return Compose((APPLY, Fork(compiled(f), compiled(x))))
        case Prim(name, args):
            return Compose((Op(PRIMITIVES[name], len(args)), balanced([compiled(a) for a in args], Fork)))
    return Const(t)


class Captured(D):
    """D (Dual ->+) with functions, whose cotangent is that of the environment."""

    def __init__(self, step: Callable[[], None] | None = None) -> None:
        linear = Linear(step)
        super().__init__(Dual(linear))
        self.counted = linear.counted

    def basic(self, name: str) -> Map:
        """apply, and those of D"""
        return self.apply if name == "apply" else super().basic(name)

    def apply(self, a: Any) -> Any:
        """apply (f, b) = f b"""
        f, b = a
        c, d = f(b)
        return c, self.counted(d)

    def curry(self, f: Map) -> Map:
        r"""curry f a = (\b. f (a, b), id)"""
        return lambda a: (lambda b: f((a, b)), self.k.basic("id"))


class Calls(Captured):
    """D (Dual ->+) with functions, whose cotangent is a list of calls."""

    def apply(self, a: Any) -> Any:
        r"""apply (f, b) = let (c, d) = f b in (c, \z. ([(b, z)], d z))"""
        f, b = a
        c, d = f(b)
        return c, self.counted(lambda z: zero if z is zero else ([(b, z)], d(z)))

    def curry(self, f: Map) -> Map:
        r"""curry f a = (\b. (c, exr . d), \calls. sum of exl (d z))"""
        exl, exr = self.k.k.basic("exl"), self.k.k.basic("exr")

        def curried(a: Any) -> Any:
            """The function with its derivative, and the map from its calls to the cotangent of a."""

            def function(b: Any) -> Any:
                c, d = f((a, b))
                return c, lambda z: exr(d(z))

            def back(calls: Any) -> Any:
                """Run the body again for each call."""
                total: Any = zero
                for b, z in calls or ():
                    total = plus(total, exl(f((a, b))[1](z)))
                return total

            return function, back

        return curried


def gradient(t: Any, x: Any, category: Any) -> tuple[Any, Any]:
    """The value and the derivative at x of a term with the free variable Var(0), by Calls() or Captured().

    >>> twice = Lam(Lam(App(Var(1), App(Var(1), Var(0)))))
    >>> term = App(App(twice, Lam(Prim("mul", (Var(0), Var(1))))), Var(0))      # twice (\\y. y x) x = x x x
    >>> gradient(term, 2.0, Calls()), gradient(term, 2.0, Captured())
    ((8.0, 12.0), (8.0, 12.0))
    """
    y, back = interpret(compiled(t), category)(((), x))
    c = back(1.0)
    return y, 0.0 if c is zero or c[1] is zero else c[1]
