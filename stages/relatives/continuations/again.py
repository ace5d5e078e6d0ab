"""Pullbacks that run the function again, there and back, because what waits can be returned to only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualrev.eager.numbers.overload import value
from dualrev.tree import inputs
from stages.relatives.staging.code import Name

__all__ = ["check_again", "running_again"]


def running_again(there_and_back: Callable[..., Any], f: Callable[..., Any], primals: tuple[Any, ...]) -> Any:
    """f's value, and the pullback that runs f again at each call.

    there_and_back(f, scalars, structure, seeds) runs f at the scalars and gives those of its value, the value's
    structure, and the cotangents of the scalars; seeds(values) are the cotangents of the value's, and None means: there
    only.
    """
    scalars, structure = inputs(primals)
    kept = structure.owned()  # the discrete arrays as they are now
    first, output, _ = there_and_back(f, scalars, structure, None)

    def pullback(ct: Any) -> Any:
        zs = output.read(ct)

        def seeds(again: Sequence[Any]) -> list[Any]:
            check_again(first, again)
            return zs

        *_, cts = there_and_back(f, scalars, kept.owned(), seeds)
        return structure.cotangent(cts)

    return output.rebuild(first), pullback


def _known(x: Any) -> Any:
    """The value of a number; 0.0 for one that has none yet, since code is generated for it (lantern.py)."""
    x = value(x)
    return 0.0 if isinstance(x, Name) else x


def check_again(first: Sequence[Any], again: Sequence[Any]) -> None:
    """RuntimeError unless the real scalars of a function's value are those of the first time.

    >>> check_again([1.0, float("nan")], [1.0, float("nan")])
    """
    a, b = list(map(_known, first)), list(map(_known, again))
    if len(a) != len(b) or any(x != y and (x == x or y == y) for x, y in zip(a, b, strict=True)):
        raise RuntimeError(
            "the pullback ran the function again, and its value was another one: it depends on something that changes"
            " (random numbers, a global, an iterator that is used up). Make that an argument, or use another algorithm"
        )
