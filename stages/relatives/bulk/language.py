"""Programs as Python functions on terms, and the functions that make terms: `program`, `build`, `let`, `gather`.

    program(lambda xs: sum_of(build(3, lambda i: xs[i] * xs[i])))       \\xs. sum (build 3 (\\i. xs[i] * xs[i]))

A variable has the name of the Python parameter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stages.relatives.bulk.binding import check
from stages.relatives.bulk.terms import Build, Gather, Let, Num, Op, Scatter, Sum, Term, Var

__all__ = ["Program", "build", "gather", "let", "program", "scatter", "sum_of", "unary"]


@dataclass(frozen=True)
class Program:
    """A function: the names of its arguments, and its body."""

    arguments: tuple[str, ...]
    body: Term

    def __str__(self) -> str:
        return f"\\{' '.join(self.arguments)}. {self.body}"


def _term(u: Any) -> Term:
    return u if isinstance(u, Term) else Num(u)


def _bind(f: Callable[..., Any]) -> tuple[tuple[str, ...], Any]:
    names = tuple(inspect.signature(f).parameters)
    return names, f(*map(Var, names))


def program(f: Callable[..., Term]) -> Program:
    """The program of a Python function on terms; variables have the names of its parameters.

    >>> print(program(lambda xs, ys: sum_of(build(3, lambda i: xs[i] * ys[i]))))
    \\xs ys. sum (build 3 (\\i. xs[i] * ys[i]))
    """
    names, body = _bind(f)
    made = Program(names, _term(body))
    check(made.body, frozenset(names))
    return made


def build(n: int, f: Callable[[Term], Any]) -> Term:
    """build n (\\i. t), for f the function from i to t."""
    (i,), body = _bind(f)
    return Build(n, i, _term(body))


def let(bound: Any, f: Callable[[Term], Any]) -> Term:
    """let x = bound in t, for f the function from x to t."""
    (x,), body = _bind(f)
    return Let(x, _term(bound), _term(body))


def sum_of(array: Term) -> Term:
    """sum array"""
    return Sum(array)


def unary(name: str, u: Any) -> Term:
    """An operation of one argument, as sin."""
    return Op(name, (_term(u),))


def gather(shape: Sequence[int], array: Term, f: Callable[..., Sequence[Any]]) -> Term:
    """gather shape array (\\is. js), for f the function from is to js."""
    names, at = _bind(f)
    return Gather(tuple(shape), array, names, tuple(map(_term, at)))


def scatter(shape: Sequence[int], array: Term, f: Callable[..., Sequence[Any]]) -> Term:
    """scatter shape array (\\is. js), for f the function from is to js."""
    names, at = _bind(f)
    return Scatter(tuple(shape), array, names, tuple(map(_term, at)))
