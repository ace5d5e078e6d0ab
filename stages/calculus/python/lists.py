r"""Python's lists: the data type List, and the operations on lists, as functions of the subset.

    data List a = Nil | Cons a (List a)                      list[float] is List R

The functions below are translated like a user's, with the functions that call them. They also run in Python. A list of
the calculus is a linked list: reaching element i, or the end, takes a step for each element before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from stages.calculus.python.union import Union

__all__ = [
    "CONS",
    "LIST",
    "NIL",
    "count",
    "dropped",
    "element",
    "enumerated",
    "followed",
    "length",
    "repeated",
    "total",
    "turned",
    "zipped",
]

A = TypeVar("A")
B = TypeVar("B")

NIL, CONS = "Nil", "Cons"


@dataclass(frozen=True)
class Nil:
    """[], the empty list"""


@dataclass(frozen=True)
class Cons(Generic[A]):
    """[head, *tail]"""

    head: A
    tail: list[A]


#: list[..] of annotations; in the calculus its name begins with a capital.
LIST = Union("list", (Nil, Cons), (A,), {__name__: globals()})
for constructor in LIST.constructors:
    constructor.__union__ = LIST  # type: ignore[attr-defined]


def length(xs: list[A]) -> int:
    """len(xs)"""
    n = 0
    for _ in xs:
        n += 1
    return n


def element(xs: list[A], i: int, missing: Callable[[], A]) -> A:
    """xs[i], for i >= 0; `missing` beyond the end"""
    match xs:
        case [x, *rest]:
            return x if i == 0 else element(rest, i - 1, missing)
        case _:
            return missing()


def dropped(xs: list[A], n: int) -> list[A]:
    """xs[n:], for n >= 0"""
    match xs:
        case [_, *rest]:
            return xs if n == 0 else dropped(rest, n - 1)
        case _:
            return xs


def followed(xs: list[A], ys: list[A]) -> list[A]:
    """xs + ys"""
    match xs:
        case [x, *rest]:
            return [x, *followed(rest, ys)]
        case _:
            return ys


def repeated(xs: list[A], n: int) -> list[A]:
    """xs * n"""
    return xs if n == 1 else [] if n < 1 else followed(xs, repeated(xs, n - 1))


def turned(xs: list[A], onto: list[A]) -> list[A]:
    """reversed(xs), followed by `onto`"""
    match xs:
        case [x, *rest]:
            return turned(rest, [x, *onto])
        case _:
            return onto


def zipped(xs: list[A], ys: list[B], uneven: Callable[[], list[tuple[A, B]]]) -> list[tuple[A, B]]:
    """zip(xs, ys), followed by `uneven` if one list is longer"""
    match xs:
        case [x, *more]:
            match ys:
                case [y, *rest]:
                    return [(x, y), *zipped(more, rest, uneven)]
                case _:
                    return uneven()
        case _:
            match ys:
                case [_, *_]:
                    return uneven()
                case _:
                    return []


def enumerated(xs: list[A], n: int) -> list[tuple[int, A]]:
    """enumerate(xs, n)"""
    match xs:
        case [x, *rest]:
            return [(n, x), *enumerated(rest, n + 1)]
        case _:
            return []


def total(xs: list[float]) -> float:
    """sum(xs), by plain additions: from Python 3.12 on, `sum` compensates rounding errors of floats"""
    s = 0.0
    for x in xs:
        s += x
    return s


def count(xs: list[int]) -> int:
    """sum(xs), for ints"""
    s = 0
    for x in xs:
        s += x
    return s
