"""Space: the number of words that an algorithm keeps between the forward pass and the pullback.

    a tuple, a list, an array of n elements      a header and n words
    a table of n keys                            a header and two words for each
    a function                                   a header and a word for every captured variable
    an object of a stage, a run                  a header and a word for every attribute

    numbers, ids, the input's structure          the word in their container

Shared objects count once. This is the measure of stages/calculus/space.py, applied to the Python objects that are
reachable from the pullback.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from dualrev.eager.numbers.overload import Run
from stages.order import algorithm

__all__ = ["kept", "reachable"]


def kept(name: str, f: Callable[..., Any], *primals: Any) -> int:
    """The words that a stage or related algorithm keeps for the pullback of f at the primals.

    KeyError for an unknown name; errors of the algorithm propagate.

    >>> def doublings(x):
    ...     for _ in range(100):
    ...         x = x + x
    ...     return x
    >>> kept("staged", doublings, 1.0), kept("tape", doublings, 1.0)
    (1420, 1041)
    """
    _, pullback = algorithm(name).vjp(f, *primals)
    return reachable(pullback, f)


def reachable(value: Any, *others: Any) -> int:
    """Return the words reachable from a value, but not from the others."""
    seen: dict[int, Any] = {id(x): x for x in others}  # objects stay alive, so that addresses do
    todo, words = [value], 0
    while todo:
        v = todo.pop()
        if id(v) in seen:
            continue
        seen[id(v)] = v
        held = _held(v)
        if held is not None:
            n, parts = held
            words += 1 + n
            todo.extend(parts)
    return words


def _held(v: Any) -> tuple[int, list[Any]] | None:
    """How many words a value has besides its header, and what they refer to; None for a value of one word."""
    if isinstance(v, (tuple, list)):
        return len(v), list(v)
    if isinstance(v, dict):
        return 2 * len(v), [*v, *v.values()]
    if isinstance(v, np.ndarray):
        return v.size, list(v.flat) if v.dtype == object else []
    if isinstance(v, array.array):
        return len(v), []
    if isinstance(v, FunctionType):
        captured = [*_cells(v), *(v.__defaults__ or ())]
        return len(captured), captured
    if isinstance(v, Run) or (type(v).__module__.startswith("stages.") and not isinstance(v, type)):
        attributes = [getattr(v, name) for name in _names(v) if hasattr(v, name)]
        return len(attributes), attributes
    return None


def _cells(f: FunctionType) -> Iterator[Any]:
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # nothing was assigned
            continue


def _names(v: Any) -> list[str]:
    slots = [name for cls in type(v).__mro__ for name in vars(cls).get("__slots__", ())]
    return [*slots, *getattr(v, "__dict__", ())]
