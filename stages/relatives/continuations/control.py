r"""shift and reset in direct style, by greenlets: one-shot delimited continuations.

Paper:   Wang et al. 2019, section 3.2, for their meaning; Danvy and Filinski 1990 for the operators
Needs:   one-shot continuations: the library greenlet (`pip install greenlet`)
Cost:    a shift makes a greenlet and switches four times, and twice more at its end. While its body waits for k, it
         takes 8 to 10 KB (measured for 100,000 of them; Python 3.11 to 3.14 on Linux, x86-64).

    reset e          the value of e; it delimits the continuation that a shift inside of e captures
    shift (\k. e)    the value of e becomes reset's; k is the rest of reset's computation, as a function
    k v              continues there with v as shift's value; its own value is the one that reset would have had

    hub              the greenlet that called reset. It starts and resumes all others, so that neither Python's stack
                     nor C's grows, however many of them wait
    reset e          e runs on a greenlet g:                            [] wait
    shift (\k. e)    g is suspended; e runs on a greenlet b;             [] wait
    k v, called in b g is resumed with v;                               [b] wait
    a greenlet ends  with the value w: the last one that waits gets w as k's value; if none waits, w is reset's value

An exception propagates like a value, from the last greenlet that waits to the caller of reset. `level` implements the
paper's section 3.7 (shift2): a shift belongs to the nearest reset of its level, and also captures the resets between.
A k that is never called is freed like any other object, and its `finally` clauses run; but a k that holds a reset of an
inner level is invisible to the garbage collector, and keeps its memory. All greenlets share one context (contextvars,
hence np.errstate), as a program in direct style does.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

try:
    from greenlet import getcurrent, greenlet
except ImportError:
    greenlet = None  # reset says so

__all__ = ["Continuation", "ControlError", "around", "reset", "shift"]


class ControlError(RuntimeError):
    """A shift without a reset, or a continuation that cannot be called."""


class Reset:
    """A reset: its level; its hub, while it runs; the greenlet that asked for it, with its greenlet of this reset."""

    __slots__ = ("asking", "hub", "level")
    asking: Any
    hub: Any

    def __init__(self, level: Any) -> None:
        self.level, self.hub, self.asking = level, None, None


class Continuation:
    """The rest of a reset's computation, as a function of shift's value."""

    __slots__ = ("_base", "_rest")

    def __init__(self, rest: Any, base: Any) -> None:
        self._rest, self._base = rest, base

    def __call__(self, value: Any = None) -> Any:
        """Resume with this value of shift, and return the value of the reset. ControlError for a second call."""
        if self._rest is None:
            raise ControlError(
                "a continuation was called a second time: it is one-shot, since greenlets cannot be copied."
                " Run the whole computation again inside of a new reset"
            )
        base = self._base
        if _ask(base.reset) is not None:
            rest, self._rest = self._rest, None
            return base.reset.hub.switch((_call, rest, value))
        if base.reset.hub is not None:
            raise ControlError("the continuation's reset is not around this call: it waits for something else to end")
        try:
            base.parent = getcurrent()  # its reset has ended, so this call is one
        except ValueError:
            raise ControlError("a continuation was called in another thread: greenlets stay in theirs") from None
        base.reset = Reset(base.reset.level)
        rest, self._rest = self._rest, None
        return _run(base.reset, rest, value)


def reset(thunk: Callable[[], Any], level: Any = None) -> Any:
    """The value of thunk(), or of the body of a shift of this level inside of it.

    ImportError without greenlet.

    >>> reset(lambda: 1 + shift(lambda k: 10 * k(2)))
    30
    """
    if greenlet is None:
        raise ImportError("shift and reset are made of greenlets: pip install greenlet, or 'dualrev[relatives]'")
    inside = Reset(level)
    return _run(inside, _fresh(inside, thunk))


def shift(body: Callable[[Continuation], Any], level: Any = None) -> Any:
    """Capture the continuation up to the reset, and run `body` on it; body's value becomes the reset's.

    ControlError if no reset of this level is around.
    """
    inside = None if greenlet is None else _ask(level)
    if inside is None:
        raise ControlError("a shift without a reset of its level around, in this thread")
    return inside.hub.switch((_shift, body))


def around() -> Iterator[Any]:
    """The levels of the enclosing resets, from the nearest on.

    >>> reset(lambda: reset(lambda: list(around()), "inner"), "outer")
    ['inner', 'outer']
    """
    base = None if greenlet is None else getcurrent()
    while (inside := getattr(base, "reset", None)) is not None:
        yield inside.level
        base = inside.hub


def _ask(wanted: Any) -> Reset | None:
    """The nearest enclosing reset that is this one or has this level; it remembers who asked.

    No variable of `shift` may hold this: a waiting greenlet would refer to itself, and never be freed.
    """
    me = base = getcurrent()
    while (inside := getattr(base, "reset", None)) is not None:
        if inside is wanted or inside.level is wanted:
            inside.asking = me, base
            return inside
        base = inside.hub
    return None


def _fresh(inside: Reset, thunk: Callable[[], Any]) -> Any:
    """A greenlet of this reset that runs thunk; it ends by `_end` or `_fail` in the hub."""

    def run(_: Any) -> Any:
        """Run thunk, and tell the hub how it ended."""
        try:
            return _end, thunk()
        except BaseException as error:
            return _fail, error

    contextvars.copy_context()  # now there is one
    made = greenlet(run)
    made.reset, made.gr_context = inside, getcurrent().gr_context
    return made


class _Waiting(list):
    """The bodies that wait for the value of their k, and the propagating exception with its first traceback."""

    error: BaseException | None = None
    traceback: Any = None

    def noted(self, error: BaseException) -> BaseException:
        """Restore the exception's first traceback, which ends where it was raised."""
        if self.error is not error:
            self.error, self.traceback = error, error.__traceback__
        return error.with_traceback(self.traceback)


def _run(inside: Reset, first: Any, value: Any = None) -> Any:
    """The hub: run each event; it returns the next event."""
    inside.hub, waiting = getcurrent(), _Waiting()
    try:
        kind, *what = first.switch(value)
        while waiting or kind in (_shift, _call):
            kind, *what = kind(inside, waiting, *what)
    finally:
        inside.hub = None
    if kind is _fail:
        try:
            raise waiting.noted(what[0])
        finally:
            del waiting, what  # no cycle of the exception, its traceback and this frame
    return what[0]


def _shift(inside: Reset, waiting: _Waiting, body: Callable[[Continuation], Any]) -> Any:
    k, inside.asking = Continuation(*inside.asking), None
    return _fresh(inside, functools.partial(body, k)).switch(None)


def _call(inside: Reset, waiting: _Waiting, rest: Any, value: Any) -> Any:
    waiting.append(inside.asking[0])
    inside.asking = None
    return rest.switch(value)


def _end(inside: Reset, waiting: _Waiting, value: Any) -> Any:
    return waiting.pop().switch(value)


def _fail(inside: Reset, waiting: _Waiting, error: BaseException) -> Any:
    return waiting.pop().throw(waiting.noted(error))
