r"""VLAD's terms, and their A-normal form (section 4).

    e ::= x | e1 e2 | \x e | (e1 ,n e2) | let p1 = e1; ..; pn = en in e end
    p ::= x | (p1 ,n p2) | J p | []                      patterns; p (+)= e adds to the variables of p

A constant is a variable of the top-level environment. A variable is a base variable or has tags in front of it:
↼x (reverse), ↽x (sensitivity), ¯x (backpropagator). (e1 ,n e2) is a pair to which J has been applied n times.

A Lambda is a unit of A-normal form, (lambda x let x1 = e1; ..; xn = en in xn end): each ei is Copy, Call, Join or a
Lambda, all variables bound in it are distinct, and xn is its result.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "EMPTY",
    "Abs",
    "Apply",
    "Binding",
    "Call",
    "Cons",
    "Copy",
    "Expression",
    "Join",
    "Lambda",
    "Let",
    "Term",
    "Var",
    "VladError",
    "is_number",
    "level",
    "precedes",
    "tuple_of",
    "without_recursion",
]


class VladError(Exception):
    """An invalid text or a failing program; the message says what, where, and what to write instead."""


class Term:
    """A term of any kind below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Var(Term):
    """x"""

    name: str


@dataclass(frozen=True, slots=True)
class Apply(Term):
    """e1 e2"""

    function: Term
    argument: Term


@dataclass(frozen=True, slots=True)
class Cons(Term):
    """(e1 ,n e2): a pair to which, with its parts, J has been applied n times."""

    level: int
    first: Term
    second: Term


@dataclass(frozen=True, slots=True)
class Abs(Term):
    r"""\x e"""

    parameter: str
    body: Term


@dataclass(frozen=True, slots=True)
class Binding:
    """p = e; where it `adds`, p (+)= e"""

    pattern: Term
    term: Term
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Let(Term):
    """let p1 = e1; ..; pn = en in e end; each ei sees the variables before it."""

    bindings: Sequence[Binding]
    body: Term


@dataclass(frozen=True, slots=True)
class Copy:
    """xj"""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """xj xk"""

    function: str
    argument: str


@dataclass(frozen=True, slots=True)
class Join:
    """(xj ,n xk)"""

    level: int
    first: str
    second: str


class Lambda(Term):
    """A unit of A-normal form, with facts about it. Each is made once: identity is equality."""

    def __init__(self, parameter: str, bindings: Sequence[tuple[str, Expression]], figure: Term) -> None:
        self.parameter, self.bindings = parameter, tuple(bindings)
        self.figure = figure  #: the term that it was made from
        free = {y for _, e in bindings for y in _mentioned(e)} - {x for x, _ in bindings} - {parameter}
        self.free = tuple(sorted(free, key=precedes))  #: F e
        self.base_free = self.free  #: B e
        self.origin: Lambda | None = None  #: what this is the reverse transform of
        self.reverse: Lambda | None = None  #: the reverse transform of this
        self.primitive: Any = None  #: the primitive that this is the transform of
        self.code: list[tuple] | None = None  #: the bindings as the evaluator has them

    @property
    def result(self) -> str:
        """xn"""
        return self.bindings[-1][0]


Expression = Copy | Call | Join | Lambda


def _mentioned(e: Expression) -> Iterable[str]:
    match e:
        case Copy(x):
            return (x,)
        case Call(x, y) | Join(_, x, y):
            return x, y
        case Lambda():
            return e.free


# Variables

_TAGS = "↼↽¯"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf|-inf")
EMPTY = Var("[]")


def is_number(x: str) -> bool:
    """Whether the variable is a numeric constant, which is its own name in the top-level environment."""
    return _NUMBER.fullmatch(x) is not None


def level(x: str) -> int:
    """How often the value of a variable has been transformed: its number of leading reverse tags.

    >>> level("x"), level("↼↼x"), level("↽↼x")
    (0, 2, 0)
    """
    return len(x) - len(x.lstrip("↼"))


def precedes(x: str) -> tuple[int, list[int], str]:
    """The total order: x1 < x2 implies that both with the same tag are so, and x < ↼x < ↽x < ¯x.

    >>> sorted(["¯x", "↽x", "↼y", "↼x", "y", "x"], key=precedes)
    ['x', 'y', '↼x', '↼y', '↽x', '¯x']
    """
    base = x.lstrip(_TAGS)
    tags = x[: len(x) - len(base)]
    return len(tags), [_TAGS.index(tag) for tag in tags], base


def tuple_of(terms: Sequence[Term]) -> Term:
    """(e1, (e2, .. en)), associating to the right; [] of none."""
    if not terms:
        return EMPTY
    *firsts, made = terms
    for first in reversed(firsts):
        made = Cons(0, first, made)
    return made


def without_recursion(steps: Generator[Any, Any, Any]) -> Any:
    """Run a recursive function that is written as a generator: it yields its calls, and a list is the stack.

    >>> deep = []
    >>> for _ in range(10_000):
    ...     deep = [deep]
    >>> def down(x):
    ...     return 1 + (yield down(x[0])) if x else 0
    >>> without_recursion(down(deep))
    10000
    """
    stack, value = [steps], None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as done:
            stack.pop()
            value = done.value
    return value
