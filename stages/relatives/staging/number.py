"""Numbers of generated code: names without a value while the code is generated."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, NamedTuple

from dualrev.diagnostics.user_lines import where
from dualrev.eager.numbers.overload import DualNumber
from stages.relatives.continuations.control import around
from stages.relatives.staging.code import Atom, Code, Item, Name, StagingError

__all__ = ["Condition", "Index", "Number", "atom", "here", "is_active", "is_number"]


class Condition(NamedTuple):
    """A comparison of numbers, for IF and WHILE."""

    left: Any
    symbol: str
    right: Any

    def __bool__(self) -> bool:
        raise StagingError(
            f"a condition on numbers{where()} is not known while code is generated: write IF(condition, lambda: ..,"
            " lambda: ..), or WHILE(x, condition, body) for a loop (stages.relatives.continuations.lantern)"
        )


class Number(DualNumber):
    """A number of generated code: its name x, and that of its cell d, or None; `run` is its program."""

    __slots__ = ("d", "run", "x")
    run: Any

    def __init__(self, run: Any, x: Any, d: Any) -> None:
        self.run, self.x, self.d = run, x, d

    def compare(self, symbol: str, that: Any) -> Any:
        """x < y, and so on"""
        return Condition(self, symbol, that) if is_number(that) else NotImplemented

    def __lt__(self, that: Any) -> Any:
        return self.compare("<", that)

    def __le__(self, that: Any) -> Any:
        return self.compare("<=", that)

    def __gt__(self, that: Any) -> Any:
        return self.compare(">", that)

    def __ge__(self, that: Any) -> Any:
        return self.compare(">=", that)

    def __eq__(self, that: object) -> Any:
        return self.compare("==", that)

    def __ne__(self, that: object) -> Any:
        return self.compare("!=", that)

    __hash__ = None  # type: ignore[assignment]

    def goes_with(self, that: Any) -> bool:
        """Whether to write an operation on both; an inner derivative by another algorithm computes its own."""
        inside = isinstance(that, DualNumber) and not isinstance(that, Number) and that.run.level > self.run.level
        return is_number(that) and not inside

    def unknown(self, *_: Any) -> Any:
        """Raise the error that the number's value is not known yet."""
        return Name.unknown(self.x)

    __bool__ = __float__ = __int__ = __trunc__ = __floor__ = __ceil__ = __index__ = unknown
    __round__ = unknown  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"the generated number {self.x.text}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """An integer of the generated code: its name, or the integer."""

    run: Code
    x: Name | int

    @classmethod
    def of(cls, array: str, index: Index) -> Index:
        """array[index]"""
        code = here()
        t = code.name("t", "int")
        code.write(Item(t, array, atom(code, index)))
        return cls(code, t)


def here() -> Code:
    """The innermost program that is being generated."""
    for level in around():
        if isinstance(level, Code):
            return level
    raise StagingError(f"a number was used after its program had been generated{where()}")


def atom(code: Code, u: Any) -> Atom:
    """The atom of a number or an index in the code; a number of an outer program gets a name of its own."""
    if isinstance(u, DualNumber) and not isinstance(u, Number):
        return Name.mixed(Name("", "float"))
    if not isinstance(u, (Number, Index)):
        return float(u)
    if isinstance(u.x, int):
        return u.x
    if u.run.over:
        raise StagingError(f"a number was used after its program had been generated{where()}")
    return u.x if u.run is code else code.capture(u, "float" if isinstance(u, Number) else "int")


def is_active(code: Code, u: Any) -> bool:
    """Whether a number has a cell of this program."""
    return isinstance(u, Number) and u.run is code and u.d is not None


def is_number(u: Any) -> bool:
    """Whether something is a real number, known or not."""
    return isinstance(u, numbers.Real)
