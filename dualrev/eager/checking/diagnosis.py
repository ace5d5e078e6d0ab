"""Why a function computes something else under differentiation than by itself: it is run a few times more, to see.

In this order: it gives another value each time; it was given one array twice, and writes to it; the two runs part at a
line, because of a test that a number under differentiation answers otherwise; or none of these is found.
"""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np

from dualrev.diagnostics.user_instructions import each_user_instruction
from dualrev.eager.arrays.memory.storage import RealArray, own
from dualrev.eager.checking.comparison import difference
from dualrev.eager.copies import copied
from dualrev.pytree.structures import unpack
from dualrev.tree import flatten_leaves

__all__ = ["reason"]

LONGEST = 1_000_000  # so many operations of a run are remembered


def reason(plain: Any, found: Any, expected: Any, again: Callable[[], Any]) -> str:
    """A sentence or two: why, and what to write instead."""
    with contextlib.suppress(Exception):
        if not plain.is_repeatable(expected):
            return "It gives another value each time: pass random numbers and state to it."
        if not difference(plain.call(_separated(plain.given)), found):
            what = shared(plain.given) or "Arguments have data in common"
            return (
                f"{what}, and it is written; under differentiation there are two copies. Pass it once, or pass a copy."
            )
        place = parting(plain.call, again)
        if place:
            return f"The two runs part{place}: {_meaning(place)}"
    return (
        "Both runs took the same branches. Common causes: np.array([u, v]) is an array of objects, whose np.maximum"
        " loses NaN (write dualrev.numpy.array); float32 becomes double precision; objects that the function changes"
        " are not copied."
    )


def _meaning(place: str) -> str:
    tests = "isinstance", "type(", "case ", "__class__", "hasattr", "getattr", "issubclass"
    if any(word in place for word in tests):
        return (
            "a number under differentiation is no float, and an array no np.ndarray. Test for dualrev.Real or"
            " numbers.Real, and for dualrev.RealArray."
        )
    return (
        "a condition was true for the one and not for the other. A number under differentiation is no float, and an"
        " array no np.ndarray."
    )


# One array, twice


def _separated(given: Any) -> Any:
    """The arguments as they are under differentiation: every array of its own."""
    leaves, structure = flatten_leaves(copied(given))
    return structure.rebuild_leaves(list(map(own, leaves)))


def shared(given: Any) -> str:
    """Name arguments that share data, as text; "" if none are found."""
    args, kwargs = given
    named = [*((str(k), x) for k, x in enumerate(args)), *((repr(name), x) for name, x in kwargs.items())]
    found = [(name, x) for name, argument in named for x in _changeable(argument)]
    for k, (name, x) in enumerate(found):
        for other, y in found[:k]:
            if x is y or (isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y)):
                what = "share memory" if isinstance(x, np.ndarray) else f"are or hold the same {type(x).__name__}"
                return f"Arguments {other} and {name} {what}" if name != other else f"Argument {name} holds data twice"
    return ""


def _changeable(x: Any) -> list[Any]:
    """The arrays, lists, dicts and objects in nested data, one as often as it occurs."""
    found: list[Any] = []
    todo = [x]
    while todo and len(found) < 200:
        u = todo.pop()
        unpacked = unpack(u)
        todo += [] if unpacked is None else unpacked[1][:200]
        if isinstance(u, RealArray):
            found.append(u.x)
        elif isinstance(u, np.ndarray) or (unpacked is not None and not isinstance(u, tuple)):
            found.append(u)
    return found


# Where two runs part


def parting(plain: Callable[[], Any], under: Callable[[], Any]) -> str:
    """The line at which two runs of a function part, ' at file.py:3: `text`'; "" if they do not."""
    steps: list[tuple[CodeType, int]] = []
    with each_user_instruction(
        lambda frame: steps.append((frame.f_code, frame.f_lasti)) if len(steps) < LONGEST else None
    ):
        plain()
    seen = 0
    last: list[tuple[str, int]] = []
    parted = False

    def compare(frame: FrameType) -> None:
        """Compare a step of the second run with the first one, and remember the line where they part."""
        nonlocal seen, parted
        if parted or seen >= len(steps):
            parted = parted or seen < LONGEST
            return
        parted = steps[seen] != (frame.f_code, frame.f_lasti)
        if not parted:
            last[:] = [(frame.f_code.co_filename, frame.f_lineno)]
            seen += 1

    with each_user_instruction(compare):
        under()
    if not last or (not parted and seen == len(steps)):
        return ""
    file, line = last[0]
    text = linecache.getline(file, line).strip()
    return f" at {file}:{line}" + (f": `{text}`" if text else "")
