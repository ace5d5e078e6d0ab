"""Times for the tables of the examples."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["timed"]


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Call a function twice. Return its result, and the seconds of processor time of both calls."""
    times = []
    for _ in range(2):
        before = time.process_time()
        result = run()
        times.append(time.process_time() - before)
    return result, times[0], times[1]
