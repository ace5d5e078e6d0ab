"""The parameters of numpy's functions and of their handlers: what is given by position, and what by name.

A handler has numpy's parameters in numpy's order, those that it knows; dtype, out, and what follows them come by name.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dualrev.eager.arrays import reductions

__all__ = ["TOLD", "by_name", "by_position", "hands_on", "parameters_of"]

#: numpy's functions in C that have handlers, by functions in Python with their parameters: an older numpy does not tell
#: them. (prototype may be given by name, whatever a later one tells.)
TOLD: dict[Any, Callable[..., None]] = {
    np.bincount: lambda x, /, weights=None, minlength=0: None,
    np.concatenate: lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    np.copyto: lambda dst, src, casting="same_kind", where=True: None,
    np.dot: lambda a, b, out=None: None,
    np.empty_like: lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: None,
    np.inner: lambda a, b, /: None,
    np.putmask: lambda a, /, mask, values: None,
    np.vdot: lambda a, b, /: None,
    np.where: lambda condition, x=None, y=None, /: None,
}


def by_name(
    func: Any, handler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call, with dtype, out, what follows them, and what the handler has no place for given by name.

    Where the handler has another name for a parameter, what is given by numpy's name goes to it.
    """
    first = by_position(func, handler)
    if len(args) > first:
        kwargs = {**kwargs, **dict(zip(_names(func)[first:], args[first:], strict=False))}
    own = _own_names(func, handler)
    kwargs = {own.get(key, key): u for key, u in kwargs.items() if u is not reductions.NOT_GIVEN}
    return args[:first], kwargs


@functools.cache
def by_position(func: Any, handler: Any) -> int:
    """How many arguments go to the handler as they come: those before dtype and out, for which it has a place."""
    names = _names(func)
    return min([names.index(name) for name in ("dtype", "out") if name in names] + [_room(handler)])


@functools.cache
def _own_names(func: Any, handler: Any) -> dict[str, str]:
    """The handler's names for the parameters that go to it as they come, by numpy's."""
    return dict(zip(_names(func)[: by_position(func, handler)], _places(handler), strict=False))


def _names(func: Any) -> list[str]:
    """Return the names of a numpy function's parameters; none for np.einsum, which takes any number."""
    return [] if func is np.einsum else [*parameters_of(func)]


@functools.cache
def parameters_of(func: Any) -> dict[str, Any]:
    """The names of a function's parameters, with their defaults; none where Python does not know them."""
    return {name: parameter.default for name, parameter in (_signature(func) or {}).items()}


@functools.cache
def hands_on(handler: Any) -> bool:
    """Whether a handler takes options that it does not name, or does not tell what it takes, as a ufunc of numpy."""
    parameters = _signature(handler)
    return parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _signature(func: Any) -> Mapping[str, inspect.Parameter] | None:
    """A function's parameters; None of one in C that does not tell."""
    try:
        return inspect.signature(TOLD.get(func, func)).parameters
    except ValueError:
        return None


@functools.cache
def _room(handler: Any) -> int:
    """How many positional arguments there may be; any number, if Python does not know."""
    parameters = _signature(handler)
    endless = parameters is None or any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    return sys.maxsize if endless else len(_places(handler))


@functools.cache
def _places(handler: Any) -> list[str]:
    """The names of the parameters that are given by position."""
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [p.name for p in (_signature(handler) or {}).values() if p.kind in kinds]
