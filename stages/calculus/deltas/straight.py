r"""Straight-line code at compile time: D[e] on names instead of numbers, and eval of the Delta that it makes.

    Code        the operations that remain for run time, as lets
    Name        a factor of a Delta: eval's products and sums of Names are written to the code
    Number      D[R] at compile time: a name or a literal, and Zero or Var
    Straight    D[e], with Fig. 14's sum bound to a new id for each operation, as in Fig. 9

See fusing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stages import ordered_map
from stages.calculus.deltas.deltas import factors
from stages.calculus.language import terms as t
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.terms import Term, Var
from stages.relatives.deltas import delta_map
from stages.relatives.deltas.delta_data import Delta, Let, Zero, total
from stages.relatives.deltas.delta_data import Var as Id

__all__ = ["Code", "Number", "Straight"]


@dataclass
class Code:
    """The operations written so far, as lets, and names for more."""

    fresh: Callable[[str], str]
    lets: list[tuple[str, Term]] = field(default_factory=list)

    def name(self, base: str, value: Term) -> Var:
        """let name = value in .."""
        self.lets.append((self.fresh(base), value))
        return Var(self.lets[-1][0])

    def around(self, body: Term) -> Term:
        """The lets around a body."""
        for name, value in reversed(self.lets):
            body = t.Let(name, value, body)
        return body


@dataclass(frozen=True)
class Name:
    """A number that is known at run time: eval multiplies and adds it."""

    code: Code
    term: Term

    def __mul__(self, other: Name) -> Name:
        if self.term == t.Literal(1.0):
            return other
        return Name(self.code, self.code.name("p", t.Operation("mul", (self.term, other.term))))

    def __add__(self, other: Name) -> Name:
        return Name(self.code, self.code.name("p", t.Operation("add", (self.term, other.term))))


@dataclass(frozen=True)
class Number:
    """D[R] at compile time: a name or a literal, and the Delta, Zero or Var."""

    x: Term
    delta: Delta


@dataclass
class Straight:
    """D[e] at compile time, for straight-line code e; `binds` are the bindings of ids, as Fig. 11's state has them."""

    code: Code
    known: Mapping[str, t.Function]
    next_id: int
    binds: list[tuple[int, Delta]] = field(default_factory=list)
    active: tuple[str, ...] = ()

    def run(self, term: Term, env: Mapping[str, Any]) -> Any:
        """The value of a term: a Number, a pair of values, (), or a Python function."""
        match term:
            case t.Var(name) if name in env:
                return env[name]
            case t.Var(name) if name in self.known:
                return self.function(name)
            case t.Literal():
                return Number(term, Zero())
            case t.Star():
                return ()
            case t.Tuple(first, second):
                return self.run(first, env), self.run(second, env)
            case t.Fst(pair):
                return self.run(pair, env)[0]
            case t.Snd(pair):
                return self.run(pair, env)[1]
            case t.Let(name, value, body):
                return self.run(body, {**env, name: self.run(value, env)})
            case t.Lambda(name, _, body):
                return lambda x: self.run(body, {**env, name: x})
            case t.Apply(function, argument):
                return self.run(function, env)(self.run(argument, env))
            case t.Operation(op, arguments):
                return self.operation(op, [self.run(a, env) for a in arguments])
        raise IllTyped(term, "this cannot be fused: only lets, pairs, operations and calls of such functions can")

    def function(self, name: str) -> Callable[[Any], Any]:
        """A function of the library, whose body is run here."""
        f = self.known[name]
        if name in self.active:
            raise IllTyped(f.body, f"{name} calls itself and cannot be fused: only straight-line code can")

        def call(x: Any) -> Any:
            """Run the body at x."""
            outer, self.active = self.active, (*self.active, name)
            found = self.run(f.body, {f.parameter: x})
            self.active = outer
            return found

        return call

    def operation(self, op: str, arguments: list[Number]) -> Number:
        """let y = op(x1, .., xn) in (y, Var of its sum), Fig. 14's"""
        xs = [a.x if isinstance(a.x, Var) else self.code.name("x", a.x) for a in arguments]
        y = self.code.name("x", t.Operation(op, tuple(xs)))
        rs: list[Any] = []
        for p in factors(op, xs):
            rs.append(1.0 if p is None else Name(self.code, p if isinstance(p, Var) else self.code.name("p", p)))
        i, self.next_id = self.next_id, self.next_id + 1
        self.binds.append((i, total(rs, [a.delta for a in arguments])))
        return Number(y, Id(i))

    def eval(self, u: Delta, size: int) -> list[Term | None]:
        """p1, .., pn, by eval 1 of the nest of Lets around u; None for an input that u does not reach."""
        for i, bound in reversed(self.binds):
            u = Let(i, bound, u)
        m = delta_map.evaluate(Name(self.code, t.Literal(1.0)), u, None)
        found = [ordered_map.find(m, i) for i in range(size)]
        return [p if p is None else p.term for p in found]
