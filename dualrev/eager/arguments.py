"""By which of its arguments a function is differentiated: `argnums`, or their names, `argnames`."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.diagnostics.signatures import signature
from dualrev.eager.leaves import part_of
from dualrev.eager.py_func_globals import storable
from dualrev.errors import ArgumentError, ArgumentNumberError
from dualrev.tree import flatten_leaves

__all__ = [
    "FIRST",
    "Argnames",
    "Argnums",
    "argument_numbers",
    "check_ints",
    "choose",
    "chosen_by",
    "positions",
    "several",
]

Argnums = int | Sequence[int]
Argnames = str | Sequence[str]


def several(argnums: Argnums) -> bool:
    """Whether it is a sequence of numbers: then a derivative is a tuple, of one for each."""
    if argnums.__class__ is int or isinstance(argnums, str):
        return False
    return argnums.__class__ is tuple or isinstance(argnums, Sequence)


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
        for k in given:  # any(...) takes more time
            if k.__class__ is not int and _index(k) is None:
                raise ArgumentNumberError.no_ints(argnums, transform)


class _NotGiven(int):
    """The default of `argnums`: 0, unless `argnames` is given."""


FIRST = _NotGiven(0)


def chosen_by(f: Callable[..., Any], argnums: Argnums, argnames: Argnames | None, transform: str) -> Any:
    """The numbers or the names of the chosen arguments; ArgumentNumberError for both, and for names that f has not."""
    if argnames is None:
        argnums = 0 if argnums is FIRST else argnums
        check_ints(argnums, transform)
        return argnums
    if argnums is not FIRST:
        raise ArgumentNumberError.of_both(argnums, argnames)
    names = _names(argnames)
    if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise ArgumentNumberError.no_names(argnames)
    parameters = _parameters(f, argnames)
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        known = [name for name, p in parameters.items() if p.kind is not p.VAR_POSITIONAL]
        for name in names:
            if name not in known:
                raise ArgumentNumberError.of_name(name, known)
    return argnames if isinstance(argnames, str) else tuple(argnames)


def positions(f: Any, chosen: Any) -> Any:
    """The numbers of the arguments of a numba function that `chosen_by` has returned."""
    if isinstance(chosen, str):
        return list(signature(f).parameters).index(chosen)
    if chosen.__class__ is not int and several(chosen) and chosen and isinstance(chosen[0], str):
        return tuple(positions(f, k) for k in chosen)
    return chosen


def _names(argnames: Any) -> tuple[Any, ...]:
    return tuple(argnames) if several(argnames) else (argnames,)


def _parameters(f: Callable[..., Any], argnames: Any) -> Any:
    try:
        return signature(f).parameters
    except ValueError:  # a function in C may have none
        raise ArgumentNumberError.no_signature(argnames) from None


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
    first: Any = argnums[0] if isinstance(argnums, (tuple, list)) and argnums else argnums
    if isinstance(first, str):
        return _choose_by_name(f, _names(argnums), args, kwargs)
    numbers = _numbers(argnums, args)
    f, constants, kwargs = storable(f, args, kwargs)

    def function(*duals: Any) -> Any:
        """Call f with the chosen arguments in their positions."""
        whole = list(constants)
        for k, u in zip(numbers, duals, strict=True):
            whole[k] = u
        return f(*whole, **kwargs)

    return function, tuple([args[k] for k in numbers])


def _choose_by_name(
    f: Callable[..., Any], names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    parameters = _parameters(f, names)
    by_position = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    given = dict(zip(by_position, args, strict=False)) | kwargs
    for name in names:
        if name not in given:
            default = parameters[name].default if name in parameters else inspect.Parameter.empty
            if default is inspect.Parameter.empty or parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
                raise ArgumentNumberError.not_passed(name)
            given[name] = default
        if len(names) > 1 and part_of(given[name]) is None and not flatten_leaves(given[name])[0]:
            raise ArgumentError((given[name],))
    f, constants, options = storable(f, args, kwargs)

    def function(*duals: Any) -> Any:
        """Call f with the chosen arguments in their places."""
        whole, named = list(constants), dict(options)
        for name, u in zip(names, duals, strict=True):
            if name in by_position and by_position.index(name) < len(args):
                whole[by_position.index(name)] = u
            else:
                named[name] = u
        return f(*whole, **named)

    return function, tuple(given[name] for name in names)
