"""Entries of the corpus, and the decorator that enters a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["CASES", "Case", "case"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Case:
    """A function, and primals around which it is smooth: kinks and switches of branches are (nearly) an eighth away."""

    name: str  # the file and the function, with a number from the second case of a function on
    function: Callable[..., Any]
    primals: tuple[Any, ...]


#: All cases, in the order in which their files are imported.
CASES: list[Case] = []


def case(*primals: Any) -> Callable[[F], F]:
    """A decorator that appends the function with these primals to `CASES`; a function may have several cases."""

    def enter(function: F) -> F:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        earlier = sum(entry.function is function for entry in CASES)
        CASES.append(Case(f"{name}-{earlier + 1}" if earlier else name, function, primals))
        return function

    return enter
