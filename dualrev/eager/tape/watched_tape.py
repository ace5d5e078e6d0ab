"""The tape under `debug_nans`: it knows the value and the operation in the user's code of every id.

    i = run.fresh()       the plain value is `y` of the caller             engine.py and record.py: `leaf` or `x`
                          the operation is the expression that runs in the innermost frame of the user's code

Each row and each block takes its id from `fresh`, and each array from `allocate`: so these two have all that happens,
and nothing else asks whether it is recorded. While the inner derivative of a nested one is resolved, its operations are
those that are resolved (`resolving`), and not the line that called it. A run that begins meanwhile has its own lines.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import Any

import numpy as np

from dualrev.diagnostics.nans import current_call
from dualrev.diagnostics.nonfinite import Operation
from dualrev.diagnostics.user_lines import is_of_library, is_of_user
from dualrev.eager.arrays.memory.record import of_new
from dualrev.eager.arrays.memory.storage import RealArray, plain
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.tape.tape import Tape

__all__ = ["WatchedTape", "resolving"]

_RESOLVED: ContextVar[Operation | None] = ContextVar("dualrev_resolved_operation", default=None)


@contextlib.contextmanager
def resolving(operation: Operation) -> Iterator[None]:
    """Context in which records belong to this operation, whose cotangents or tangents are computed."""
    before = _RESOLVED.get()
    _RESOLVED.set(operation)
    try:
        yield
    finally:
        _RESOLVED.set(before)


class WatchedTape(Tape):
    """Tape with the plain values of its ids, in `values`, and the operations that took them, in `operations`."""

    __slots__ = ("_next", "_outside", "call", "operations", "values")

    def __init__(self) -> None:
        super().__init__()
        self._next, self._outside, self.call = self.fresh, _RESOLVED.get(), current_call()
        self.fresh: Callable[[], int] = self._fresh
        self.values: list[tuple[Any, Any]] = []
        self.operations: dict[int, Operation] = {}

    def _fresh(self) -> int:
        i, frame = self._next(), sys._getframe(1)
        known = frame.f_locals
        y = value(known.get("y", known.get("leaf")))
        if isinstance(y, (float, np.floating)):
            self.values.append((i, y))
        resolved = _RESOLVED.get()
        self.operations[i] = _operation(frame) if resolved is None or resolved is self._outside else resolved
        return i

    def allocate(self, n: int) -> int:
        """The first of n consecutive ids for elements of an array; it is negative."""
        start, known = super().allocate(n), sys._getframe(1).f_locals
        x = plain(known["x"] if "x" in known else known["y"])
        self.values.append((of_new(start, x)[0], np.array(x)))
        return start


def _operation(frame: FrameType) -> Operation:
    """The expression that runs in the user's code, outside of all code of this library and of installed packages."""
    inner, user = _outside(frame, is_of_user)
    if user is None:
        inner, user = _outside(frame, lambda file: is_of_library(file) is not None)
    if user is None:
        inner, user = frame, frame
    return Operation(user.f_code, user.f_lasti, user.f_lineno, tuple(_plain_numbers(_operands(inner))))


def _outside(frame: FrameType, is_outside: Callable[[str], bool]) -> tuple[FrameType, FrameType | None]:
    """The innermost frame whose file is outside, and its callee."""
    inner, outer = frame, frame.f_back
    while outer is not None and not is_outside(outer.f_code.co_filename):
        inner, outer = outer, outer.f_back
    return inner, outer


def _operands(frame: FrameType) -> Any:
    """The operands of a call of this library: what numpy passes on, or what a line of the table or a function takes."""
    known, code = frame.f_locals, frame.f_code
    for name in ("inputs", "args"):
        if name in known:
            return known[name]
    if code.co_filename.startswith("<dualrev "):
        for names in ("ab", "x"):
            if all(name in known for name in names):
                return [known[name] for name in names]
    given = [known[name] for name in code.co_varnames[: code.co_argcount] if name in known]
    return [u for u in given if u is not math.e]  # the base of dualrev.math.log, which is not written out


def _plain_numbers(operands: Any) -> Iterator[Any]:
    """The plain values of the numbers and arrays of numbers among operands, in lists and tuples, too."""
    for u in operands:
        if isinstance(u, (list, tuple)):
            yield from _plain_numbers(u)
        elif isinstance(u, (float, np.number, DualNumber)) or (u.__class__ is int and abs(u) < 2**63):
            yield value(u)
        elif isinstance(u, (RealArray, np.ndarray)) and (x := plain(u)).dtype.kind in "fciu":
            yield np.array(x)
