"""A loop of many steps in little memory: blocks of steps, blocks of blocks, and each of them a checkpoint."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

from dualrev.diagnostics.quoting import execute, identifier, remember
from dualrev.diagnostics.signatures import signature
from dualrev.eager.py_func_globals import numeric
from dualrev.errors import LoopError

__all__ = ["looped"]

_STEP = """\
def {name}_block_1({first}, {last}, {state}{rest}):
    {new} = {step}({first}, {state}{rest})
    for {k} in range({first} + 1, {last}):
        {new} = {step}({k}, {new}{rest})
    return {new}


"""
_BLOCK = """\
def {name}_block_{j}({first}, {last}, {state}{rest}):
    {size} = {length}({last} - {first}, {j})
    {new} = {name}_block_{i}({first}, min({first} + {size}, {last}), {state}{rest})
    for {k} in range({first} + {size}, {last}, {size}):
        {new} = {name}_block_{i}({k}, min({k} + {size}, {last}), {new}{rest})
    return {new}


"""
_WHOLE = """\
def {name}_loop({n}, {state}{rest}):
    if {n} < 1:
        return {state}
    return {name}_block_{j}(0, {n}, {state}{rest})
"""
_MOST_LEVELS = 64  # of blocks of two: more than any number of steps needs
_OWN = ("first", "last", "new", "size", "k", "n", "length", "step")
_KEPT = ("boundscheck", "error_model", "fastmath", "nogil")


def _length(count: int, levels: int) -> int:
    """How long the pieces of so many steps are which are divided further, until there are so many levels."""
    return max(1, math.ceil(count ** ((levels - 1) / levels)))


@functools.cache
def _compiled_length() -> Any:
    return njit(_length)


def looped(step: Callable[..., Any], levels: int, checkpoint: Callable[..., Any]) -> Callable[..., Any]:
    """See `dualrev.checkpoint`, which is `checkpoint`."""
    if not isinstance(levels, int) or isinstance(levels, bool) or levels < 1:
        raise LoopError(step, f"loop is the number of levels, a whole number above 0, and not {levels!r}")
    if levels > _MOST_LEVELS:
        raise LoopError(
            step, f"loop is the number of levels, not that of steps: loop={levels} is too large. Write 2 or 3"
        )
    compiled = isinstance(step, Dispatcher)
    function: Any = step.py_func if isinstance(step, Dispatcher) else step
    parameters = signature(function).parameters.values()
    plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    names = [p.name for p in parameters]
    if not plain or len(names) < 2:
        raise LoopError(step, "a step takes its number, the state, and what else it needs, each by a name")
    called = identifier(function.__name__, "step")
    given = {"state": names[1], "rest": "".join(f", {x}" for x in names[2:]), "name": called}
    for own in _OWN:
        given[own] = own
        while given[own] in names:
            given[own] += "_"
    text = _STEP.format(**given)
    text += "".join(_BLOCK.format(**given, j=j, i=j - 1) for j in range(2, levels + 1))
    text += _WHOLE.format(**given, j=levels)
    return _made(step, text, given, levels, compiled, checkpoint)


def _made(step: Any, text: str, given: dict[str, str], levels: int, compiled: bool, checkpoint: Any) -> Any:
    """Run the text; the compiler reads it again, so that it is kept where Python looks for the lines of code."""
    filename = f"<dualrev loop of {given['name']}, {levels}, {', '.join([given['state'], given['rest']])}>"
    remember(text, filename)
    space: dict[str, Any] = {
        "__name__": getattr(step, "__module__", __name__),
        given["step"]: step if compiled else numeric(step),
    }
    space[given["length"]] = _compiled_length() if compiled else _length
    execute(text, space, filename)
    options = {k: v for k, v in step.targetoptions.items() if k in _KEPT} if compiled else {}
    make: Any = njit(**options) if compiled else lambda f: f
    for j in range(1, levels + 1):
        name = f"{given['name']}_block_{j}"
        space[name] = checkpoint(make(space[name]))
    return make(space[f"{given['name']}_loop"])
