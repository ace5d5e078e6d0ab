"""Running generated code: in Python, or compiled by numba, with memory that grows on demand.

ieee_divide, ieee_power    division and power of partial derivatives: IEEE's limits where Python raises
called                     whether something was added to a cell that started with -0.0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualrev.eager.numbers.overload import EDGE, at_edge
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES

__all__ = ["Full", "Memory", "in_numba", "in_python", "numba_compiles"]

#: Functions of Python's math that numba compiles.
_MATH = {"sqrt", "exp", "expm1", "log", "log1p", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot"}
_MATH |= {"sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "copysign", "erf", "erfc", "gamma", "lgamma", "fmod"}
_OTHERS = {"abs", "power", "maximum", "minimum"}


class Full(Exception):  # noqa: N818 - what happened
    """The memory is full."""


def numba_compiles(op: str) -> bool:
    """Whether numba compiles all functions in an operation's texts."""
    known = _MATH | _OTHERS | {"nan", "inf", "y", *PRIMITIVES[op].parameters}
    texts = (PRIMITIVES[op].value, *PRIMITIVES[op].partials)
    return all(name in known for text in texts for name in compile(text, op, "eval").co_names)


def in_python(source: str, name: str, more: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function that a text defines. RecursionError, with advice, if too many Python calls wait.

    `more`: further functions that the text calls.
    """
    scope: dict[str, Any] = {**FUNCTIONS, "nan": math.nan, "inf": math.inf, **(more or {})}
    scope |= {"ieee_divide": ieee_divide, "ieee_power": ieee_power, "called": called}
    exec(compile(source, f"<{name}, generated>", "exec"), scope)
    made = scope[name]

    def run(*arguments: Any) -> Any:
        """Run the function; a RecursionError says what to do."""
        try:
            return made(*arguments)
        except RecursionError:
            raise RecursionError(
                "too many calls of generated code wait for each other: iterations of WHILE and calls of FUN wait for"
                " the reverse pass. Compile it (stages.relatives.staging.staged.stage), or raise sys.setrecursionlimit"
            ) from None

    return run


class Memory:
    """Memory for records and cells of a compiled program, which doubles when it is full."""

    def __init__(self) -> None:
        self.size = 1024

    def run(self, f: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Run f, and again with twice the memory while it is full."""
        while True:
            top = np.zeros(4, np.int64)  # the first free place of ints, floats and cells; calls that wait
            try:
                return f(*arguments, np.empty(4 * self.size, np.int64), np.empty(self.size), np.empty(self.size), top)
            except Full:
                self.size *= 2


def in_numba(source: str, name: str) -> Callable[..., Any]:
    """Compile the function that a text defines."""
    from numba import njit

    scope: dict[str, Any] = {f: getattr(math, f) for f in _MATH}
    scope |= {"njit": njit, "abs": abs, "nan": math.nan, "inf": math.inf}
    scope |= {f: njit(FUNCTIONS[f]) for f in ("maximum", "minimum")} | {"power": njit(_power)}
    scope |= {"ieee_divide": njit(_quotient), "ieee_power": njit(_power)}
    scope |= {f.__name__: njit(f) for f in (new_cell, new_record, enter, called)}
    exec(compile(source, f"<{name}, generated>", "exec"), scope)
    return scope[name]


def _power(a: float, b: float) -> float:
    return a**b  # numba's has IEEE's limits


def _quotient(a: float, b: float) -> float:
    return a / b if b != 0.0 else a * math.copysign(math.inf, b)


def ieee_divide(a: Any, b: Any) -> Any:
    """a / b, with IEEE's limit where b is 0.

    >>> ieee_divide(-1.0, 0.0), ieee_divide(0.0, 0.0)
    (-inf, nan)
    """
    try:
        return a / b
    except EDGE:
        return at_edge(np.divide, a, b)


def ieee_power(a: Any, b: Any) -> Any:
    """The power of a with the exponent b, with IEEE's limit where Python raises.

    >>> ieee_power(0.0, -0.5), ieee_power(1e200, 2.0)
    (inf, inf)
    """
    try:
        return FUNCTIONS["power"](a, b)
    except EDGE:
        return at_edge(np.power, a, b)


def called(z: float) -> bool:
    """Whether something was added to a cell that started with -0.0: a sum is -0.0 only if all its terms are.

    >>> called(-0.0), called(-0.0 + 0.0), called(2.0)
    (False, True, True)
    """
    return z != 0.0 or math.copysign(1.0, z) > 0.0


# The functions that compiled code calls. `top` has the first free place of ints, floats and cells, and the depth.


def new_cell(cells: Any, top: Any) -> int:
    """Allocate a cell with the value 0."""
    d = top[2]
    if d >= cells.size:
        raise Full
    cells[d] = 0.0
    top[2] = d + 1
    return d


def new_record(ints: Any, floats: Any, top: Any, number: int, n: int, m: int) -> int:
    """Allocate a record for the function of this number, with room for n integers and m floats."""
    this = top[0]
    if this + n + 2 > ints.size or top[1] + m > floats.size:
        raise Full
    ints[this] = number
    ints[this + 1] = top[1]
    top[0] = this + n + 2
    top[1] += m
    return this


def enter(top: Any) -> None:
    """Count a waiting call. RecursionError if there are too many for a stack of 8 megabytes."""
    top[3] += 1
    if top[3] > 8000:
        raise RecursionError(
            "8,000 calls of generated code wait for each other: iterations of WHILE and calls of FUN wait for the"
            " reverse pass."
            " Take dualrev.value_and_grad of a numba function, which keeps what waits in an array"
        )
