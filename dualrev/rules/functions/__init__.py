"""What is known of functions: one table, from which both engines, the refusals and the pages of docs/ take it.

A function of numpy is a line here, beside others of its kind, and a test (CONTRIBUTING.md shows how). The lines are in
elements.py, arrays.py, numerics.py and values.py; entry.py says what a line says.

>>> FUNCTIONS["np.cumprod"].names, FUNCTIONS["np.cumprod"].kind
(('a',), 'definition')
>>> canonical(np.cumprod), canonical(print)
('np.cumprod', None)
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from dualrev.rules.functions.arrays import ARRAYS
from dualrev.rules.functions.elements import ELEMENTS
from dualrev.rules.functions.entry import SHARED, Definition, Function, Selection
from dualrev.rules.functions.numerics import NUMERICS
from dualrev.rules.functions.values import VALUES

__all__ = ["FUNCTIONS", "Definition", "Function", "Selection", "canonical", "known", "shared"]

_ALL = (*ELEMENTS, *ARRAYS, *NUMERICS, *VALUES)
_MODULES = {"np": np, "math": math}
_NOTHING = Function("")

#: All of them, by name.
FUNCTIONS: Mapping[str, Function] = {line.name: line for line in _ALL}
assert len(FUNCTIONS) == len(_ALL), "a function has two lines"
assert all(how in SHARED for line in _ALL for how in line.shares or ())


def known(name: str) -> Function:
    """The line of a function; an empty one where there is none."""
    return FUNCTIONS.get(name, _NOTHING)


def canonical(f: Any) -> str | None:
    """The name of a function; None if it is not in the table."""
    return _by_identity().get(id(f))


@functools.cache
def _by_identity() -> dict[int, str]:
    """The names by the identity of the function; of those that this numpy has."""
    found: dict[int, str] = {}
    for name in FUNCTIONS:
        module, _, rest = name.partition(".")
        try:
            f = operator.attrgetter(rest)(_MODULES[module]) if module in _MODULES else getattr(builtins, name)
        except AttributeError:  # a method of arrays, a function of SciPy, or one that numpy has dropped
            continue
        found.setdefault(id(f), name)
    return found


def shared(name: str, source: Any, made: Any) -> str:
    """What a function makes of an array of the numba type `source`, given the type of its result: see `SHARED`."""
    if source.dtype != made.dtype:
        return "copy"
    if name in ("np.ascontiguousarray", "np.asfortranarray") and source.ndim < 2 and source.layout != "A":
        return "view"
    by_layout = FUNCTIONS[name].shares
    assert by_layout is not None
    return by_layout["CFA".index(source.layout)]
