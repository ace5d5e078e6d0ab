"""Choices of types and values of the calculus, from bytes; calculus_generator.py makes terms, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Declarations
from stages.calculus.language.types import BOOL, INT, REAL, UNIT, Named, Parameter, Type
from stages.calculus.language.values import Made

__all__ = ["DATA", "PLAINEST", "Choices"]

A = Parameter("a")


def _data(name: str, *constructors: tuple[str, tuple[Type, ...]]) -> DataType:
    return DataType(name, ("a",), tuple([Constructor(c, fields) for c, fields in constructors]))


#: T1 and T2 are those of the paper's section 9, where T2 has no finite value: C4 is added.
DATA = Declarations(
    {
        data.name: data
        for data in (
            _data("List", ("Nil", ()), ("Cons", (A, Named("List", (A,))))),
            _data("Tree", ("Tip", (A,)), ("Fork", (Named("Tree", (A,)), Named("Tree", (A,))))),
            _data("T1", ("C1", (A, Named("T2", (A,)))), ("C2", (REAL,))),
            _data("T2", ("C3", (INT, Named("T1", (A,)), Named("T2", (A,)))), ("C4", ())),
            _data("Rose", ("Rose", (A, Named("List", (Named("Rose", (A,)),))))),
        )
    }
)
PLAINEST = {"List": "Nil", "Tree": "Tip", "T1": "C2", "T2": "C4", "Rose": "Rose"}
NAMES = ("x", "y", "z", "w", "u", "v", "g", "h", "x1", "d1", "i1", "z1", "y1", "e1", "c", "m", "a", "i")


class Choices:
    """A maker of types and values from bytes, one for each choice. Without further bytes, the rest is plain."""

    def __init__(self, choices: bytes) -> None:
        self.choices, self.numbers = iter(choices), 0
        self.names = set(NAMES)

    def below(self, n: int) -> int:
        return next(self.choices, 0) % n if n > 1 else 0

    def size(self, n: int) -> int:
        """A size, of n on average."""
        return self.below(n + 1) + self.below(n + 1)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]

    def chance(self, n: int) -> bool:
        """One time in n."""
        return self.below(n) == n - 1

    def name(self, avoid: Sequence[str] = ()) -> str:
        """A name, perhaps of another variable, which it then hides; but none of those."""
        name = self.pick(NAMES)
        return name if name not in avoid else self.own("v")

    def own(self, base: str) -> str:
        """A name that nothing else has."""
        name = f"{base}_{len(self.names)}"
        self.names.add(name)
        return name

    # Types

    def first_order(self, size: int) -> Type:
        """A type without functions."""
        return self.type(size, functions=False)

    def type(self, size: int, functions: bool = True) -> Type:
        """A type."""
        kind = self.pick((REAL, REAL, REAL, REAL, REAL, INT, BOOL, UNIT)) if size <= 0 or self.chance(3) else None
        if kind is not None:
            return kind
        kinds = ["real", "pair", "pair", "data", "sum", "arrow", "arrow"]
        match self.pick(kinds if functions else kinds[:5]):
            case "pair":
                return ty.Pair(self.type(size - 1, functions), self.type(size - 1, functions))
            case "data":
                return Named(self.pick(tuple(PLAINEST)), (self.type(size - 2, functions),))
            case "sum":
                return ty.Sum(self.type(size - 1, functions), self.type(size - 2, functions))
            case "arrow":
                return ty.Arrow(self.type(size - 2, functions), self.type(size - 1, functions))
        return REAL

    # Values

    def value(self, type_: Type, depth: int) -> Any:
        """A value of a first-order type."""
        match type_:
            case ty.Real():
                self.numbers += 1
                size = 0.1 + self.below(256) / 128 + self.numbers * 0.00037
                return -size if self.chance(2) else size
            case ty.Int():
                return self.below(5) - 1
            case ty.Unit():
                return ()
            case ty.Pair(first, second):
                return self.value(first, depth), self.value(second, depth)
        constructor = self.constructor(type_, depth)
        return Made(constructor.name, tuple([self.value(field, depth - 1) for field in constructor.fields]))

    def constructor(self, type_: Type, depth: int) -> Constructor:
        """One of a sum or data type's; the plainest one when depth is used up."""
        constructors = DATA.constructors(type_)
        assert constructors is not None
        if isinstance(type_, Named) and depth <= 0:
            return next(c for c in constructors if c.name == PLAINEST[type_.name])
        return self.pick(constructors)

    # What terms need

    def shares(self, size: int, n: int) -> list[int]:
        """The size, divided among n parts."""
        found = []
        for _ in range(n - 1):
            found.append(self.below(min(size, 60) + 1))
            size -= found[-1]
        return [*found, size]

    def distinct(self, count: int) -> tuple[str, ...]:
        """Return `count` names that do not hide each other."""
        names: list[str] = []
        for _ in range(count):
            names.append(self.name(names))
        return tuple(names)
