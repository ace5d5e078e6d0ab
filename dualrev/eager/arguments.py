"""By which of its arguments a function is differentiated: `argnums`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.leaves import part_of
from dualrev.eager.py_func_globals import as_python
from dualrev.errors import ArgumentError, ArgumentNumberError
from dualrev.tree import flatten_leaves

__all__ = ["Argnums", "argument_numbers", "check_ints", "choose", "several"]

Argnums = int | Sequence[int]


def several(argnums: Argnums) -> bool:
    """Whether it is a sequence of numbers: then a derivative is a tuple, of one for each."""
    return argnums.__class__ is not int and (argnums.__class__ is tuple or isinstance(argnums, Sequence))


def _index(k: Any) -> int | None:
    """A number of an argument as an int; a bool is none, it was meant for something else."""
    if k.__class__ is int:
        return k
    try:
        return None if isinstance(k, (bool, np.bool_)) else operator.index(k)
    except TypeError:
        return None


def check_ints(argnums: Argnums, transform: str) -> None:
    """Raise ArgumentNumberError for argnums that are no ints, before there are arguments to count."""
    if argnums.__class__ is not int:
        given: Any = argnums if several(argnums) else (argnums,)
        if isinstance(argnums, str) or any(_index(k) is None for k in given):
            raise ArgumentNumberError.no_ints(argnums, transform)


def argument_numbers(argnums: Argnums, count: int) -> list[int]:
    """The numbers of the chosen ones of so many arguments; ArgumentNumberError if argnums does not name any."""
    given: Any = argnums if several(argnums) else (argnums,)
    numbers = [k for k in given if k.__class__ is int and 0 <= k < count]  # the usual case
    if len(numbers) < len(given):
        numbers = [k % count for k in map(_index, given) if k is not None and -count <= k < count]
    if not numbers or len(set(numbers)) < len(given):
        raise ArgumentNumberError(argnums, count)
    return numbers


def _numbers(argnums: Argnums, args: tuple[Any, ...]) -> list[int]:
    """The numbers of the chosen arguments."""
    numbers = argument_numbers(argnums, len(args))
    if len(numbers) > 1:  # a single one is looked at by the engine
        for k in numbers:
            if part_of(args[k]) is None and not flatten_leaves(args[k])[0]:
                raise ArgumentError((args[k],))
    return numbers


def choose(
    f: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """f as a function of the chosen arguments only, and those."""
    if len(args) == 1 and argnums == 0 and argnums.__class__ is int and not kwargs:
        return f, args
    f, numbers = as_python(f), _numbers(argnums, args)

    def function(*duals: Any) -> Any:
        """Call f with the chosen arguments in their positions."""
        whole = list(args)
        for k, u in zip(numbers, duals, strict=True):
            whole[k] = u
        return f(*whole, **kwargs)

    return function, tuple([args[k] for k in numbers])
