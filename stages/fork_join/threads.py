"""Threads for the two sides of a fork.

The reverse pass runs in compiled code, which holds no lock, so its sides run at the same time in every Python. The
forward pass is Python code. Where the interpreter has a lock (the GIL), only one thread runs Python code at a time, so
threads cannot make it faster; a free-threaded Python has no lock.

>>> beside(lambda: 1 + 1, lambda: "two", spare(1))
(2, 'two')
>>> with threads(2):
...     beside(lambda: 1 + 1, lambda: "two", spare(1))
(2, 'two')
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["beside", "locked", "spare", "threads"]

A = TypeVar("A")
B = TypeVar("B")

_MOST: contextvars.ContextVar[int | None] = contextvars.ContextVar("most", default=None)


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Run the sides of forks on n threads within `with`, in the forward pass and in the reverse pass."""
    token = _MOST.set(n)
    try:
        yield
    finally:
        _MOST.reset(token)


def locked() -> bool:
    """Whether only one thread runs Python code at a time."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def spare(most: int) -> threading.Semaphore:
    """The threads that a pass may start beside its own: n - 1 within `threads(n)`, elsewhere most - 1."""
    return threading.Semaphore((_MOST.get() or most) - 1)


def beside(first: Callable[[], A], second: Callable[[], B], free: threading.Semaphore) -> tuple[A, B]:
    """Return (first(), second()); the second one runs on a thread of its own if one is free."""
    if not free.acquire(blocking=False):
        return first(), second()
    try:
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(contextvars.copy_context().run, second)
            return first(), done.result()
    finally:
        free.release()
