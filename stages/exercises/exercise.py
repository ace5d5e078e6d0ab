"""Data of an exercise: its cases (inputs, from the smallest on), the outcome of a case, its chapter."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Case", "Chapter", "Counter", "Exercise", "MisfitError", "Outcome", "case", "pair", "same", "shown"]

_FOLDER = Path(__file__).parent


class MisfitError(Exception):
    """A result of an answer that has the wrong form, for example a number in place of a pair."""


@dataclass(frozen=True)
class Outcome:
    """The result of an answer on one input, and the expected result. A count above its bound is a fault, too."""

    found: Any
    expected: Any
    count: int | None = None
    bound: int | None = None
    fault: str = ""  #: another fault, such as a changed argument


@dataclass(frozen=True)
class Case:
    """One input: the call as text, and a function that runs an answer on it."""

    text: str
    run: Callable[[Callable[..., Any]], Outcome]


@dataclass(frozen=True)
class Exercise:
    """An exercise: the name of the function to write, its cases, what is counted, a hint for wrong answers."""

    name: str
    cases: Sequence[Case]
    hint: str
    counted: str = ""
    tolerance: float = 1e-9


@dataclass(frozen=True)
class Chapter:
    """A chapter of the course with its exercises."""

    number: int
    title: str
    exercises: Sequence[Exercise]

    @property
    def tasks(self) -> Path:
        """The file to begin with."""
        return _FOLDER / "tasks" / f"chapter_{self.number}.py"


@dataclass
class Counter:
    """A function that counts its calls.

    >>> counted = Counter(math.sqrt)
    >>> counted(4.0), counted.calls, counted
    (2.0, 1, sqrt)
    """

    function: Callable[..., Any]
    calls: int = field(default=0)

    def __call__(self, *args: Any) -> Any:
        """Count a call, and make it."""
        self.calls += 1
        return self.function(*args)

    def __repr__(self) -> str:
        return shown(self.function)


def case(name: str, expected: Any, *args: Any, bound: int | None = None, text: str = "") -> Case:
    """Return the case of a call with these arguments, which must stay unchanged.

    Args:
        name: the function to write
        expected: its result
        args: the arguments; each call gets copies
        bound: the largest number of calls of the first argument, a function
        text: the call in a shorter form, for large arguments

    >>> case("double", 4.0, 2.0).run(lambda x: x + x)
    Outcome(found=4.0, expected=4.0, count=None, bound=None, fault='')
    """

    def run(answer: Callable[..., Any]) -> Outcome:
        """Call the answer with copies of the arguments."""
        given = [x if callable(x) else copy.deepcopy(x) for x in args]
        if bound is not None:
            given[0] = Counter(args[0])
        found = answer(*given)
        changed = [x for x, before in zip(given, args, strict=True) if not callable(x) and not same(x, before)]
        fault = f"the call changed its argument to {shown(changed[0])}" if changed else ""
        return Outcome(found, expected, given[0].calls if bound is not None else None, bound, fault)

    return Case((text or f"{name}({', '.join(map(shown, args))})") + _where(args), run)


def _where(args: Sequence[Any]) -> str:
    """Return the definitions of the functions among the arguments: their docstrings, if these begin with "where"."""
    said = dict.fromkeys((f.__doc__ or "").strip() for f in args if callable(f))
    return "".join(f", {text}" for text in said if text.startswith("where "))


def pair(result: Any, what: str) -> tuple[Any, Any]:
    """Return the two parts of a result. MisfitError unless it is a pair."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise MisfitError(f"expected {what}, got {shown(result)}")
    return result[0], result[1]


def same(found: Any, expected: Any, tolerance: float = 1e-9) -> bool:
    """Whether two results agree: numbers up to a relative tolerance, NaN with NaN; a list may stand for a tuple.

    >>> same([1.0, 2.0], (1.0, 2.0 + 1e-12)), same([1.0], [1.0, 2.0]), same(None, 0.0)
    (True, False, False)
    """
    if isinstance(found, np.ndarray):
        found = found.tolist()
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, (list, tuple))
            and len(found) == len(expected)
            and all(same(a, b, tolerance) for a, b in zip(found, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(same(found[key], expected[key], tolerance) for key in expected)
        )
    if isinstance(expected, bool) or not isinstance(expected, Real):
        return bool(found == expected)
    if isinstance(found, bool) or not isinstance(found, Real):
        return False
    if isinstance(expected, int) and isinstance(found, int):
        return found == expected
    a, b = float(found), float(expected)
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= tolerance * max(1.0, abs(b))


def shown(x: Any, most: int = 400) -> str:
    """Return a value as text: a function by its name, long text cut off.

    >>> shown(math.sin), shown([1.0, math.sin])
    ('sin', '[1.0, sin]')
    """
    text = _shown(x)
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _shown(x: Any) -> str:
    if isinstance(x, tuple):
        return f"({', '.join(map(_shown, x))}{',' if len(x) == 1 else ''})"
    if isinstance(x, list):
        return f"[{', '.join(map(_shown, x))}]"
    if isinstance(x, dict):
        return f"{{{', '.join(f'{_shown(key)}: {_shown(value)}' for key, value in x.items())}}}"
    if isinstance(x, np.generic):
        return repr(x.item())
    if callable(x) and hasattr(x, "__name__"):
        return str(x.__name__)
    return repr(x)
