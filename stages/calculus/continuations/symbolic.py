r"""Symbolic differentiation of expressions with let: Wang et al. 2019, Fig. 1, and the A-normal form before it.

    e ::= c | x | e + e | e * e | let x = e in e
    d/dx [c] = 0          d/dx [x] = 1          d/dx [y] = y' for another variable
    d/dx [e1 + e2] = d/dx [e1] + d/dx [e2]
    d/dx [e1 * e2] = d/dx [e1] * e2 + e1 * d/dx [e2]
    d/dx [let y = e1 in e2] = let y = e1 in let y' = d/dx [e1] in d/dx [e2]

For a product of n factors, the rules write n terms of n factors. In A-normal form, every operation has a name: the text
grows by a constant factor, and no operation is evaluated more often than before. This is forward AD.
"""

from __future__ import annotations

import itertools

from stages.calculus.language.errors import IllTyped
from stages.calculus.language.terms import Let, Literal, Operation, Term, Var

__all__ = ["a_normal_form", "d_dx"]


def d_dx(term: Term, x: str) -> Term:
    """d/dx [e], by the rules above. IllTyped for other terms, and if x is bound in e."""
    match term:
        case Literal():
            return Literal(0.0)
        case Var(y):
            return Literal(1.0) if y == x else Var(f"{y}'")
        case Operation("add", (e1, e2)):
            return Operation("add", (d_dx(e1, x), d_dx(e2, x)))
        case Operation("mul", (e1, e2)):
            return Operation("add", (Operation("mul", (d_dx(e1, x), e2)), Operation("mul", (e1, d_dx(e2, x)))))
        case Let(y, e1, e2):
            if y == x:
                raise IllTyped(term, f"{x} is bound here, and d/d{x} is with respect to a free {x}: rename one of them")
            return Let(y, e1, Let(f"{y}'", d_dx(e1, x), d_dx(e2, x)))
    raise IllTyped(term, "Fig. 1 has numbers, variables, +, * and let: other terms are for --to fig4")


def a_normal_form(term: Term, name: str = "y") -> Term:
    """The same expression, with a let for every operation: y1, y2, .. in the order of evaluation."""
    numbers = itertools.count(1)
    bound: list[tuple[str, Term]] = []

    def atom(e: Term) -> Term:
        """The variable, or constant, that holds the value of e; operations get a let."""
        match e:
            case Operation(op, arguments):
                made = Operation(op, tuple([atom(a) for a in arguments]))
                y = f"{name}{next(numbers)}"
                bound.append((y, made))
                return Var(y)
            case Let(y, value, body):
                bound.append((y, atom(value)))
                return atom(body)
        return e

    made = atom(term)
    for y, value in reversed(bound):
        made = Let(y, value, made)
    return made
