"""Progress line on stderr for work that takes more than two seconds."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator

__all__ = ["DELAY", "progress", "shows_progress"]

#: Seconds before the line is shown, and between two updates of it.
DELAY, PERIOD = 2.0, 0.5

_SHOWING = threading.Lock()  # one line at a time: work inside of other work, or in another thread, has none


@contextlib.contextmanager
def progress(what: str, note: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Show that work is going on, in a `with` statement: after two seconds, one line on stderr, overwritten as it goes.

    Args:
        what: The work, as "compiling grad of f(float64)".
        note: Function that says how far the work is. Another thread calls it.

    The line reads `dualrev: WHAT: NOTE, 8 s`, and is erased at the end. Nothing is shown where `shows_progress` is
    false, or while another line is shown.
    """
    if not shows_progress() or not _SHOWING.acquire(blocking=False):
        yield
        return
    done, begin = threading.Event(), time.monotonic()

    def show() -> None:
        """Write the line until the work is done."""
        written, pause = 0, DELAY
        while not done.wait(pause):
            said = ", ".join(filter(None, [note(), f"{time.monotonic() - begin:.0f} s"]))
            width = shutil.get_terminal_size().columns - 1
            line = f"dualrev: {what}: {said}"
            line = line if len(line) <= width else f"{line[: width - len(said) - 5]}...: {said}"
            _write(f"\r{line:<{written}}")
            written, pause = len(line), PERIOD
        if written:
            _write(f"\r{'':<{written}}\r")

    thread = threading.Thread(target=show, name="dualrev progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        _SHOWING.release()


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
