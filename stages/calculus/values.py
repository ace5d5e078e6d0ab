"""Values of the calculus as Python objects.

R          float (or what computes like one: a dual number of another stage)      Int     int
()         ()                                                                     (s, t)  (s, t)
s + t, T   Made(constructor, fields); ZERO, the formal zero of a sum              !t      the value itself
s -> t, s -o t, s ->R t                 Closure, Composed, IDENTITY
Map Int t  Tree, a persistent tree      Array t, IArray t  Cells, a list
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from stages import ordered_map
from stages.calculus.terms import Term

__all__ = ["EMPTY", "FALSE", "IDENTITY", "TRUE", "ZERO", "Cells", "Closure", "Composed", "Made", "Tree", "is_function"]


class Made(NamedTuple):
    """C(v1, .., vn)"""

    name: str
    fields: tuple[Any, ...]


TRUE, FALSE = Made("inl", ((),)), Made("inr", ((),))


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function with its environment; `made_by` as in LinearLambda."""

    parameter: str
    body: Term
    environment: Mapping[str, Any]
    made_by: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """First right, then left."""

    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Tree:
    """A map."""

    root: ordered_map.Map

    def __len__(self) -> int:
        return ordered_map.size(self.root)


@dataclass(slots=True, eq=False)
class Cells:
    """An array."""

    cells: list[Any]


class _Constant:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


IDENTITY, ZERO, EMPTY = _Constant("IDENTITY"), _Constant("ZERO"), Tree(None)


def is_function(value: Any) -> bool:
    """Whether the value can be applied."""
    return isinstance(value, (Closure, Composed)) or value is IDENTITY
