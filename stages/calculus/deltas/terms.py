r"""Monadic operations, the terms that only the output of the translation has: Krawiec et al. 2022, Fig. 1.

    e ::= .. | pure e | do {stmts} | sequence(e)        stmts ::= e | x <- e; stmts | let x = e; stmts
    t ::= .. | M t                                      a declared synonym, such as Fig. 11's

    type M a = DeltaState -> (a, DeltaState)            a state monad; section 5.3.3: type M a = State ->R (!a, State)
    pure e              = \s. (e, s)
    do {x <- e; e'}     = \s. let (x, s') = e s in e' s'
    sequence(v)         = \s. let (x1, s1) = v1 s in .. in let (xn, sn) = vn s(n-1) in ([x1, .., xn], sn)

`do` and `sequence` work for every state monad. So D2's id generation monad has `sequence`, too: it runs a vector of
computations, such as `build` makes from a function that returns computations (section 8.3). A let among the statements
is an ordinary let over the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.calculus.language.sugar import Pattern, bind, hidden
from stages.calculus.language.terms import Term

__all__ = ["Do", "InSequence", "Pure", "Then", "do"]


@dataclass(frozen=True, slots=True)
class Pure(Term):
    """pure e, of type M t, for the synonym M of this name."""

    content: Term
    monad: str = "M"


@dataclass(frozen=True, slots=True)
class Do(Term):
    """do {x <- e; e'}"""

    name: str
    value: Term
    body: Term


@dataclass(frozen=True, slots=True)
class InSequence(Term):
    """sequence(v), which runs a vector of computations, from the first to the last."""

    computations: Term


@dataclass(frozen=True, slots=True)
class Then(Term):
    """The rest of a `do` that runs: the evaluator makes it; programs do not contain it."""

    computation: Term


def do(statements: Sequence[tuple[Pattern, Term]], last: Term) -> Term:
    """do {p1 <- e1; ..; pn <- en; last}"""
    for pattern, value in reversed(statements):
        last = Do(hidden(pattern), value, bind(pattern, last))
    return last
