"""Renaming of local variables whose names collide in numba's intermediate names.

Numba calls what it loads from a variable by the variable's name and the position in the bytecode, without anything
between: `_1` at 2640 is `$_12640.4`, and so is `_12` at 640. Of two definitions of one intermediate name it drops one.
So a variable whose name, followed by digits, is that of another one gets a suffix: not in the text, which people read,
but in the code object, which numba reads.
"""

from __future__ import annotations

import bisect
import re
from types import CodeType, FunctionType

__all__ = ["keep_apart"]


def keep_apart(f: FunctionType, parameters: bool, suffix: str = "_") -> dict[str, str]:
    """Rename colliding local variables in the code of `f`, parameters only if `parameters`; new names by old ones.

    >>> def f(x1):
    ...     x12 = y1 = x1 + 1
    ...     return x12 + y1
    >>> keep_apart(f, parameters=False)
    {'x12': 'x12_'}
    >>> f(1)
    4
    """
    code: CodeType = f.__code__
    names = code.co_varnames
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    fixed = set() if parameters else set(names[:count])
    taken = {*names, *code.co_cellvars, *code.co_freevars}
    new: dict[str, str] = {}
    for short, long in _alike(names):
        name = long if short in fixed else short
        if name in new or name in fixed or name in code.co_cellvars:
            continue
        new[name] = name + suffix
        while new[name] in taken or any(_is_longer(x, new[name]) for x in taken):
            new[name] += suffix
        taken.add(new[name])
    if new:
        f.__code__ = code.replace(co_varnames=tuple(new.get(x, x) for x in names))
    return new


def _alike(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pairs of names whose second name is the first one followed by digits."""
    ordered = sorted(names)
    found = []
    for short in names:
        first = bisect.bisect_right(ordered, short)
        for long in ordered[first:]:
            if not long.startswith(short):
                break
            if _is_longer(long, short):
                found.append((short, long))
    return found


def _is_longer(long: str, short: str) -> bool:
    """Whether a name is another one followed by digits."""
    return long.startswith(short) and re.fullmatch("[0-9]+", long[len(short) :]) is not None
