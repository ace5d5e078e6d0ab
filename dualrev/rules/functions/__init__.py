"""Table of functions of numpy, math and Python, from which both engines, the refusals and the pages of docs/ read.

To add a function of numpy, add a line here, beside others of its kind, and a test (CONTRIBUTING.md shows how). The
lines are in elements.py, arrays.py, numerics.py and nondifferentiable.py; entry.py explains the fields of a line.

>>> import numpy as np
>>> TABLE["np.cumprod"].names, TABLE["np.cumprod"].kind
(('a',), 'definition')
>>> canonical(np.cumprod), canonical(print)
('np.cumprod', None)
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from dualrev.rules.functions.arrays import ARRAYS
from dualrev.rules.functions.elements import ELEMENTS
from dualrev.rules.functions.entry import LARGEST, SHARED, Definition, Function, Selection
from dualrev.rules.functions.nondifferentiable import VALUES
from dualrev.rules.functions.numerics import NUMERICS

__all__ = ["LARGEST", "TABLE", "Definition", "Function", "Selection", "canonical", "known", "shared"]

_ALL = (*ELEMENTS, *ARRAYS, *NUMERICS, *VALUES)
_NOTHING = Function("")

#: All of them, by name.
TABLE: Mapping[str, Function] = {line.name: line for line in _ALL}
assert len(TABLE) == len(_ALL), "a function has two lines"
assert all(how in SHARED for line in _ALL for how in line.shares or ())


def known(name: str) -> Function:
    """The line of a function; an empty one where there is none."""
    return TABLE.get(name, _NOTHING)


def canonical(f: Any) -> str | None:
    """The name of a function; None if it is not in the table."""
    return _by_identity().get(id(f))


@functools.cache
def _by_identity() -> dict[int, str]:
    """The names by the identity of the function; of those that this numpy has."""
    found: dict[int, str] = {}
    for line in _ALL:
        f = line.function
        if f is not None:
            found.setdefault(id(f), line.name)
    return found


def shared(name: str, source: Any, made: Any) -> str:
    """Memory of a function's result, given the numba types of its array argument and of the result: see `SHARED`."""
    if source.dtype != made.dtype:
        return "copy"
    if name in ("np.ascontiguousarray", "np.asfortranarray") and source.ndim < 2 and source.layout != "A":
        return "view"
    by_layout = TABLE[name].shares
    assert by_layout is not None
    return by_layout["CFA".index(source.layout)]
