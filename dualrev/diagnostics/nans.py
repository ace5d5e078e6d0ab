"""`debug_nans`: the switch of the search for NaN and infinity, which the tape and compiled derivatives ask."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import NamedTuple

__all__ = ["Call", "active", "current_call", "debug_nans", "debugging", "listen", "within"]

_EVERYWHERE = os.environ.get("DUALREV_DEBUG_NANS", "0") not in ("", "0")
_DEBUGGING: ContextVar[bool] = ContextVar("dualrev_debug_nans", default=_EVERYWHERE)

#: Whether derivatives of this thread are to find the origin of NaN and infinity.
debugging: Callable[[], bool] = _DEBUGGING.get


class Call(NamedTuple):
    """Facts about the call of a derivative."""

    has_finite_arguments: bool = False  # also those that are constants
    is_of_value: bool = True  # it is an error, too, if the value is not finite


_UNKNOWN = Call()
_CALL: ContextVar[Call] = ContextVar("dualrev_call_of_derivative", default=_UNKNOWN)

#: The call of the derivative that is computed.
current_call: Callable[[], Call] = _CALL.get

#: The number of contexts in all threads: `nans.active and nans.debugging()` costs least where there is none.
active = int(_EVERYWHERE)
_counting = threading.Lock()
_listeners: list[Callable[[bool], None]] = []


@contextlib.contextmanager
def debug_nans(on: bool = True) -> Iterator[None]:
    """Context in which a derivative that is NaN or infinite is an error that names the operation.

    Inside of `with dr.debug_nans():`, each derivative that is called checks its results. If the value or the derivative
    is not finite, it finds the first operation that makes NaN or infinity of finite operands (or NaN of infinite ones),
    as its value, its partial derivative, or the product of that with a cotangent or a tangent. The error names the line
    and the usual cure. Where no operation is to blame, as for arguments that are NaN themselves, there is no error.
    The derivative of a numba function is computed once more in that case, on the tape, by Python.

    With DUALREV_DEBUG_NANS=1 in the environment when dualrev is imported, this holds for the whole program. The context
    belongs to the thread, and to threads that it starts in a Python whose threads inherit contexts, as those of
    free-threaded Python do (`sys.flags.thread_inherit_context`). Not checked are derivatives that a numba function
    calls itself, and pullbacks of a `dr.vjp` that was called outside of the context.

    Args:
        on: Whether to search; False turns it off inside of another such context.

    Returns:
        A context manager, which is also a decorator.

    Raises:
        NonFiniteError: The result of a derivative called in the context is NaN or infinite.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> with dr.debug_nans():
    ...     dr.grad(lambda x: np.sum(np.sqrt(x)))(np.array([4.0, 0.0]))
    Traceback (most recent call last):
    dualrev.errors.NonFiniteError: ...: the derivative through `np.sqrt(x)` is inf at 0.0 (index 1).
    Write ...
    """
    before = _DEBUGGING.get()
    _DEBUGGING.set(on)
    _count(1)
    try:
        yield
    finally:
        _count(-1)
        _DEBUGGING.set(before)


@contextlib.contextmanager
def within(call: Call) -> Iterator[None]:
    """Context of the call of a derivative."""
    before = _CALL.get()
    _CALL.set(call)
    try:
        yield
    finally:
        _CALL.set(before)


def listen(f: Callable[[bool], None]) -> None:
    """Call f(True) when the first context of the program begins, and f(False) when the last one has ended."""
    with _counting:
        _listeners.append(f)
        if active:
            f(True)


def _count(change: int) -> None:
    global active
    with _counting:
        before, active = active, active + change
        if bool(before) is not bool(active):
            for f in _listeners:
                f(bool(active))
