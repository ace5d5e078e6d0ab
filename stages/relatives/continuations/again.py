"""Pullbacks that run the function again, forward and reverse, because one-shot continuations return only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualrev.eager.numbers.overload import value
from dualrev.tree import inputs
from stages.relatives.staging.code import Name

__all__ = ["check_again", "running_again"]


def running_again(there_and_back: Callable[..., Any], f: Callable[..., Any], primals: tuple[Any, ...]) -> Any:
    """Return f's value, and a pullback that runs f again at each call.

    there_and_back(f, scalars, structure, seeds) runs f at the scalars, and returns the scalars of its value, the
    value's structure, and the cotangents of the scalars. seeds(values) gives the cotangents of the value's scalars; if
    seeds is None, only the forward pass runs.
    """
    scalars, structure = inputs(primals)
    kept = structure.owned()  # the discrete arrays as they are now
    first, output, _ = there_and_back(f, scalars, structure, None)

    def pullback(ct: Any) -> Any:
        """Run f forward and reverse with the cotangent ct as the seed."""
        zs = output.read(ct)

        def seeds(again: Sequence[Any]) -> list[Any]:
            """The cotangents of the value's scalars. RuntimeError if f's value has changed."""
            check_again(first, again)
            return zs

        *_, cts = there_and_back(f, scalars, kept.owned(), seeds)
        return structure.cotangent(cts)

    return output.rebuild(first), pullback


def _known(x: Any) -> Any:
    """The value of a number; 0.0 for a symbolic number of generated code (lantern.py)."""
    x = value(x)
    return 0.0 if isinstance(x, Name) else x


def check_again(first: Sequence[Any], again: Sequence[Any]) -> None:
    """Raise RuntimeError unless the real scalars of a function's value are the same as in the first run.

    >>> check_again([1.0, float("nan")], [1.0, float("nan")])
    """
    a, b = list(map(_known, first)), list(map(_known, again))
    if len(a) != len(b) or any(x != y and (x == x or y == y) for x, y in zip(a, b, strict=True)):
        raise RuntimeError(
            "the pullback ran the function again, and its value has changed: it depends on random numbers, a global,"
            " or an iterator that is exhausted. Make that an argument, or use another algorithm"
        )
