"""Progress line on stderr for work that takes more than two seconds."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["DELAY", "PERIOD", "progress", "shows_progress"]

#: Seconds before the line is shown, and between two updates of it.
DELAY, PERIOD = 2.0, 0.5

_SHOWING = threading.Lock()  # one line at a time: work in another thread has none


class _Shown:
    """The work of the thread that has the line, from the outermost to the innermost, each with its note."""

    thread = 0
    works: list[tuple[str, Callable[[], str]]] = []  # noqa: RUF012 - there is one, as there is one line


@contextlib.contextmanager
def progress(what: str, note: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Show that work is going on, in a `with` statement: after two seconds, one line on stderr, overwritten as it goes.

    Args:
        what: The work, as "compiling grad of f(float64)".
        note: Function that says how far the work is. Another thread calls it.

    The line reads `dualrev: WHAT: NOTE, 8 s`, and is erased at the end. Work inside of other work is added to its line.
    rich writes the line where it is installed. Nothing is shown where `shows_progress` is false, or while another
    thread shows a line.
    """
    nested = _Shown.thread == threading.get_ident()
    if not nested and (not shows_progress() or not _SHOWING.acquire(blocking=False)):
        yield
        return
    _Shown.works.append((what, note))
    try:
        if nested:
            yield
        else:
            _Shown.thread = threading.get_ident()
            with _updated():
                yield
    finally:
        _Shown.works.pop()
        if not nested:
            _Shown.thread = 0
            _SHOWING.release()


@contextlib.contextmanager
def _updated() -> Iterator[None]:
    """Have a thread write the line until the block is done."""
    done, begin = threading.Event(), time.monotonic()

    def show() -> None:
        """Write the line until the work is done."""
        line, pause = None, DELAY
        while not done.wait(pause):
            line = line or _line()
            line.write(*_text(time.monotonic() - begin))
            pause = PERIOD
        if line is not None:
            line.erase()

    thread = threading.Thread(target=show, name="dualrev progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _text(seconds: float) -> tuple[str, str]:
    """Text of the line: what is going on, and how far it is."""
    works = list(_Shown.works)
    said = [(what, note()) for what, note in works]
    before = [f"{what}: {note}" if note else what for what, note in said[:-1]]
    what, note = said[-1] if said else ("", "")
    return "; ".join([*before, what]), ", ".join(filter(None, [note, f"{seconds:.0f} s"]))


def _shortened(what: str, note: str, width: int) -> str:
    """Shorten the first part of a line, so that `dualrev: WHAT: NOTE` has this width."""
    room = width - len(f"dualrev: : {note}")
    return what if len(what) <= room else f"{what[: max(room - 3, 0)]}..."


class _PlainLine:
    """Line of a terminal or a notebook, overwritten by carriage returns."""

    def __init__(self) -> None:
        self._written = 0

    def write(self, what: str, note: str) -> None:
        """Overwrite the line."""
        line = f"dualrev: {_shortened(what, note, shutil.get_terminal_size().columns - 1)}: {note}"
        _write(f"\r{line:<{self._written}}")
        self._written = len(line)

    def erase(self) -> None:
        """Erase the line."""
        _write(f"\r{'':<{self._written}}\r")


class _RichLine:
    """Line of rich's, with a spinner; it is erased at the end, too."""

    def __init__(self, console: Any) -> None:
        self._console, self._status = console, console.status("")
        self._status.start()

    def write(self, what: str, note: str) -> None:
        """Write the line anew."""
        from rich.text import Text

        what = _shortened(what, note, self._console.width - 3)  # after the spinner
        self._status.update(Text.assemble(("dualrev: ", "bold"), f"{what}: ", (note, "cyan")))

    def erase(self) -> None:
        """Erase the line."""
        self._status.stop()


def _line() -> _PlainLine | _RichLine:
    """Rich's line where rich is installed and knows the terminal."""
    if importlib.util.find_spec("rich") is not None:
        from rich.console import Console

        console = Console(stderr=True)
        if (console.is_terminal and not console.is_dumb_terminal) or console.is_jupyter:
            return _RichLine(console)
    return _PlainLine()


def shows_progress() -> bool:
    """Whether stderr is a terminal or a notebook's, and DUALREV_PROGRESS is not 0."""
    stream = sys.stderr
    if stream is None or os.environ.get("DUALREV_PROGRESS", "") == "0":
        return False
    return stream.isatty() or type(stream).__module__.partition(".")[0] == "ipykernel"


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the stream is closed: there is nobody to read it
        sys.stderr.write(text)
        sys.stderr.flush()
