"""A-normal form: each operand of an operation is a variable or a number, so that each value has a name.

    sin(x * y) + x      let t1 = x * y in let t2 = sin t1 in let t3 = t2 + x in t3

A scope is a chain of lets that ends in an atom: the program, and the body of a build, a loop, or an operator.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from stages.relatives.bulk.terms import Build, Index, Let, Num, Op, Sum, Term, Var
from stages.relatives.futhark.terms import Loop, Reduce, reduce

__all__ = ["Atom", "normal", "scope"]

Atom = Var | Num


def normal(t: Term) -> Term:
    """The term in A-normal form.

    >>> x, y = Var("x"), Var("y")
    >>> print(normal((x * y + x) / 2.0))
    let t1 = x * y in let t2 = t1 + x in let t3 = t2 / 2 in t3
    """
    return _normal(t, (f"t{k}" for k in itertools.count(1)))


def scope(t: Term) -> tuple[list[tuple[str, Term]], Atom]:
    """The statements `x = t` of a scope in A-normal form, and its result."""
    statements = []
    while isinstance(t, Let):
        statements.append((t.name, t.bound))
        t = t.body
    assert isinstance(t, (Var, Num))
    return statements, t


def _normal(t: Term, fresh: Iterator[str]) -> Term:
    statements: list[tuple[str, Term]] = []
    made: Term = _atom(t, statements, fresh)
    for x, bound in reversed(statements):
        made = Let(x, bound, made)
    return made


def _atom(t: Term, statements: list[tuple[str, Term]], fresh: Iterator[str]) -> Atom:
    """The atom that has the value of t after the statements."""
    if isinstance(t, (Var, Num)):
        return t
    if isinstance(t, Let):
        statements.append((t.name, _operands(t.bound, statements, fresh)))
        return _atom(t.body, statements, fresh)
    bound = _operands(t, statements, fresh)
    statements.append((next(fresh), bound))
    return Var(statements[-1][0])


def _operands(t: Term, statements: list[tuple[str, Term]], fresh: Iterator[str]) -> Term:
    """The term with atoms for operands, and inner scopes in A-normal form."""

    def atom(u: Term) -> Atom:
        return _atom(u, statements, fresh)

    match t:
        case Op(args=args):
            return replace(t, args=tuple(map(atom, args)))
        case Index(array=array):
            return replace(t, array=atom(array))
        case Sum(array):
            return reduce("add", atom(array))
        case Build(body=body):
            return replace(t, body=_normal(body, fresh))
        case Loop(start=start, body=body):
            return replace(t, start=atom(start), body=_normal(body, fresh))
        case Reduce(array=array, body=body):
            return replace(t, array=atom(array), body=_normal(body, fresh))
        case Let() | Var() | Num():
            return atom(t)
    raise TypeError(f"loops, build, reduce and scan have sweeps, gather and scatter have none: {t}")
