r"""Krawiec et al. 2022, Fig. 1: what occurs only in the output of their translation, monadic operations.

    e ::= .. | pure e | do {stmts} | sequence(e)        stmts ::= e | x <- e; stmts | let x = e; stmts
    t ::= .. | M t                                      a synonym that the program declares: Fig. 11's, or another

    type M a = DeltaState -> (a, DeltaState)            a state monad; section 5.3.3: type M a = State ->R (!a, State)
    pure e              = \s. (e, s)
    do {x <- e; e'}     = \s. let (x, s') = e s in e' s'
    sequence(v)         = \s. let (x1, s1) = v1 s in .. in let (xn, sn) = vn s(n-1) in ([x1, .., xn], sn)

`do` and `sequence` are those of every state monad, so that D2's id generation monad has the latter, too: of a vector of
computations, as `build` makes one of a function that gives computations (section 8.3). A let among the statements is an
ordinary let that extends over the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.calculus.language.sugar import Pattern, bind, hidden
from stages.calculus.language.terms import Term

__all__ = ["Do", "InSequence", "Pure", "Then", "do"]


@dataclass(frozen=True, slots=True)
class Pure(Term):
    """pure e, of type M t for the synonym of this name."""

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
    """What the evaluator makes of a `do` that is run: no program has it."""

    computation: Term


def do(statements: Sequence[tuple[Pattern, Term]], last: Term) -> Term:
    """do {p1 <- e1; ..; pn <- en; last}"""
    for pattern, value in reversed(statements):
        last = Do(hidden(pattern), value, bind(pattern, last))
    return last
