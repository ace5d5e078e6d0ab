r"""The core language of Wang et al. 2019, Fig. 3: its additions to Fig. 4 of our paper, and derived constructs.

    e ::= .. | ref(e) | !e | e := e                     mutable cells; e := e' has the value ()
           | shift k : t in e | reset(e)                delimited control; t is the type of shift's value
           | grad(e, e)                                 section 2.5: the derivative of a function R -> R at a number
    t ::= .. | Ref t

    y1 += e            y1 := !y1 + e                    sugar
    e1; e2             let _ = e1 in e2
    if b then t else e case b of {inl(_) -> t; inr(_) -> e}                              sugar.py
    letrec f = \x. e1 in e2     let f0 = \f1. \x. let f = f1 f1 in e1 in let f = f0 f0 in e2

Fig. 3 is untyped, and derives letrec by self-application. Here terms have types: f1 f1 has a type only with a data type
in between, `data Self = S (Self -> s -> t)`, which `self_applied` writes. Elsewhere letrec is primitive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.calculus.language.declarations import Constructor, DataType
from stages.calculus.language.terms import Apply, Branch, Case, Con, Function, Lambda, Let, Operation, Star, Term, Var
from stages.calculus.language.types import Arrow, Named, Type

__all__ = ["Assign", "Gradient", "Read", "Ref", "Reset", "Shift", "add_to", "self_applied", "sequence"]


@dataclass(frozen=True, slots=True)
class Ref(Term):
    """ref(e), a new cell."""

    content: Term


@dataclass(frozen=True, slots=True)
class Read(Term):
    """!e, the content of a cell."""

    cell: Term


@dataclass(frozen=True, slots=True)
class Assign(Term):
    """e := e', with the value ()."""

    cell: Term
    content: Term


@dataclass(frozen=True, slots=True)
class Shift(Term):
    """shift k : t in e. The value of e becomes reset's; k is the rest of reset's computation, a function of a t."""

    name: str
    type: Type
    body: Term


@dataclass(frozen=True, slots=True)
class Reset(Term):
    """reset(e), the paper's <e>."""

    body: Term


@dataclass(frozen=True, slots=True)
class Gradient(Term):
    """grad(f, x), the derivative of f : R -> R at x. Only transformations give it a value."""

    function: Term
    argument: Term


def add_to(cell: Term, z: Term) -> Term:
    """cell += z"""
    return Assign(cell, Operation("add", (Read(cell), z)))


def sequence(terms: Sequence[Term], last: Term | None = None) -> Term:
    """e1; ..; en; last, where the last term is () by default."""
    *first, end = [*terms, *([last] if last is not None else [])] or [Star()]
    for term in reversed(first):
        end = Let("_", term, end)
    return end


def self_applied(f: Function, body: Term, name: str = "Self") -> tuple[Term, DataType]:
    """letrec f = .. in body, derived as in Fig. 3, and the data type that makes it well typed."""
    f0, f1, own = f"{f.name}0", f"{f.name}1", Named(name)

    def applied(g: Term) -> Term:
        """case g of {S(s) -> s g}, the self-application of g"""
        return Case(g, (Branch("S", ("s",), Apply(Var("s"), g)),))

    inner = Lambda(f.parameter, f.type.argument, Let(f.name, applied(Var(f1)), f.body))
    whole = Let(f0, Con(own, "S", (Lambda(f1, own, inner),)), Let(f.name, applied(Var(f0)), body))
    return whole, DataType(name, (), (Constructor("S", (Arrow(own, f.type),)),))
