"""Processor time of short calls: other work on the machine adds little to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["microseconds"]


def microseconds(run: Callable[[], Any], number: int) -> float:
    """Return the processor time of a call in this thread, as the mean of `number` calls."""
    start = time.thread_time()
    for _ in range(number):
        run()
    return (time.thread_time() - start) / number * 1e6
