"""numpy's functions of arrays without elements: numpy's own, as the result has nothing to depend on.

So the value, its shape and dtype, warnings and errors are those of numpy, in each of its versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dualrev.eager.arrays.complex.pairs import ComplexArray, held, holds_complex, values
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals

__all__ = ["all_empty", "of_empty"]


def all_empty(*given: Any) -> bool:
    """Whether some of these are RealArrays or ComplexArrays, all of them are empty, and nothing else has a derivative.

    A function among the arguments counts as something that has one: it may hold numbers under differentiation.

    >>> import numpy as np
    >>> all_empty(RealArray(np.zeros((0, 3))), [2.0]), all_empty([RealArray(np.zeros(0)), RealArray(np.zeros(1))])
    (True, False)
    """
    found = False
    for u in _leaves(given):
        if isinstance(u, (RealArray, ComplexArray)):
            if u.size:
                return False
            found = True
        elif holds_duals(u) or holds_complex(u) or (callable(u) and not isinstance(u, type)):
            return False
    return found


def of_empty(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of the function for the plain arrays, in arrays that can hold numbers under differentiation."""
    return _ours(func(*_plain(args), **{key: _plain(u) for key, u in kwargs.items()}))


def _leaves(u: Any) -> Iterator[Any]:
    if u.__class__ is list or u.__class__ is tuple:
        for x in u:
            yield from _leaves(x)
    else:
        yield u


def _plain(u: Any) -> Any:
    if u.__class__ is list or u.__class__ is tuple:
        return type(u)(map(_plain, u))
    return values(u) if isinstance(u, (RealArray, ComplexArray)) else u


def _ours(made: Any) -> Any:
    if isinstance(made, tuple):
        parts = map(_ours, made)
        return made._make(parts) if hasattr(made, "_make") else tuple(parts)
    if made.__class__ is list:
        return [*map(_ours, made)]
    return held(made) if getattr(made, "ndim", 0) else made
